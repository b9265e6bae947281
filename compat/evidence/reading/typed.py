"""From what people write for a version to values; several values where the text leaves it open.

Strict forms are in `versions.py`; here are `R535`, `v12.4`, `cu118`, `470.x`, and the same between other words, as in
`JetPack 5.1.3 (L4T R35.5)`. Each function is total: a value, or VersionError with words that help.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from packaging.version import Version

from compat.evidence.drivers import first_release, toolkits_of
from compat.evidence.prose.patterns import pattern
from compat.facts import tables
from compat.values.versions import (
    ComputeCapability,
    CudaVersion,
    DriverVersion,
    JetsonVersion,
    Target,
    VersionError,
    parse_release,
)

_KEPT = 4096
_LONGEST = 200  # characters: no version is longer, and a regular expression should not see more


# Text around a driver's number in package names and in output of tools, in the order of its removal.
_AROUND_DRIVER = tuple(
    pattern(text)
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
# Out of several releases, the installed one, or the labelled one. Under WSL, nvidia-smi has a number of its own.
_DRIVER_NAMED = (
    pattern(r"\bdriver(?: version)?[\s:=]+[rv]?([1-9]\d{2}\.\d{2,3}(?:\.\d{2})?)(?![\w.]\d)", re.ASCII),
    pattern(r"\bwindows(?: driver| side| host)?[\s:=]+([1-9]\d{2}\.\d{2})(?![\w.]\d)", re.ASCII),
    pattern(
        r"\b(?:now|currently|(?:updated|upgraded|downgraded|moved|switched)\b.{0,40}?\bto)\s+[rv]?([1-9]\d{2}\.\d{2,3}(?:\.\d{2})?)"
        r"(?![\w.]\d)",
        re.ASCII,
    ),
)
# Between other words: a release in full, else a branch. `NVIDIA 535.183.01 / CUDA 12.2`, `driver 470 (Ubuntu)`.
_DRIVER_IN_PROSE = (
    pattern(r"(?<![\d.])[rv]?([1-9]\d{2}\.\d{2,3}(?:\.\d{2})?)(?![\w.]\d)", re.ASCII),
    pattern(r"(?<![\w.])[rv]?([3-7]\d{2})(?![\w.]\d|\d)", re.ASCII),
)
# Windows lists 536.67 as 31.0.15.3667: the last five digits. Source: microsoft.com, "how to find your NVIDIA driver".
_OF_WINDOWS = pattern(r"\b\d\d\.\d{1,2}\.1\d\.\d{4}\b", re.ASCII)
# What people quote from a driver instead of its own number: nvidia-smi's `CUDA Version`, deviceQuery's `CUDA Driver
# Version`, cudaDriverGetVersion (12020 is 12.2). A toolkit beside it is another thing, and ends the search.
_SHOWS = (
    r"(?:nvidia|drivers?(?:'s)?|for|with|that|reports|reported|shows|showed|showing|says|said|displays|prints|supports?|supported"
    r"|supporting|up to|max(?:imum)?|newest|highest|version|versions|api|is|of|the|smi|header|top right|per|in|by"
    r"|devicequery|cuda)"
)
_REPORTED_CUDA = (
    pattern(
        rf"^(?:{_SHOWS}[\s:=,_/()\"'-]+)*cuda[\s:_=\"'-]*(?:(?:driver|api|version|is)[\s:=]*)*(1\d\.\d)(?![\d.]|\s*toolkit)",
        re.ASCII,
    ),
    pattern(r"\bcuda driver version\b[^\d]{0,24}(1\d\.\d)(?![\d.])", re.ASCII),
    pattern(r"\bdriver (?:api )?version[\s:=]*(1\d\.\d)(?![\d.])", re.ASCII),
    pattern(r"^\W*(1\d\.\d)[\s(,]+(?:(?:per|in|from|by|shown|as|of|reported|according to)\s+)*nvidia-smi\b", re.ASCII),
    pattern(r"(?:found version|drivergetversion\W*(?:is|returns)?)\W*1(\d0[0-9])0(?!\d)", re.ASCII),
)
# PTX ISA and the first CUDA with it; a driver that loads one reports that CUDA, or a newer one.
# Source: nvidia.github.io/cuda-python/coverage/z_94f9e761dee70a67__ptx_utils_py.html (after NVIDIA's release history)
CUDA_OF_ISA = {
    **{f"6.{minor}": cuda for minor, cuda in enumerate(("9.0", "9.1", "9.2", "10.0", "10.1", "10.2"))},
    **{f"7.{minor}": f"11.{minor}" for minor in range(9)},
    **{f"8.{minor}": f"12.{minor}" for minor in range(6)},
    "8.6": "12.7",
    "8.7": "12.8",
    "8.8": "12.9",
    "9.0": "13.0",
    "9.1": "13.1",
    "9.2": "13.2",
}
_CAPABILITIES = r"6\.[0-2]|7\.[025]|8\.[0679]|9\.0"  # `PTX 8.0` alone is for a GPU, not of an ISA
_PTX_ISA = pattern(
    r"\bptx\b(?: (?:is|of|as|at|in|with|the|code|version|was|made|for|by|,))*[ ,:(]+isa (?:version )?v?(\d\.\d)(?!\d)"
    r"|(?:\.version|\bptx version:?|\bisa version:?|\bptx (?:is|of|has) version"
    rf"|\bptx(?: code)?(?! v?(?:{_CAPABILITIES})(?!\d))) v?(\d\.\d)(?!\d)",
    re.ASCII,
)
_LOADS_PTX = pattern(r"\bptx\b[^\d]{0,40}(\d\.\d)(?!\d)", re.ASCII)
_DRIVER = "is not a driver version such as 418.88, or a branch such as 535"


def read_ptx_isa(text: str) -> tuple[CudaVersion, ...]:
    """The CUDA whose PTX a build hands to the driver, by its text: `PTX ISA 7.1`; empty where none is named."""
    named = {CUDA_OF_ISA.get(first or second, "") for first, second in _PTX_ISA.findall(text.lower())} - {""}
    return (CudaVersion.parse(named.pop()),) if len(named) == 1 else ()


def _in_prose(plain: str, forms: Iterable[re.Pattern[str]]) -> str:
    """The finding of the first form that occurs; empty where none does, or where it finds different values."""
    for form in forms:
        if found := {*form.findall(plain)}:
            return found.pop() if len(found) == 1 else ""
    return ""


@lru_cache(_KEPT)
def read_drivers(text: str) -> tuple[DriverVersion, ...]:
    """Lowest and highest driver that the text may mean; one where it names one. Raises VersionError.

    `418.88`, `418.88.00`, `R535`, `535.x`, `390xx`, `nvidia-driver-535-server`, `1:535.183.01-1`, a line of nvidia-smi.
    A bare branch is a range: its first release to its last. A wish such as `>=535` is no driver that a host has.
    """
    plain = plain_text(text).strip("| ")
    _refuse_range(text, plain, "the driver that is there, such as 535.183.01, or its branch 535")
    if plain.startswith("-"):
        raise VersionError(text, _DRIVER)
    if listed := _in_prose(plain, (_OF_WINDOWS,)):
        digits = re.sub(r"\D", "", listed)[-5:]
        return _drivers(text, f"{digits[:3]}.{digits[3:]}")
    named = _in_prose(plain, _DRIVER_IN_PROSE) or _in_prose(plain, _DRIVER_NAMED)
    if not named and (isa := _in_prose(plain, (_LOADS_PTX,))) in CUDA_OF_ISA:
        return drivers_that_report(text, CUDA_OF_ISA[isa])
    if not named and (reported := _in_prose(plain, _REPORTED_CUDA)):
        return drivers_that_report(text, reported if "." in reported else f"1{reported[0]}.{int(reported[1:])}")
    try:
        found = _drivers(text, plain)
    except VersionError:
        if not named:
            raise
        return _drivers(text, named)
    return _drivers(text, named) if len(found) > 1 and named else found  # R535 (535.129.03)


def drivers_that_report(text: str, cuda: str) -> tuple[DriverVersion, ...]:
    """The branch in whose head line nvidia-smi shows this CUDA."""
    for row in tables.driver_branches().values():
        if row.native_cuda is not None and str(row.native_cuda) == cuda:
            return first_release(row.branch), DriverVersion.end_of(row.branch)
    raise VersionError(text, _DRIVER)


def _drivers(text: str, plain: str) -> tuple[DriverVersion, ...]:
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


# The release of Jetson Linux before that of JetPack: a JetPack that is not in the tables may have one that is.
_JETSON_IN_PROSE = (
    pattern(r"(?:l4t|jetson linux|linux for tegra)[\s_:-]*r?3\d\.\d+(?:\.\d+)?|\br3\d\.\d+(?:\.\d+)?", re.ASCII),
    pattern(r"\b540\.\d\.0\b|(?<![\d.])3[2-9]\.\d\.\d(?![\d.])", re.ASCII),
    pattern(r"(?:jetpack|\bjp)[\s_:-]*(?:sdk )?\d(?:\.\d){0,2}", re.ASCII),
)
_JETPACK_ALONE = pattern(r"v?([4-7]\.\d(?:\.\d)?)(?:[+-]b\d+)?", re.ASCII)  # 6.2+b77 of nvidia-jetpack
_VERSION_OF_JETPACK = pattern(r"\b(jetpack|jp)([\s_:-]*)v(?=\d)", re.ASCII)


_RELEASE_OF_JETSON = (
    *_JETSON_IN_PROSE[:2],
    pattern(r"(?:jetpack|\bjp)[\s_:-]*(?:sdk )?\d\.\d|\br3\d \(release\)", re.ASCII),
)


@lru_cache(_KEPT)
def read_jetson(text: str) -> JetsonVersion:
    """`35.4.1`, `R35.4.1`, `L4T 32.7.1`, `JetPack 5.1.2`, `36.3`, or `540.3.0`, which nvidia-smi prints for R36.3.

    On a Jetson `6.2` alone is its JetPack: there are no such releases of L4T.
    """
    plain = _VERSION_OF_JETPACK.sub(r"\1\2", plain_text(text))
    if alone := _JETPACK_ALONE.fullmatch(plain):
        plain = f"jetpack {alone[1]}"
    try:
        return _jetson(text, plain)
    except VersionError:
        if not (named := _in_prose(plain, _JETSON_IN_PROSE)):
            raise
        return _jetson(text, named)


_MAJOR_JETPACK = pattern(r"(?:jetpack|\bjp)[\s_:-]*(?:sdk )?(\d)(?:\.x)?(?![.\d])", re.ASCII)
_MAJOR_L4T = pattern(r"\br(3\d)(?:\.x)?(?![.\d])", re.ASCII)


@lru_cache(_KEPT)
def read_jetsons(text: str) -> tuple[JetsonVersion, ...]:
    """Releases of Jetson Linux that a text may mean: one, or each of `JetPack 5`, of `L4T r35`. Raises VersionError."""
    plain = plain_text(text)
    plain = _VERSION_OF_JETPACK.sub(r"\1\2", plain)
    jetpack, line = _MAJOR_JETPACK.search(plain), _MAJOR_L4T.search(plain)
    if (jetpack or line) and not any(form.search(plain) for form in _RELEASE_OF_JETSON):
        fitting = [
            row.l4t
            for row in tables.jetsons()
            if (jetpack is None or row.jetpack.startswith(f"{jetpack[1]}."))
            and (line is None or row.l4t.release == int(line[1]))
            and (jetpack is None or "DP" not in row.jetpack)
        ]
        if fitting and not re.search(r"\bcuda\b.*\d", plain):
            return tuple(fitting)
    return (read_jetson(text),)


def _of_jetpack(written: str) -> JetsonVersion | None:
    """The releases for `5.1.2`, or for the preview `4.4 dp`."""
    number, _, preview = written.partition(" ")
    named = (row for row in tables.jetsons() if row.jetpack.endswith(" DP") == bool(preview))
    wanted = number.removesuffix(".0")
    return next((row.l4t for row in named if row.jetpack.removesuffix(" DP").removesuffix(".0") == wanted), None)


def _jetson(text: str, plain: str) -> JetsonVersion:
    if noted := re.search(r"\br(3\d) \(release\), revision: (\d+(?:\.\d+)?)", plain):  # /etc/nv_tegra_release
        plain = f"{noted[1]}.{noted[2]}"
    if tegra := re.fullmatch(r"540\.(\d)\.0", plain, re.ASCII):  # Jetson's own line, not branch 540 of other machines
        return JetsonVersion(36, int(tegra[1]))
    if by_cuda := re.search(r"\bcuda (\d\d\.\d)\b", plain):
        brought = [row.l4t for row in tables.jetsons() if str(row.cuda.line) == by_cuda[1]]
        if brought and not re.search(r"(?:jetpack|jp)[\s_:-]*\d", plain):
            return max(brought)
    jetpack = re.fullmatch(r"(?:jetpack|jp)[\s_:-]*(?:sdk )?(\d+(?:\.\d+){0,2}(?: (?:dp|developer preview))?)", plain)
    if jetpack:
        if (found := _of_jetpack(jetpack[1])) is not None:
            return found
        raise VersionError(text, "is not a JetPack of the tables such as JetPack 5.1.2")
    plain = re.sub(r"^(?:l4t|jetson linux|linux for tegra)?[\s_:-]*r?(?=\d)", "", plain)
    try:
        return JetsonVersion.parse(plain)
    except VersionError:
        raise VersionError(
            text, "is not a Jetson Linux release such as 35.4.1, or a JetPack such as JetPack 5.1.2"
        ) from None


_CUDA = "is not a CUDA version such as 10.1 or 12.4.1"
_UPDATE = pattern(r"(\d+\.\d+)[\s.,_-]*(?:update|upd|u)[\s._-]*(\d)")
_CUDA_NUMBER = r"\d{1,2}\.\d{1,2}(?:\.\d{1,3})?(?![\w.]\d| ?/ ?\d)"
_CUDA_IN_PROSE = (
    pattern(r"\d+\.\d+[\s.,_-]*(?:update|upd|u)[\s._-]*\d\b", re.ASCII),
    pattern(
        rf"\b(?:cuda|cudatoolkit|toolkit|nvcc)(?: toolkit| release| version)?[\s_:=-]*v?({_CUDA_NUMBER})", re.ASCII
    ),
    pattern(rf"\b(?:runtime|nvcc|toolkit)[\s:=]*v?({_CUDA_NUMBER})", re.ASCII),
    pattern(rf"(?<![\w./-])({_CUDA_NUMBER})\s*\(?(?:nvcc|toolkit|runtime)\b", re.ASCII),
    pattern(r"\bcu\d{2,3}\b", re.ASCII),
    pattern(rf"(?<![\w./-]){_CUDA_NUMBER}", re.ASCII),
)
# Up to 10.x a release ends in its build number (10.1.243 is 10.1 Update 2), from 11.1 on in that of the update.
_FIRST_BUILD_NUMBER = 20
# CUDA 10 means 10.0, as at NVIDIA, and not 10.1; from 11 on all releases of a major run alike.
_FIRST_MAJOR_WITH_MINORS = 11
_RELEASE_CANDIDATE = CudaVersion(11, 0, 1)  # 11.0.2 was the first release, 11.0.3 is 11.0 Update 1


@lru_cache(_KEPT)
def read_cudas(text: str) -> tuple[CudaVersion, ...]:
    """CUDA lines that the text may mean, oldest first: `12.4.1`, `v12.4`, `12.4 Update 1`, `cu124`, `cuda12.4`, `12-4`.

    `12`, `cuda12` and `cuda12x` are every 12.x, `10` is 10.0 and `10.x` every one. Raises VersionError; a line that no
    table has is an error too.
    """
    plain = re.sub(r"^.*\bcuda version\s*:\s*", "", plain_text(text)).strip("| ")
    _refuse_range(text, plain, "one CUDA version such as 12.4, or 12 for any of that major")
    if plain.startswith("-"):
        raise VersionError(text, _CUDA)
    try:
        return _cudas(text, plain)
    except VersionError:
        if not (named := _in_prose(plain, _CUDA_IN_PROSE)):
            raise
        return _cudas(text, named)


def _cudas(text: str, plain: str) -> tuple[CudaVersion, ...]:
    tag = re.fullmatch(r"(?:cuda|cu)[\s_-]*v?(\d{1,2})(\d)", plain)
    if tag and len(plain.lstrip("cuda_- v")) >= 3:
        plain = f"{tag[1]}.{tag[2]}"
    elif packed := re.fullmatch(
        r"cu(?:da)?(\d)(\d)", plain
    ):  # cu75, cu80, cuda92: older than two-digit majors; cu11 is not 1.1
        plain = f"{packed[1]}.{packed[2]}" if int(packed[1]) >= 7 else f"{packed[1]}{packed[2]}"
    plain = re.sub(r"^(?:cuda|cu)?[\s_-]*(?:toolkit|release|compat)?[\s_-]*v?(?=\d)", "", plain)
    if update := _UPDATE.fullmatch(plain):
        return (_updated(text, CudaVersion.parse(update[1]), int(update[2])),)
    dotted = plain.replace("-", ".").replace("_", ".")
    plain = re.sub(r"(?<=\d)\.?x$", "", dotted)
    if re.fullmatch(r"[1-9]\d?", plain):
        if (
            plain == dotted
            and int(plain) < _FIRST_MAJOR_WITH_MINORS
            and (first := CudaVersion(int(plain), 0)) in _lines()
        ):
            return (first,)
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


_RELEASE_IN_PROSE = (
    pattern(r"^\d+(?:\.\d+)+(?= ?\()", re.ASCII),
    pattern(r"(?<![\w.-])\d+(?:\.\d+)+(?![\w.]\d)", re.ASCII),
)


# cuDNN's own number up to 8: 1000 for the major, 100 for the minor.
# Source: paddlepaddle.org.cn/documentation/docs/en/api/paddle/device/get_cudnn_version_en.html (7600 is 7.6)
_OF_HEADER = pattern(r"([4-8])(\d)(\d\d)", re.ASCII)


@lru_cache(_KEPT)
def read_release(text: str) -> Version:
    """`8.9.7`, `v1.17.4`, `2.6.0+cu124`, `cuDNN 8.9`, `libcudnn8=8.9.7.29-1+cuda12.2`; raises VersionError.

    The revision of a package (`1.17.8-1`, `1.15.0~rc.3-1`) is not part of the release; a number in its name is not it.
    """
    plain = plain_text(text)
    _refuse_range(text, plain, "the one version that is there, such as 8.9.7")
    plain = re.sub(r"^[a-z][a-z0-9_-]*\s*(?:==?|:)\s*", "", plain)  # a package and its version
    plain = re.sub(r"^[a-z][a-z_ -]*(?=\d)", "", plain)
    plain = re.sub(r"^\d:(?=\d)", "", plain).replace("~", "")
    if packed := _OF_HEADER.fullmatch(plain):
        plain = f"{packed[1]}.{int(packed[2])}.{int(packed[3])}"
    try:
        return parse_release(re.sub(r"(?<=\d)-\d[\w.+]*$|_cuda[\w.-]*$", "", plain))
    except VersionError:
        if not (named := _in_prose(plain, _RELEASE_IN_PROSE)):
            raise
        return parse_release(named)


_CAPABILITY_IN_PROSE = (
    pattern(r"\bsm_?\d{2,3}[af]?\b", re.ASCII),
    pattern(r"(?<![\w.])\d{1,2}\.\d(?![\w.])", re.ASCII),
)


@lru_cache(_KEPT)
def read_capability(text: str) -> ComputeCapability:
    """`6.1`, `sm_61`, `61`, `compute capability 6.1`; raises VersionError."""
    plain = re.sub(r"^(?:compute[\s_-]*(?:capability|cc)?|capability|cc)[\s:_-]*(?=[\ds])", "", plain_text(text))
    named = _in_prose(plain, _CAPABILITY_IN_PROSE)
    try:
        return Target.parse(named or plain).capability
    except VersionError:
        raise VersionError(text, "is not a compute capability such as 6.1") from None


def plain_text(text: str) -> str:
    """In lower case, without surrounding blanks and quotes. Raises VersionError for a text that is far too long."""
    if len(text) > _LONGEST:
        raise VersionError(text[:40] + "…", f"is longer than {_LONGEST} characters")
    return text.strip().strip("\"'").lower()
