"""Libraries that framework builds need from the image: a C library, a cuDNN."""

from __future__ import annotations

import re

from packaging.version import Version

from compat.facts import tables
from compat.facts.rows import FrameworkLibrary


def newest_glibc(framework: str, version: Version, processor: str, cuda_major: int) -> FrameworkLibrary | None:
    """The row with the newest C library: of the framework, or of its packages for a CUDA (`jax[cuda12]`)."""
    rows = [
        row
        for name in (framework, f"{framework}[cuda{cuda_major}]")
        for row in _libraries(name, version, "glibc")
        if row.variant in {"", processor} and re.fullmatch(r"\d+\.\d+", row.minimum)
    ]
    return max(rows, key=lambda row: Version(row.minimum), default=None)


def cudnn_of(framework: str, version: Version, build: str, cuda_major: int) -> FrameworkLibrary | None:
    """The row for this version, of this build if there are several, else of a build for this CUDA."""
    fitting = {row.variant: row for row in reversed(_libraries(framework, version, "cudnn"))}
    named = (fitting[name] for name in (build, f"cuda{cuda_major}", *reversed(fitting)) if name in fitting)
    return next(named, None)


def _libraries(framework: str, version: Version, library: str) -> list[FrameworkLibrary]:
    rows = tables.framework_libraries().get(framework, ())
    return [row for row in rows if row.library == library and row.is_for(version)]
