"""Builds the lab's own images and pushes them to the lab's registry."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import httpx

from imaging.build.buildkit import Build, Buildctl, run_build
from imaging.build.faults import BuildError
from lab.instance import LabError
from lab.processes import log_path
from lab.servers import buildkit

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

MANIFESTS: Final = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json"
# These images stay on this machine: time counts, size does not.
PACKED: Final = {"push": "true", "oci-mediatypes": "true", "compression": "gzip", "compression-level": "1"}
EPOCH: Final = "1686355200"  # 2023-06-10, Debian 12: times in lab images mean nothing, so all are the same


def has(repository: str, digest: str) -> bool:
    """Whether the lab's registry has that manifest. Raises LabError if it does not answer."""
    address, _, path = repository.partition("/")
    url = f"http://{address}/v2/{path}/manifests/{digest}"
    try:
        answer = httpx.head(url, headers={"Accept": MANIFESTS}, timeout=30)
        if answer.status_code != httpx.codes.NOT_FOUND:
            answer.raise_for_status()
    except httpx.HTTPError as error:
        raise LabError(f"the registry {address} does not answer as it should ({error}): start it: make up") from error
    return answer.is_success


def push(instance: Instance, tools: Tools, name: str, dockerfile: str, files: Mapping[str, Path]) -> str:
    """Build `dockerfile` over `files` (path in the context → file here), push it as `name`, return its digest.

    Raises LabError with the failing step's last lines; the log of `lab-images` has the whole output.
    """
    with (
        TemporaryDirectory(prefix="context-", dir=instance.run) as folder,
        log_path(instance, "lab-images").open("a") as log,
    ):
        for path, source in files.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(source, target)
        build = Build(
            context=Path(folder),
            dockerfile=dockerfile,
            build_args={"SOURCE_DATE_EPOCH": EPOCH},
            outputs=[{"type": "image", "name": name, **PACKED}],
        )
        try:
            client = Buildctl(tools.path("buildctl"), f"unix://{buildkit.socket_path(instance)}")
            return run_build(build, client, lambda line: print(line, file=log), lambda: False)
        except BuildError as error:
            raise LabError(f"{name}: {error}") from error


def _link_or_copy(source: Path, target: Path) -> None:
    """A hard link if both are on one disk: the root file system has 200 MB."""
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copy(source, target)
