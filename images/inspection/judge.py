"""What counts when an image says several things: its label, its environment, its toolkit, its wheels. Pure.

What a program loads decides: a wheel brings its own CUDA and never looks at a label. So the order of trust is what a
framework says of its own build, the CUDA runtime that lies there, the toolkit, the environment, the labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from compat.distributions import Device, device_of, framework_of
from images.inspection.environments import SYSTEM, conda_roots, environment_of, majors
from images.inspection.facts import Code, Contents, ImageContents, Library, Package, Statement
from messages.problems import listing

ENOUGH: Final = 0.25
"""A target counts that has this part of the entries of the commonest one: a rarer one has code of a few kernels."""
_COPIES_TOLD: Final = 10_000_000  # bytes
_CACHES_TOLD: Final = 20_000_000
_WASTE_TOLD: Final = 50_000_000
_LONGEST_ENV: Final = 3500  # characters; a case takes 4000 in a field
_ENV_READ: Final = re.compile(
    r"^(?:NVIDIA_(?:REQUIRE_\w+|DISABLE_REQUIRE|VISIBLE_DEVICES|DRIVER_CAPABILITIES)|CUDA_VISIBLE_DEVICES|LD_LIBRARY_PATH)$"
)
_LABEL: Final = re.compile(r"(?:^|[._-])cuda(?:[._-]?version)?$|cuda[._-]version", re.IGNORECASE)
_LINE: Final = re.compile(r"(\d{1,2})(?:\.(\d{1,2}))?")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One statement about CUDA: `value` is 12.4 or 12, `what` says it in words, `where` is its place in the image.

    `weight` says why it counts before others.
    """

    value: str
    what: str
    where: str
    weight: str

    def agrees(self, other: str) -> bool:
        """As far as both say: 12 and 12.4 agree, 12.1 and 12.4 do not."""
        mine, its = self.value.split("."), other.split(".")
        shared = min(len(mine), len(its), 2)
        return mine[:shared] == its[:shared]


@dataclass(frozen=True, slots=True)
class Note:
    """Which of several statements counts, and why."""

    says: str
    source: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that should be changed in the image."""

    kind: str
    says: str
    fix: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """One thing in the image that uses a GPU, as fields of a case for `compat`."""

    name: str
    fields: Mapping[str, str]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    programs: tuple[Program, ...]
    remarks: tuple[Remark, ...] = ()
    cuda: tuple[Evidence, ...] = field(default=())
    """All that was said about CUDA, the most trusted first."""
    for_cpu: tuple[str, ...] = ()
    """Frameworks of which only a build for the CPU is there: they use no GPU."""
    around: Mapping[str, str] = field(default_factory=dict)
    """Fields of a case that hold for every program of the image, and for an image without one."""


_BUILT_FOR: Final = "because the program was built for it"
_LIES_THERE: Final = "because it is what the program loads"
_IN_TOOLKIT: Final = "because that toolkit lies in the image"
_SAID: Final = "because nothing that was read counts more"
# Where the device code of a framework lies, below site-packages; of others no targets are told.
_FOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "pytorch": ("torch/",),
    "tensorflow": ("tensorflow/",),
    "jax": ("jaxlib/", "jax_plugins/", "jax_cuda"),
    "cupy": ("cupy/", "cupy_backends/"),
    "onnxruntime": ("onnxruntime/",),
    "mxnet": ("mxnet/",),
    "paddle": ("paddle/",),
    "vllm": ("vllm/",),
    "flash-attn": ("flash_attn",),
    "bitsandbytes": ("bitsandbytes/",),
    "xformers": ("xformers/",),
}
_BY_NVIDIA: Final = re.compile(r"(?:^|/)nvidia/|(?:^|/)lib(?:cu|nv|nccl)[\w]*(?:-[0-9a-f]+)?\.so|/cuda(?:-[\d.]+)?/")


def judge(contents: ImageContents) -> Judgement:
    """What `check` should believe of the image, and what is wrong with the image itself."""
    said = tuple(_said(contents))
    deep = contents.deep
    if deep is None:
        return Judgement((_program("", contents, said, None),) if said else (), tuple(_of_settings(contents)), said)
    builds = [(environment, *build) for environment in _environments(deep) for build in _builds(deep, environment)]
    on_cpu = [f"{each.name} {each.version}" for _, _, each, device in builds if device is Device.CPU]
    on_gpu = [(environment, name, each) for environment, name, each, device in builds if device is Device.GPU]
    several = {name for name, count in Counter(name for _, name, _ in on_gpu).items() if count > 1}
    programs = tuple(
        _framework(name, package, contents, _seen_from(deep, environment), said, environment * (name in several))
        for environment, name, package in on_gpu
    )
    found = tuple(dict.fromkeys([*_runtimes(deep), *said]))
    if not programs and (found or _own_code(deep)):
        programs = (_program("", contents, found, _own_code(deep)),)
    return Judgement(
        programs, (*_of_settings(contents), *_of_layers(deep, programs, said)), found, tuple(on_cpu), _around(contents)
    )


def _environments(deep: Contents) -> list[str]:
    roots = conda_roots(deep.packages)
    return list(dict.fromkeys(environment_of(each.path, roots) for each in deep.packages))


def _seen_from(deep: Contents, environment: str) -> Contents:
    """What a program of this environment may load: what lies in it, and the system's."""
    roots = conda_roots(deep.packages)

    def is_seen(each: Package | Library | Statement | Code) -> bool:
        return environment_of(each.path, roots) in {environment, SYSTEM}

    return replace(
        deep,
        packages=tuple(filter(is_seen, deep.packages)),
        libraries=tuple(filter(is_seen, deep.libraries)),
        statements=tuple(filter(is_seen, deep.statements)),
        code=tuple(filter(is_seen, deep.code)),
    )


def _builds(deep: Contents, environment: str) -> Iterator[tuple[str, Package, Device]]:
    """Frameworks of an environment, each with the package that tells most: a build for GPUs before one for the CPU."""
    roots = conda_roots(deep.packages)
    packages = [each for each in deep.packages if environment_of(each.path, roots) == environment]
    names = frozenset(each.name for each in packages)
    found: dict[str, list[tuple[bool, str, str, Package, Device]]] = {}
    for each in packages:
        device = device_of(each.name, each.version, cuda=each.cuda, beside=names)
        if device in {Device.GPU, Device.CPU}:
            rank = (device is Device.GPU, each.cuda, each.name, each, device)
            found.setdefault(framework_of(each.name), []).append(rank)
    for name, ranks in found.items():
        *_, package, device = max(ranks, key=lambda rank: rank[:3])
        yield name, package, device


def _framework(  # noqa: PLR0913, PLR0917 - a framework, and all that says something of it
    name: str, package: Package, contents: ImageContents, seen: Contents, said: tuple[Evidence, ...], place: str
) -> Program:
    """One framework as a program; `place` tells it from the same one in another environment."""
    trusted = (*_of_framework(name, package, seen), *_runtimes(seen), *said)
    found = _program(name, replace(contents, deep=seen), trusted, _code_in(seen, _FOLDERS.get(name, ())), package)
    return replace(found, name=f"{name} in /{place}") if place else found


def _of_framework(name: str, package: Package, deep: Contents) -> Iterator[Evidence]:
    for said in deep.statements:
        if framework_of(said.of) == name and said.what == "cuda":
            what = f"{said.of} says that it was built for CUDA {said.value}"
            yield Evidence(_line(said.value), what, said.path, _BUILT_FOR)
    if package.cuda:
        yield Evidence(package.cuda, f"the package {package.name} {package.version}", package.path, _BUILT_FOR)
    for each in deep.packages:
        if name == "jax" and each.cuda and each.name.startswith("jax-cuda"):
            yield Evidence(each.cuda, f"the wheel {each.name} {each.version}", each.path, _BUILT_FOR)


def _runtimes(deep: Contents) -> Iterator[Evidence]:
    """CUDA runtimes that lie in the image: wheels before conda before the distribution's before bare libraries."""
    kinds = {"wheel": 0, "conda": 1, "deb": 2}
    form = re.compile(r"nvidia-cuda-runtime(-cu\d+)?|cuda-cudart(-\d+-\d+)?|cudatoolkit")
    packages = sorted((p for p in deep.packages if form.fullmatch(p.name)), key=lambda p: kinds[p.kind])
    for package in packages:
        kind = {"deb": "package"}.get(package.kind, package.kind)
        yield Evidence(package.cuda, f"the {kind} {package.name} {package.version}", package.path, _LIES_THERE)
    for library in deep.libraries:
        if library.name == "cudart" and library.version and not any(p.version == library.version for p in packages):
            what = f"the runtime library {library.path}"
            yield Evidence(_cudart_line(library.version), what, library.path, _LIES_THERE)
    for statement in deep.statements:
        if statement.of == "toolkit" and statement.what == "cuda":
            what = f"the toolkit's own note of {statement.value}"
            yield Evidence(_line(statement.value), what, statement.path, _IN_TOOLKIT)


def _cudart_line(version: str) -> str:
    """`libcudart.so.11.0` is the name of every 11.x; only a third number makes the second one a minor version."""
    steps = version.split(".")
    return ".".join(steps[:2]) if len(steps) > 2 or int(steps[0]) <= 10 else steps[0]


def _said(contents: ImageContents) -> Iterator[Evidence]:
    """Environment, then labels: what somebody wrote down about the image."""
    env = dict(contents.settings.env)
    for name in ("CUDA_VERSION", "NVIDIA_CUDA_VERSION", "CUDA_PKG_VERSION"):
        if match := _LINE.search(env.get(name, "")):
            yield Evidence(_joined(match), f"{name}={env[name]} in the environment", "config", _SAID)
    for key, value in contents.settings.labels:
        if _LABEL.search(key) and (match := _LINE.match(value.strip().lower().removeprefix("cuda").strip())):
            yield Evidence(_joined(match), f"the label {key}={value}", "config", _SAID)


def _program(
    name: str,
    contents: ImageContents,
    trusted: tuple[Evidence, ...],
    code: tuple[str, str] | None,
    package: Package | None = None,
) -> Program:
    """Fields of a case. The first evidence counts; a later one that agrees may say more exactly what it is."""
    fields: dict[str, str] = {}
    notes: list[Note] = []
    if trusted:
        first = trusted[0]
        agreeing = [each.value for each in trusted if each.agrees(first.value)]
        line = max(agreeing, key=lambda value: (value.count("."), -agreeing.index(value)))
        fields["cuda"] = line
        notes += _disagreements(next(each for each in trusted if each.value == line), trusted)
    if package is not None:
        release, _, local = package.version.partition("+")
        fields |= {"framework": name, "framework_version": release}
        if not code and (match := re.match(r"cu\d+", local)):
            fields["build"] = match[0]
        if cudnn := _cudnn(contents.deep):
            fields["cudnn"] = cudnn
    if code is not None:
        fields |= {"sm_list": code[0] or "none", "ptx": code[1] or "none"} if any(code) else {}
    return Program(name or "the image", {**fields, **_around(contents)}, tuple(notes))


def _disagreements(counts: Evidence, all_said: Iterable[Evidence]) -> Iterator[Note]:
    told = set()
    for each in all_said:
        if not each.agrees(counts.value) and each not in told:
            told.add(each)
            yield Note(
                f"{each.what} means CUDA {each.value}, but {counts.what} means {counts.value}: the latter counts, "
                f"{counts.weight}",
                counts.where,
            )


def _around(contents: ImageContents) -> dict[str, str]:
    deep, fields = contents.deep, {}
    if deep is not None:
        fields["cuda_compat"] = "yes" if deep.compat else "no"
        if deep.glibc and deep.glibc != "musl":
            fields["image_glibc"] = deep.glibc
    if env := _environment(contents):
        fields["env"] = env
    return fields


def _cudnn(deep: Contents | None) -> str:
    libraries = deep.libraries if deep is not None else ()
    versions = [each.version for each in libraries if each.name == "cudnn" and each.version.count(".") >= 2]
    return ".".join(versions[0].split(".")[:3]) if versions else ""


def _environment(contents: ImageContents) -> str:
    """Variables that rules read. One that does not fit whole is left out: half a requirement is another one."""
    text = ""
    for key, value in contents.settings.env:
        if _ENV_READ.match(key):
            added = f"{text};{key}={value.replace(';', ',')}" if text else f"{key}={value.replace(';', ',')}"
            text = added if len(added) <= _LONGEST_ENV else text
    return text


def _code_in(deep: Contents, folders: tuple[str, ...]) -> tuple[str, str] | None:
    """Targets of the files below these folders of site-packages; None where there is no device code."""
    return _targets(
        each
        for each in deep.code
        for folder in folders
        if f"-packages/{folder}" in each.path and "/nvidia/" not in each.path
    )


def _own_code(deep: Contents) -> tuple[str, str] | None:
    """Targets of programs that are not NVIDIA's: those libraries have code for all that their CUDA knows."""
    return _targets(each for each in deep.code if not _BY_NVIDIA.search(each.path))


def _targets(codes: Iterable[Code]) -> tuple[str, str] | None:
    cubins: dict[str, int] = {}
    ptx: dict[str, int] = {}
    for code in codes:
        for known, found in ((cubins, code.cubins), (ptx, code.ptx)):
            for target, count in found:
                known[target] = known.get(target, 0) + count
    if not cubins and not ptx:
        return None
    return _common(cubins), _common(ptx)


def _common(counts: Mapping[str, int]) -> str:
    least = ENOUGH * max(counts.values(), default=0)
    return ";".join(sorted((target for target, count in counts.items() if count >= least), key=_order))


def _order(target: str) -> tuple[int, str]:
    match = re.search(r"(\d+)([a-z]?)$", target)
    return (int(match[1]), match[2]) if match else (0, target)


def _of_settings(contents: ImageContents) -> Iterator[Remark]:
    if contents.settings.secrets:
        names = listing(contents.settings.secrets)
        yield Remark(
            "secret-in-config",
            f"the config has what looks like a secret in {names}; everybody who can pull the image can read it",
            "revoke it, and give it to the container when it starts",
        )


def _of_layers(deep: Contents, programs: tuple[Program, ...], said: tuple[Evidence, ...]) -> Iterator[Remark]:
    if deep.driver:
        paths = listing([f"{each.path} ({each.what})" for each in deep.driver], most=3)
        yield Remark(
            "driver-inside",
            f"the image has parts of a driver: {paths}; they hide those of the host, which the kernel needs",
            "leave the driver out of the image: the container toolkit brings the host's",
            sum(each.size for each in deep.driver),
        )
    extra = sum(each.extra_bytes for each in deep.copies)
    if extra >= _COPIES_TOLD:
        names = listing(
            [f"lib{each.name} in {listing([_folder(path) for path in each.paths], most=2)}" for each in deep.copies],
            most=3,
        )
        yield Remark(
            "cuda-twice",
            f"CUDA is in the image twice: {names}",
            "start from a base image without CUDA: wheels bring theirs",
            extra,
        )
    for environment, by_major in majors(deep).items():
        whose = " and ".join(f"CUDA {major} ({what})" for major, what in sorted(by_major.items()))
        yield Remark(
            "two-cudas",
            f"the environment /{environment} has {whose}: a program that uses both loads two runtimes, each with "
            "needs of its own",
            "take builds for one CUDA, or give each a kernel with an environment of its own",
        )
    lines = {program.name: program.fields["cuda"] for program in programs if "cuda" in program.fields}
    wrong = [each for each in said if lines and not any(each.agrees(line) for line in lines.values())]
    if wrong:
        has = listing([f"{name} is for {line}" for name, line in lines.items()])
        yield Remark(
            "label-disagrees",
            f"{wrong[0].what} means CUDA {wrong[0].value}, and {has}",
            "correct it: others read it, and so may the container toolkit",
        )
    yield from _of_bytes(deep)


def _of_bytes(deep: Contents) -> Iterator[Remark]:
    cached = sum(each.size for each in deep.caches)
    if cached >= _CACHES_TOLD:
        places = listing([f"{each.path} ({each.what})" for each in deep.caches], most=3)
        yield Remark(
            "caches", f"caches are in the image: {places}", "use cache mounts, or remove them in the same step", cached
        )
    wasted = sum(each.wasted_bytes for each in deep.layers)
    if wasted >= _WASTE_TOLD:
        numbers = [str(number + 1) for number, each in enumerate(deep.layers) if each.wasted_bytes * 20 > wasted]
        yield Remark(
            "waste",
            f"layer {', '.join(numbers)} has files that a later layer replaces or removes; they are still pulled",
            "remove them in the step that makes them, or copy the result into a new stage",
            wasted,
        )


def _folder(path: str) -> str:
    return "/" + path.rpartition("/")[0]


def _line(version: str) -> str:
    match = _LINE.match(version)
    return _joined(match) if match else version


def _joined(match: re.Match[str]) -> str:
    return f"{match[1]}.{match[2]}" if match[2] else match[1]
