"""Facts on releases of a program by span: the GPUs that it is for, and the drivers that it starts with."""

from __future__ import annotations

import re

from compat.evidence.prose.patterns import pattern
from compat.evidence.prose.programs import rows_of
from compat.evidence.reading.builds import is_of_ones_own
from compat.facts.rows import Program
from compat.rules.rule import as_stated, note, refuse, unknown
from compat.values.model import Fact, Finding, Gpu, GpuSpan, ImageFacts, Platform, PoolFacts, Severity
from compat.values.versions import ComputeCapability, JetsonVersion

RULE = "R-FRAMEWORK"
_ASK_THE_DRIVER = frozenset({"mojo"})  # on a Jetson too
_OWN_COMPILER = pattern(
    r"MODULAR_NVPTX_COMPILER_PATH|\b(?:system|own|other|another|older|toolkit['\u2019]?s?) ptxas\b", re.IGNORECASE
)
_DRIVERS_OF_L4T = {36: 540}  # as nvidia-smi prints it
_TRACE_RAYS = frozenset({"isaacsim", "isaaclab", "omniverse"})
# Chips without RT cores that are newer than the first with them: those of A100, H100 and B200, and of GTX 16.
_WITHOUT_RT = frozenset(map(ComputeCapability.parse, ("8.0", "9.0", "10.0", "10.3")))
_NAMES_WITHOUT_RT = pattern(r"\bGTX 16\d\d|\bT(?:4|5|6|10|12)00\b|\bMX\d{3}\b|\bCMP\b")
_FIRST_WITH_RT = ComputeCapability(7, 5)
_RT_CORES = Fact(
    "GPUs without RT cores, such as A100 and H100, are not supported",
    "https://docs.isaacsim.omniverse.nvidia.com/5.1.0/installation/requirements.html (as projects quote it)",
    "2026-11-27",
)
_PUBLISHER = "nvcr.io/nvidia/"  # NVIDIA's builds for its images are not a user's own builds


def of_program(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """Nothing for a user's own build: a project's statements on its releases do not count there."""
    if image.program in _ASK_THE_DRIVER and _OWN_COMPILER.search(f"{image.remarks} {image.environment}"):
        return ()
    if image.program in _TRACE_RAYS and _has_no_rt_cores(pool.gpu):
        return (refuse(RULE, f"{image.program} renders with RT cores, and {pool.gpu.name} has none", _RT_CORES),)
    if pool.jetson is not None and image.program in _ASK_THE_DRIVER:
        return _on_jetson(image, pool.gpu.name, pool.jetson)
    is_of_others = image.own_build and not image.name.startswith(_PUBLISHER)
    if pool.platform is Platform.JETSON or is_of_others or is_of_ones_own(image.remarks):
        return ()
    rows = rows_of(image.program, image.program_version, f"{image.name} {image.remarks}")
    native = "windows" if pool.platform is Platform.WINDOWS and pool.host != "wsl" else "linux"
    return tuple(each for row in rows if row.system in {"", native} for each in _findings(row, image, pool))


def _has_no_rt_cores(gpu: Gpu) -> bool:
    return (
        gpu.capability < _FIRST_WITH_RT
        or gpu.capability in _WITHOUT_RT
        or _NAMES_WITHOUT_RT.search(gpu.name) is not None
    )


def _on_jetson(image: ImageFacts, gpu: str, jetson: JetsonVersion) -> tuple[Finding, ...]:
    """Before JetPack 7 a Jetson has a driver of its own line, 540, which is older than those of servers."""
    driver = _DRIVERS_OF_L4T.get(jetson.release)
    for row in rows_of(image.program, image.program_version, f"{image.name} {image.remarks}"):
        if driver is not None and row.linux_floor is not None and driver < row.linux_floor.branch:
            text = f"{image.program} {image.program_version or ''} asks for driver {row.linux_floor.branch}"
            fact = row.origin.fact(text, "min_linux_driver")
            message = f"{text} ({row.reason}); L4T {jetson} of {gpu} has {driver}"
            return (refuse(RULE, message, fact),)
    return ()


def _findings(row: Program, image: ImageFacts, pool: PoolFacts) -> list[Finding]:
    shown = f"{image.program} {image.program_version}" if image.program_version else image.program
    gpu, found = pool.gpu, []
    is_of_its_cuda = row.cuda is None or image.cuda is None or row.cuda.major == image.cuda.major
    low, high = (row.capability, row.highest) if is_of_its_cuda else (None, None)
    if (low is not None and gpu.capability < low) or (high is not None and gpu.capability > high):
        span = f"{low or 'any'} to {high}" if high else f"{low}"
        fact = row.origin.fact(f"{shown}: {row.reason}", "cc_min", "cc_max", "from_version", "to_version")
        message = f"{shown} is for compute capability {span} ({row.reason}); {gpu.name} has {gpu.capability}"
        fixes = (GpuSpan(low, high),) if low is not None else ()
        found.append(refuse(RULE, message, fact, *fixes))
    floor = row.windows_floor if pool.platform is Platform.WINDOWS else row.linux_floor
    stated = as_stated(pool.driver) if pool.driver is not None else ""
    shown_driver = f"; this one is {stated}" if stated else ""
    if floor is not None and pool.driver is not None and pool.driver < floor:
        column = "min_windows_driver" if pool.platform is Platform.WINDOWS else "min_linux_driver"
        fact = row.origin.fact(f"{shown} needs driver {floor} or newer", column, "from_version", "to_version")
        found.append(refuse(RULE, f"{fact.text}{shown_driver}", fact, floor))
    if row.last_branch is not None and pool.driver is not None and pool.driver.branch > row.last_branch:
        fact = row.origin.fact(f"{shown} runs with drivers up to branch {row.last_branch}", "last_driver_branch")
        found.append(refuse(RULE, f"{fact.text} ({row.reason}){shown_driver}", fact))
    if not found:
        return [note(RULE, f"{shown}: {row.reason}", row.origin.fact(row.reason))]
    # A conclusion for a release next to reported ones is only a doubt.
    return [
        each if each.fact.verified or each.severity is not Severity.REFUSE else unknown(RULE, each.message, each.fact)
        for each in found
    ]
