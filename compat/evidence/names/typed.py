"""Parses versions as people type them; several values if the text is ambiguous.

Strict forms are in `values/versions.py`; here are `R535`, `nvidia-driver-535-server`, `cu118`, `sm_70;8.0+PTX`.
Each function is total: a value, or VersionError with a helpful message.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from packaging.version import Version

from compat.facts import tables
from compat.values.versions import (
    CUDA_OF_PTX,
    ComputeCapability,
    CudaVersion,
    DriverVersion,
    Target,
    VersionError,
    parse_release,
)

_KEPT = 4096
_LONGEST = 200  # characters: no version is longer

# --- drivers

_DRIVER = "is not a driver version such as 418.88, or a branch such as 535"
# Text around a driver's number in package names and in output of tools, in the order of its removal.
_AROUND_DRIVER = (
    r"^.*\bdriver version\s*:\s*",  # nvidia-smi: Driver Version: 535.183.01   CUDA Version: 12.2
    r"\s+cuda version.*$",
    r"^[a-z][\w.-]*=+",  # a package and its version
    r"^\d:(?=\d)",  # the epoch of a Debian package
    r"^(?:(?:lib)?nvidia|cuda|gpu|linux|x86_64|aarch64|kernel|dkms|drivers?|version|headless|utils|compute|open|[\s:=_-])+(?=[rv]?\d)",
    r"-\d[\w.+~]*$",  # the revision of a package: 535.183.01-0ubuntu1
    r"(?:[\s_-]*(?:server|open|branch|tesla|production))+$",
    r"(?<=^\d{3})xx$",  # 390xx is how Arch names the branch
    r"(?<=^\d{3})\.(?:x{1,2}|\*)(?:\.x{1,2})?$",
    r"(?<=^[rv]\d{3})\.x{1,2}$",
    r"^[rv](?=\d)",
)


@lru_cache(_KEPT)
def read_drivers(text: str) -> tuple[DriverVersion, ...]:
    """Lowest and highest driver that the text may mean; one if it names one. Raises VersionError.

    `418.88`, `418.88.00`, `R535`, `535.x`, `390xx`, `nvidia-driver-535-server`, `1:535.183.01-1`, a line of nvidia-smi.
    A bare branch is a range: its first to its last release. A constraint such as `>=535` is no host's driver.
    """
    plain = plain_text(text).strip("| ")
    _refuse_range(text, plain, "the driver that is there, such as 535.183.01, or its branch 535")
    if plain.startswith("-"):
        raise VersionError(text, _DRIVER)
    for part in _AROUND_DRIVER:
        plain = re.sub(part, "", plain).strip()
    if re.fullmatch(r"[1-9]\d{2}", plain, re.ASCII):
        branch = int(plain)
        return tables.first_release(branch), DriverVersion.end_of(branch)
    match = re.fullmatch(r"([1-9]\d{2})\.(\d{1,4})(?:\.(\d{1,2}))?(?:\.0)?", plain, re.ASCII)
    if not match:
        raise VersionError(text, _DRIVER)
    written, minor, patch = match.groups()
    if len(minor) > 2 and minor.startswith("0"):
        raise VersionError(text, f"is not a driver version; is {written}.{int(minor):02d} meant?")
    return (DriverVersion(int(written), int(minor), int(patch or 0)),)  # 418.88.00 is 418.88, in every message


def _refuse_range(text: str, plain: str, instead: str) -> None:
    if re.match(r"[<>=~^!]", plain) or re.search(r"\d\s*(?:\+|or (?:newer|later|higher|above))$", plain):
        raise VersionError(text, f"is a range; write {instead}")


# --- CUDA

_CUDA = "is not a CUDA version such as 10.1 or 12.4.1"
# Up to 10.x, a release ends in its build number (10.1.243 is 10.1 Update 2), from 11.1 on in its update number.
_FIRST_BUILD_NUMBER = 20
# CUDA 10 means 10.0, as at NVIDIA, not 10.1; from 11 on, all releases of a major run alike.
_FIRST_MAJOR_WITH_MINORS = 11
_RELEASE_CANDIDATE = CudaVersion(11, 0, 1)  # 11.0.2 was the first release, 11.0.3 is 11.0 Update 1
_PRINTED_BY_565 = CudaVersion(12, 7)  # no toolkit was published for it


@lru_cache(_KEPT)
def read_cudas(text: str) -> tuple[CudaVersion, ...]:
    """CUDA lines that the text may mean, oldest first: `12.4.1`, `v12.4`, `12.4 Update 1`, `cu124`, `cuda12.4`, `12-4`.

    `12`, `cuda12` and `cuda12x` are every 12.x, `10` is 10.0 and `10.x` every one. Raises VersionError, also for a
    line that no table has.
    """
    plain = re.sub(r"^.*\bcuda version\s*:\s*", "", plain_text(text)).strip("| ")
    _refuse_range(text, plain, "one CUDA version such as 12.4, or 12 for any of that major")
    if plain.startswith("-"):
        raise VersionError(text, _CUDA)
    tag = re.fullmatch(r"(?:cuda|cu)[\s_-]*v?(\d{1,2})(\d)", plain)
    if tag and len(plain.lstrip("cuda_- v")) >= 3:
        plain = f"{tag[1]}.{tag[2]}"
    elif packed := re.fullmatch(r"cu(?:da)?(\d)(\d)", plain):  # cu75, cu80, cuda92; cu11 is not 1.1
        plain = f"{packed[1]}.{packed[2]}" if int(packed[1]) >= 7 else f"{packed[1]}{packed[2]}"
    plain = re.sub(r"^(?:cuda|cu)?[\s_-]*(?:toolkit|release|compat)?[\s_-]*v?(?=\d)", "", plain)
    if update := re.fullmatch(r"(\d+\.\d+)[\s.,_-]*(?:update|upd|u)[\s._-]*(\d)", plain):
        return (_updated(text, CudaVersion.parse(update[1]), int(update[2])),)
    dotted = plain.replace("-", ".").replace("_", ".")
    plain = re.sub(r"(?<=\d)\.?x$", "", dotted)
    lines = tables.cuda_lines()
    if re.fullmatch(r"[1-9]\d?", plain):
        major = int(plain)
        if plain == dotted and major < _FIRST_MAJOR_WITH_MINORS and CudaVersion(major, 0) in lines:
            return (CudaVersion(major, 0),)
        if found := tuple(line for line in lines if line.major == major):
            return found
    else:
        try:
            one = CudaVersion.parse(re.sub(r"(\.\d+\.\d+)\.\d+$", r"\1", plain))
        except VersionError:
            raise VersionError(text, _CUDA) from None
        is_known = one.line in lines or one.line == _PRINTED_BY_565
        if (is_known or one > lines[-1]) and one.major <= lines[-1].major + 1:
            return (one,)
    raise VersionError(text, f"is no CUDA line of the tables ({lines[0]} to {lines[-1]})")


def _updated(text: str, line: CudaVersion, update: int) -> CudaVersion:
    """The release that NVIDIA calls `12.4 Update 1`. Raises VersionError for one that no table has."""
    releases = [each.version for each in tables.toolkits_of(line) if each.version != _RELEASE_CANDIDATE]
    by_number = {
        index if each.patch >= _FIRST_BUILD_NUMBER or line == _RELEASE_CANDIDATE.line else each.patch: each
        for index, each in enumerate(releases)
    }
    if update not in by_number:
        raise VersionError(text, f"is no CUDA release of the tables; of {line} they have {len(releases)}")
    return by_number[update]


# --- libraries and frameworks

# cuDNN's version number up to 8: 1000 for the major, 100 for the minor.
# Source: paddlepaddle.org.cn/documentation/docs/en/api/paddle/device/get_cudnn_version_en.html (7600 is 7.6)
_OF_HEADER = r"([4-8])(\d)(\d\d)"


@lru_cache(_KEPT)
def read_release(text: str) -> Version:
    """`8.9.7`, `v1.17.4`, `2.6.0+cu124`, `cuDNN 8.9`, `libcudnn8=8.9.7.29-1+cuda12.2`; raises VersionError.

    The revision of a package (`1.17.8-1`, `1.15.0~rc.3-1`) is not part of the release, nor is a number in its name.
    """
    plain = plain_text(text)
    _refuse_range(text, plain, "the one version that is there, such as 8.9.7")
    plain = re.sub(r"^[a-z][a-z0-9_-]*\s*(?:==?|:)\s*", "", plain)  # a package and its version
    plain = re.sub(r"^[a-z][a-z_ -]*(?=\d)", "", plain)
    plain = re.sub(r"^\d:(?=\d)", "", plain).replace("~", "")
    if packed := re.fullmatch(_OF_HEADER, plain, re.ASCII):
        plain = f"{packed[1]}.{int(packed[2])}.{int(packed[3])}"
    return parse_release(re.sub(r"(?<=\d)-\d[\w.+]*$|_cuda[\w.-]*$", "", plain))


# --- GPUs and their code


@lru_cache(_KEPT)
def read_capability(text: str) -> ComputeCapability:
    """`6.1`, `sm_61`, `61`, `compute capability 6.1`; raises VersionError."""
    plain = re.sub(r"^(?:compute[\s_-]*(?:capability|cc)?|capability|cc)[\s:_-]*(?=[\ds])", "", plain_text(text))
    try:
        return Target.parse(plain).capability
    except VersionError:
        raise VersionError(text, "is not a compute capability such as 6.1") from None


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets that a text lists. None: not stated."""

    cubins: tuple[Target, ...] | None = None
    ptx: tuple[Target, ...] | None = None
    languages: tuple[tuple[Target, CudaVersion], ...] = ()  # the CUDA that knows the PTX of a target


_ABSENT = frozenset({"none", "no", "false", "0"})
_BETWEEN = r"[\s;,|/()\[\]{}'\"]+"


@lru_cache(_KEPT)
def read_targets(text: str) -> Targets:
    """A list of targets: `sm_70;8.0+PTX`, `7.0 8.0`, `86-real;89`, `compute_90@8.4`, `none`; raises VersionError.

    Plain numbers are machine code; `+PTX` adds PTX, and `PTX` alone means PTX of the newest before it. The version of
    the PTX language stands behind `@`.
    """
    languages: dict[Target, CudaVersion] = {}
    cubins: list[Target] = []
    ptx: list[Target] = []
    is_none = False
    plain = re.sub(r"\s?\+\s?ptx", "+ptx ", plain_text(text))
    for word in filter(None, re.split(_BETWEEN, plain)):
        if word == "ptx":
            ptx += cubins[-1:]
        elif word in _ABSENT:
            is_none = True
        else:
            word, has_language, language = word.partition("@")  # noqa: PLW2901 - its two parts
            is_ptx = word.startswith("compute") or word.endswith("-virtual")
            target = Target.parse(word.removesuffix("+ptx").removesuffix("-real").removesuffix("-virtual"))
            if has_language and language not in CUDA_OF_PTX:
                raise VersionError(text, f"has a version of PTX that is none of {', '.join(CUDA_OF_PTX)}")
            languages |= {target: CUDA_OF_PTX[language]} if has_language else {}
            cubins += [] if is_ptx else [target]
            ptx += [target] if is_ptx or word.endswith("+ptx") else []
    if not cubins and not ptx and not is_none:
        raise VersionError(text, "is not a target such as sm_61, 9.0a or compute_75")
    has_cubins = bool(cubins or ptx)
    return Targets(
        tuple(sorted(set(cubins))) if has_cubins else None,
        tuple(sorted(set(ptx))) if ptx or is_none else None,
        tuple(languages.items()),
    )


def read_ptx(text: str, cubins: tuple[Target, ...] = ()) -> Targets:
    """PTX from its own field: `9.0`, `compute_90@8.4`, `none`, `unknown`; `yes` is PTX of the newest cubin."""
    word = plain_text(text)
    if word in _ABSENT:
        return Targets(None, ())
    if word in {"yes", "true", "ptx"}:
        return Targets(None, cubins[-1:] or None)
    if word == "unknown":
        return Targets()
    found = read_targets(text)
    return Targets(None, found.ptx if found.ptx is not None else found.cubins, found.languages)


def read_compressed(text: str) -> Targets:
    """Targets of compressed code: `sm_90;compute_90`, `none`; `all` lists neither kind."""
    word = plain_text(text)
    if word in _ABSENT or word == "speed":
        return Targets((), ())
    if word in {"yes", "true", "all", "size", "balance"}:
        return Targets()
    found = read_targets(text)
    return Targets(found.cubins or (), found.ptx or ())


def plain_text(text: str) -> str:
    """In lower case, without surrounding blanks and quotes. Raises VersionError for an overlong text."""
    if len(text) > _LONGEST:
        raise VersionError(text[:40] + "…", f"is longer than {_LONGEST} characters")
    return text.strip().strip("\"'").lower()
