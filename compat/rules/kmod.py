"""R-KMOD: open and proprietary kernel modules."""

from compat.facts import tables
from compat.facts.rows import Architecture
from compat.rules.rule import Rule, as_stated
from compat.values.fact import Fact
from compat.values.findings import Finding, Setting, refuse, unknown, warn
from compat.values.hosts import Gpu, PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import DriverVersion

ID = "R-KMOD"
_SOURCE = "https://developer.nvidia.com/blog/nvidia-transitions-fully-towards-open-source-gpu-kernel-modules"
_DATE = "2026-11-20"
_FIRST_OPEN = 515
_OPT_IN = "https://github.com/NixOS/nixpkgs/pull/499412"
_WITHOUT_OPT_IN = DriverVersion.parse("545.23.06")
_OPT_IN_DATE = "2026-11-23"
_OPT_IN_CLASSES = frozenset({"geforce", "workstation"})


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:  # noqa: ARG001 - every rule has this shape
    if not pool.kernel_module:
        return ()
    gpu = pool.gpu
    arch = tables.architectures().get(gpu.capability)
    if arch is None:
        fact = Fact(f"no table has compute capability {gpu.capability}", _SOURCE, "", verified=False)
        return (
            unknown(
                ID,
                f"which modules {gpu.name} needs is not known: gpu-commons facts gpu_arch lists what is",
                fact,
            ),
        )
    if pool.kernel_module == "open":
        return _open(gpu, arch, pool.driver)
    word = arch.open_kernel_module
    if word.startswith("required") or ("GH200" in word and ("GH200" in gpu.name or "Grace" in gpu.name)):
        fact = Fact("Blackwell and Grace Hopper are driven by the open kernel modules only", _SOURCE, _DATE)
        return (refuse(ID, f"{gpu.name} needs the open kernel modules", fact, Setting("kernel_module", "open")),)
    return ()


def _open(gpu: Gpu, arch: Architecture, driver: DriverVersion | None) -> tuple[Finding, ...]:
    if arch.open_kernel_module.startswith("not supported"):
        fact = Fact("open kernel modules serve Turing and newer", _SOURCE, _DATE)
        message = f"the open kernel modules do not support {gpu.name} ({arch.name})"
        return (refuse(ID, message, fact, Setting("kernel_module", "proprietary")),)
    if driver is None:
        return ()
    if driver.branch < _FIRST_OPEN:
        exist = f"exist from branch {_FIRST_OPEN} on"
        fact = Fact(f"open kernel modules {exist}", _SOURCE, _DATE)
        stated = as_stated(driver)
        message = f"driver {stated} has no open kernel modules: they {exist}" if stated else fact.text
        return (refuse(ID, message, fact, DriverVersion.parse("515.43.04")),)
    if driver < _WITHOUT_OPT_IN and gpu.product_class in _OPT_IN_CLASSES:
        fact = Fact(f"the open kernel modules need no opt-in from {_WITHOUT_OPT_IN} on", _OPT_IN, _OPT_IN_DATE)
        message = (
            f"before driver {_WITHOUT_OPT_IN} the open kernel modules drive {gpu.name} only if the host sets "
            "NVreg_OpenRmEnableUnsupportedGpus=1"
        )
        return (warn(ID, message, fact),)
    return ()


RULE = Rule(ID, check, sources=(_SOURCE, _OPT_IN, "github:NVIDIA/cloud-native-docs gpu-operator/platform-support.rst"))
