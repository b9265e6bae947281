"""Maps distributions to frameworks, and tells whether they are builds for NVIDIA GPUs.

A distribution is what pip, uv and conda install by name: torch, cupy-cuda12x, tensorflow-cpu. Specs, linter, inspection
and engine use this, so that a name means the same everywhere.
"""

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final

from compat.facts.csv_files import rows
from compat.values.versions import VersionError, parse_release


class Device(StrEnum):
    """The devices that a distribution has code for."""

    GPU = "gpu"
    CPU = "cpu"
    OPEN = "open"  # no device code of its own: it uses another framework's


# Distributions without `-gpu`, `-cpu` or `-cu12` in their names: their framework as the tables name it, and the
# devices of such a wheel on Linux, from https://pypi.org/project/<name>. Rows without a device are other names of a
# framework than those of its distributions; letters and digits only.
_ROWS: Final = tuple(rows("distributions", Path(__file__).parent))
_PLAIN: Final = {row["name"]: (row["framework"], Device(row["device"])) for row in _ROWS if row["device"]}
_FORM: Final = re.compile(r"(?P<plain>.+?)(?:-(?P<build>gpu|cpu|cu(?:da)?\d\w*|cuda-\d+))?")
# They bring CUDA to a jaxlib or mlx that has none: jax[cuda12] and mlx[cuda12] require them.
# https://pypi.org/project/jax-cuda12-plugin, https://pypi.org/project/mlx-cuda-12
_BRINGS_CUDA: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "jax": re.compile(r"jax-cuda\d+-(?:plugin|pjrt)"),
        "mlx": re.compile(r"mlx-cuda(?:-\d+)?"),
    }
)
_FOR_OTHER_DEVICES: Final = re.compile(r"cpu|rocm|xpu")  # in the local part of a version

ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {re.sub(r"[^a-z0-9]", "", f"{name}{build}"): of for name, (of, _) in _PLAIN.items() for build in ("", "gpu", "cpu")}
    | {row["name"]: row["framework"] for row in _ROWS if not row["device"]}
)
"""People's spelling, letters and digits only, to the name in the tables."""


def framework_of(name: str) -> str:
    """The framework that a distribution is a build of, as the tables name it; empty if it is none."""
    return _read(name)[0]


def device_of(
    name: str,
    version: str = "",
    extras: Collection[str] = (),
    *,
    cuda: str = "",
    beside: Collection[str] = (),
) -> Device | None:
    """The device that a distribution has code for; None if it is no framework.

    `cuda` is the CUDA in its own record or its conda environment, `beside` are distributions in the same place.
    """
    framework, plain, build = _read(name)
    if not framework:
        return None
    local = version.partition("+")[2]
    if build == "cpu" or _FOR_OTHER_DEVICES.search(local):
        return Device.CPU
    if build or local.startswith("cu") or cuda or any("cuda" in extra for extra in extras):
        return Device.GPU
    if framework in _BRINGS_CUDA and any(map(_BRINGS_CUDA[framework].fullmatch, beside)):
        return Device.GPU
    return Device.CPU if plain == "tensorflow" and _is_before_one_tensorflow(version) else _PLAIN[plain][1]


def gpu_framework(
    name: str, version: str = "", extras: Collection[str] = (), *, cuda: str = "", beside: Collection[str] = ()
) -> str:
    """The framework of a distribution for NVIDIA GPUs; empty for any other."""
    found = device_of(name, version, extras, cuda=cuda, beside=beside)
    return framework_of(name) if found is Device.GPU else ""


def _read(name: str) -> tuple[str, str, str]:
    """Framework, plain name, and what the name adds to it: `cupy-cuda12x` is cupy, cupy, cuda12x."""
    match = _FORM.fullmatch(name)
    if match is None or match["plain"] not in _PLAIN:
        return "", "", ""
    return _PLAIN[match["plain"]][0], match["plain"], match["build"] or ""


def _is_before_one_tensorflow(version: str) -> bool:
    """Until 1.14, and in 2.0, only tensorflow-gpu used GPUs.

    Source: https://github.com/tensorflow/tensorflow/blob/master/RELEASE.md, releases 1.15.0 and 2.1.0, read 2026-11-21.
    """
    try:
        release = parse_release(version).release[:2]
    except VersionError:
        return False
    return release < (1, 15) or release == (2, 0)
