"""The host part of a case to pools that it may mean: GPU, driver, runtime, processor."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from operator import attrgetter
from types import MappingProxyType

from compat import mig, names, readings, tables
from compat.case import CLASSES, HOSTS, MODULES, POOL_FIELDS, SYSTEMS, Case, Problem
from compat.model import Fact, Gpu, GpuDrivers, Platform, PoolFacts, Present, Surroundings
from compat.reading import AS_GIVEN, Axis, Reader, Reading
from compat.rules import eks, operator
from compat.rules.rule import note, warn
from compat.tables import GpuModel
from compat.versions import ComputeCapability, DriverVersion, JetsonVersion, VersionError

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

_of_host = attrgetter(*(field for field in POOL_FIELDS if field != "driver"))


def read_pools(case: Case) -> Reading[PoolFacts]:
    """Pools that a case may mean: one for each GPU and driver that its words leave open.

    `driver` is None where nothing says it: then any may be meant.
    """
    host = _read_host(*_of_host(case))
    around, driver = host.around, _NO_DRIVER
    if host.is_jetson:
        jetpack = case.build if "jetpack" in case.build.lower() or "l4t" in case.build.lower() else ""
        around, problems = _with_l4t(around, case.driver, jetpack)
    else:
        driver = _read_driver(case.driver, case.operator, case.ami_release, around.platform)
        problems = driver.problems
    gpus = host.gpus
    if problems := (*gpus.problems, *problems):
        return Reading((), gpus.notes, (*gpus.open, *driver.open), problems)
    values = tuple([PoolFacts(gpu, one, around) for gpu in gpus.values for one in _with_turns(driver.values, gpu)])
    return Reading(values, gpus.notes, (*gpus.open, *driver.open))


def lowest_driver(pools: Iterable[PoolFacts]) -> DriverVersion | None:
    """The lowest driver that may be meant; None where nothing says one."""
    drivers = [pool.driver for pool in pools]
    return min((each for each in drivers if each is not None), default=None) if None not in drivers else None


_NO_DRIVER: Reading[DriverVersion | None] = Reading((None,))


@dataclass(frozen=True, slots=True)
class _Host:
    """A host without its driver."""

    gpus: Reading[Gpu]
    around: Surroundings
    is_jetson: bool


@lru_cache(4096)
def _read_host(  # noqa: PLR0913, PLR0917 - the key of the cache: the fields that say what a host is
    gpu: str,
    compute_capability: str,
    gpu_class: str,
    host: str,
    container_toolkit: str,
    os: str,
    cpu_arch: str,
    instance_type: str,
    ami_release: str,
    kernel_module: str,
    installer: str,
    host_glibc: str,
) -> _Host:
    reader = Reader()
    kind = reader.one_of("gpu_class", gpu_class, CLASSES)
    runtime = reader.one_of("host", host, HOSTS)
    system = reader.one_of("os", os, SYSTEMS)
    module = reader.one_of("kernel_module", kernel_module, MODULES)
    gpus = _gpus(reader, gpu, instance_type, compute_capability, kind)
    reader.read("container_toolkit", container_toolkit, readings.read_release)
    reader.read("host_glibc", host_glibc, readings.read_release)
    cpu = _processor(reader, cpu_arch, instance_type, gpus)
    jetson = system == "l4t" or any(each.product_class == "jetson" for each in gpus)
    platform = _platform(jetson=jetson, windows=system == "windows" or runtime == "wsl", arm=cpu == "arm64")
    if reader.problems:
        return _Host(reader.done(()), Surroundings(), is_jetson=jetson)
    around = _surroundings(
        platform, runtime, container_toolkit, module, cpu, host_glibc, instance_type.lower(), ami_release, installer
    )
    return _Host(reader.done(gpus), around, is_jetson=jetson)


@lru_cache(4096)
def _surroundings(  # noqa: PLR0913, PLR0917 - the key of the cache: equal words, one object
    platform: Platform,
    host: str,
    container_toolkit: str,
    kernel_module: str,
    cpu: str,
    host_glibc: str,
    instance_type: str,
    ami_release: str,
    installer: str,
) -> Surroundings:
    return Surroundings(
        platform=platform,
        host=host,
        container_toolkit=readings.read_release(container_toolkit) if container_toolkit else None,
        kernel_module=kernel_module,
        cpu_architecture=cpu,
        glibc=readings.read_release(host_glibc) if host_glibc else None,
        instance_type=instance_type,
        ami_release=ami_release,
        operator=installer,
    )


@lru_cache(1024)
def _with_l4t(around: Surroundings, driver: str, jetpack: str) -> tuple[Surroundings, tuple[Problem, ...]]:
    """On a Jetson the driver is its L4T release, which the name of a JetPack says as well."""
    reader = Reader()
    release = reader.read("driver", driver, readings.read_jetson) or l4t_in(jetpack)
    return replace(around, jetson=release), tuple(reader.problems)


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
        models = names.find_gpus(name)
    except names.UnknownGpu as error:
        if capability is not None:
            return _by_capability(reader, capability, name, kind)
        reader.problem("gpu" if gpu else "instance_type", name, error.reason, error.fix)
        return ()
    found = _known(models, kind, name)
    if profile := names.vgpu_profile(name):
        reader.notes.append(note("R-GFD", f"{profile} is a vGPU: {_VGPU.text}", _VGPU))
    if capability is not None:
        return _as_measured(reader, found, capability, kind)
    if len(found) > 1:
        reader.open.append(Axis("gpu", _which(name.strip()[:40], models)))
    return found


def _which(name: str, models: tuple[GpuModel, ...]) -> str:
    """What to write instead of a name that several GPUs have."""
    if names.is_nameless(name):
        return f"which GPU it is ({_NAMELESS})"
    called = list(dict.fromkeys(model.name for model in models))
    shown = " or ".join(called[:_SHOWN]) + (" or …" if len(called) > _SHOWN else "")
    capabilities = sorted({model.compute_capability for model in models})
    measured = f"; compute_capability {' or '.join(map(str, capabilities))} tells" if len(capabilities) > 1 else ""
    return f"which {name} it is ({shown}{measured})"


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
    found: dict[Hashable, Gpu] = {}
    for model in models:
        product_class, forward = kind or model.product_class, _forward(model)
        text = f"{model.name} has compute capability {model.compute_capability}"
        fact = model.origin.fact(text, "compute_capability")
        shown = model.name if len(models) == 1 else name.strip()[:80]
        profile = names.mig_profile(name)
        sliced_from, mig_fact = (profile and mig.first_driver(model)) or (None, None)
        last, last_fact = _dropped_early(model)
        gpu = Gpu(
            name=shown,
            capability=model.compute_capability,
            architecture=model.family,
            product_class=product_class,
            forward_compat=forward,
            fact=fact,
            mig=profile,
            mig_driver=sliced_from,
            mig_fact=mig_fact,
            drivers=_drivers_of(model),
            last_branch=last,
            last_fact=last_fact,
        )
        key = (gpu.capability, product_class, forward, model.not_in_drivers, model.chips, last, sliced_from)
        found.setdefault(key, gpu)
    return tuple(found.values())


def _dropped_early(model: GpuModel) -> tuple[int | None, Fact | None]:
    """The last branch of a board that drivers dropped before others of its architecture."""
    arch, last = tables.architectures().get(model.compute_capability), model.last_driver_branch
    if arch is None or last is None or last == arch.last_branch:
        return None, None
    return last, model.origin.fact(f"the last driver branch for {model.name} is {last}", "last_driver_branch")


def _drivers_of(model: GpuModel) -> GpuDrivers | None:
    """None where no source tells the first driver of this very model; its architecture's counts then."""
    if not model.not_in_drivers:
        return None
    boards = _boards_by_chip()
    return replace(_named_by(model), boards=tuple(boards[chip] for chip in model.chips))


def _named_by(model: GpuModel) -> GpuDrivers:
    first, before = (" and ".join(map(str, each)) for each in (model.first_drivers, model.not_in_drivers))
    text = f"NVIDIA names {model.name} from driver {first} on, not yet in {before}"
    return GpuDrivers(model.first_drivers, model.not_in_drivers, model.origin.fact(text, "first_driver"))


@cache
def _boards_by_chip() -> dict[str, tuple[GpuDrivers, ...]]:
    """Boards by whose drivers a chip is known, the first ones alone: what they are in, the later ones are in too.

    A board that was made with several chips tells nothing of one.
    """
    found: dict[str, tuple[GpuDrivers, ...]] = {chip: () for model in tables.gpu_models() for chip in model.chips}
    for model in sorted(tables.gpu_models(), key=lambda each: (each.first_drivers, each.name)):
        if len(model.chips) != 1 or not model.not_in_drivers:
            continue
        before = found[model.chips[0]]
        if not any(all(not each.lack(first) for first in model.first_drivers) for each in before):
            found[model.chips[0]] = (*before, _named_by(model))
    return found


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


@lru_cache(4096)
def _read_driver(driver: str, installer: str, ami_release: str, platform: Platform) -> Reading[DriverVersion | None]:
    reader = Reader()
    return reader.done(_drivers(reader, driver, installer, ami_release, platform))


def _drivers(
    reader: Reader, driver: str, installer: str, ami_release: str, platform: Platform
) -> tuple[DriverVersion | None, ...]:
    if driver:
        drivers = reader.read("driver", driver, readings.read_drivers) or ()
        if len(drivers) > 1:
            reader.open.append(Axis("driver", f"which release of branch {drivers[0].branch} it is"))
            return _of_branch(drivers[0].branch, platform)
        return tuple(each.given_as(_as_written(each, driver)) for each in drivers)
    if installer and (row := operator.operator_row(installer)) is not None:
        default = operator.driver_of(row)
        return (default.given_as(str(default)),)
    if ami_release and (found := eks.drivers_of(ami_release, arm=platform is Platform.LINUX_ARM)):
        if len(found) > 1:
            kind, _ = eks.read_release(ami_release)
            missing = "the Kubernetes version" if kind else "the Kubernetes version and the AMI type"
            reader.open.append(Axis("ami_release", missing))
        return found
    reader.open.append(Axis("driver", "the driver"))
    return (None,)


def _as_written(driver: DriverVersion, text: str) -> str:
    """The spelling of the case: 418.88.00 and 418.88 are one release."""
    found = re.search(rf"{driver.branch}\.{driver.minor:02d}(?:\.\d\d)?(?!\d)", text)
    return found[0] if found else str(driver)


def _of_branch(branch: int, platform: Platform) -> tuple[DriverVersion, ...]:
    """A bare branch: its first release and its last, which print as the branch, and between them each that counts.

    On Windows R470 is 471 to 474, and starts with a floor; of a number in between any release is meant.
    """
    top = tables.counted_to(branch, platform)
    named = sorted(
        {
            floor
            for each in tables.toolkits()
            for floor in (tables.floor_of(each, platform)[0], tables.minor_floor_of(each, platform)[0])
            if floor is not None and branch <= floor.branch <= top
        }
    )
    first, last = tables.first_release(branch), DriverVersion.end_of(top)
    if platform is Platform.WINDOWS:
        first = named[0] if named and branch in tables.driver_branches() else DriverVersion.start_of(branch)
    ends = (first.given_as(str(branch)), last.given_as(str(branch)))
    return (ends[0], *(each for each in named if first < each < last), ends[1])


def _with_turns(drivers: tuple[DriverVersion | None, ...], gpu: Gpu) -> tuple[DriverVersion | None, ...]:
    """A range of drivers with the first ones of this very GPU in it."""
    low, high = drivers[0], drivers[-1]
    if gpu.drivers is None or low is None or high is None or low.branch != high.branch or low == high:
        return drivers
    turns = (each for each in gpu.drivers.turns if low < each < high)
    return (low, *sorted({*drivers[1:-1], *turns}), high)  # type: ignore[type-var]  # only a range holds None alone
