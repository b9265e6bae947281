"""Finds framework builds by people's names for them (`torch==2.6.0+cu124`, `jax[cuda12]`, `cupy-cuda11x`)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import NamedTuple

from packaging.version import Version

from compat.evidence.names.distributions import ALIASES, framework_of
from compat.evidence.names.typed import Targets, plain_text, read_cudas, read_targets
from compat.facts import tables
from compat.facts.rows import LINUX, Build
from compat.values.versions import CudaVersion, VersionError, parse_release

# Builds that load CUDA's libraries from the image; all others bring their own.
LOADS_CUDA_FROM_OUTSIDE = frozenset(
    {"tensorflow", "mxnet", "cupy", "onnxruntime", "paddle", "ctranslate2", "faster-whisper"}
)

# Published for each CUDA line under the same version: the installer, or the user, picks the one for the driver.
# bitsandbytes has a library for each CUDA in one wheel, and uses the CUDA of the installed torch.
# Sources: http://docs.openmm.org (conda packages with labels cuda75 to cuda110), https://anaconda.org/omnia/openmm,
# https://huggingface.co/docs/bitsandbytes/v0.50.0/installation
TAKEN_BY_DRIVER = frozenset({"bitsandbytes", "openmm"})


# --- the field `build`

GRAMMAR = (
    "is none of: a pin (torch==2.6.0+cu124, cupy-cuda12x, jax[cuda12]), a wheel or index tag (cu118, cuda12, "
    "conda cuda12.1, cpu), targets (sm_70;8.0+PTX), ptx only, no ptx, nvcc 12.4, cudatoolkit=11.3"
)
_END = re.compile(r"[\s;,]+|$")


@cache
def _forms() -> re.Pattern[str]:
    """One part of `build`; few questions have one, and compiling this takes longer than most answers."""
    return re.compile(
        r"""(?P<ptx>(?:only|no)[ ]ptx|ptx[ ]only)
        | nvcc[ =](?P<nvcc>\d\d?\.\d)(?:\.\d+)?
        | (?P<toolkit>(?:cudatoolkit|cuda-version|pytorch-cuda)={1,2}\d\d?(?:\.\d+)*)
        | (?P<installer>pip|conda)
        | (?:(?:https?://)?[\w./-]*whl/)?(?P<tag>(?:torch-)?cu(?:da)?[_-]?v?\d[\d.]*x?(?:_local|-cu\d+)?|cpu)
        | (?P<target>(?:sm_?|compute_?)?(?:\d\d?\.\d|\d{2,3})[af]?(?:-real|-virtual|[ ]?\+[ ]?ptx)?)
        | (?P<name>[a-z][\w.-]*)(?P<extras>\[[\w,-]+\])?(?:==v?(?P<version>[\w.+!-]+))?""",
        re.VERBOSE | re.ASCII,
    )


class Pin(NamedTuple):
    """A distribution as pip or conda installs it: `jax[cuda12]==0.4.30`."""

    name: str
    extras: str = ""
    version: str = ""

    @property
    def of_cuda(self) -> tuple[str, str]:
        """Parts that may name a CUDA: the name with its extras, and the version's local part."""
        return self.name + self.extras, self.version.partition("+")[2]


@dataclass(frozen=True, slots=True)
class BuildField:
    """The parts of the field `build`."""

    pins: tuple[Pin, ...] = ()
    cuda: tuple[CudaVersion, ...] = ()  # of a tag, or of conda's cudatoolkit
    nvcc: tuple[CudaVersion, ...] = ()  # of the compiler
    targets: Targets | None = None
    is_ptx_only: bool = False
    has_no_ptx: bool = False
    is_conda: bool = False
    is_for_cpu: bool = False
    brings_cuda: bool | None = None  # jax[cuda12], tensorflow[and-cuda], conda: yes; cuda12_local: no; None: as usual


@lru_cache(4096)
def read_build(text: str) -> BuildField:
    """Read `build`, part by part; raises VersionError, which lists the forms, for any other word."""
    plain = plain_text(text)
    found: list[re.Match[str]] = []
    place = 0
    while place < len(plain):
        part = _forms().match(plain, place)
        end = _END.match(plain, part.end()) if part else None
        if part is None or end is None or not _is_known(part):
            raise VersionError(text[:80], GRAMMAR)
        found.append(part)
        place = end.end()
    pins = tuple(Pin(each["name"], each["extras"] or "", each["version"] or "") for each in found if each["name"])
    tags = [each["tag"] or each["toolkit"] for each in found if each["tag"] or each["toolkit"]]
    targets = ";".join(each["target"] for each in found if each["target"])
    words = " ".join(each["ptx"] for each in found if each["ptx"])
    is_conda = any(each["installer"] == "conda" for each in found)
    brings = True if is_conda or any("cuda" in pin.extras for pin in pins) else None
    return BuildField(
        pins=pins,
        cuda=next(filter(None, map(_lines, (*(part for pin in pins for part in pin.of_cuda), *tags))), ()),
        nvcc=next((read_cudas(each["nvcc"]) for each in found if each["nvcc"]), ()),
        targets=read_targets(targets) if targets else None,
        is_ptx_only="only" in words,
        has_no_ptx="no ptx" in words,
        is_conda=is_conda,
        is_for_cpu="cpu" in tags or any(pin.name.endswith("-cpu") for pin in pins),
        brings_cuda=False if any("local" in each for each in (*tags, *(pin.extras for pin in pins))) else brings,
    )


def is_tag(text: str) -> bool:
    """Can `build` state this variant of a wheel?"""
    return (part := _forms().fullmatch(text)) is not None and part["tag"] is not None


def _is_known(part: re.Match[str]) -> bool:
    """Is it a pin? A single word is one only if it names a framework's distribution."""
    name = part["name"]
    if not name or part["extras"] or part["version"]:
        return True
    return bool(framework_of(name)) or _framework(name) in {*ALIASES.values(), *tables.frameworks()}


def _lines(text: str) -> tuple[CudaVersion, ...]:
    """CUDA in `cu118`, `cuda11.8`, `cuda12`, `cupy-cuda11x`, `jax[cuda12]`, `cudatoolkit=10.1`, `2.1.2+pt21cu121`."""
    match = re.search(r"cu(?:da)?(?:toolkit|-version)?[_=-]*v?(\d{1,3}(?:[._]\d+)*x?)", text.lower())
    if match is None:
        return ()
    number = match[1] if "." in match[1] or len(match[1].rstrip("x")) < 3 else f"cu{match[1]}"
    packed = f"cu{number}" if re.fullmatch(r"[789]\d", number) else number
    try:
        return tuple(line.line for line in read_cudas(packed))
    except VersionError:
        return ()


# --- the wanted build


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """A framework build, as far as the case has it."""

    framework: str
    version: Version | None = None
    cuda: tuple[CudaVersion, ...] = ()  # possible lines of the variant; empty: not stated
    cpu_only: bool = False
    conda: bool = False
    brings_cuda: bool | None = None
    from_source: bool = False
    system: str = LINUX  # as distributions write it


@dataclass(frozen=True, slots=True)
class Choice:
    """Possible rows for a spec. `near` is set if they are those of neighbouring versions.

    `is_likely`: the requested version is newer than all known ones, so it may differ from them.
    """

    builds: tuple[Build, ...]
    near: str = ""
    is_likely: bool = False


@lru_cache(4096)
def read_build_spec(framework: str, version: str, build: str, *, system: str = LINUX) -> BuildSpec | None:
    """The spec that three texts express; None without a framework. Raises VersionError for a bad version or build."""
    stated = read_build(build) if build else BuildField()
    written = re.fullmatch(r"([\w. -]*[A-Za-z][\w. -]*?)(\[[\w,-]+\])?(?:==v?([\w.+!-]+))?", framework.strip())
    name = _framework(written[1]) if written else ""
    pins = [pin for pin in stated.pins if not name or _framework(pin.name) == name]
    name = name or next((_framework(pin.name) for pin in pins), "")
    if not name:
        return None
    number = version or (written[3] if written and written[3] else "") or next((pin.version for pin in pins), "")
    found, local = _split(number)
    in_name = _lines(f"{written[1]}{written[2] or ''}") if written else ()
    is_named_so = written is not None and written[1].lower().endswith("-cpu")  # tensorflow-cpu
    return BuildSpec(
        framework=name,
        version=found,
        cuda=_lines(local) or in_name or stated.cuda or _lines(_of_paddle(name, number)),
        cpu_only=local == "cpu" or is_named_so or (stated.is_for_cpu and not stated.cuda),
        conda=stated.is_conda,
        brings_cuda=stated.brings_cuda,
        from_source=_is_of_a_checkout(name, found),
        system=system,
    )


def _framework(text: str) -> str:
    """`PyTorch` and `torch` are pytorch, `cupy-cuda12x` is cupy; a name in no table stays as it is."""
    key = re.sub(r"[^a-z0-9]", "", re.split(r"[\s_-]*(?:cuda|cu)\d", text.lower())[0])
    return ALIASES.get(key) or ALIASES.get(re.sub(r"\d+$", "", key)) or key


def _is_of_a_checkout(framework: str, version: Version | None) -> bool:
    """PyTorch builds from a checkout are called 1.3.0a0; its nightly wheels are .dev.

    Source: https://github.com/pytorch/pytorch/issues/9926, https://github.com/pytorch/pytorch/issues/109958
    """
    return framework == "pytorch" and version is not None and version.pre is not None and version.pre[0] == "a"


def _split(written: str) -> tuple[Version | None, str]:
    """`v2.6.0+cu124` as the release and its local part; a tag of an image (`2.5.1-cuda12.4-cudnn9`) likewise."""
    plain = written.strip().lower().removesuffix(".x").removesuffix(".*")
    if not plain:
        return None, ""
    plain = re.sub(r"^v(?=\d)", "", plain)
    tagged = re.fullmatch(r"([\d.]+)-(cuda[\d.]+)(?:-.*)?", plain)
    version = parse_release(tagged[1] if tagged else plain)
    return Version(version.public), version.local or (tagged[2] if tagged else "")


def _of_paddle(framework: str, written: str) -> str:
    """For Paddle, `2.5.1.post117` means cu117.

    Source: paddlepaddle.org.cn/documentation/docs/en/2.6/install/pip/linux-pip_en.html
    """
    match = re.search(r"\.post(\d{3})$", written.strip()) if framework == "paddle" else None
    return f"cu{match[1]}" if match else ""


def choose(spec: BuildSpec) -> Choice:
    """Rows of the tables for a spec: the requested version, or else the nearest older one of the same minor."""
    return _choose(spec, str(spec.version))


@lru_cache(4096)
def _choose(spec: BuildSpec, _as_written: str) -> Choice:  # 2.3 and 2.3.0 compare equal: the first is any patch of it
    rows = tuple(row for row in tables.builds(spec.framework) if for_system(row, spec.system))
    near, is_likely = "", False
    if spec.version is not None:
        exact = tuple(row for row in rows if _same_version(row, spec.version))
        if not exact:
            exact, near, is_likely = _neighbours(rows, spec.version)
        rows = exact
    if spec.cuda:
        wanted = set(spec.cuda)
        rows = (*rows, *_beside(rows, wanted, spec.system))
        exact = tuple(row for row in rows if row.cuda is not None and row.cuda.line in wanted)
        exact = exact or tuple(replace(row, cuda=line) for row in rows for line in spec.cuda if _spans(row, line))
        rows = exact or tuple(row for row in rows if _is_of_major(row, {line.major for line in wanted}))
        if len(wanted) > 1:  # cu12, cuda11x: as one variant if the tables have it
            rows = _one_variant(rows)
    elif len(rows) > 1 and not spec.conda:
        with_default = {row.version for row in rows if row.is_default}
        rows = tuple(row for row in rows if row.is_default or row.version not in with_default)
    found = _most_detailed(rows, conda=spec.conda, are_neighbours=bool(near))
    return Choice(tuple(_as_read(row, spec.system, is_near=bool(near)) for row in found), near, is_likely)


def _as_read(row: Build, system: str, *, is_near: bool) -> Build:
    """The compression was read from one wheel; it does not apply to other releases or systems."""
    is_of_it = _system_of(row) == system or (not _system_of(row) and system == LINUX)
    return row if row.compressed is None or (is_of_it and not is_near) else replace(row, compressed=None)


def _beside(rows: tuple[Build, ...], wanted: set[CudaVersion], system: str) -> tuple[Build, ...]:
    """The same releases with their pinned framework for another CUDA, from that framework's own index.

    Their own code is then another build's than the wheel's that was read: the image of vLLM 0.9.0 compiles it anew.
    Source: vllm 0.9.0 docker/Dockerfile (`--extra-index-url https://download.pytorch.org/whl/cu128`).
    """
    have = {row.cuda.line for row in rows if row.cuda}
    return tuple(
        tables.with_pinned(replace(row.alone or row, alone=None, cubins=None, ptx=None, ptx_cuda=None), each)
        for row in rows
        for each in tables.pinned_by(row)
        if each.cuda and each.cuda.line in wanted - have and for_system(each, system)
    )


def _spans(row: Build, line: CudaVersion) -> bool:
    """A row for all libraries of a wheel whose code is alike: `cu118-cu126`."""
    match = re.fullmatch(r"cu(\d{3})-cu(\d{3})", row.variant)
    return match is not None and int(match[1]) <= int(f"{line.major}{line.minor}") <= int(match[2])


def _is_of_major(row: Build, majors: set[int]) -> bool:
    """Variants for a whole major: cu12, cuda12, cu12x."""
    match = re.fullmatch(r"cu(?:da)?(\d{2})x?", row.variant)
    return match is not None and int(match[1]) in majors


def for_system(row: Build, system: str) -> bool:
    """A row that names no system is for all of them."""
    return _system_of(row) in {"", system}


def _system_of(row: Build) -> str:
    """Empty if the row names none."""
    named = re.search(r"linux (x86_64|aarch64)", row.distribution)
    return named[0] if named else ""


def _same_version(row: Build, version: Version) -> bool:
    if not row.version[:1].isdigit():
        return False
    of_row = parse_release(row.version)
    if len(version.release) < 3 and not version.is_prerelease:  # 2.3 means 2.3.0, or any 2.3.x if that is missing
        return of_row.release[: len(version.release)] == version.release
    return of_row == version


def _neighbours(rows: tuple[Build, ...], version: Version) -> tuple[tuple[Build, ...], str, bool]:
    """Builds of releases close to one that the tables lack.

    Variants and targets change at minors, seldom at patches: an older release of the same minor stands for it, unless
    a newer one of that minor has other code: then it may be either. A pre-release may be built like the release that it
    became, or like the one before; a release candidate is like the release, which is on its branch.
    """
    known = {row.version: parse_release(row.version) for row in rows if row.version[:1].isdigit()}
    if version.pre is not None and version.pre[0] == "rc" and not version.is_devrelease:
        became = [text for text, each in known.items() if each == Version(version.base_version)]
        if became:  # comes from the branch of the release, so it is built alike
            return tuple(row for row in rows if row.version in became), " and ".join(became), False
    major = {text: each for text, each in known.items() if each.release[:1] == version.release[:1]}
    older = max((each for each in major.values() if each <= version), default=None)
    newer = min((each for each in major.values() if each > version), default=None)
    if older is not None and older.release[:2] == version.release[:2]:
        is_changed = (
            newer is not None and newer.release[:2] == older.release[:2] and _code(rows, older) != _code(rows, newer)
        )
        newer = newer if is_changed else None
    is_likely = newer is None and older is not None and older.release[:2] != version.release[:2]
    near = [text for text, each in major.items() if each in {older, newer}]
    return tuple(row for row in rows if row.version in near), " and ".join(near), is_likely


def _code(rows: Iterable[Build], version: Version) -> set[tuple[object, ...]]:
    """CUDA and device code of all variants of a release."""
    own = (row for row in rows if row.version[:1].isdigit() and parse_release(row.version) == version)
    return {(row.variant, row.cuda and row.cuda.line, row.cubins, row.ptx, row.ptx_cuda) for row in own}


def _one_variant(rows: tuple[Build, ...]) -> tuple[Build, ...]:
    newest: dict[tuple[str, str], Build] = {}
    for row in rows:
        newest[row.version, row.distribution] = row  # rows come in order of their CUDA
    return tuple(newest.values())


def _most_detailed(rows: tuple[Build, ...], *, conda: bool, are_neighbours: bool) -> tuple[Build, ...]:
    """One row for each version and CUDA line: of the requested distribution, the most detailed one."""
    best: dict[tuple[str, CudaVersion | None], Build] = {}
    for row in rows:
        key = (row.version, row.cuda.line if row.cuda else None)
        if key not in best or _detail(row, conda=conda) > _detail(best[key], conda=conda):
            best[key] = row
    found = tuple(best.values())
    versions = {row.version for row in found}
    if not are_neighbours and len(versions) > 1 and len({v.rpartition(".")[0] for v in versions}) == 1:
        first = min(versions, key=parse_release)
        return tuple(row for row in found if row.version == first)
    return found


def _detail(row: Build, *, conda: bool) -> tuple[bool, bool, bool, bool]:
    return (
        ("conda" in row.distribution) == conda,
        row.cubins is not None or row.at_least is not None,
        row.ptx is not None,
        row.basis == "observed in binary",
    )
