"""The host part of a case to pools that it may mean: GPU, driver, runtime, processor."""

from __future__ import annotations

import re
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType

from components.compat import names, readings, tables
from components.compat.case import CLASSES, HOSTS, MODULES, SYSTEMS, Case
from components.compat.model import Gpu, Platform, PoolFacts, Present
from components.compat.reading import AS_GIVEN, Axis, Reader, Reading
from components.compat.rules import eks, operator
from components.compat.rules.rule import warn
from components.compat.tables import GpuModel
from components.compat.versions import ComputeCapability, DriverVersion, JetsonVersion, VersionError

_PROCESSORS = MappingProxyType(
    {
        "amd64": "amd64",
        "x86_64": "amd64",
        "x86-64": "amd64",
        "x64": "amd64",
        "arm64": "arm64",
        "aarch64": "arm64",
        "sbsa": "arm64",
        "ppc64le": "ppc64le",
    }
)
_ARM_GPUS = re.compile(r"\bGH200|\bGB[123]00|\bGB10\b|\bT4G\b")
_NAMES_L4T = re.compile(r"\b(?:l4t[ -]*)?r(3\d\.\d+(?:\.\d+)?)\b|^(3\d\.\d+(?:\.\d+)?)$", re.IGNORECASE)
_NAMES_JETPACK = re.compile(r"\bjet ?pack[ -]*(\d\.\d(?:\.\d)?)", re.IGNORECASE)

_of_pool = attrgetter(
    "gpu",
    "compute_capability",
    "gpu_class",
    "driver",
    "host",
    "container_toolkit",
    "os",
    "cpu_arch",
    "instance_type",
    "ami_release",
    "kernel_module",
    "operator",
    "host_glibc",
)


def read_pools(case: Case) -> Reading[PoolFacts]:
    """Pools that a case may mean: one for each GPU and driver that its words leave open.

    `driver` is None where nothing says it: then any may be meant.
    """
    jetpack = case.build if "jetpack" in case.build.lower() or "l4t" in case.build.lower() else ""
    return _read_pools(*_of_pool(case), jetpack)


@lru_cache(16384)
def _read_pools(  # noqa: PLR0913, PLR0917 - the key of the cache: the fields that say what a host is
    gpu: str,
    compute_capability: str,
    gpu_class: str,
    driver: str,
    host: str,
    container_toolkit: str,
    os: str,
    cpu_arch: str,
    instance_type: str,
    ami_release: str,
    kernel_module: str,
    installer: str,
    host_glibc: str,
    jetpack: str,
) -> Reading[PoolFacts]:
    reader = Reader()
    kind = reader.one_of("gpu_class", gpu_class, CLASSES)
    runtime = reader.one_of("host", host, HOSTS)
    system = reader.one_of("os", os, SYSTEMS)
    module = reader.one_of("kernel_module", kernel_module, MODULES)
    gpus = _gpus(reader, gpu, instance_type, compute_capability, kind)
    toolkit = reader.read("container_toolkit", container_toolkit, readings.read_release)
    glibc = reader.read("host_glibc", host_glibc, readings.read_release)
    cpu = _processor(reader, cpu_arch, instance_type, gpus)
    jetson = system == "l4t" or any(each.product_class == "jetson" for each in gpus)
    platform = _platform(jetson=jetson, windows=system == "windows" or runtime == "wsl", arm=cpu == "arm64")
    release: JetsonVersion | None = None
    drivers: tuple[DriverVersion | None, ...] = (None,)
    if jetson:
        release = reader.read("driver", driver, readings.read_jetson) or l4t_in(jetpack)
    else:
        drivers = _drivers(reader, driver, installer, ami_release, arm=cpu == "arm64")
    return reader.done(
        tuple(
            PoolFacts(
                gpu=each,
                driver=one,
                jetson=release,
                platform=platform,
                host=runtime,
                container_toolkit=toolkit,
                kernel_module=module,
                cpu_architecture=cpu,
                glibc=glibc,
                instance_type=instance_type.lower(),
                ami_release=ami_release,
                operator=installer,
            )
            for each in gpus
            for one in drivers
        )
    )


def l4t_in(text: str) -> JetsonVersion | None:
    """The L4T release, or that of the JetPack, which a text names."""
    if match := _NAMES_L4T.search(text):
        return JetsonVersion.parse(match[1] or match[2])
    match = _NAMES_JETPACK.search(text)
    try:
        return readings.read_jetson(f"jetpack {match[1]}") if match else None
    except VersionError:
        return None


def _platform(*, jetson: bool, windows: bool, arm: bool) -> Platform:
    if jetson:
        return Platform.JETSON
    if windows:
        return Platform.WINDOWS
    return Platform.LINUX_ARM if arm else Platform.LINUX


def _gpus(reader: Reader, gpu: str, instance_type: str, compute_capability: str, kind: str) -> tuple[Gpu, ...]:
    capability = reader.read("compute_capability", compute_capability, readings.read_capability)
    name = gpu or instance_type
    if not name and not compute_capability:
        reader.problem("gpu", "", "is missing", "write a name such as Tesla T4, or compute_capability such as 7.5")
        return ()
    if not name:
        return _by_capability(reader, capability, "", kind) if capability is not None else ()
    try:
        found = _known(names.find_gpus(name), kind, name)
    except names.UnknownGpu as error:
        if capability is not None:
            return _by_capability(reader, capability, name, kind)
        near = f"did you mean {' or '.join(error.suggestions)}?" if error.suggestions else ""
        fix = near or "gpu-commons facts gpu_model lists the known ones; or give compute_capability"
        reader.problem("gpu" if gpu else "instance_type", name, error.reason, fix)
        return ()
    if capability is not None:
        return _as_measured(reader, found, capability, kind)
    if len(found) > 1:
        reader.open.append(Axis("gpu", f"which {name.strip()[:40]} it is"))
    return found


def _as_measured(reader: Reader, found: tuple[Gpu, ...], capability: ComputeCapability, kind: str) -> tuple[Gpu, ...]:
    """What was measured counts: chips are sold under one name, and tables err."""
    if kept := tuple(each for each in found if each.capability == capability):
        return kept
    first = found[0]
    message = f"{first.name} has compute capability {first.capability}; {capability} was given, and that counts"
    reader.notes.append(warn("R-GFD", message, first.fact))
    return _by_capability(reader, capability, first.name, kind)


def _by_capability(reader: Reader, capability: ComputeCapability, name: str, kind: str) -> tuple[Gpu, ...]:
    """No model: then every class that exists with this capability is possible."""
    shown = name.strip()[:80] or f"a GPU of compute capability {capability}"
    arch = tables.architectures().get(capability)
    family = arch.name.lower() if arch else ""
    found = {
        (model.product_class, _forward(model)): Gpu(
            shown, capability, family, model.product_class, _forward(model), AS_GIVEN
        )
        for model in tables.gpu_models()
        if model.compute_capability == capability and (not kind or model.product_class == kind)
    }
    if not found:
        forward = {"datacenter": Present.YES, "geforce": Present.NO}.get(kind, Present.UNKNOWN)
        return (Gpu(shown, capability, family, kind, forward, AS_GIVEN),)
    if len(found) > 1:
        reader.open.append(Axis("gpu_class", "whether it is a data-centre GPU"))
    return tuple(found.values())


@lru_cache(4096)
def _known(models: tuple[GpuModel, ...], kind: str, name: str) -> tuple[Gpu, ...]:
    """Models that agree in all that decides are one GPU, by the name that the user wrote."""
    found: dict[tuple[ComputeCapability, str, Present], Gpu] = {}
    for model in models:
        product_class, forward = kind or model.product_class, _forward(model)
        text = f"{model.name} has compute capability {model.compute_capability}"
        fact = model.origin.fact(text, "compute_capability")
        shown = model.name if len(models) == 1 else name.strip()[:80]
        mig = names.mig_profile(name)
        gpu = Gpu(shown, model.compute_capability, model.family, product_class, forward, fact, mig)
        found.setdefault((gpu.capability, product_class, forward), gpu)
    return tuple(found.values())


def _forward(model: GpuModel) -> Present:
    if model.product_class == "workstation" and "RTX" not in model.name:
        return Present.NO  # NVIDIA's selection is one of RTX cards
    word = model.forward_compat.split(" ")[0]
    return {"yes": Present.YES, "no": Present.NO}.get(word, Present.UNKNOWN)


def _processor(reader: Reader, cpu_arch: str, instance_type: str, gpus: tuple[Gpu, ...]) -> str:
    if said := cpu_arch.lower():
        if said not in _PROCESSORS:
            reader.problem("cpu_arch", cpu_arch, "is not amd64, arm64 or ppc64le")
        return _PROCESSORS.get(said, "")
    if rows := tables.by_key("ec2_gpu_instances", "instance_type").get(instance_type.lower()):
        return rows[0]["host_arch"]
    if gpus and (gpus[0].product_class == "jetson" or _ARM_GPUS.search(gpus[0].name)):
        return "arm64"
    return ""


def _drivers(
    reader: Reader, driver: str, installer: str, ami_release: str, *, arm: bool
) -> tuple[DriverVersion | None, ...]:
    if driver:
        drivers = reader.read("driver", driver, readings.read_drivers) or ()
        if len(drivers) > 1:
            reader.open.append(Axis("driver", f"which release of branch {drivers[0].branch} it is"))
        return drivers
    if installer and (row := operator.operator_row(installer)) is not None:
        return (operator.driver_of(row),)
    if ami_release and (ami := eks.row_of(ami_release, arm=arm)) is not None and (found := eks.driver_of(ami)):
        return (found,)
    reader.open.append(Axis("driver", "the driver"))
    return (None,)
