"""Makes a host from values (`host_of`) or from a case's host fields (`read_host`).

`may_be` are the possible pools: one if all is known, several if a name is sold with several chips or a driver is a
bare branch. `shown` holds the host fields of a case for output.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from packaging.version import Version

from compat.evidence.case import CLASSES, HOSTS, MODULES, SYSTEMS, UNREAD, Case, CaseError, OpenField, Problem, Reader
from compat.evidence.drivers import driver_of, operator_row, releases_of
from compat.evidence.machine_images import drivers_of, read_release
from compat.evidence.names import gpu_names, typed, words
from compat.evidence.names.gpus import gpus_of, gpus_with, processor_beside
from compat.facts import tables
from compat.facts.rows import GpuModel
from compat.values.fact import THE_CASE, Fact
from compat.values.findings import Finding, Setting, note, unknown, warn
from compat.values.hosts import Gpu, Platform, PoolFacts
from compat.values.versions import ComputeCapability, DriverVersion

NOT_COVERED = unknown(
    UNREAD,
    "gpu-commons answers for Linux hosts with NVIDIA's data-centre, workstation and GeForce GPUs; it does not cover "
    "Windows, WSL or Jetson",
    Fact("the host is one of Windows, WSL or Jetson", THE_CASE, ""),
)
_PROCESSORS = {
    **dict.fromkeys(("amd64", "x86_64", "x86-64", "x64"), "amd64"),
    **dict.fromkeys(("arm64", "aarch64", "sbsa"), "arm64"),
    "ppc64le": "ppc64le",
}
_VGPU = Fact(
    "the driver that counts is the one of the vGPU software in the guest, and that must fit the host's",
    "https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/index.html",
    "2026-11-21",
)
_NAMELESS = (
    "a driver shows this for a board that it has no name for; write the model, or compute_capability, which "
    "nvidia-smi --query-gpu=compute_cap shows"
)
_SHOWN = 4  # names of models in one message


@dataclass(frozen=True, slots=True)
class Host:
    """A host, as far as known. Hosts with the same text are equal; 418.88 and 418.88.00 are different texts.

    `may_be` is empty for a host that is not covered: Windows, WSL or Jetson.
    """

    may_be: tuple[PoolFacts, ...] = field(compare=False)
    shown: Case
    notes: tuple[Finding, ...] = field(default=(), compare=False)
    open: tuple[OpenField, ...] = field(default=(), compare=False)

    @property
    def is_covered(self) -> bool:
        return bool(self.may_be)


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool by name, and its nodes."""

    name: str
    host: Host


def lowest_driver(pools: Iterable[PoolFacts]) -> DriverVersion | None:
    """The lowest driver that may be meant; None if none is stated."""
    drivers = [pool.driver for pool in pools]
    return min((each for each in drivers if each is not None), default=None) if None not in drivers else None


# --- from values


def host_of(
    model: GpuModel,
    driver: DriverVersion | None,
    *,
    container_toolkit: Version | None = None,
    host: str = "kubernetes",
    glibc: Version | None = None,
) -> Host:
    """A Linux host with a GPU of the tables. If the name is sold with several chips, the chip stays open."""
    models = gpu_names.sold_as(model)
    gpus = gpus_of(models, model.name)
    processor = processor_beside(gpus)
    pools = tuple(
        PoolFacts(
            gpu,
            None if driver is None else driver.given_as(str(driver)),
            Platform.LINUX_ARM if processor == "arm64" else Platform.LINUX,
            host=host,
            container_toolkit=container_toolkit,
            cpu_architecture=processor,
            glibc=glibc,
        )
        for gpu in gpus
    )
    shown = Case(
        gpu=model.name,
        driver=str(driver or ""),
        container_toolkit=str(container_toolkit or ""),
        host=host,
        host_glibc=str(glibc or ""),
    )
    which = (_which_gpu(model.name, models),) if len(gpus) > 1 else ()
    which_driver = (OpenField("driver", "the driver"),) if driver is None else ()
    return Host(pools if model.product_class != "jetson" else (), shown, open=(*which, *which_driver))


def with_any_name(host: Host, name: str) -> Host:
    """The host with another GPU name in messages, such as `the GPU`, to compare answers of different models."""
    return replace(host, may_be=tuple(replace(pool, gpu=replace(pool.gpu, name=name)) for pool in host.may_be))


def with_setting(pools: tuple[PoolFacts, ...], setting: Setting) -> tuple[PoolFacts, ...]:
    """The pools after a change of one host setting; settings of the image do not change them."""
    if setting.field == "ami_release":
        return tuple(each for pool in pools for each in _on_machine_image(pool, str(setting.to)))
    if setting.field not in {"kernel_module", "container_toolkit", "host"}:
        return pools
    changes: dict[str, Any] = {setting.field: setting.to}
    return tuple(replace(pool, **changes) for pool in pools)


def _on_machine_image(pool: PoolFacts, release: str) -> Iterator[PoolFacts]:
    """Without the driver that came with the old machine image."""
    arm = pool.cpu_architecture == "arm64"
    own = pool.driver is None or pool.driver in drivers_of(pool.ami_release, arm=arm)
    drivers = drivers_of(release, arm=pool.platform is Platform.LINUX_ARM) if own else ()
    for driver in drivers or (pool.driver,):
        yield replace(pool, driver=driver, ami_release=release)


# --- from the fields of a case


def read_host(case: Case) -> Host:
    """The host of a case: the possible pools. Raises CaseError with every field that cannot be read.

    The driver is None if it is not stated: it may be any.
    """
    host, problems = try_host(case)
    if problems:
        raise CaseError(list(problems))
    return host


def try_host(case: Case, *, lenient: bool = False) -> tuple[Host, tuple[Problem, ...]]:
    """The same with problems as values; if there are any, the host has no pools.

    With `lenient`, only a GPU that cannot be read is a problem; other fields count as absent, with a note.
    """
    if case.instance_type:
        case = replace(case, instance_type=case.instance_type.lower())
    reader = Reader(lenient=lenient)
    kind = reader.one_of("gpu_class", case.gpu_class, CLASSES)
    runtime = reader.one_of("host", words.runtime(case.host), HOSTS)
    system = reader.one_of("os", words.system(case.os), SYSTEMS)
    if kind == "jetson" or runtime == "wsl" or system in {"windows", "l4t"} or words.names_jetson(case.gpu):
        return Host((), case), tuple(reader.problems)
    module = reader.one_of("kernel_module", words.module(case.kernel_module), MODULES)
    gpus = _gpus(reader, case, case.compute_capability, kind)
    toolkit = reader.read("container_toolkit", case.container_toolkit, typed.read_release)
    glibc = reader.read("host_glibc", case.host_glibc, typed.read_release)
    cpu = _processor(reader, case.cpu_arch, case.instance_type, gpus)
    platform = Platform.LINUX_ARM if cpu == "arm64" else Platform.LINUX
    branch, drivers = _drivers(reader, case, platform)
    pools = tuple(
        PoolFacts(
            gpu,
            driver,
            platform,
            host=runtime,
            container_toolkit=toolkit,
            kernel_module=module,
            cpu_architecture=cpu,
            glibc=glibc,
            instance_type=case.instance_type,
            ami_release=case.ami_release,
            operator=case.operator,
        )
        for gpu in gpus
        if gpu.product_class != "jetson"
        for driver in (drivers if branch is None else releases_of(branch, platform, gpu))
    )
    host = Host(() if reader.problems else pools, case, tuple(reader.notes), tuple(reader.open))
    return host, tuple(reader.problems)


def _gpus(reader: Reader, case: Case, compute_capability: str, kind: str) -> tuple[Gpu, ...]:
    gpu, instance_type = case.gpu, case.instance_type
    capability = reader.read("compute_capability", compute_capability, typed.read_capability)
    name = gpu or instance_type
    if not name:
        if not compute_capability:
            fix = "write a name such as Tesla T4, or compute_capability such as 7.5"
            reader.problem("gpu", "", "is missing", fix, is_essential=True)
        if capability is None:
            reader.essential()
        return () if capability is None else _by_capability(reader, capability, "", kind)
    try:
        models = gpu_names.find_gpus(name)
    except gpu_names.UnknownGpu as error:
        if capability is not None:
            return _by_capability(reader, capability, name, kind)
        if gpu and instance_type:
            return _gpus(reader, replace(case, gpu=""), "", kind)
        reader.problem("gpu" if gpu else "instance_type", name, error.reason, error.fix, is_essential=True)
        return ()
    found = gpus_of(models, name, kind, gpu_names.mig_profile(name))
    if profile := gpu_names.vgpu_profile(name):
        reader.notes.append(note("R-GFD", f"{profile} is a vGPU: {_VGPU.text}", _VGPU))
    if capability is not None:
        return _as_measured(reader, found, capability, kind)
    if len(found) > 1:
        reader.open.append(_which_gpu(name.strip()[:40], models))
    return found


def _as_measured(reader: Reader, found: tuple[Gpu, ...], capability: ComputeCapability, kind: str) -> tuple[Gpu, ...]:
    """A measured capability outranks the name: different chips share names, and tables have errors."""
    if kept := tuple(each for each in found if each.capability == capability):
        return kept
    first = found[0]
    message = f"{first.name} has compute capability {first.capability}; {capability} was given, and that counts"
    reader.notes.append(warn("R-GFD", message, first.fact))
    return _by_capability(reader, capability, first.name, kind)


def _by_capability(reader: Reader, capability: ComputeCapability, name: str, kind: str) -> tuple[Gpu, ...]:
    found = gpus_with(capability, name, kind)
    if len(found) > 1:
        reader.open.append(OpenField("gpu_class", "whether it is a data-centre GPU"))
    return found


def _which_gpu(name: str, models: tuple[GpuModel, ...]) -> OpenField:
    """The open field for a name of several GPUs, and what to write instead."""
    if gpu_names.is_nameless(name):
        return OpenField("gpu", f"which GPU it is ({_NAMELESS})")
    called = list(dict.fromkeys(model.name for model in models))
    shown = " or ".join(called[:_SHOWN]) + (" or …" if len(called) > _SHOWN else "")
    capabilities = sorted({model.compute_capability for model in models})
    measured = f"; compute_capability {' or '.join(map(str, capabilities))} tells" if len(capabilities) > 1 else ""
    return OpenField("gpu", f"which {name} it is ({shown}{measured})")


def _processor(reader: Reader, cpu_arch: str, instance_type: str, gpus: tuple[Gpu, ...]) -> str:
    if cpu_arch:
        found = _PROCESSORS.get(cpu_arch.lower().removeprefix("linux/"), "")
        if not found:
            reader.problem("cpu_arch", cpu_arch, "is not amd64, arm64 or ppc64le")
        return found
    if rows := tables.by_key("ec2_gpu_instances", "instance_type").get(instance_type.lower()):
        return rows[0]["host_arch"]
    return processor_beside(gpus)


def _drivers(reader: Reader, case: Case, platform: Platform) -> tuple[int | None, tuple[DriverVersion | None, ...]]:
    """The bare branch that the case names, or else the drivers that it may mean."""
    if drivers := reader.read("driver", case.driver, typed.read_drivers):
        if len(drivers) > 1:
            reader.open.append(OpenField("driver", f"which release of branch {drivers[0].branch} it is"))
            return drivers[0].branch, ()
        return None, tuple(each.given_as(_as_written(each, case.driver)) for each in drivers)
    if case.operator and (row := operator_row(case.operator)) is not None:
        default = driver_of(row)
        return None, (default.given_as(str(default)),)
    if case.ami_release and (found := drivers_of(case.ami_release, arm=platform is Platform.LINUX_ARM)):
        if len(found) > 1:
            kind, _ = read_release(case.ami_release)
            missing = "the Kubernetes version" if kind else "the Kubernetes version and the AMI type"
            reader.open.append(OpenField("ami_release", missing))
        return None, found
    reader.open.append(OpenField("driver", "the driver"))
    return None, (None,)


def _as_written(driver: DriverVersion, text: str) -> str:
    """The spelling of the case: 418.88.00 and 418.88 are one release."""
    found = re.search(rf"{driver.branch}\.{driver.minor:02d}(?:\.\d\d)?(?!\d)", text)
    return found[0] if found else str(driver)
