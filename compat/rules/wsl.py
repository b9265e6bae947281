"""R-WSL: CUDA in WSL 2 runs on the Windows driver."""

from __future__ import annotations

import re
from dataclasses import replace

from compat.evidence.drivers import FIRST_IN_WSL
from compat.evidence.prose.denied import affirmed
from compat.evidence.prose.driver_words import needs_opencl
from compat.evidence.prose.patterns import pattern
from compat.rules.rule import Rule, as_stated, note, refuse, unknown, warn
from compat.values.model import Fact, Finding, ImageFacts, PoolFacts, Severity
from compat.values.versions import ComputeCapability

ID = "R-WSL"
_SOURCE = "https://docs.nvidia.com/cuda/wsl-user-guide/index.html"
_DATE = "2026-11-21"
_PREVIEWS = frozenset({455, 460, 465, 470})  # branches of which NVIDIA published one for WSL 2
_LIBRARY_SINCE = 471  # from this branch on the ordinary driver brings the library; NVIDIA supports that only later
_WITHOUT = "https://github.com/microsoft/WSL/issues/7336 ; https://github.com/NVIDIA/cudf/issues/11573"
_LOWEST = ComputeCapability(6, 0)
# Windows 10 21H2; previews of what followed have higher numbers.
_FIRST_WINDOWS = 19044
_WINDOWS = (
    "https://github.com/microsoft/WSL2-Linux-Kernel/issues/126 ; https://github.com/docker/for-win/issues/11208 ; "
    "https://github.com/microsoft/WSL/issues/7627"
)
_BUILD = pattern(r"\b(?:windows\b[^;]{0,80}?|to )\bbuild\s+(\d{5})\b|\b(?:10\.0\.)(\d{5})\b", re.IGNORECASE)
_TCC = pattern(r"\btcc\b", re.IGNORECASE)
_TCC_FACT = Fact(
    "WSL 2 sees GPUs by the display driver model of Windows (WDDM); a card in TCC mode has none",
    f"{_SOURCE} ; https://github.com/microsoft/WSL/issues/12835 ; https://github.com/microsoft/WSL/issues/11865",
    "2026-11-27",
)
# What WSL 2 brings of the driver: CUDA, NVML, video and Direct3D, and neither OpenCL nor OptiX.
_OPTIX, _POCL = pattern(r"\boptix\b", re.IGNORECASE), pattern(r"\bpocl\b", re.IGNORECASE)  # PoCL compiles by CUDA
_NOT_THERE = Fact(
    "NVIDIA's driver provides neither OpenCL nor OptiX in WSL 2",
    "https://github.com/microsoft/WSL/issues/6951 ; https://github.com/mitsuba-renderer/mitsuba3/issues/1221 ; "
    "https://github.com/DeltaGroupNJUPT/Vina-GPU-2.1/issues/65",
    "2026-11-27",
)
_WSL_1 = pattern(r"\bwsl(?: version)?[ -]?1(?:\.0)?\b(?![.\d])", re.IGNORECASE)
_WSL_1_FACT = Fact("WSL 1 has no access to GPUs, WSL 2 has", _SOURCE, "2026-11-27")
_LATER_RELEASE = pattern(r"\bwindows 11\b|\b(?:21|22)h2\b", re.IGNORECASE)
_OLD_RELEASE = pattern(r"\bwindows 10\b[^;,]*\b(1903|1909|2004|20h2|21h1)\b", re.IGNORECASE)


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if pool.host != "wsl":
        return ()
    if pool.gpu.capability < _LOWEST:
        fact = Fact("CUDA on WSL 2 is for Pascal and newer GPUs", _SOURCE, _DATE)
        return (refuse(ID, f"{pool.gpu.name} ({pool.gpu.capability}) is older than what WSL 2 supports", fact),)
    if affirmed(image.remarks, _WSL_1):
        return (refuse(ID, "WSL 1 has no access to GPUs: use WSL 2", _WSL_1_FACT),)
    if affirmed(image.remarks, _TCC):
        return (
            refuse(ID, f"{pool.gpu.name} is in TCC mode, in which WSL 2 does not see it: switch it to WDDM", _TCC_FACT),
        )
    if missing := _missing_there(image.remarks):
        return (refuse(ID, f"it needs {missing}, which the driver does not provide in WSL 2", _NOT_THERE),)
    if windows := _old_windows(image.remarks):
        fact = Fact("GPUs in WSL 2 need Windows 11 or Windows 10 21H2 (build 19044)", _WINDOWS, "2026-11-27")
        return (refuse(ID, f"{windows} has no GPUs in WSL 2: they came with Windows 10 21H2 (build 19044)", fact),)
    if pool.gpu.product_class not in {"geforce", "workstation", "datacenter", ""}:
        return ()
    if pool.driver is not None and pool.driver < FIRST_IN_WSL:
        fact = Fact(
            "the ordinary Windows driver holds CUDA for WSL 2 from R495 on; before, a preview driver did",
            _SOURCE,
            _DATE,
        )
        stated = as_stated(pool.driver)
        if pool.driver.branch < _LIBRARY_SINCE and pool.driver.branch not in _PREVIEWS:
            fact = replace(fact, source=f"{_SOURCE} ; {_WITHOUT}")
            message = (
                f"Windows driver {pool.driver} has no CUDA for WSL 2: before R471 only the preview drivers of branches "
                "455, 460, 465 and 470 had it"
            )
            return (refuse(ID, message, fact, FIRST_IN_WSL),)
        message = f"Windows driver {stated} has CUDA for WSL 2 only as a preview" if stated else fact.text
        return (warn(ID, message, fact),)
    if image.framework == "rapids" and pool.gpu.capability < ComputeCapability(7, 0):
        fact = Fact("RAPIDS under WSL 2 is for Volta and newer GPUs", "https://docs.rapids.ai/install/", _DATE)
        return (refuse(ID, f"RAPIDS does not run on {pool.gpu.name} under WSL 2", fact),)
    if pool.gpu.mig:
        fact = Fact("MIG does not exist under Windows", _SOURCE, _DATE)
        return (unknown(ID, "it is not known whether MIG slices work under WSL 2", fact),)
    fact = Fact("the driver of Windows counts; no Linux driver is installed inside WSL 2", _SOURCE, _DATE)
    return (note(ID, "WSL 2 uses the driver of Windows, with its own floors", fact),)


def _missing_there(remarks: str) -> str:
    """The part of the driver that a program needs and WSL 2 lacks; empty where it needs none."""
    if needs_opencl(remarks) and not _POCL.search(remarks):
        return "OpenCL"
    return "OptiX" if affirmed(remarks, _OPTIX) else ""


def _old_windows(remarks: str) -> str:
    """A release of Windows before the first with GPUs in WSL 2, as the case names it; empty where it names none."""
    if builds := [int(first or second) for first, second in _BUILD.findall(remarks)]:
        return f"Windows build {max(builds)}" if max(builds) < _FIRST_WINDOWS else ""
    old = None if _LATER_RELEASE.search(remarks) else _OLD_RELEASE.search(remarks)
    return f"Windows 10 {old[1].upper()}" if old is not None else ""


RULE = Rule(
    id=ID,
    title="WSL 2",
    says=(
        "CUDA in WSL 2 uses the driver of Windows (its versions, its floors), for Pascal and newer GPUs; a Linux "
        "driver must not be installed inside, and compat packages do not work. Before R495 only preview drivers had it "
        "(455, 460, 465 and 470), and from 471 on ordinary ones did without being supported. Windows itself must be "
        "11, or 10 from 21H2 on, and the card in WDDM mode, not TCC; WSL 1 has no GPUs, and "
        "WSL 2 neither OpenCL nor OptiX."
    ),
    sources=(_SOURCE, *_WINDOWS.split(" ; ")),
    severity=Severity.REFUSE,
    check=check,
    of_pool=("gpu", "driver", "host"),
    passing={"gpu": "RTX 4090", "driver": "580.88", "cuda": "12.8", "host": "wsl"},
    failing={"gpu": "GTX 970", "driver": "537.13", "cuda": "11.8", "host": "wsl"},
    undecided={"gpu": "A100 MIG 1g.5gb", "driver": "580.88", "cuda": "12.8", "host": "wsl"},
)
