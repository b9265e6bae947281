"""R-KMOD: open and proprietary kernel modules."""

from __future__ import annotations

from compat import tables
from compat.model import Fact, Finding, ImageFacts, Platform, PoolFacts, Setting, Severity
from compat.rules.rule import Rule, refuse, said, unknown
from compat.versions import ComputeCapability, DriverVersion

ID = "R-KMOD"
_SOURCE = "https://developer.nvidia.com/blog/nvidia-transitions-fully-towards-open-source-gpu-kernel-modules"
_DATE = "2026-11-20"
_FIRST_OPEN = 515


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:  # noqa: ARG001 - every rule has this shape
    if not pool.kernel_module or pool.platform in {Platform.JETSON, Platform.WINDOWS}:
        return ()
    branch = pool.driver.branch if pool.driver else None
    written = said(pool.driver) if pool.driver else ""
    return _check(pool.kernel_module, pool.gpu.capability, pool.gpu.name, branch, written)


def _check(module: str, gpu: ComputeCapability, name: str, branch: int | None, said: str) -> tuple[Finding, ...]:
    arch = tables.architectures().get(gpu)
    if arch is None:
        fact = Fact(f"no table has compute capability {gpu}", _SOURCE, "", verified=False)
        return (unknown(ID, f"it is not known which kernel modules {name} ({gpu}) needs", fact),)
    word = arch.open_kernel_module
    if module == "open":
        if word.startswith("not supported"):
            fact = Fact("open kernel modules serve Turing and newer", _SOURCE, _DATE)
            message = f"the open kernel modules do not know {name} ({arch.name})"
            return (refuse(ID, message, fact, Setting("kernel_module", "proprietary")),)
        if branch is not None and branch < _FIRST_OPEN:
            exist = f"exist from branch {_FIRST_OPEN} on"
            fact = Fact(f"open kernel modules {exist}", _SOURCE, _DATE)
            message = f"driver {said} has no open kernel modules: they {exist}" if said else fact.text
            return (refuse(ID, message, fact, DriverVersion.parse("515.43.04")),)
        return ()
    only_open = word.startswith("required") or ("GH200" in word and ("GH200" in name or "Grace" in name))
    if only_open:
        fact = Fact("Blackwell and Grace Hopper are driven by the open kernel modules only", _SOURCE, _DATE)
        return (refuse(ID, f"{name} needs the open kernel modules", fact, Setting("kernel_module", "open")),)
    return ()


RULE = Rule(
    id=ID,
    title="Kernel modules",
    says=(
        "The open kernel modules exist from branch 515 on and serve Turing and newer; Blackwell and Grace Hopper need "
        "them, Maxwell, Pascal and Volta need the proprietary ones."
    ),
    sources=(_SOURCE, "github:NVIDIA/cloud-native-docs gpu-operator/platform-support.rst"),
    severity=Severity.REFUSE,
    check=check,
    of_pool=("gpu", "driver", "platform", "kernel_module"),
    passing={"gpu": "T4", "driver": "560.35.03", "cuda": "12.6", "kernel_module": "open"},
    failing={"gpu": "GTX 1070 Ti", "driver": "560.35.03", "cuda": "11.8", "kernel_module": "open"},
    undecided={"compute_capability": "99.0", "driver": "580.95.05", "cuda": "12.6", "kernel_module": "open"},
)
