"""Known infrastructure that needs the node but no GPU: network, storage and monitoring daemons.

Data and one question. An exemption allows a DaemonSet of a listed image privileges and host paths only:
not variables, annotations, runtime classes and device files that select GPUs, nor a missing digest.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from fleet.unknown import UNKNOWN
from imaging.references import ImageReference

EXEMPTIONS: Final[Mapping[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# Exemptions without privileges: host files suffice.
WITHOUT_PRIVILEGES: Final = frozenset({"log-collector", "node-exporter", "node-feature-discovery"})
# Sidecars of such pods, not exempt by themselves.
_COMPANIONS: Final = re.compile(r"/(?:kube-rbac-proxy|prometheus-config-reloader|configmap-reload|pause|busybox)$")
_PATTERNS: Final = {name: re.compile(rf"(?:^|/)(?:{text})$") for name, text in EXEMPTIONS.items()}


def exemption(images: Iterable[Any]) -> str | None:
    """Their common exemption, companions aside; None if one has none or is not known yet."""
    found = [_of(image) for image in images]
    names = sorted({name for name in found if name})
    return ", ".join(names) if names and None not in found else None


def _of(image: Any) -> str | None:
    if image is UNKNOWN or not isinstance(image, str):
        return None
    try:
        reference = ImageReference.parse(image)
    except ValueError:
        return None
    name = reference.repository_in_full
    if _COMPANIONS.search(name):
        return ""
    return next((exempted for exempted, pattern in _PATTERNS.items() if pattern.search(name)), None)
