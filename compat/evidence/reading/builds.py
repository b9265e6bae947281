"""Framework builds as people name them (`torch==2.6.0+cu124`, `pip tensorflow[and-cuda]`, `cupy-cuda11x`) to rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from packaging.version import Version

from compat.evidence.prose.patterns import pattern
from compat.evidence.reading.distributions import ALIASES
from compat.evidence.reading.typed import read_cudas
from compat.facts import tables
from compat.facts.rows import LINUX, Build
from compat.values.versions import CudaVersion, VersionError, parse_release

# Builds that load CUDA's libraries from their surroundings; all others bring their own.
LOADS_CUDA_FROM_OUTSIDE = frozenset(
    {"tensorflow", "mxnet", "cupy", "onnxruntime", "paddle", "ctranslate2", "faster-whisper"}
)

# From that release on, wheels for Windows of which the tables have no row are as those for Linux.
# Sources: github:pytorch/builder windows/cuda121.bat (PyTorch 2.1), https://github.com/pytorch/pytorch/pull/164471
_ALIKE_ON_WINDOWS = dict.fromkeys(
    ("bitsandbytes", "catboost", "ctranslate2", "lmdeploy", "paddle", "xgboost"), Version("0")
) | {"pytorch": Version("2.1")}
WINDOWS = "windows x86_64"

# Published for each CUDA line under the same version: the installer, or who installs, takes the one for the driver.
# bitsandbytes has a library for each CUDA in one wheel, and takes that of the torch beside it.
# Sources: http://docs.openmm.org (conda packages with labels cuda75 to cuda110), https://anaconda.org/omnia/openmm,
# https://huggingface.co/docs/bitsandbytes/v0.50.0/installation
TAKEN_BY_DRIVER = frozenset({"bitsandbytes", "openmm"})

# Programs for video, which load the driver's own libraries and no CUDA: R-NVENC judges them.
ENCODERS = frozenset(
    {"ffmpeg", "gstreamer", "handbrake", "jellyfin", "nvenc", "nvencc", "obs", "pyav", "sunshine", "voukoder"}
)

# Programs that the driver's OpenCL compiles for the GPU, and the release from which on they take CUDA where a toolkit
# is there. Sources: https://github.com/hashcat/hashcat/issues/2791, https://github.com/hashcat/hashcat/issues/2753
OPENCL = {"hashcat": Version("6.0")}

_OWN_BUILD = pattern(
    r"\b(source|self|custom|(?<!not )compiled|community|unofficial|rebuilt|jetson|jetpack|l4t|jp\d|nv\d\d)\b"
    r"|\+nv\d|\bbuilt (for|with)\b|\bown (build|image|container|wheel|docker\w*)\b"
)


def is_of_ones_own(text: str) -> bool:
    """Does the text describe the user's own build: from source, for a Jetson, custom?"""
    return bool(_OWN_BUILD.search(text.lower()))


# On a Jetson, by the CUDA that its JetPack brings, where nothing else is stated.
_MADE_THERE = pattern(
    r"\b(?:built|compiled|made|generated|installed and built)\b[^.;]{0,40}\bon (?:the|this|that|my|its own) "
    r"(?:device|board|jetson|thor|orin|xavier|nano|tx[12]|module|machine|target)\b",
    re.IGNORECASE,
)


def is_made_there(text: str) -> bool:
    """Does it say that the machine on which it runs compiled it?"""
    return _MADE_THERE.search(text) is not None


# Not a CPU that helps, or the machine's own: `CPU offload`, `CPU i7-9700`.
_FOR_CPU = pattern(
    r"(?:(?<!\bnot )(?<!\bno )\b|\+)cpu(?:\b(?!\s*[:=]?\s*(?:off-?load\w*|fallback|threads?|cores?|ram|memory|side"
    r"|i\d|intel|amd|xeon|ryzen|epyc))|-only)"
)
_FOR_JETSON = pattern(r"\b(?:jetson|jetpack|l4t|jp\d|nv\d\d\.\d)")


@dataclass(frozen=True, slots=True)
class Wish:
    """A framework build, as far as the case names it."""

    framework: str
    version: Version | None = None
    cuda: tuple[CudaVersion, ...] = ()  # lines that the variant may mean; empty: not stated
    cpu_only: bool = False
    conda: bool = False
    brings_cuda: bool | None = None  # tensorflow[and-cuda], conda: yes; cuda12_local: no; None: as usual
    from_source: bool = False
    for_jetson: bool = False  # made for the CUDA of a JetPack, which is not stated
    from_index: str = ""  # `pypi` where the case says so, `other` where it names another index
    system: str = LINUX  # as distributions write it
    program: str = ""  # the program that the case names, where a framework inside it is judged
    program_version: Version | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The rows that a wish may mean. `near` is set when they are those of neighbouring versions.

    `is_likely` means that the requested version is newer than all known ones, which may therefore differ from it.
    """

    builds: tuple[Build, ...]
    near: str = ""
    is_likely: bool = False


@lru_cache(4096)
def read_wish(framework: str, version: str, build: str, *, with_version: bool = True) -> Wish | None:
    """The wish that three free texts express; None without a framework. Raises VersionError for a bad version."""
    text = f"{framework} {build}".lower().strip()
    name = _framework(framework) or _framework_in(build)
    if name is None:
        return None
    program, program_version = name, _maybe_version(version)
    if (inside := _framework_inside(name, build)) is not None:
        name, framework, version = inside, "", ""
    stated = _own_version(version, name)
    written = (stated or _version_in(framework, name) or _version_in(build, name)) if with_version else ""
    found, local = _split(written)
    lines = _lines(local) or _lines(text) or (_lines(_of_paddle(written)) if name == "paddle" else _lines(version))
    return Wish(
        framework=name,
        version=found,
        cuda=lines,
        cpu_only=bool(_FOR_CPU.search(f"{local} {framework} {build}".lower())) and not lines,
        conda="conda" in text,
        brings_cuda=_brings(text),
        from_source=bool(_OWN_BUILD.search(build.lower())) or _is_of_a_checkout(name, found),
        for_jetson=bool(_FOR_JETSON.search(f"{local} {build}".lower())),
        from_index=_index(text),
        program=program,
        program_version=program_version or found,
    )


def _maybe_version(text: str) -> Version | None:
    try:
        return _split(_own_version(text, ""))[0]
    except VersionError:
        return None


def _is_of_a_checkout(framework: str, version: Version | None) -> bool:
    """PyTorch builds from a checkout are called 1.3.0a0; its nightly wheels are .dev.

    Source: https://github.com/pytorch/pytorch/issues/9926, https://github.com/pytorch/pytorch/issues/109958
    """
    return framework == "pytorch" and version is not None and version.pre is not None and version.pre[0] == "a"


def choose(wish: Wish) -> Choice:
    """Rows of the tables for a wish: the requested version, or else the nearest older one of the same minor."""
    return _choose(wish, str(wish.version))


@lru_cache(4096)
def _choose(wish: Wish, _as_written: str) -> Choice:  # 2.3 and 2.3.0 compare equal: the first is any patch of it
    rows = tuple(row for row in tables.builds(wish.framework) if for_system(row, wish.system))
    if wish.system == WINDOWS and (since := _ALIKE_ON_WINDOWS.get(wish.framework)) is not None:
        rows = (*rows, *_alike_for_linux(wish.framework, rows, since))
    near, is_likely = "", False
    if wish.version is not None:
        exact = tuple(row for row in rows if _same_version(row, wish.version))
        if not exact:
            exact, near, is_likely = _neighbours(rows, wish.version)
        rows = exact
    if wish.cuda:
        wanted = set(wish.cuda)
        rows = (*rows, *_beside(rows, wanted, wish.system))
        exact = tuple(row for row in rows if row.cuda is not None and row.cuda.line in wanted)
        rows = exact or tuple(row for row in rows if _is_of_major(row, {line.major for line in wanted}))
        if len(wanted) > 1:  # cu12, cuda11x: as one variant where the tables have it so
            rows = _one_variant(rows)
    elif len(rows) > 1 and not wish.conda:
        with_default = {row.version for row in rows if row.is_default}
        rows = tuple(row for row in rows if row.is_default or row.version not in with_default)
    found = _most_detailed(rows, conda=wish.conda)
    return Choice(tuple(_as_read(row, wish.system, is_near=bool(near)) for row in found), near, is_likely)


def _alike_for_linux(framework: str, rows: tuple[Build, ...], since: Version) -> tuple[Build, ...]:
    """Wheels for Linux of releases, from that one on, of which the rows have none for Windows."""
    have = {row.version for row in rows if _system_of(row)}
    return tuple(
        row
        for row in tables.builds(framework)
        if _system_of(row) == LINUX and row.version not in have and parse_release(row.version) >= since
    )


def _as_read(row: Build, system: str, *, is_near: bool) -> Build:
    """The compression was read from one wheel, and does not hold for another release or system."""
    is_of_it = _system_of(row) == system.removesuffix(" jetson") or (not _system_of(row) and system == LINUX)
    return row if row.compressed is None or (is_of_it and not is_near) else replace(row, compressed=None)


def _beside(rows: tuple[Build, ...], wanted: set[CudaVersion], system: str) -> tuple[Build, ...]:
    """The same wheels beside the framework that they pin, for another CUDA, as that one's own index has it.

    Source: vllm 0.9.0 docker/Dockerfile (`--extra-index-url https://download.pytorch.org/whl/cu128`).
    """
    have = {row.cuda.line for row in rows if row.cuda}
    return tuple(
        tables.with_pinned(row, each)
        for row in rows
        for each in tables.pinned_by(row)
        if each.cuda and each.cuda.line in wanted - have and for_system(each, system)
    )


_MAKER = pattern(r"^(?:nvidia|rapids|google|microsoft|meta|facebook|huggingface)(?=[a-z])")  # RAPIDS cuDF


def _framework(text: str) -> str | None:
    head = re.match(
        r"\s*(?:pip3?\s+(?:install\s+)?|conda\s+(?:install\s+)?)?([A-Za-z](?:[A-Za-z0-9_ -]|\.(?=[a-z]))*)", text
    )
    if not head:
        return None
    key = re.sub(r"[^a-z0-9]", "", re.split(r"[\s_-]*(?:cuda|cu)\d", head[1].lower())[0])
    own = _MAKER.sub("", key)
    return ALIASES.get(key) or ALIASES.get(re.sub(r"\d+$", "", key)) or ALIASES.get(own) or (key or None)


def _framework_in(build: str) -> str | None:
    for word in re.findall(r"[A-Za-z][A-Za-z_-]+", build):
        key = re.sub(r"[^a-z0-9]", "", word.lower())
        if key in ALIASES:
            return ALIASES[key]
    return None


def _framework_inside(program: str, build: str) -> str | None:
    """For a program without a table, the framework that its build names with a version: ComfyUI, `torch 2.6.0`."""
    known = program in tables.framework_rows() or program in tables.framework_floors() or program == "tritonserver"
    inside = None if known else _framework_in(build)
    return inside if inside is not None and _version_in(build, inside) else None


_NUMBERED = pattern(
    r"([A-Za-z][\w-]{0,60})?(?:\[[\w,-]{0,60}\])?"
    r"(\s{0,8}==\s{0,8}|[\s@:=-]{0,8})v?(?<![\d.])(\d+(?:\.\d+)+(?:\+\w+)?)"
)
_SAYS_VERSION = frozenset({"version", "release", "wheel", "wheels", "image", "tag", "v", "pip", "install"})


def _version_in(text: str, framework: str) -> str:
    """The version in `torch==2.6.0+cu124` or `official wheel 2.6.0`; a number beside another product is not it."""
    for word, _, version in _NUMBERED.findall(text):
        if word.lower() in _SAYS_VERSION or (word and _framework(word) == framework):
            return str(version)
    return ""


_DESCRIBED = pattern(r"-\d+-g[0-9a-f]{6,40}\b")  # git describe: commits since a release, and the last one
_OF_CONDA = pattern(r"\bpy\d[\d.]*_cuda[\w.]+", re.IGNORECASE)  # its build string: py3.10_cuda12.1_cudnn8.9.2_0
# Builds between releases, named only by branch or commit.
_UNNUMBERED = pattern(r"(?:git\s+)?(?:main|master|nightly|head|trunk|dev|commit|source|from source)\b", re.IGNORECASE)
_PLAIN_VERSION = pattern(r"(?<![\w.])v?\d+\.\d+(?:\.\d+)*(?!\w)(?<!cuda )")
_DATED = pattern(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? 20\d\d\b|\b20\d\d-\d\d(?:-\d\d)?\b|^20\d\d$"
)


def _own_version(text: str, framework: str) -> str:
    """The version of the framework itself, where others stand beside it: `vLLM 0.9.1, PyTorch 2.7.0+cu126`.

    A date does not count.
    """
    plain = _DESCRIBED.sub("", _OF_CONDA.sub("", text.strip())).strip()
    if _UNNUMBERED.match(plain) and not _PLAIN_VERSION.search(plain):
        return ""
    if _DATED.search(plain.lower()):
        plain = _DATED.sub("", plain.lower())
        if not re.search(r"\d", plain):
            return ""
    plain = re.sub(r"(?<=\d)-cuda[\d.]+.*$", "", plain)  # a tag: 2.5.1-cuda12.4-cudnn9
    parts = [part.strip() for part in re.split(r"[,;()]|\s/\s|\bon\b|\bwith\b", plain) if part.strip()]
    if len(parts) < 2:
        return plain
    named = next((version for part in parts if (version := _version_in(part, framework))), "")
    numbered = (part for part in parts if re.match(r"v?\d", part))
    return named or (parts[0] if re.search(r"\d", parts[0]) else next(numbered, parts[0]))


_AMONG_WORDS = pattern(
    r"(?<![\w.])v?(\d+(?:\.\d+)+(?:\.?(?:a|b|rc|dev|post)\d*)*(?:\+[\w.]+)?)(?=[\s(),;]|$)", re.ASCII
)


def _split(written: str) -> tuple[Version | None, str]:
    if not written:
        return None, ""
    plain = re.sub(r"^[a-z<>=~!\s]*v?(?=\d)", "", written.strip().lower())
    plain = re.sub(r"\s*(?:\+|(?:and|or) (?:newer|later|above|higher|up))$", "", plain)
    plain = plain.removesuffix("+").removesuffix(".x").removesuffix(".*")
    try:
        version = parse_release(plain)
    except VersionError:
        among = {*_AMONG_WORDS.findall(plain)}
        if len(among) != 1:
            raise
        version = parse_release(among.pop())
    return Version(version.public), version.local or ""


_OF_A_TORCH = pattern(r"\bpt\d{2,3}(?=cu\d)")  # wheels of PyG: 2.1.2+pt21cu121


def _lines(text: str) -> tuple[CudaVersion, ...]:
    """CUDA in `cu118`, `cuda11.8`, `cuda12`, `cuda11x`, `cu11`, `cudatoolkit=10.1`, `cu12torch2.6`."""
    match = re.search(
        r"(?:\b|[\[_+-])(cu(?:da|blas(?=-\d+\.\d))?(?:toolkit|[\s_-]version)?[\s_=-]*v?\d{1,3}(?:[._]\d+)*)x?(?:\b|[\]_-]|(?=torch))",
        _OF_A_TORCH.sub("", text.lower()),
    )
    if not match:
        return ()
    try:
        return tuple(line.line for line in read_cudas(re.sub(r"(?:toolkit|[\s_-]version|blas)[\s_=-]*", "", match[1])))
    except VersionError:
        return ()


# The CUDA of a program without a table, where the text on its build names the toolkit, a library or the base image.
# The C runtime has the name of its major from 11 on (libcudart.so.11.0 is that of every 11.x), and of its line before.
_MADE_WITH = (
    pattern(r"\b(?:nvidia/|nvcr\.io/nvidia/)?cuda:v?(\d{1,2}\.\d)(?:\.\d+)?(?:-|\b)", re.ASCII),
    pattern(r"\bnvcc(?:\s+(?:release|version|from|of|cuda))*[\s:=]+v?(\d{1,2}\.\d)(?![\d])", re.ASCII),
    pattern(r"\bcuda[\s_-]*(?:toolkit|runtime|version|nvcc|sdk|cudart)[\s:=@-]*v?(\d{1,2}(?:\.\d)?)(?!\d)", re.ASCII),
    pattern(r"\bcuda[/@](\d{1,2}\.\d)(?!\d)", re.ASCII),
    pattern(r"\bcudart[\s-]+v?(\d{1,2}\.\d)(?!\d)", re.ASCII),
    pattern(r"\blib(?:cudart|cublas|cublaslt|cusparse|curand)\.so\.(1[1-9])(?!\d)", re.ASCII),
    pattern(r"\blibcudart\.so\.((?:[4-9]|10)\.\d)(?!\d)", re.ASCII),
)


def cuda_made_with(build: str) -> tuple[CudaVersion, ...]:
    """CUDA that made a build, or that it links, by its text: `nvcc 12.3`, `libcudart.so.12`; empty if not stated."""
    plain = build.lower()
    named = {found for form in _MADE_WITH for found in form.findall(plain)}
    exact = {each for each in named if "." in each} or named
    if len(exact) != 1:
        return ()
    try:
        return tuple(line.line for line in read_cudas(exact.pop()))
    except VersionError:
        return ()


def _of_paddle(written: str) -> str:
    """`2.5.1.post117` is Paddle's way to write cu117.

    Source: paddlepaddle.org.cn/documentation/docs/en/2.6/install/pip/linux-pip_en.html
    """
    match = re.search(r"\.post(\d{3})$", written.strip())
    return f"cu{match[1]}" if match else ""


def _brings(text: str) -> bool | None:
    if "local" in text or "no bundled" in text:
        return False
    return True if "and-cuda" in text or "and_cuda" in text or "conda" in text else None


def _index(text: str) -> str:
    if re.search(r"index|download\.pytorch|whl/", text):
        return "other"
    return "pypi" if re.search(r"\b(pip3?|pypi)\b", text) else ""


def _is_of_major(row: Build, majors: set[int]) -> bool:
    """Variants for a whole major: cu12, cuda12, cu12x."""
    match = re.fullmatch(r"cu(?:da)?(\d{2})x?", row.variant)
    return match is not None and int(match[1]) in majors


def for_system(row: Build, system: str) -> bool:
    """A row that names no system is for all of them."""
    return _system_of(row) in {"", _of_wheels(system)}


def _of_wheels(system: str) -> str:
    return system.removesuffix(" tegra").removesuffix(" jetson")


def _system_of(row: Build) -> str:
    """Empty where the row names none."""
    named = re.search(r"(linux|windows) (x86_64|aarch64)", row.distribution)
    return named[0] if named else ""


def _same_version(row: Build, version: Version) -> bool:
    if not row.version[:1].isdigit():
        return False
    of_row = parse_release(row.version)
    if len(version.release) < 3 and not version.is_prerelease:  # 2.3 means 2.3.0, and any 2.3.x where that is not there
        return of_row.release[: len(version.release)] == version.release
    return of_row == version


def _neighbours(rows: tuple[Build, ...], version: Version) -> tuple[tuple[Build, ...], str, bool]:
    """Builds of the releases around one that the tables lack.

    Variants and targets change at minors, seldom at patches: an older release of the same minor stands for it alone. A
    pre-release may be built as the release that it became, or as the one before it; a release candidate is as what it
    became, from whose branch it is cut.
    """
    known = {row.version: parse_release(row.version) for row in rows if row.version[:1].isdigit()}
    if version.pre is not None and version.pre[0] == "rc" and not version.is_devrelease:
        became = [text for text, each in known.items() if each == Version(version.base_version)]
        if became:  # cut from the branch of the release, as that is
            return tuple(row for row in rows if row.version in became), " and ".join(became), False
    major = {text: each for text, each in known.items() if each.release[:1] == version.release[:1]}
    older = max((each for each in major.values() if each <= version), default=None)
    newer = min((each for each in major.values() if each > version), default=None)
    if older is not None and older.release[:2] == version.release[:2]:
        newer = None
    is_likely = newer is None and older is not None and older.release[:2] != version.release[:2]
    near = [text for text, each in major.items() if each in {older, newer}]
    return tuple(row for row in rows if row.version in near), " and ".join(near), is_likely


def _one_variant(rows: tuple[Build, ...]) -> tuple[Build, ...]:
    newest: dict[tuple[str, str], Build] = {}
    for row in rows:
        newest[row.version, row.distribution] = row  # rows come in order of their CUDA
    return tuple(newest.values())


def _most_detailed(rows: tuple[Build, ...], *, conda: bool) -> tuple[Build, ...]:
    """One row for each version and CUDA line: of the requested distribution, the most detailed one."""
    best: dict[tuple[str, CudaVersion | None], Build] = {}
    for row in rows:
        key = (row.version, row.cuda.line if row.cuda else None)
        if key not in best or _detail(row, conda=conda) > _detail(best[key], conda=conda):
            best[key] = row
    found = tuple(best.values())
    versions = {row.version for row in found}
    if len(versions) > 1 and len({v.rpartition(".")[0] for v in versions}) == 1:
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
