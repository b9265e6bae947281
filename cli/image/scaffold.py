"""Makes a new image's files: the minimum to plan, lock, build and pass the check. Pure.

Bases and versions are those of this project's images, so that they share layers, locks and test results.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final

from cli.templates import rendered

DEBIAN: Final = "debian"
# CUDA lines whose runtime and run-time compiler are on PyPI, as CuPy 14 needs them: their last releases.
CUDA_WHEELS: Final = MappingProxyType(
    {
        "12.0": ("12.0.146", "12.0.140"),
        "12.1": ("12.1.105", "12.1.105"),
        "12.2": ("12.2.140", "12.2.140"),
        "12.3": ("12.3.101", "12.3.107"),
        "12.4": ("12.4.127", "12.4.127"),
        "12.5": ("12.5.82", "12.5.82"),
        "12.6": ("12.6.77", "12.6.85"),
        "12.8": ("12.8.90", "12.8.93"),
        "12.9": ("12.9.79", "12.9.86"),
    }
)
_CUPY: Final = "cupy-cuda12x==14.2.0"
_NUMPY: Final = "numpy==2.4.6"
_SERVER: Final = ("jupyterlab==4.6.6", "jupyterhub==5.5.4", "ipykernel==7.4.0")


class ImageKind(StrEnum):
    """Use of an image."""

    NOTEBOOK = "notebook"  # a JupyterLab server that a hub starts
    BATCH = "batch"  # programs for jobs


@dataclass(frozen=True, slots=True)
class NewImage:
    """The requested image. `base` is DEBIAN, or an image of ours, which brings its server."""

    name: str
    kind: ImageKind
    base: str
    cuda: str | None
    packages: tuple[str, ...]  # exact pins on PyPI
    user: tuple[str, int, int, str]  # name, UID, GID, home
    today: dt.date

    @property
    def has_server(self) -> bool:
        """Does it bring JupyterLab?"""
        return self.kind is ImageKind.NOTEBOOK and self.base == DEBIAN

    @property
    def pins(self) -> tuple[str, ...]:
        """Its packages. An image needs at least one."""
        own = (_NUMPY, _CUPY) if self.cuda else self.packages or (() if self.has_server else (_NUMPY,))
        every = {pin.partition("==")[0]: pin for pin in ((*_SERVER,) if self.has_server else ()) + own}
        return tuple({**every, **{pin.partition("==")[0]: pin for pin in self.packages}}.values())


def files_of(wanted: NewImage) -> dict[str, str]:
    """Text by file name, except the lock: PyPI resolves it."""
    values = {
        "wanted": wanted,
        "is_notebook": wanted.kind is ImageKind.NOTEBOOK,
        "is_debian": wanted.base == DEBIAN,
        "cupy": _CUPY,
        "wheels": CUDA_WHEELS[wanted.cuda] if wanted.cuda else (),
    }
    texts = {name: rendered(Path(__file__).with_name(f"{name}.j2"), **values) for name in ("image.yaml", "verify.py")}
    return {**texts, ".dockerignore": "*\n!requirements.lock\n!verify.py\n"}
