"""What people write for a version or a list of targets, to values. Several values where the text leaves it open.

Strict forms are in `versions.py`; here are `R535`, `v12.4`, `cu118`, `470.x`, `sm_70;sm_80, no PTX`. Each function is
total: a value, or VersionError with words that help.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from packaging.version import Version

from compat import tables
from compat.drivers import first_release, toolkits_of
from compat.versions import (
    ComputeCapability,
    CudaVersion,
    DriverVersion,
    JetsonVersion,
    Target,
    VersionError,
    parse_release,
)

_KEPT = 4096
_LONGEST = 200  # characters: nobody writes a longer version, and a regular expression should not see one


# What surrounds a driver's number in names of packages and in what tools print, in the order it is taken away.
_AROUND_DRIVER = tuple(
    re.compile(text)
    for text in (
        r"^.*\bdriver version\s*:\s*",  # nvidia-smi: Driver Version: 535.183.01   CUDA Version: 12.2
        r"\s+cuda version.*$",
        r"^[a-z][\w.-]*=+",  # a package and its version
        r"^\d:(?=\d)",  # the epoch of a Debian package
        r"^(?:(?:lib)?nvidia|cuda|gpu|linux|x86_64|aarch64|kernel|dkms|drivers?|version|headless|utils|compute|open|[\s:=_-])+(?=[rv]?\d)",
        r"-\d[\w.+~]*$",  # the revision of a package: 535.183.01-0ubuntu1
        r"(?:[\s_-]*(?:server|open|branch|tesla|production|\(.*\)))+$",
        r"(?<=^\d{3})xx$",  # 390xx is how Arch names the branch
        r"(?<=^\d{3})\.(?:x{1,2}|\*)(?:\.x{1,2})?$",
        r"(?<=^[rv]\d{3})\.x{1,2}$",
        r"^[rv](?=\d)",
    )
)
_DRIVER = "is not a driver version such as 418.88, or a branch such as 535"


@lru_cache(_KEPT)
def read_drivers(text: str) -> tuple[DriverVersion, ...]:
    """Lowest and highest driver that the text may mean; one where it names one. Raises VersionError.

    `418.88`, `418.88.00`, `R535`, `535.x`, `390xx`, `nvidia-driver-535-server`, `1:535.183.01-1`, a line of nvidia-smi.
    A bare branch is a range: its first release to its last. A wish such as `>=535` is no driver that a host has.
    """
    plain = _plain(text).strip("| ")
    _refuse_range(text, plain, "the driver that is there, such as 535.183.01, or its branch 535")
    if plain.startswith("-"):
        raise VersionError(text, _DRIVER)
    for part in _AROUND_DRIVER:
        plain = part.sub("", plain).strip()
    if re.fullmatch(r"[1-9]\d{2}", plain, re.ASCII):
        branch = int(plain)
        return first_release(branch), DriverVersion.end_of(branch)
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


@lru_cache(_KEPT)
def read_jetson(text: str) -> JetsonVersion:
    """`35.4.1`, `R35.4.1`, `L4T 32.7.1`, `JetPack 5.1.2`, `36.3`, or `540.3.0`, which nvidia-smi prints for R36.3."""
    plain = _plain(text)
    if tegra := re.fullmatch(r"540\.(\d)\.0", plain, re.ASCII):  # a line of its own, no branch 540 of other machines
        return JetsonVersion(36, int(tegra[1]))
    jetpack = re.fullmatch(r"(?:jetpack|jp)[\s_-]*(\d+(?:\.\d+){0,2})", plain)
    if jetpack:
        for row in tables.jetsons():
            if row.jetpack == jetpack[1] or row.jetpack.removesuffix(".0") == jetpack[1].removesuffix(".0"):
                return row.l4t
        raise VersionError(text, "is not a JetPack of the tables such as JetPack 5.1.2")
    plain = re.sub(r"^(?:l4t|jetson linux)?[\s_-]*r?(?=\d)", "", plain)
    try:
        return JetsonVersion.parse(plain)
    except VersionError:
        raise VersionError(
            text, "is not a Jetson Linux release such as 35.4.1, or a JetPack such as JetPack 5.1.2"
        ) from None


_CUDA = "is not a CUDA version such as 10.1 or 12.4.1"
_UPDATE = re.compile(r"(\d+\.\d+)[\s.,_-]*(?:update|upd|u)[\s._-]*(\d)")
# Up to 10.x a release ends in its build number (10.1.243 is 10.1 Update 2), from 11.1 on in that of the update.
_FIRST_BUILD_NUMBER = 20
_RELEASE_CANDIDATE = CudaVersion(11, 0, 1)  # 11.0.2 was the first release, 11.0.3 is 11.0 Update 1


@lru_cache(_KEPT)
def read_cudas(text: str) -> tuple[CudaVersion, ...]:
    """CUDA lines that the text may mean, oldest first: `12.4.1`, `v12.4`, `12.4 Update 1`, `cu124`, `cuda12.4`, `12-4`.

    `12`, `cuda12` and `cuda12x` are every 12.x. Raises VersionError; a line that no table has is an error too.
    """
    plain = re.sub(r"^.*\bcuda version\s*:\s*", "", _plain(text)).strip("| ")
    _refuse_range(text, plain, "one CUDA version such as 12.4, or 12 for any of that major")
    if plain.startswith("-"):
        raise VersionError(text, _CUDA)
    tag = re.fullmatch(r"(?:cuda|cu)[\s_-]*v?(\d{1,2})(\d)", plain)
    if tag and len(plain.lstrip("cuda_- v")) >= 3:
        plain = f"{tag[1]}.{tag[2]}"
    elif packed := re.fullmatch(r"cu(\d)(\d)", plain):  # cu75, cu80, cu92: older than two-digit majors; cu11 is not 1.1
        plain = f"{packed[1]}.{packed[2]}" if int(packed[1]) >= 7 else f"{packed[1]}{packed[2]}"
    plain = re.sub(r"^(?:cuda|cu)?[\s_-]*(?:toolkit|release|compat)?[\s_-]*v?(?=\d)", "", plain)
    if update := _UPDATE.fullmatch(plain):
        return (_updated(text, CudaVersion.parse(update[1]), int(update[2])),)
    plain = re.sub(r"(?<=\d)\.?x$", "", plain.replace("-", ".").replace("_", "."))
    if re.fullmatch(r"[1-9]\d?", plain):
        if lines := sorted({each.version.line for each in tables.toolkits() if each.version.major == int(plain)}):
            return tuple(lines)
    else:
        try:
            found = CudaVersion.parse(re.sub(r"(\.\d+\.\d+)\.\d+$", r"\1", plain))
        except VersionError:
            raise VersionError(text, _CUDA) from None
        if (found.line in _lines() or found > max(_lines())) and found.major <= max(_lines()).major + 1:
            return (found,)
    raise VersionError(text, f"is no CUDA line of the tables ({min(_lines())} to {max(_lines())})")


def _updated(text: str, line: CudaVersion, update: int) -> CudaVersion:
    """The release that NVIDIA calls `12.4 Update 1`. Raises VersionError for one that no table has."""
    releases = [each.version for each in toolkits_of(line) if each.version != _RELEASE_CANDIDATE]
    by_number = {
        index if each.patch >= _FIRST_BUILD_NUMBER or line == _RELEASE_CANDIDATE.line else each.patch: each
        for index, each in enumerate(releases)
    }
    if update not in by_number:
        raise VersionError(text, f"is no CUDA release of the tables; of {line} they have {len(releases)}")
    return by_number[update]


@lru_cache(1)
def _lines() -> frozenset[CudaVersion]:
    return frozenset(each.version.line for each in tables.toolkits()) | {CudaVersion(12, 7)}  # printed by drivers 565


@lru_cache(_KEPT)
def read_release(text: str) -> Version:
    """`8.9.7`, `v1.17.4`, `2.6.0+cu124`, `cuDNN 8.9`, `libcudnn8=8.9.7.29-1+cuda12.2`; raises VersionError.

    The revision of a package (`1.17.8-1`, `1.15.0~rc.3-1`) is not part of the release; a number in its name is not it.
    """
    plain = _plain(text)
    _refuse_range(text, plain, "the one version that is there, such as 8.9.7")
    plain = re.sub(r"^[a-z][a-z0-9_-]*\s*(?:==?|:)\s*", "", plain)  # a package and its version
    plain = re.sub(r"^[a-z][a-z_ -]*(?=\d)", "", plain)
    plain = re.sub(r"^\d:(?=\d)", "", plain).replace("~", "")
    return parse_release(re.sub(r"(?<=\d)-\d[\w.+]*$|_cuda[\w.-]*$", "", plain))


@lru_cache(_KEPT)
def read_capability(text: str) -> ComputeCapability:
    """`6.1`, `sm_61`, `61`, `compute capability 6.1`; raises VersionError."""
    plain = re.sub(r"^(?:compute[\s_-]*(?:capability|cc)?|capability|cc)[\s:_-]*(?=[\ds])", "", _plain(text))
    try:
        return Target.parse(plain).capability
    except VersionError:
        raise VersionError(text, "is not a compute capability such as 6.1") from None


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets that a text lists. None: it does not say."""

    cubins: tuple[Target, ...] | None = None
    ptx: tuple[Target, ...] | None = None


@lru_cache(_KEPT)
def read_targets(text: str, *, bare: bool = True) -> Targets:
    """`sm_70;sm_80, no PTX`, `7.0 8.0+PTX`, `sm_90a|compute_90`; raises VersionError for a word that is none of these.

    With `bare`, plain numbers (`7.0`) are cubins and strange words are refused; without, both are passed over.
    """
    cubins: list[Target] = []
    ptx: list[Target] = []
    plain = _plain(text)
    no_ptx = bool(re.search(r"\b(no|without|sans)[\s_-]*ptx\b", plain)) or plain == "none"
    plain = re.sub(r"\b(no|without|lacks?|missing)[\s_-]*(sm|compute)_?\d+[af]?", " ", plain)
    only_ptx = bool(re.search(r"\bptx[\s_-]*only\b|\bonly[\s_-]*ptx\b", plain))
    plain = re.sub(r"\b(no|without|sans)[\s_-]*ptx\b|\bptx[\s_-]*only\b|\bonly[\s_-]*ptx\b|\bnone\b", " ", plain)
    for word in re.split(r"[\s;,|]+", plain.replace("+ptx", "+ptx ").strip()):
        bare_word = word.removesuffix("+ptx")
        if not bare_word or (not bare and not re.match(r"(sm|compute)_?\d", bare_word)):
            continue
        if bare_word in {"and", "cubin", "cubins", "sass", "arch", "list"}:
            continue
        if bare_word == "ptx":  # "7.0;8.0;PTX": PTX of the newest
            ptx += cubins[-1:]
            continue
        target = Target.parse(bare_word)
        if bare_word.startswith("compute") or only_ptx:
            ptx.append(target)
        else:
            cubins.append(target)
        if word.endswith("+ptx"):
            ptx.append(target)
    said_ptx = bool(ptx) or no_ptx
    return Targets(
        tuple(sorted(set(cubins))) if cubins or (ptx and bare) else None,
        tuple(sorted(set(ptx))) if said_ptx else None,
    )


def _plain(text: str) -> str:
    if len(text) > _LONGEST:
        raise VersionError(text[:40] + "…", f"is longer than {_LONGEST} characters")
    return text.strip().strip("\"'").lower()
