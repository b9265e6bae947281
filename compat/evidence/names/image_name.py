"""Reads the content of images from references as people write them, and from their publishers' notes."""

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, lru_cache

from compat.evidence.names.typed import Targets, read_cudas, read_ptx, read_targets
from compat.facts import tables
from compat.facts.rows import ImageRepository, Row
from compat.values.fact import Fact, Present
from compat.values.versions import ComputeCapability, CudaVersion, VersionError

HUB = "docker.io"  # Docker Hub has several names, and is the default registry of references
HUB_NAMES = frozenset({HUB, "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"})
OFFICIAL = "library/"  # folder of its official images; people leave it out
_MOVING = re.compile(r"(?:^|[-_])(?:latest|nightly|stable|edge|main|master|dev)(?=$|[-_])")
_NAMES_CUDA = re.compile(r"(?:^|[-_])cu(?:da)?[-_]?\d")
_SAME = {"nvcr.io/nvidia/cuda": "nvidia/cuda", "nvidia/cuda-arm64": "nvidia/cuda", "nvidia/cuda-ppc64le": "nvidia/cuda"}


@dataclass(frozen=True, slots=True)
class ImageName:
    """Facts in a reference. Empty or None: not stated."""

    reference: str
    repository: str
    tag: str
    fact: Fact
    cudas: tuple[CudaVersion, ...] = ()
    framework: str = ""
    framework_version: str = ""
    cudnn: str = ""
    nccl: str = ""
    os: str = ""
    targets: Targets | None = None
    compat_package: Present = Present.UNKNOWN
    compat_branches: tuple[int, ...] = ()
    compat_use: str = ""
    requires: tuple[str, ...] = ()
    lowest_capability: ComputeCapability | None = None
    cpu_architectures: tuple[str, ...] = ()
    jetson: bool = False
    gpu_free: bool = False
    is_for_cpu: bool = False  # the build without GPU support, of a program that also has one with it
    own_build: bool = False  # a publisher's own framework builds: facts on wheels do not apply to them
    is_moving: bool = False  # the tag moves to other images, and the reference names no CUDA
    is_from_memory: bool = False  # a table names its CUDA, unverified
    is_of_another: bool = False  # the table's facts come from another image of the family, not from this one


BY_NAME = "the image's name"  # as the source of a fact


@lru_cache(4096)
def read_image(reference: str) -> ImageName:
    """Read a reference; raises VersionError for any other text.

    If its own row says nothing of the system around the program, the row of its base image counts.
    """
    repository, tag = _split(reference)
    family = _family(repository, tag)
    noted = _noted(repository, tag)
    if noted is not None and family is not None and _is_of_another_cuda(noted[0], family[0]):
        noted = None
    source = noted or family
    fact = source[1] if source else Fact(f"the name {reference}", BY_NAME, "")
    in_name = _in_name(repository, tag) if source is None else {}
    cells: Row = {**in_name, **(_stated(family[0]) if family else {}), **(_stated(noted[0]) if noted else {})}
    if family is not None and family[0].get("cuda") == "none":
        cells["cuda"] = "none"  # a tag without CUDA, of a family with both kinds: notes on other tags do not count
    if not cells.get("cuda") and (of_month := _of_month(repository, tag)) is not None:
        cells["cuda"], fact = of_month
    cudas = _released_by(cells.get("date", ""), _cudas(cells.get("cuda", "")))
    base = _base(cells)
    from_memory = "cuda" in cells.get("unverified_cells", "").split(";")
    fact = replace(fact, verified=fact.verified and not from_memory)
    return ImageName(
        reference=reference,
        repository=repository,
        tag=tag,
        fact=fact,
        cudas=cudas,
        framework=cells.get("framework", ""),
        framework_version=cells.get("framework_version", ""),
        cudnn=cells.get("cudnn", ""),
        nccl=cells.get("nccl", ""),
        os=cells.get("os", "") or (base.os if base else ""),
        targets=_targets(cells),
        compat_package=_compat(cells, repository, cudas, base),
        compat_branches=tuple(int(b) for b in re.findall(r"\d{3}", cells.get("compat_host_branches", ""))),
        compat_use=cells.get("compat_use", ""),
        requires=_requires(cells, repository, cudas, base),
        lowest_capability=ComputeCapability.parse(cells["cc_min"]) if cells.get("cc_min") else None,
        cpu_architectures=tuple(re.findall(r"amd64|arm64|ppc64le", cells.get("cpu_arch", ""))),
        jetson=cells.get("kind") == "jetson",
        gpu_free=cells.get("cuda") == "none" or (cells.get("kind") == "cpu-only" and not cudas),
        is_for_cpu=cells.get("cuda") == "none" and cells.get("kind") == "framework",
        own_build=repository.startswith("nvcr.io/nvidia/") or cells.get("kind") == "jetson",
        is_moving=bool(_MOVING.search(tag)) and not any(map(_NAMES_CUDA.search, (repository.rpartition("/")[2], tag))),
        is_from_memory=from_memory and bool(cudas),
        is_of_another=cells.get("tag") == "*",
    )


def _base(cells: Row) -> ImageName | None:
    """The image that this one is built on; its reference contains `{cuda}` and other parts of the tag."""
    text = cells.get("base", "")
    if not text or "base" in cells.get("unverified_cells", "").split(";"):
        return None
    return read_image(text.format_map(defaultdict(str, cells)).removesuffix("-"))


def _split(reference: str) -> tuple[str, str]:
    text, at, digest = reference.strip().removeprefix("docker://").removeprefix("docker-daemon://").partition("@")
    if at and not digest.startswith(("sha256:", "sha512:")):
        raise VersionError(f"…@{digest[:80]}", "has no digest after the @: leave the login out, docker login stores it")
    host, slash, rest = text.partition("/")
    text = (rest if slash and host in HUB_NAMES else text).removeprefix(OFFICIAL)
    if not re.fullmatch(r"[\w][\w./:\[\]-]{0,383}", text, re.ASCII):  # a name has 255 characters, a tag 128
        raise VersionError(reference[:80], "is not an image reference such as nvidia/cuda:12.4.1-base-ubuntu22.04")
    head, slash, last = text.rpartition("/")
    name, _, tag = last.partition(":")
    repository = f"{head}{slash}{name}".lower()
    return _SAME.get(repository, repository), tag or "latest"


def repository_of(reference: str) -> str:
    """A reference's repository as the tables name it; empty for any other text."""
    try:
        return _split(reference)[0]
    except VersionError:
        return ""


def _noted(repository: str, tag: str) -> tuple[Row, Fact] | None:
    for row in tables.image_tags().get(repository, ()):  # the longest tag first
        if row.tag.removesuffix("*") == tag or (row.tag.endswith("*") and tag.startswith(row.tag[:-1])):
            return row.cells, row.origin.fact(f"the notes of {repository}:{row.tag}")
    return None


_OF_MONTH = re.compile(r"(\d\d\.\d\d)(?:-|$)")
# Built together every month, on one CUDA: https://docs.nvidia.com/deeplearning/frameworks/support-matrix/index.html
_TOGETHER = ("nvcr.io/nvidia/pytorch", "nvcr.io/nvidia/tensorflow", "nvcr.io/nvidia/tritonserver")


def _of_month(repository: str, tag: str) -> tuple[str, Fact] | None:
    """CUDA of a month's NGC images, by the notes of another image of that month."""
    month = _OF_MONTH.match(tag)
    if month is None or not re.fullmatch(r"nvcr\.io/nvidia/[a-z]+", repository) or "igpu" in tag:
        return None
    for other in _TOGETHER:
        for row in tables.image_tags().get(other, ()):
            if re.fullmatch(rf"{re.escape(month[1])}(?:-tf2)?-py3", row.tag) and row.cells["cuda"]:
                return row.cells["cuda"], row.origin.fact(f"the notes of {other}:{row.tag}, an image of that month")
    return None


def _is_of_another_cuda(noted: Row, family: Row) -> bool:
    """Does the tag name another CUDA than the note of all tags with this prefix? v0.21.0* is not -cu129."""
    if not noted["tag"].endswith("*"):
        return False
    by_note, by_tag = _cudas(noted["cuda"]), _cudas(family.get("cuda", ""))
    return bool(by_note and by_tag) and {each.line for each in by_note}.isdisjoint(each.line for each in by_tag)


def _family(repository: str, tag: str) -> tuple[Row, Fact] | None:
    for family in _families(repository):
        in_name = re.search(family.repository_pattern, repository) if family.repository_pattern else None
        match = re.search(family.pattern, tag)
        text = family.cpu_pattern
        cpu_only = family.kind == "cpu-only" or bool(text and text != "^.*$" and re.search(text, tag))
        if match is None and in_name is None and not cpu_only:
            continue
        cells: Row = {"framework": family.framework, "kind": family.kind}
        for found in (in_name, match):
            cells |= {name: value for name, value in (found.groupdict() if found else {}).items() if value}
        cells |= _spelled(cells)
        if not cells.get("framework_version", "0")[:1].isdigit():  # latest, nightly: a moving tag names no version
            del cells["framework_version"]
        if cpu_only or cells.get("device") == "cpu":
            cells["cuda"] = "none"
        if family.compat_package:
            cells["compat_package"] = family.compat_package
        about = {"base": family.base, "clause": family.clause, "compat_use": family.compat_use}
        cells |= {name: cell for name, cell in about.items() if cell and name not in family.origin.unverified}
        if family.cpu_arch and "cpu_arch" not in family.origin.unverified:
            cells["cpu_arch"] = family.cpu_arch
        if cells["framework"] == "tf" or cells["framework"] == "tf2":
            cells["framework"] = "tensorflow"
        return cells, family.origin.fact(f"how tags of {repository} are made")
    return None


@lru_cache(1024)
def _families(repository: str) -> tuple[ImageRepository, ...]:
    """Families whose repository fits, the most specific first; `*` stands for anything."""
    fitting = [name for name in tables.image_repositories() if name == repository or _fits(repository, name)]
    fitting.sort(key=lambda name: ("*" in name, -len(name)))
    return tuple(family for name in fitting for family in tables.image_repositories()[name])


def _fits(repository: str, pattern: str) -> bool:
    start, *_, end = pattern.split("*") if "*" in pattern else (pattern, pattern)
    # The ends first: each pattern that fnmatch sees is compiled.
    return repository.startswith(start) and repository.endswith(end) and fnmatchcase(repository, pattern)


def _spelled(cells: Row) -> Row:
    """CUDA and versions that a tag writes without dots: cu121, cuda12, 2-17."""
    if compact := cells.get("cuda_compact", ""):
        return {"cuda": f"cu{compact}"}
    if major := cells.get("cuda2", "") or cells.get("cuda_major", ""):
        return {"cuda": major}
    if torch := cells.get("torch", ""):
        return {"framework": "pytorch", "framework_version": torch}
    return {}


def _stated(row: Row) -> Row:
    return {column: cell for column, cell in row.items() if cell}


def _in_name(repository: str, tag: str) -> Row:
    """For families without a table, the parts that the name states: CUDA, cuDNN, targets, system."""
    text = f"{repository}:{tag}".lower()
    cells: Row = {}
    if match := re.search(r"(?<![a-z0-9])(?:cuda|cu)[-_.]?(\d{1,2}[.-]\d+|\d{2,3})(?!\d)", text):
        cells["cuda"] = match[1] if "." in match[1] or "-" in match[1] else f"cu{match[1]}"
    if found := re.findall(r"(?<![a-z0-9])sm_?(\d{2,3}a?)(?![a-z0-9])", tag.lower(), re.ASCII):
        cells["sm_list"] = ";".join(found)
    if match := re.search(r"cudnn[-_.]?(\d+(?:\.\d+)*)", text):
        cells["cudnn"] = match[1]
    if match := _systems().search(text):
        cells["os"] = match[1] + (match[2] or "")
    return cells


@cache
def _systems() -> re.Pattern[str]:
    """System names with versions whose C library the tables have: ubuntu22.04, ubi-9, alpine."""
    names = {re.sub(r"\d.*$", "", name) for name in tables.by_key("glibc", "os")}
    return re.compile(rf"(?<![a-z])({'|'.join(sorted(names, key=len, reverse=True))})-?(\d+(?:\.\d+)?)?(?![a-z])")


def _cudas(text: str) -> tuple[CudaVersion, ...]:
    if text in {"", "none"}:
        return ()
    try:
        return read_cudas(text)
    except VersionError:
        return ()


def _released_by(date: str, cudas: tuple[CudaVersion, ...]) -> tuple[CudaVersion, ...]:
    """Those that a tag with this date (YYYY-MM-DD) can have: `cuda12-2025-04-01` is older than CUDA 12.9."""
    if not date or len(cudas) < 2:
        return cudas
    return tuple(each for each in cudas if tables.toolkits_of(each.line)[0].released <= date[:7]) or cudas


def _targets(cells: Row) -> Targets | None:
    if not cells.get("sm_list") and not cells.get("ptx"):
        return None
    cubins = read_targets(cells["sm_list"]).cubins if cells.get("sm_list") else None
    return Targets(cubins, read_ptx(cells["ptx"]).ptx if cells.get("ptx") else None)


def _compat(cells: Row, repository: str, cudas: tuple[CudaVersion, ...], base: ImageName | None) -> Present:
    row = _require_row(repository, cudas)
    stated = row["compat_package"] if row is not None else cells.get("compat_package", "")
    if stated in {"yes", "no"}:
        return Present(stated)
    return Present.UNKNOWN if base is None else base.compat_package


def _requires(cells: Row, repository: str, cudas: tuple[CudaVersion, ...], base: ImageName | None) -> tuple[str, ...]:
    row = _require_row(repository, cudas)
    clause = row["clause"] if row else cells.get("clause", "")
    return (clause,) if clause else (base.requires if base else ())


def _require_row(repository: str, cudas: tuple[CudaVersion, ...]) -> Row | None:
    if len(cudas) != 1:
        return None
    rows = {
        CudaVersion.parse(row["cuda_version"]): row
        for row in tables.by_key("require", "repository").get(repository, ())
    }
    same = sorted(version for version in rows if version.line == cudas[0].line)
    exact = [version for version in same if version <= cudas[0]] if cudas[0].patch else []
    return rows[(exact or same)[-1]] if same else None
