"""Weighs an image's conflicting statements: labels, environment, toolkit, wheels. Pure.

What a program loads decides: a wheel brings its own CUDA and ignores labels. So the order of trust is the
framework's statement on its own build, the installed CUDA runtime, the toolkit, the environment, the labels.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from posixpath import basename
from typing import Final, NamedTuple

from compat.evidence.case import COMPAT_FIRST
from compat.evidence.names.distributions import Device, device_of, framework_of
from compat.values.versions import CUDA_OF_PTX
from imaging.inspection.cuda_evidence import Evidence, compilers, loaded, of_framework, runtimes, written
from imaging.inspection.environments import SYSTEM, conda_roots, environment_of
from imaging.inspection.facts import Code, Contents, ImageContents, Library, Package, Statement
from imaging.inspection.finders.libraries import LOADER
from imaging.inspection.recommendations import Remark, remarks

ENOUGH: Final = 0.25
"""A target counts with this share of the commonest one's entries: a rarer one has code of few kernels."""
_SERIOUS: Final = 0.05
"""A library with fewer fat binaries, by this share of the biggest one's, is a helper."""
# Below a framework's folder, and not what all of it needs: NVIDIA's libraries, and linear algebra, which loads late.
_BESIDE: Final = re.compile(r"/nvidia/|/libtorch_cuda_linalg\.so")
_FOR_CUDA: Final = re.compile(r"cuda(\d{2,3})(?=[^/]*$)")
_LONGEST_ENV: Final = 3500  # characters; a case allows 4000 in a field
_ENV_READ: Final = re.compile(
    r"^(?:NVIDIA_(?:REQUIRE_\w+|DISABLE_REQUIRE|VISIBLE_DEVICES|DRIVER_CAPABILITIES)|CUDA_VISIBLE_DEVICES|LD_LIBRARY_PATH)$"
)


@dataclass(frozen=True, slots=True)
class Note:
    """The statement that counts, and why."""

    says: str
    source: str


class Targets(NamedTuple):
    """Device code as fields of a case."""

    sm_list: str
    ptx: str
    compressed: str


@dataclass(frozen=True, slots=True)
class Program:
    """A program in the image that uses a GPU, as fields of a case for `compat`."""

    name: str
    fields: Mapping[str, str]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Conclusions:
    programs: tuple[Program, ...]
    remarks: tuple[Remark, ...] = ()
    cuda: tuple[Evidence, ...] = field(default=())
    """All statements about CUDA, the most trusted first."""
    for_cpu: tuple[str, ...] = ()
    """Frameworks with only a CPU build: they use no GPU."""
    around: Mapping[str, str] = field(default_factory=dict)
    """Fields of a case for every program of the image, and for an image without one."""


# Folders of a framework's device code, below site-packages; other targets are not reported.
FOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
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
    "mlx": ("mlx/",),
}
# Libraries of CUDA have code for all targets of their CUDA.
_BY_NVIDIA: Final = re.compile(
    r"(?:^|/)nvidia/|(?:^|/)(?:local|opt)/cuda(?:-[\d.]+)?/|(?:^|/)lib(?:cu(?:da|blas|dnn|dss|fft|file|inj|pti|rand|solver|sparse|tensor)|nv|npp|nccl)"
    r"\w*(?:-[0-9a-f]+)?\.so"
)


def judge(contents: ImageContents) -> Conclusions:
    """The image's facts for `check`, and faults of the image itself."""
    stated = tuple(written(contents))
    deep = contents.deep
    if deep is None:
        return Conclusions(
            (_program("", contents, stated, None),) if stated else (), tuple(remarks(contents, {}, stated)), stated
        )
    builds = [(environment, *build) for environment in _environments(deep) for build in _builds(deep, environment)]
    on_cpu = [f"{each.name} {each.version}" for _, _, each, device in builds if device is Device.CPU]
    on_gpu = [(environment, name, each) for environment, name, each, device in builds if device is Device.GPU]
    several = {name for name, count in Counter(name for _, name, _ in on_gpu).items() if count > 1}
    programs = tuple(
        _framework(name, package, contents, _seen_from(deep, environment), stated, environment * (name in several))
        for environment, name, package in on_gpu
    )
    own = [code for code in deep.code if not _BY_NVIDIA.search(code.path)]
    there = (*runtimes(deep), *_of_code(own))
    found = tuple(dict.fromkeys([*there, *stated]))
    # What people wrote about an image says nothing of a program when all that is there is built for the CPU.
    counts = there if on_cpu else found
    if not programs and (counts or _targets(own)):
        programs = (_program("", contents, counts, _targets(own)),)
    lines = {program.name: program.fields["cuda"] for program in programs if "cuda" in program.fields}
    return Conclusions(programs, tuple(remarks(contents, lines, stated)), found, tuple(on_cpu), _around(contents))


def _environments(deep: Contents) -> list[str]:
    roots = conda_roots(deep.packages)
    return list(dict.fromkeys(environment_of(each.path, roots) for each in deep.packages))


def _seen_from(deep: Contents, environment: str) -> Contents:
    """Files that a program of this environment may load: its own, and the system's."""
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
    """Frameworks of an environment, each with its most relevant package: a GPU build before a CPU build."""
    roots = conda_roots(deep.packages)
    packages = [each for each in deep.packages if environment_of(each.path, roots) == environment]
    names = frozenset(each.name for each in packages)
    says = [each for each in deep.statements if environment_of(each.path, roots) == environment]
    without_cuda = {framework_of(each.of) for each in says if each.what == "without_cuda"}
    found: dict[str, list[tuple[bool, str, str, Package, Device]]] = {}
    for each in packages:
        device = device_of(each.name, each.version, cuda=each.cuda, beside=names)
        if device is Device.GPU and not each.cuda and framework_of(each.name) in without_cuda:
            device = Device.CPU
        if device in {Device.GPU, Device.CPU}:
            rank = (device is Device.GPU, each.cuda, each.name, each, device)
            found.setdefault(framework_of(each.name), []).append(rank)
    for name, ranks in found.items():
        *_, package, device = max(ranks, key=lambda rank: rank[:3])
        yield name, package, device


def _framework(  # noqa: PLR0913, PLR0917 - a framework, and all evidence of it
    name: str, package: Package, contents: ImageContents, seen: Contents, stated: tuple[Evidence, ...], place: str
) -> Program:
    """One framework as a program; `place` tells it from the same one in another environment."""
    own = _code_below(seen, FOLDERS.get(name, ()))
    trusted = (*of_framework(name, package, seen), *runtimes(seen), *_of_code(own), *stated)
    code, lacking = _code_in(own, trusted[0].value if trusted else "")
    found = _program(name, replace(contents, deep=seen), trusted, code, package)
    return replace(found, name=f"{name} in /{place}" if place else found.name, notes=(*found.notes, *lacking))


def _program(
    name: str,
    contents: ImageContents,
    trusted: tuple[Evidence, ...],
    code: Targets | None,
    package: Package | None = None,
) -> Program:
    """Fields of a case. The first evidence counts; later evidence that agrees may make it more precise."""
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
        fields |= code._asdict()
    return Program(name or "the image", {**fields, **_around(contents)}, tuple(notes))


def _disagreements(counts: Evidence, all_stated: Iterable[Evidence]) -> Iterator[Note]:
    reported = set()
    for each in all_stated:
        if not each.agrees(counts.value) and each not in reported:
            reported.add(each)
            yield Note(
                f"{each.what} means CUDA {each.value}, but {counts.what} means {counts.value}: the latter counts, "
                f"{counts.weight}",
                counts.where,
            )


def _around(contents: ImageContents) -> dict[str, str]:
    deep, fields = contents.deep, {}
    if deep is not None:
        kinds = {each.name == LOADER for each in deep.compat}
        fields["cuda_compat"] = "no" if False not in kinds else COMPAT_FIRST if True in kinds else "yes"
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
    """Variables that rules read. Overlong ones are left out: half a requirement is another one."""
    text = ""
    for key, value in contents.settings.env:
        if _ENV_READ.match(key):
            added = f"{text};{key}={value.replace(';', ',')}" if text else f"{key}={value.replace(';', ',')}"
            text = added if len(added) <= _LONGEST_ENV else text
    return text


def _code_below(deep: Contents, folders: tuple[str, ...]) -> list[Code]:
    """Files with device code below these folders of site-packages."""
    return [
        code
        for code in deep.code
        if any(f"-packages/{folder}" in code.path for folder in folders) and not _BESIDE.search(code.path)
    ]


def _code_in(own: Sequence[Code], cuda: str) -> tuple[Targets | None, list[Note]]:
    """Targets of a program's files, None if there is no device code; and what lacks some.

    A program is judged by the library that serves most targets: those that serve fewer have kernels for some GPUs
    alone (FlashAttention), and what is in few fat binaries of others has few kernels.
    """
    alike, other = serving_most(_chosen(own, cuda))
    named = ((code, ", ".join(sorted(_counting(code), key=_order))) for code in other)
    notes = [
        Note(f"{basename(code.path)} has code for {targets} alone: other GPUs are without what it does", code.path)
        for code, targets in named
    ]
    return _targets(alike), notes


def serving_most(libraries: Sequence[Code]) -> tuple[list[Code], list[Code]]:
    """The libraries that serve most targets, and the other big ones; helpers with few fat binaries are in neither."""
    size = {code.path: _most(code) for code in libraries}
    serious = [code for code in libraries if size[code.path] >= _SERIOUS * max(size.values())]
    served = (
        set(_counting(max(serious, key=lambda code: (len(_counting(code)), size[code.path])))) if serious else set()
    )
    alike = [code for code in serious if set(_counting(code)) == served]
    return alike, [code for code in serious if code not in alike]


def _of_code(own: Sequence[Code]) -> tuple[Evidence, ...]:
    """What a program's files say of their CUDA. Of libraries for one CUDA each it loads one: nothing says which."""
    single = [code for group in _by_cuda(own) if len(group) == 1 for code in group.values()]
    return (*loaded(single), *compilers(single))


def _by_cuda(codes: Sequence[Code]) -> list[dict[str, Code]]:
    """Groups of libraries that differ only in the CUDA of their name (`libbitsandbytes_cuda124.so`), by it."""
    groups: dict[str, dict[str, Code]] = {}
    for code in codes:
        match = _FOR_CUDA.search(code.path)
        groups.setdefault(_FOR_CUDA.sub("cuda", code.path), {})[match[1] if match else ""] = code
    return [*groups.values()]


def _chosen(codes: Sequence[Code], cuda: str) -> list[Code]:
    """Of libraries for one CUDA each the one that a program loads: the image's CUDA."""
    wanted = cuda.replace(".", "")
    found = []
    for group in _by_cuda(codes):
        exact = {of: code for of, code in group.items() if of == wanted} if len(group) > 1 else group
        same = {of: code for of, code in group.items() if wanted and of.startswith(cuda.partition(".")[0])}
        by_number = exact or same or group
        found.append(by_number[max(by_number, key=lambda of: int(of or 0))])
    return found


def _most(code: Code) -> int:
    """Entries of its commonest target, which is about the number of its fat binaries."""
    return max((count for _, count in (*code.cubins, *code.ptx)), default=0)


def _counting(code: Code) -> list[str]:
    """Targets with code of most kernels: those of at least a quarter of the fat binaries."""
    return [target for target, count in (*code.cubins, *code.ptx) if count >= ENOUGH * _most(code)]


def _targets(codes: Iterable[Code]) -> Targets | None:
    cubins: dict[str, int] = {}
    ptx: dict[str, int] = {}
    compressed: set[str] = set()
    languages: dict[str, str] = {}
    for code in codes:
        compressed.update(code.compressed)
        for target, language in code.languages:
            if language in CUDA_OF_PTX:
                languages[target] = max(language, languages.get(target, language), key=CUDA_OF_PTX.__getitem__)
        for known, found in ((cubins, code.cubins), (ptx, code.ptx)):
            for target, count in found:
                known[target] = known.get(target, 0) + count
    if not cubins and not ptx:
        return None
    by_zstd = ";".join(sorted(compressed, key=_order))
    # A few entries of PTX do not make everything runnable: it counts beside machine code.
    least = ENOUGH * max((*cubins.values(), *ptx.values()))
    counting = sorted((target for target, count in ptx.items() if count >= least), key=_order)
    read = ";".join(f"{each}@{languages[each]}" if each in languages else each for each in counting)
    machine = ";".join(sorted((target for target, count in cubins.items() if count >= least), key=_order))
    return Targets(machine or "none", read or "none", by_zstd or "none")


def _order(target: str) -> tuple[int, str]:
    match = re.search(r"(\d+)([a-z]?)$", target)
    return (int(match[1]), match[2]) if match else (0, target)
