"""The host part of a case to pools that it may mean: GPU, driver, runtime, processor."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from compat.evidence.case import CLASSES, HOSTS, MODULES, SYSTEMS, Case, CaseError, Problem
from compat.evidence.drivers import releases_of
from compat.evidence.gpu_operator import driver_of, operator_row
from compat.evidence.host import Host, platform_of, which_gpu
from compat.evidence.machine_images import drivers_of, read_release
from compat.evidence.problems import Axis, Reader
from compat.evidence.prose.driver_words import cuda_of_driver
from compat.evidence.prose.patterns import pattern
from compat.evidence.reading import names, words
from compat.evidence.reading import typed as readings
from compat.evidence.reading.gpus import gpus_of, gpus_with, is_jetson, processor_beside
from compat.facts import tables
from compat.rules.rule import note, warn
from compat.values.model import Fact, Gpu, Platform, PoolFacts
from compat.values.versions import ComputeCapability, DriverVersion, JetsonVersion, VersionError

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
_NAMES_L4T = pattern(r"\b(?:l4t[ -]*r?|r)(3\d\.\d+(?:\.\d+)?)\b|^(3\d\.\d+(?:\.\d+)?)$", re.IGNORECASE)
_NAMES_JETPACK = pattern(r"\bjet ?pack[ -]*(\d\.\d(?:\.\d)?)", re.IGNORECASE)

_VGPU = Fact(
    "the driver that counts is the one of the vGPU software in the guest, and that must fit the host's",
    "https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/index.html",
    "2026-11-21",
)


def read_host(case: Case) -> Host:
    """The host of a case: the pools that it may mean. Raises CaseError with every field that cannot be read.

    The driver is None where nothing states it: then any may be meant.
    """
    host, problems = try_host(case)
    if problems:
        raise CaseError(list(problems))
    return host


def try_host(case: Case, *, lenient: bool = False) -> tuple[Host, tuple[Problem, ...]]:
    """The same with the problems as values; the host is empty where there are any.

    With `lenient`, only a GPU that cannot be read is a problem; other fields count as absent, with a note.
    """
    if case.instance_type:
        case = replace(case, instance_type=words.instance_type(case.instance_type))
    reader = Reader(lenient=lenient)
    kind = reader.one_of("gpu_class", case.gpu_class, CLASSES)
    runtime = reader.one_of("host", words.runtime(case.host), HOSTS)
    system = reader.one_of("os", words.system(case.os), SYSTEMS)
    if words.is_wsl(case.os) or (system == "windows" and runtime == "docker"):
        runtime = "wsl"  # Docker on Windows runs Linux containers there
    module = reader.one_of("kernel_module", words.module(case.kernel_module), MODULES)
    measured = case.compute_capability or _reported(case.build)
    gpus = _gpus(reader, case, measured, kind)
    toolkit = reader.read("container_toolkit", case.container_toolkit, readings.read_release)
    glibc = reader.read("host_glibc", case.host_glibc, readings.read_release)
    cpu = _processor(reader, case.cpu_arch, case.instance_type, gpus)
    jetson = system == "l4t" or is_jetson(gpus)
    platform = platform_of(jetson=jetson, windows=system == "windows" or runtime == "wsl", arm=cpu == "arm64")
    releases = _jetsons(reader, case, runtime, gpus) if jetson else (None,)
    branch, drivers = (None, (None,)) if jetson else _drivers(reader, case, platform)
    pools = tuple(
        PoolFacts(
            gpu,
            driver,
            platform,
            jetson=release,
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
        for release in releases
        for driver in (drivers if branch is None else releases_of(branch, platform, gpu))
    )
    host = Host(() if reader.problems else pools, case, tuple(reader.notes), tuple(reader.open))
    return host, tuple(reader.problems)


def _jetsons(reader: Reader, case: Case, runtime: str, gpus: tuple[Gpu, ...]) -> tuple[JetsonVersion | None, ...]:
    """Releases of Jetson Linux that the case may mean: of a JetPack's major those for the module.

    Without a container, a CUDA beside the major is the one that the JetPack brought. Without a driver, the system's
    name counts: `JetPack 5.1.2`, `Ubuntu 20.04 (L4T R35.4.1)`.
    """
    text = case.driver
    found = reader.read("driver", text, readings.read_jetsons)
    rows = {row.l4t: row for row in tables.jetsons()}
    if found is None and (named := l4t_in(case.os)) is not None:
        return (named,)
    if found is None and (reported := cuda_of_driver(case.build)):
        found = tuple(row.l4t for row in rows.values() if str(row.cuda.line) == reported)
    if not found:
        return (None,)
    fitting = tuple(
        each for each in found if each in rows and any(gpu.capability in rows[each].modules for gpu in gpus)
    )
    if len(fitting) > 1 and case.cuda and runtime in {"", "bare"} and not case.image:
        line = case.cuda.strip().rpartition(" ")[2]
        fitting = tuple(each for each in fitting if str(rows[each].cuda.line) == line) or fitting
    if len(fitting or found) > 1:
        reader.open.append(Axis("driver", f"which release of {text.strip()[:40] or 'Jetson Linux'} it is"))
    return fitting or found


def lowest_driver(pools: Iterable[PoolFacts]) -> DriverVersion | None:
    """The lowest driver that may be meant; None where nothing states one."""
    drivers = [pool.driver for pool in pools]
    return min((each for each in drivers if each is not None), default=None) if None not in drivers else None


def with_jetpack_of(image: Case, pools: tuple[PoolFacts, ...]) -> tuple[PoolFacts, ...]:
    """On a Jetson without a stated release, the one that the build is for according to its text."""
    if pools[0].platform is not Platform.JETSON or pools[0].jetson is not None:
        return pools
    build = image.build
    release = l4t_in(build) if "jetpack" in build.lower() or "l4t" in build.lower() else None
    return tuple(replace(pool, jetson=release) for pool in pools)


def l4t_in(text: str) -> JetsonVersion | None:
    """The L4T release, or that of the JetPack, which a text names."""
    if match := _NAMES_L4T.search(text):
        return JetsonVersion.parse(match[1] or match[2])
    match = _NAMES_JETPACK.search(text)
    try:
        return readings.read_jetson(f"jetpack {match[1]}") if match else None
    except VersionError:
        return None


def _gpus(reader: Reader, case: Case, compute_capability: str, kind: str) -> tuple[Gpu, ...]:
    gpu, instance_type = case.gpu, case.instance_type
    capability = reader.read("compute_capability", compute_capability, readings.read_capability)
    name = gpu or instance_type
    if not name:
        if not compute_capability:
            fix = "write a name such as Tesla T4, or compute_capability such as 7.5"
            reader.problem("gpu", "", "is missing", fix, is_essential=True)
        if capability is None:
            reader.essential()
        return () if capability is None else _by_capability(reader, capability, "", kind)
    try:
        models = names.described_gpus(name)
    except names.UnknownGpu as error:
        capability = capability or _capability_in(name)
        if capability is not None:
            return _by_capability(reader, capability, name, kind)
        if gpu and instance_type:
            return _gpus(reader, replace(case, gpu=""), "", kind)
        reader.problem("gpu" if gpu else "instance_type", name, error.reason, error.fix, is_essential=True)
        return ()
    found = gpus_of(models, name, kind, names.mig_profile(name))
    if profile := names.vgpu_profile(name):
        reader.notes.append(note("R-GFD", f"{profile} is a vGPU: {_VGPU.text}", _VGPU))
    if capability is not None:
        return _as_measured(reader, found, capability, kind)
    found = _of_its_name(found, case.build)
    if len(found) > 1:
        reader.open.append(which_gpu(name.strip()[:40], models))
    return found


_NAMES_CAPABILITY = pattern(r"\bsm_?\d{2,3}\b|\b(?:compute[\s_-]*capability|cc)[\s:=]*\d{1,2}\.\d\b", re.IGNORECASE)


_SHOWN = r"((?:sm_?\d{2,3}|(?:compute[\s_-]*capability|cc)[\s:=]*\d{1,2}\.\d))\b"
_SAYS_OF_CARD = (
    r"(?:\b(?:device|gpu|card|devicequery)\s+(?:reports|shows|says|prints|has|is)\W+(?:as\W+)?"
    r"|\b(?:reports|shows|lists|prints|detects|sees|identifies|reported|shown|listed|detected|seen)\s+"
    r"(?:(?:the|this|my|its)\s+)?(?:(?:device|gpu|card)\s+)?(?:as|with)\W+)"
)
_REPORTS = pattern(f"{_SAYS_OF_CARD}{_SHOWN}", re.IGNORECASE)
# A number without its meaning: it distinguishes cards of one name, and does not contradict the name.
_REPORTS_ARCH = pattern(rf"{_SAYS_OF_CARD}arch(?:itecture)?[\s:=]*(\d{{2,3}})\b", re.IGNORECASE)


def _reported(build: str) -> str:
    """The capability that the device itself reports, where the words of a build quote it."""
    match = _REPORTS.search(build[:400])
    capability = _capability_in(match[1]) if match else None
    return "" if capability is None else str(capability)


def _of_its_name(found: tuple[Gpu, ...], build: str) -> tuple[Gpu, ...]:
    """The cards of one name whose capability is the one that the build quotes from a program; else all."""
    match = _REPORTS_ARCH.search(build[:400]) if len(found) > 1 else None
    capability = _capability_in(f"sm_{match[1]}") if match else None
    return tuple(each for each in found if each.capability == capability) or found


def _capability_in(name: str) -> ComputeCapability | None:
    """The capability of a GPU without a name: `a card with sm_61`, `compute capability 6.1`."""
    found = _NAMES_CAPABILITY.search(name[:200])
    try:
        return readings.read_capability(found[0]) if found else None
    except VersionError:
        return None


def _as_measured(reader: Reader, found: tuple[Gpu, ...], capability: ComputeCapability, kind: str) -> tuple[Gpu, ...]:
    """A measured capability counts more than the name: different chips share names, and tables err."""
    if kept := tuple(each for each in found if each.capability == capability):
        return kept
    first = found[0]
    message = f"{first.name} has compute capability {first.capability}; {capability} was given, and that counts"
    reader.notes.append(warn("R-GFD", message, first.fact))
    return _by_capability(reader, capability, first.name, kind)


def _by_capability(reader: Reader, capability: ComputeCapability, name: str, kind: str) -> tuple[Gpu, ...]:
    found = gpus_with(capability, name, kind)
    if len(found) > 1:
        reader.open.append(Axis("gpu_class", "whether it is a data-centre GPU"))
    return found


def _processor(reader: Reader, cpu_arch: str, instance_type: str, gpus: tuple[Gpu, ...]) -> str:
    if cpu_arch:
        named = next((each for each in re.split(r"[^\w-]+", cpu_arch.lower()) if each in _PROCESSORS), "")
        if not named:
            reader.problem("cpu_arch", cpu_arch, "is not amd64, arm64 or ppc64le")
        return _PROCESSORS.get(named, "")
    if rows := tables.by_key("ec2_gpu_instances", "instance_type").get(instance_type.lower()):
        return rows[0]["host_arch"]
    return processor_beside(gpus)


def _drivers(reader: Reader, case: Case, platform: Platform) -> tuple[int | None, tuple[DriverVersion | None, ...]]:
    """The bare branch that the case names, or else the drivers that it may mean."""
    if drivers := reader.read("driver", case.driver, readings.read_drivers):
        if len(drivers) > 1:
            reader.open.append(Axis("driver", f"which release of branch {drivers[0].branch} it is"))
            return drivers[0].branch, ()
        return None, tuple(each.given_as(_as_written(each, case.driver)) for each in drivers)
    if (reported := cuda_of_driver(case.build)) and (drivers := readings.drivers_that_report(case.build, reported)):
        reader.open.append(Axis("driver", f"which release of branch {drivers[0].branch} it is"))
        return drivers[0].branch, ()
    if case.operator and (row := operator_row(case.operator)) is not None:
        default = driver_of(row)
        return None, (default.given_as(str(default)),)
    if case.ami_release and (found := drivers_of(case.ami_release, arm=platform is Platform.LINUX_ARM)):
        if len(found) > 1:
            kind, _ = read_release(case.ami_release)
            missing = "the Kubernetes version" if kind else "the Kubernetes version and the AMI type"
            reader.open.append(Axis("ami_release", missing))
        return None, found
    reader.open.append(Axis("driver", "the driver"))
    return None, (None,)


def _as_written(driver: DriverVersion, text: str) -> str:
    """The spelling of the case: 418.88.00 and 418.88 are one release."""
    found = re.search(rf"{driver.branch}\.{driver.minor:02d}(?:\.\d\d)?(?!\d)", text)
    return found[0] if found else str(driver)
