"""A named program whose CUDA is not known: what GPU and driver still decide.

Today's builds are made with CUDA 12 or 13. A program is likely to run where the driver reaches most of them and every
toolkit of recent years generates code for the GPU, and unlikely where none of them does.
"""

from __future__ import annotations

import re

from dataclasses import replace

from compat.evidence.drivers import reaches
from compat.evidence.prose.dates import month_in
from compat.evidence.prose.eras import Era, era_of, made_by_all, made_by_none, runs_all, runs_none
from compat.evidence.prose.patterns import pattern
from compat.evidence.reading.builds import is_of_ones_own
from compat.facts import tables
from compat.facts.rows import Architecture
from compat.rules.rule import as_stated
from compat.values.model import Finding, ImageFacts, Platform, PoolFacts, Severity
from compat.values.targets import TEGRA
from compat.values.versions import CudaVersion

CARRIES_PTX = frozenset(
    {"candle", "cuda.jl", "cudanative.jl", "gpu-burn", "gpuburn", "ilgpu", "matlab", "mistral.rs", "mxnet", "numba"}
    | {"nvrtc", "taichi", "triton", "warp", "warplang"}
)
SPEAKS_OF_PTX = pattern(r"\bptx\b|\bjit\b|\bcuda[ -]?samples?\b|\bat run ?time\b", re.IGNORECASE)
DRIVER_COMPILES = frozenset({"candle", "hashcat", "mistral.rs", "numba", "openmm"})


_OF_MOST = CudaVersion(12, 4)  # a driver of it runs all of CUDA 12 that has machine code, and PTX of most builds
_ALL_OF_TODAY = CudaVersion(11, 8)  # a GPU that CUDA generated code for by then is a target of every build since
_TODAY = CudaVersion(12, 0)
_OF_ITS_TIME = pattern(r"\b20(?:0\d|1\d|2[01])\b|\b(?:19|20)\d{2}-\d{2}\b")


def judged(note: Finding, image: ImageFacts, pool: PoolFacts) -> Finding:
    """The finding that the CUDA is not known, as a warning or a refusal where GPU and driver decide."""
    arch = tables.architectures().get(pool.gpu.capability)
    if arch is None or pool.platform is Platform.JETSON or pool.gpu.capability in TEGRA:
        return note
    if (month := month_in(image.remarks)) and (era := era_of(month)) is not None:
        return _in_its_era(note, era, image, pool, arch)
    if _is_likely(image, pool, arch):
        message = (
            f"{note.message}; driver {pool.driver} runs what CUDA {_OF_MOST} and older made, and most of CUDA 12, "
            f"and each of them since CUDA {arch.first_cuda} makes code for {pool.gpu.name}"
        )
        return replace(note, severity=Severity.WARN, message=message)
    if _is_too_old(image, pool, arch):
        message = (
            f"{note.message}; what is published today is built by CUDA 12 or 13, and the last that makes code for "
            f"{pool.gpu.name} ({pool.gpu.capability}) is {arch.last_cuda}: if it is older, write cuda or the driver"
        )
        fact = arch.origin.fact(f"the last CUDA that compiles for {arch.name} is {arch.last_cuda}", "last_cuda")
        return replace(note, severity=Severity.REFUSE, message=message, fact=fact)
    return note


def _in_its_era(note: Finding, era: Era, image: ImageFacts, pool: PoolFacts, arch: Architecture) -> Finding:
    """What all toolkits that were in use in the program's month agree on."""
    used = f"in {era.month} programs were built with CUDA {era.lines[0]} to {era.lines[-1]}"
    fact = era.newest.origin.fact(f"CUDA {era.newest.version} came in {era.newest.released}", "release_date")
    if made_by_none(era, arch):
        message = f"{note.message}; {used}, and the last that generates code for {pool.gpu.name} is {arch.last_cuda}"
        return replace(note, severity=Severity.REFUSE, message=message, fact=fact)
    if pool.driver is None or not as_stated(pool.driver):
        return note
    if runs_none(era, pool.driver, pool.platform):
        message = f"{note.message}; {used}, and driver {pool.driver} is too old for all of them"
        return replace(note, severity=Severity.REFUSE, message=message, fact=fact)
    if made_by_all(era, arch) and runs_all(era, pool.driver, pool.platform) and not _needs_its_own(image):
        message = (
            f"{note.message}; {used}; driver {pool.driver} runs all of them, and they generate code for {pool.gpu.name}"
        )
        return replace(note, severity=Severity.WARN, message=message, fact=fact)
    return note


def _needs_its_own(image: ImageFacts) -> bool:
    """Does the driver compile its PTX, for which the floor of a major does not suffice?"""
    names = {image.framework, image.program}
    return bool(names & (CARRIES_PTX | DRIVER_COMPILES) or SPEAKS_OF_PTX.search(image.remarks))


def _is_likely(image: ImageFacts, pool: PoolFacts, arch: Architecture) -> bool:
    """False where it hands PTX to the driver, and on arm64, with few published builds, unless it is the user's own."""
    if pool.driver is None or not as_stated(pool.driver):
        return False
    if pool.platform is Platform.LINUX_ARM and not is_of_ones_own(image.remarks):
        return False
    made_by_all_of_today = arch.last_cuda is None and arch.first_cuda is not None and arch.first_cuda <= _ALL_OF_TODAY
    return made_by_all_of_today and not _needs_its_own(image) and reaches(_OF_MOST, pool.driver, pool.platform) is True


def _is_too_old(image: ImageFacts, pool: PoolFacts, arch: Architecture) -> bool:
    """False where a driver or a year suggests that everything dates from the GPU's own time."""
    if pool.driver is not None and as_stated(pool.driver):
        return False
    of_its_time = _OF_ITS_TIME.search(f"{image.name} {image.remarks}") is not None
    return arch.last_cuda is not None and arch.last_cuda < _TODAY and not of_its_time
