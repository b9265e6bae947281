"""Machine images visible to the account: moto's own, and those releases of Flatcar that the table has.

Their ids are made up; stacks look for their names and owner. They have no creation date: moto reads such a date once,
and fails in a second region.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from moto.utilities.utils import load_resource

from platforms.aws.flatcar.releases import OWNER, Release, releases

ARCHITECTURES: Final = {"x86_64": "hvm", "arm64": "arm64-hvm"}


def write(target: Path) -> Path:
    """Write the list in moto's format for its variable MOTO_AMIS_PATH; return `target`."""
    every = [*load_resource("ec2/resources/amis.json"), *(image for each in releases() for image in _images(each))]
    target.write_text(json.dumps(every), encoding="utf-8")
    return target


def _images(release: Release) -> Iterator[dict[str, Any]]:
    for architecture, ending in ARCHITECTURES.items():
        name = release.image_name().replace("*", ending)
        yield {
            "ami_id": f"ami-{hashlib.sha256(name.encode()).hexdigest()[:17]}",
            "name": name,
            "description": f"Flatcar {release.channel.value} {release.version} ({architecture})",
            "owner_id": OWNER,
            "architecture": architecture,
            "public": True,
            "root_device_name": "/dev/xvda",
            "root_device_type": "ebs",
            "virtualization_type": "hvm",
        }
