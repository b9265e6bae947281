"""A case as people and programs write it, and what it comes to: images and pools that it may mean.

A field that leaves something open (a bare driver branch, `V100`, no driver at all) gives several candidates. Each is
solved; where they agree, the open field does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from packaging.version import Version

from components.compat import names, readings, tables
from components.compat.builds import ALIASES, LOADS_CUDA_FROM_OUTSIDE, Choice, Wish, choose, read_wish
from components.compat.images import ImageName, read_image
from components.compat.model import Code, Fact, Finding, Gpu, ImageFacts, Platform, PoolFacts, Present
from components.compat.rules import eks, operator
from components.compat.rules.rule import note, unknown, warn
from components.compat.tables import Build, GpuModel
from components.compat.versions import ComputeCapability, CudaVersion, DriverVersion, JetsonVersion, VersionError

_LONGEST = 4000  # characters of one field

HOSTS = ("bare", "docker", "kubernetes", "apptainer", "wsl")
CLASSES = ("datacenter", "workstation", "geforce", "jetson")
SYSTEMS = ("linux", "windows", "l4t")
MODULES = ("open", "proprietary")


@dataclass(frozen=True, slots=True)
class Problem:
    """One field that cannot be read. `fix` is what to write instead."""

    field: str
    value: str
    reason: str
    fix: str

    def __str__(self) -> str:
        return f'{self.field}: "{self.value}" {self.reason}' + (f"; {self.fix}" if self.fix else "")


class CaseError(ValueError):
    """A case that cannot be read; all its problems at once."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question: will this image run on that GPU? All fields are text as people write it; empty: not said."""

    id: str = ""
    gpu: str = ""
    compute_capability: str = ""
    gpu_class: str = ""
    driver: str = ""
    host: str = ""
    container_toolkit: str = ""
    image: str = ""
    cuda: str = ""
    framework: str = ""
    framework_version: str = ""
    build: str = ""
    sm_list: str = ""
    ptx: str = ""
    cudnn: str = ""
    cuda_compat: str = ""
    cpu_arch: str = ""
    os: str = ""
    instance_type: str = ""
    ami_release: str = ""
    kernel_module: str = ""
    operator: str = ""
    env: str = ""
    image_glibc: str = ""
    host_glibc: str = ""


FIELDS = tuple(field.name for field in fields(Case))


def case_from(given: Mapping[str, Any]) -> Case:
    """A case from a mapping such as a JSON object; raises CaseError for unknown fields and wrong kinds of values."""
    problems: list[Problem] = []
    texts: dict[str, str] = {}
    for name, value in given.items():
        if name not in FIELDS:
            problems.append(Problem(str(name)[:80], "", "is not a field of a case", f"fields are {', '.join(FIELDS)}"))
            continue
        try:
            texts[name] = _text(name, value)
        except ValueError as error:
            problems.append(Problem(name, str(value)[:80], str(error), ""))
    if problems:
        raise CaseError(problems)
    return Case(**texts)


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _LONGEST:
            raise ValueError(f"is longer than {_LONGEST} characters")
        return text
    if value is None:
        return ""
    if isinstance(value, bool):
        if name == "cuda_compat":
            return "yes" if value else "no"
        if name == "ptx" and not value:
            return "none"
        raise ValueError("is true or false; write text")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if name == "driver" and len(str(value).partition(".")[2]) == 1:
            raise ValueError(f'is a number, and 470.10 would read as 470.1; quote it: "{value}"')
        return str(value)
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return ";".join(str(each) for each in value) or ("none" if name in {"sm_list", "ptx"} else "")
    if isinstance(value, dict) and name == "env":
        return ";".join(f"{key}={each}" for key, each in value.items())
    raise ValueError("is neither text nor a number")


@dataclass(frozen=True, slots=True)
class Axis:
    """An open field with more than one candidate; `missing` says what would settle it."""

    field: str
    missing: str


@dataclass(frozen=True, slots=True)
class Question:
    """What a case comes to. Every image with every pool is a possibility; `notes` say how the case was read."""

    images: tuple[ImageFacts, ...]
    pools: tuple[PoolFacts, ...]
    notes: tuple[Finding, ...]
    open: tuple[Axis, ...]


def read_case(case: Case) -> Question:
    """Read every field; raises CaseError with all the problems."""
    reader = _Reader(case)
    question = reader.question()
    if reader.problems:
        raise CaseError(reader.problems)
    return question


_AS_GIVEN = Fact("as given", "the case", "")


class _Reader:
    """Reads one case. Problems are collected, so that a user sees them all."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.problems: list[Problem] = []
        self.notes: list[Finding] = []
        self.open: list[Axis] = []

    def question(self) -> Question:
        case = self.case
        self._one_of("gpu_class", CLASSES)
        self._one_of("host", HOSTS)
        self._one_of("cuda_compat", ("yes", "no", "unknown"))
        self._one_of("os", SYSTEMS)
        self._one_of("kernel_module", MODULES)
        gpus = self._gpus()
        pools = self._pools(gpus) if gpus else ()
        images = self._images(arm=any(pool.cpu_architecture == "arm64" for pool in pools))
        return Question(images, pools, tuple(self.notes), tuple(self.open))

    # --- reading single fields ---

    def _one_of(self, field: str, allowed: tuple[str, ...]) -> None:
        value = getattr(self.case, field)
        if value and value.lower() not in allowed:
            self.problems.append(Problem(field, value[:80], f"is not one of {', '.join(allowed)}", ""))

    def _read(self, field: str, read: Any) -> Any:
        """The field by its reader; None for an empty one and, with a problem noted, for one that cannot be read."""
        value = getattr(self.case, field)
        if not value:
            return None
        try:
            return read(value)
        except VersionError as error:
            self.problems.append(Problem(field, value[:80], error.reason, ""))
            return None

    # --- pools ---

    def _gpus(self) -> tuple[Gpu, ...]:
        case = self.case
        capability = self._read("compute_capability", readings.read_capability)
        name = case.gpu or case.instance_type
        if not name and not case.compute_capability:
            fix = "write a name such as Tesla T4, or compute_capability such as 7.5"
            self.problems.append(Problem("gpu", "", "is missing", fix))
            return ()
        if name:
            try:
                models = names.find_gpus(name)
            except names.UnknownGpu as error:
                if capability is None:
                    near = f"did you mean {' or '.join(error.suggestions)}?" if error.suggestions else ""
                    field = "gpu" if case.gpu else "instance_type"
                    fix = near or "see gpu-commons facts gpu_model, or give compute_capability"
                    self.problems.append(Problem(field, name[:80], error.reason, fix))
                    return ()
                return self._by_capability(capability, name[:80])
            gpus = _gpus(models, case.gpu_class.lower(), name)
            if capability is not None:
                kept = tuple(gpu for gpu in gpus if gpu.capability == capability)
                if kept:
                    return kept
                message = f"{gpus[0].name} has compute capability {gpus[0].capability}; {capability} was given, and that counts"
                self.notes.append(warn("R-GFD", message, gpus[0].fact))
                return self._by_capability(capability, gpus[0].name)
            if len(gpus) > 1:
                said = ", ".join(gpu.name for gpu in gpus[:4])
                self.open.append(Axis("gpu", f"{name} may be {said}"))
            return gpus
        return self._by_capability(capability, "") if capability is not None else ()

    def _by_capability(self, capability: ComputeCapability, name: str) -> tuple[Gpu, ...]:
        """No model: then every class that exists with this capability is possible."""
        models = [model for model in tables.gpu_models() if model.compute_capability == capability]
        wanted = self.case.gpu_class.lower()
        shown = name or f"a GPU of compute capability {capability}"
        arch = tables.architectures().get(capability)
        family = arch.name.lower() if arch else ""
        found = {
            (model.product_class, _forward(model)): Gpu(
                shown, capability, family, model.product_class, _forward(model), _AS_GIVEN
            )
            for model in models
            if not wanted or model.product_class == wanted
        }
        if not found:
            forward = {"datacenter": Present.YES, "geforce": Present.NO}.get(wanted, Present.UNKNOWN)
            return (Gpu(shown, capability, family, wanted, forward, _AS_GIVEN),)
        if len(found) > 1:
            self.open.append(Axis("gpu_class", "whether it is a data-centre GPU"))
        return tuple(found.values())

    def _pools(self, gpus: tuple[Gpu, ...]) -> tuple[PoolFacts, ...]:
        case = self.case
        jetson = case.os.lower() == "l4t" or any(gpu.product_class == "jetson" for gpu in gpus)
        cpu = self._cpu(gpus)
        platform = Platform.LINUX
        if jetson:
            platform = Platform.JETSON
        elif case.os.lower() == "windows" or case.host.lower() == "wsl":
            platform = Platform.WINDOWS
        elif cpu == "arm64":
            platform = Platform.LINUX_ARM
        release: JetsonVersion | None = None
        drivers: tuple[DriverVersion | None, ...] = (None,)
        if jetson:
            release = self._read("driver", readings.read_jetson) or _l4t_in(case.build)
        else:
            drivers = self._drivers(gpus)
        toolkit = self._read("container_toolkit", readings.read_release)
        host_glibc = self._read("host_glibc", readings.read_release)
        if self.problems:
            return ()
        return tuple(
            PoolFacts(
                gpu=gpu,
                driver=driver,
                jetson=release,
                platform=platform,
                host=case.host.lower(),
                container_toolkit=toolkit,
                kernel_module=case.kernel_module.lower(),
                cpu_architecture=cpu,
                glibc=host_glibc,
                instance_type=case.instance_type.lower(),
                ami_release=case.ami_release,
                operator=case.operator,
            )
            for gpu in gpus
            for driver in drivers
        )

    def _cpu_said(self) -> str:
        rows = tables.by_key("ec2_gpu_instances", "instance_type").get(self.case.instance_type.lower())
        return rows[0]["host_arch"] if rows else self.case.cpu_arch.lower().replace("aarch64", "arm64")

    def _cpu(self, gpus: tuple[Gpu, ...]) -> str:
        said = self.case.cpu_arch.lower()
        known = {"amd64": "amd64", "x86_64": "amd64", "x86-64": "amd64", "x64": "amd64", "arm64": "arm64", "aarch64": "arm64", "sbsa": "arm64", "ppc64le": "ppc64le"}
        if said and said not in known:
            self.problems.append(Problem("cpu_arch", said[:80], "is not amd64, arm64 or ppc64le", ""))
        if said:
            return known.get(said, "")
        if rows := tables.by_key("ec2_gpu_instances", "instance_type").get(self.case.instance_type.lower()):
            return rows[0]["host_arch"]
        first = gpus[0].name
        if gpus[0].product_class == "jetson" or re.search(r"\bGH200|\bGB[123]00|\bGB10\b|\bT4G\b", first):
            return "arm64"
        return ""

    def _drivers(self, gpus: tuple[Gpu, ...]) -> tuple[DriverVersion | None, ...]:
        drivers: tuple[DriverVersion, ...] | None = self._read("driver", readings.read_drivers)
        if self.case.driver:
            if drivers and len(drivers) > 1:
                self.open.append(Axis("driver", f"which release of branch {drivers[0].branch} it is"))
            return drivers or ()
        if found := self._driver_of_its_installer():
            return (found,)
        self.open.append(Axis("driver", "the driver"))
        return _representative_drivers()

    def _driver_of_its_installer(self) -> DriverVersion | None:
        """What the GPU operator or the machine image brings, where no driver is said."""
        case = self.case
        if case.operator and (row := operator.operator_row(case.operator)) is not None:
            return operator.driver_of(row)
        if case.ami_release and (ami := eks.row_of(case.ami_release, arm=self._cpu_said() == "arm64")) is not None:
            return eks.driver_of(ami)
        return None

    # --- images ---

    def _images(self, *, arm: bool) -> tuple[ImageFacts, ...]:
        case = self.case
        named: ImageName | None = self._read("image", read_image)
        cudas: tuple[CudaVersion, ...] | None = self._read("cuda", readings.read_cudas)
        cudnn: Version | None = self._read("cudnn", readings.read_release)
        glibc: Version | None = self._read("image_glibc", readings.read_release)
        targets = self._targets()
        wish = self._wish(named, arm=arm)
        if self.problems:
            return ()
        if named is None and not (cudas or wish or case.sm_list or case.ptx or cudnn or case.build or case.env):
            fact = Fact("no image, CUDA line, framework or list of targets was given", "the case", "")
            self.notes.append(unknown("R-ARCH", "nothing says what shall run: write image, cuda, framework or sm_list", fact))
        common = _Common(
            name=case.image or " ".join(filter(None, (case.framework, case.framework_version, case.build))) or "the image",
            cudnn=cudnn,
            glibc=glibc,
            environment=_environment(case.env),
        )
        if wish is not None:
            return self._of_framework(common, wish, named, cudas, targets)
        return self._of_cuda(common, named, cudas, targets)

    def _targets(self) -> Code | None:
        case = self.case
        if re.search(r"\b(targets|architectures|arch(es)?) (are |is )?(unknown|not known)", case.build.lower()):
            return Code(None, None, Fact("the targets are said to be unknown", "the case", ""))
        listed: readings.Targets | None = self._read("sm_list", readings.read_targets)
        written: readings.Targets | None = self._read("ptx", _read_ptx)
        cubins = listed.cubins if listed else None
        ptx = written.ptx if written else (listed.ptx if listed else None)
        if cubins is None and ptx is None and case.build:
            try:
                found = readings.read_targets(case.build, bare=False)
            except VersionError as error:
                self.problems.append(Problem("build", case.build[:80], error.reason, ""))
                return None
            cubins, ptx = found.cubins, found.ptx
            if cubins is None and not ptx:
                return None
        if cubins is None and ptx is None:
            return None
        return Code(cubins, ptx, Fact("the targets as given", "the case", ""))

    def _wish(self, named: ImageName | None, *, arm: bool) -> Wish | None:
        case = self.case
        framework, version = case.framework, case.framework_version
        if not framework and named is not None and named.framework:
            framework, version = named.framework, version or named.framework_version
        if not framework and not case.build:
            return None
        try:
            wish = read_wish(framework, version, case.build)
        except VersionError as error:
            self.problems.append(Problem("framework_version", version[:80], error.reason, ""))
            return None
        if wish is not None and arm:
            return replace(wish, system="linux aarch64")
        if wish is not None and case.os.lower() == "windows" and case.host.lower() != "wsl":
            return replace(wish, system="windows x86_64")
        return wish

    def _of_cuda(
        self,
        common: _Common,
        named: ImageName | None,
        cudas: tuple[CudaVersion, ...] | None,
        code: Code | None,
    ) -> tuple[ImageFacts, ...]:
        """No framework: what counts is the CUDA that was said, or the one in the image's name."""
        found = cudas or (named.cudas if named else ())
        if not found and self.case.build:
            wish = read_wish("pytorch", "", self.case.build)
            found = wish.cuda if wish else ()
        if named is not None and cudas and named.cudas and not set(_lines(cudas)) & set(_lines(named.cudas)):
            message = f"the image's name says CUDA {named.cudas[-1]}, the case says {cudas[-1]}: what the case says counts"
            self.notes.append(note("R-FRAMEWORK", message, named.fact))
        if code is None and named is not None and named.targets is not None:
            code = Code(named.targets.cubins, named.targets.ptx, named.fact)
        if not found:
            return (self._image(common, named, None, code),)
        if len(found) > 1:
            self.open.append(Axis("cuda", f"which CUDA {found[0].major}.x it is"))
        return tuple(self._image(common, named, cuda, code) for cuda in found)

    def _of_framework(
        self,
        common: _Common,
        wish: Wish,
        named: ImageName | None,
        cudas: tuple[CudaVersion, ...] | None,
        code: Code | None,
    ) -> tuple[ImageFacts, ...]:
        around = cudas or (named.cudas if named else ())
        own_build = (
            wish.from_source
            or (named is not None and named.own_build and not self.case.framework)
            or (bool(self.case.sm_list or self.case.ptx) and bool(self.case.cuda) and not wish.cuda)
        )
        if (own_build and around) or (named is not None and named.gpu_free and not self.case.framework):
            free = named is not None and named.gpu_free and not around
            return tuple(
                self._build(common, wish, None, named, (line,) if line else (), code, gpu_free=free)
                for line in around or (None,)
            )
        asked = wish
        if not wish.cuda and around and self._names_the_build(wish, named):
            asked = _with_cuda(wish, tuple(dict.fromkeys(_lines(around))))
        choice = choose(asked)
        if not choice.builds and asked is not wish and (wish.framework == "pytorch" and wish.version or not self.case.cuda):
            choice = choose(wish)  # no such build: then its own CUDA counts, and the one around is beside it
        if wish.cpu_only:
            return (self._build(common, wish, None, named, (), code, gpu_free=True),)
        if not choice.builds:
            lines = wish.cuda or around
            if not lines:
                version = f" {wish.version}" if wish.version else ""
                fact = Fact(f"no table has builds of {wish.framework}{version}", "framework.csv", "", verified=False)
                self.notes.append(unknown("R-FRAMEWORK", f"it is not known which CUDA {wish.framework}{version} is built for", fact))
                return (self._build(common, wish, None, named, (), code),)
            if len(lines) > 1:
                self.open.append(Axis("cuda", f"which CUDA {lines[0].major}.x it is"))
            return tuple(self._build(common, wish, None, named, (line,), code) for line in lines)
        self._say_how(wish, choice, around)
        if len(choice.builds) > 1:
            shown = ", ".join(dict.fromkeys(f"{build.version} {build.variant}" for build in choice.builds[:4]))
            field = "framework_version" if wish.version is None else "build"
            self.open.append(Axis(field, f"which build of {wish.framework} it is ({shown}, …)"))
        return tuple(self._build(common, wish, build, named, around, code, near=choice.near) for build in choice.builds)

    def _names_the_build(self, wish: Wish, named: ImageName | None) -> bool:
        """Does the CUDA around say which build it is? In a framework's own image it does; for a wheel in a foreign one not."""
        if named is not None and not self.case.cuda:
            return bool(named.framework) and ALIASES.get(named.framework, named.framework) == wish.framework
        return True

    def _say_how(self, wish: Wish, choice: Choice, around: tuple[CudaVersion, ...]) -> None:
        build = choice.builds[0]
        if choice.near:
            fact = build.origin.fact(f"builds of {wish.framework} {choice.near}", "cuda")
            message = f"{wish.framework} {wish.version} is not in the tables; read as {choice.near}, the nearest older one"
            self.notes.append(note("R-FRAMEWORK", message, fact))
        own = {each.cuda.line for each in choice.builds if each.cuda}
        if around and own and not own & set(_lines(around)) and _brings_cuda(wish):
            fact = build.origin.fact(f"{wish.framework} {build.version} {build.variant} brings CUDA {build.cuda}", "cuda")
            message = (
                f"the wheel brings CUDA {build.cuda}, and CUDA {around[-1]} is around it: the wheel's own counts, "
                "because it is what the program loads"
            )
            self.notes.append(note("R-FRAMEWORK", message, fact))

    def _build(  # noqa: PLR0913 - one call per candidate, all of it is what a build rests on
        self,
        common: _Common,
        wish: Wish,
        build: Build | None,
        named: ImageName | None,
        around: tuple[CudaVersion, ...],
        code: Code | None,
        *,
        near: str = "",
        gpu_free: bool = False,
    ) -> ImageFacts:
        brings = _brings_cuda(wish)
        own = build.cuda if build is not None else (around[0] if around else None)
        loaded = own
        if not brings and around and own is not None and around[0].major == own.major:
            loaded = around[0]  # libraries of the same major, from the image
        if code is None and build is not None:
            code = _code_of(build, near)
        if code is None and named is not None and named.targets is not None:
            code = Code(named.targets.cubins, named.targets.ptx, named.fact)
        facts = self._image(common, named, loaded, code)
        return ImageFacts(
            **{
                **{name: getattr(facts, name) for name in _IMAGE_FIELDS},
                "built_with": own,
                "gpu_free": gpu_free or (build is not None and build.variant == "cpu"),
                "framework": wish.framework,
                "framework_version": wish.version or (_maybe_release(build.version) if build else None),
                "build": build.variant if build else "",
                "cudnn": common.cudnn or facts.cudnn or (_maybe_release(build.cudnn) if build and brings else None),
                "carries_cuda": brings,
                "system_cuda": around[0] if around else None,
                "lowest_capability": (build.lowest_capability if build else None) or facts.lowest_capability,
                "stated_driver": build.stated_driver if build else None,
                "cuda_fact": _cuda_fact(build) or facts.cuda_fact,
                "compat_package": facts.compat_package if named or self.case.cuda_compat else Present.NO,
            }
        )

    def _image(
        self, common: _Common, named: ImageName | None, cuda: CudaVersion | None, code: Code | None
    ) -> ImageFacts:
        said = self.case.cuda_compat.lower()
        compat = Present.NO
        if said:
            compat = Present(said) if said in {"yes", "no", "unknown"} else Present.UNKNOWN
        elif named is not None and named.compat_package is Present.YES:
            compat = Present.YES
        return ImageFacts(
            name=common.name,
            cuda=cuda,
            cuda_fact=named.fact if named is not None and named.cudas and not self.case.cuda else _AS_GIVEN,
            code=code,
            gpu_free=named is not None and named.gpu_free and cuda is None and code is None,
            cudnn=common.cudnn or (_maybe_release(named.cudnn) if named and named.cudnn else None),
            nccl=_maybe_release(named.nccl) if named and named.nccl else None,
            compat_package=compat,
            compat_branches=named.compat_branches if named else (),
            requires=named.requires if named else (),
            environment=common.environment,
            cpu_architectures=_architectures(self.case.build) or (named.cpu_architectures if named else ()),
            glibc=common.glibc or _glibc_of(named),
            compat_line=_compat_line(named, self.case.cuda, cuda),
            remarks=self.case.build,
            l4t=_l4t_in(named.l4t) if named else None,
            is_opaque=named is not None and not named.is_known and not named.cudas and cuda is None,
            lowest_capability=named.lowest_capability if named else None,
        )


_IMAGE_FIELDS = tuple(field.name for field in fields(ImageFacts))


@dataclass(frozen=True, slots=True)
class _Common:
    """What every candidate image of a case shares."""

    name: str
    cudnn: Version | None
    glibc: Version | None
    environment: tuple[tuple[str, str], ...]


def _brings_cuda(wish: Wish) -> bool:
    if wish.brings_cuda is not None:
        return wish.brings_cuda
    return wish.framework not in LOADS_CUDA_FROM_OUTSIDE


def _with_cuda(wish: Wish, lines: tuple[CudaVersion, ...]) -> Wish:
    return replace(wish, cuda=lines)


def _lines(cudas: tuple[CudaVersion, ...]) -> tuple[CudaVersion, ...]:
    return tuple(cuda.line for cuda in cudas)


def _maybe_release(text: str) -> Version | None:
    match = re.match(r"\d+(\.\d+)*", text.strip())
    return readings.read_release(match[0]) if match else None


def _l4t_in(text: str) -> JetsonVersion | None:
    """The L4T release, or the JetPack, that a text names."""
    match = re.search(r"\b(?:l4t[ -]*)?r(3\d\.\d+(?:\.\d+)?)\b|^(3\d\.\d+(?:\.\d+)?)$", text, re.IGNORECASE)
    if match:
        return JetsonVersion.parse(match[1] or match[2])
    match = re.search(r"\bjet ?pack[ -]*(\d\.\d(?:\.\d)?)", text, re.IGNORECASE)
    try:
        return readings.read_jetson(f"jetpack {match[1]}") if match else None
    except VersionError:
        return None


def _compat_line(named: ImageName | None, said: str, cuda: CudaVersion | None) -> CudaVersion | None:
    """CUDA line of the compat package: that of the image, not that of a wheel in it."""
    if named is not None and named.cudas:
        return named.cudas[-1].line
    return readings.read_cudas(said)[-1].line if said else cuda


def _architectures(build: str) -> tuple[str, ...]:
    """`linux/amd64 only`, `aarch64 wheel`: the processor that a build is said to be for."""
    text = build.lower()
    if re.search(r"linux/amd64|\b(amd64|x86_64|x86-64)\b", text):
        return ("amd64",)
    return ("arm64",) if re.search(r"linux/arm64|\b(arm64|aarch64|sbsa)\b", text) else ()


@lru_cache(1024)
def _glibc_of(named: ImageName | None) -> Version | None:
    if named is None:
        return None
    text = named.glibc
    if not text and named.os:
        rows = tables.by_key("glibc", "os").get(named.os)
        text = rows[0]["glibc"] if rows else ""
    return _maybe_release(text) if text and text != "musl" else None


@lru_cache(2048)
def _code_of(build: Build, near: str) -> Code | None:
    if build.cubins is None and build.ptx is None and build.at_least is None:
        return None
    text = f"{build.framework} {build.version} {build.variant} ({build.distribution}) has code as listed, {build.basis}"
    cubins, ptx = build.origin.fact(text, "sm_list"), build.origin.fact(text, "ptx")
    if near:  # read from a neighbour: likely, not seen
        cubins, ptx = replace(cubins, verified=False), replace(ptx, verified=False)
    return Code(build.cubins, build.ptx, cubins, build.at_least, ptx)


@lru_cache(2048)
def _cuda_fact(build: Build | None) -> Fact | None:
    if build is None:
        return None
    text = f"{build.framework} {build.version} {build.variant} ({build.distribution}) is built for CUDA {build.cuda}"
    return build.origin.fact(text, "cuda", "variant", "is_pypi_default")


def _forward(model: GpuModel) -> Present:
    word = model.forward_compat.split(" ")[0]
    if model.product_class == "workstation" and "RTX" not in model.name:
        return Present.NO  # the selection is one of RTX cards
    return {"yes": Present.YES, "no": Present.NO}.get(word, Present.UNKNOWN)


@lru_cache(4096)
def _gpus(models: tuple[GpuModel, ...], product_class: str, name: str) -> tuple[Gpu, ...]:
    """Models that agree in all that decides are one GPU, by the name that the user wrote."""
    found: dict[tuple[ComputeCapability, str, Present], Gpu] = {}
    for model in models:
        kind, forward = product_class or model.product_class, _forward(model)
        fact = model.origin.fact(
            f"{model.name} has compute capability {model.compute_capability}", "compute_capability"
        )
        shown = model.name if len(models) == 1 else name.strip()[:80]
        gpu = Gpu(shown, model.compute_capability, model.family, kind, forward, fact, names.mig_profile(name))
        found.setdefault((gpu.capability, kind, forward), gpu)
    return tuple(found.values())


@lru_cache(1)
def _representative_drivers() -> tuple[DriverVersion, ...]:
    """One driver for each stretch between two floors of the tables, oldest first: enough to see where an answer turns."""
    floors = {each.floor for each in tables.toolkits() if each.floor is not None}
    floors |= {each.minor_floor for each in tables.toolkits() if each.minor_floor is not None}
    floors |= {tables.first_release(branch) for branch in tables.driver_branches()}
    return tuple(sorted(floors))


def _read_ptx(text: str) -> readings.Targets:
    plain = text.lower().strip()
    if plain in {"none", "no", "false", "0"}:
        return readings.Targets(None, ())
    found = readings.read_targets(text)
    return readings.Targets(None, found.ptx if found.ptx is not None else found.cubins)


def _environment(text: str) -> tuple[tuple[str, str], ...]:
    """`KEY=VALUE` pairs between `;` or line ends; requirement clauses keep their spaces and commas."""
    return tuple(_pairs(text))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"[;\n]", text):
        key, equals, value = part.strip().partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", key.strip()):
            yield key.strip(), value.strip().strip("\"'")
