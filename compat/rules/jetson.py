"""R-JETSON: Jetson has a driver line and images of its own: L4T, which JetPack brings with one CUDA."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum

from packaging.version import Version

from compat.evidence.prose.patterns import pattern
from compat.evidence.reading.builds import is_of_ones_own
from compat.facts import tables
from compat.facts.rows import Jetson
from compat.rules.rule import Rule, note, refuse, unknown, warn
from compat.values.model import THE_CASE, Fact, Finding, ImageFacts, Platform, PoolFacts, Present, Setting, Severity
from compat.values.versions import ComputeCapability, CudaVersion, JetsonVersion

ID = "R-JETSON"
_SOURCE = "https://docs.nvidia.com/cuda/cuda-for-tegra-appnote/index.html"
_DATE = "2026-11-21"
_NGC = (
    "https://docs.nvidia.com/deeplearning/frameworks/support-matrix/index.html ; "
    "https://github.com/triton-inference-server/server/issues/7199 ; "
    "https://github.com/NVIDIA/nvidia-docker/issues/1598"
)
_JETPACK_7 = "https://developer.nvidia.com/embedded/jetpack/downloads/archive-7.0.md"
_COMPATIBLE = "https://github.com/dusty-nv/jetson-containers/blob/master/jetson_containers/l4t_version.py"
_LINES = "containers run on the L4T line that they are made for (R32.7, R35, R36), not on another"
_WITHOUT_PACKAGE = "https://github.com/anduril/jetpack-nixos/issues/328"
# Besides the CUDA in the tables, Ollama brings one for each JetPack.
# Source: https://github.com/ollama/ollama/blob/main/scripts/install.sh
_HAVE_RUNNERS_FOR_JETPACK = frozenset({"ollama"})
_HOSTS_LIBRARIES = 32  # up to here a container takes CUDA from the host, from 34 on it brings it
_SPLIT = (36, 4)
_LIKE_SERVERS = 38  # from JetPack 7 on a Jetson runs what arm64 servers run
_FOR_JETSON = pattern(r"(?:^|/)l4t-[a-z]|(?:^|/)dustynv/|[:-]igpu\b|-igpu$", re.IGNORECASE)
_FOR_SERVERS = pattern(r"sbsa", re.IGNORECASE)
# Runners of Ollama beside those for JetPack, which it calls cuda_jetpack5 and cuda_jetpack6.
_GENERIC = pattern(r"\bcuda_v1\d\b|\bsbsa\b", re.IGNORECASE)
_OLLAMA = "https://github.com/ollama/ollama/issues/6921 ; https://github.com/ollama/ollama/issues/9503"
_WHEEL_FOR = pattern(r"\bwheels? (?:made |built )?for jet ?pack (\d\.\d)(?!\.?\d*\s*(?:and|or|to|\+))", re.IGNORECASE)
_SAME_CUDA = "https://github.com/pytorch/TensorRT/pull/3453"  # NVIDIA's wheels of 24.08 on JetPack 6.1 and 6.2
_ALIKE = "6."  # wheels for JetPack 5.0 still fail on 5.1
_WHEELS = (
    "https://github.com/microsoft/onnxruntime/issues/15732 ; "
    "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html"
)
# The last builds for JetPack 4 and its Python 3.6 are of torch 1.11 and TensorFlow 2.7.
_AFTER_JETPACK_4 = {"pytorch": Version("1.12"), "tensorflow": Version("2.8")}
_LAST_JETPACK_4 = frozenset(map(ComputeCapability.parse, ("5.3", "6.2")))
_OTHERS_BUILD = pattern(r"\bqengineering\b|\bbuilt\b|\bcompiled?\b|\bdocker\b|\bimage\b", re.IGNORECASE)
_BUILDS_OF_4 = (
    "https://github.com/Qengineering/PyTorch-Jetson-Nano/issues/4 ; https://github.com/pytorch/pytorch/issues/78067 ; "
    "https://docs.nvidia.com/deeplearning/frameworks/install-tf-jetson-platform-release-notes/tf-jetson-rel.html"
)
_HAVE_JETPACK_7 = frozenset(map(ComputeCapability.parse, ("8.7", "11.0")))
_OF_CUDA = pattern(r"(?:^|/)nvidia/cuda[:@]", re.IGNORECASE)
_FIRST_CUDA_OF_ARM = CudaVersion(11, 0)
_FOR_AMD64 = "https://github.com/NVIDIA/nvidia-docker/issues/1370"
_OF_NGC = pattern(r"(?:^|/)nvcr\.io/nvidia/(?:pytorch|tensorflow|jax|tritonserver|tensorrt)[:@]", re.IGNORECASE)


def jetpack_of(release: JetsonVersion) -> Jetson | None:
    """The JetPack of an L4T release: its own row, else the nearest of the same revision, else the newest before it."""
    rows = [row for row in tables.jetsons() if row.l4t.release == release.release]
    older = [row for row in rows if row.l4t <= release]
    if not any(row.l4t.revision == release.revision for row in older):
        same = [row for row in rows if row.l4t.revision == release.revision]
        older = [min(same, key=lambda row: row.l4t)] if same else older
    return max(older, key=lambda row: row.l4t, default=None)


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if pool.platform is not Platform.JETSON:
        return _elsewhere(image, pool)
    if (servers := _of_servers(image, pool) or _generic(image, pool)) is not None:
        return (servers,)
    made = _wheel_of_another(image, pool) if image.l4t is None else (_made_for(image.l4t, image, pool),)
    made = (*made, *_beyond_jetpack_4(image, pool))
    if image.cuda is None or any(each.severity is Severity.REFUSE for each in made):
        return made
    if pool.jetson is None:
        return made or _without_release(image, pool)
    return (*made, _on(image, pool, pool.jetson, image.cuda.line))


def _wheel_of_another(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """A wheel for one JetPack, on another: it was linked with the cuDNN and TensorRT of the first."""
    made_for = _WHEEL_FOR.search(image.remarks)
    pack = jetpack_of(pool.jetson) if pool.jetson is not None else None
    if made_for is None or pack is None or pack.jetpack.startswith(made_for[1]):
        return ()
    message = f"the build is for JetPack {made_for[1]}, and JetPack {pack.jetpack} is there"
    fact = Fact("a wheel is linked with the libraries of the JetPack that it is made for", _WHEELS, "2026-11-26")
    if not pack.jetpack.startswith(f"{made_for[1].split('.')[0]}."):
        return (refuse(ID, f"{message}: its libraries have other versions there", fact),)
    lines = {
        row.cuda.line for row in tables.jetsons() if row.jetpack.startswith(made_for[1]) and "DP" not in row.jetpack
    }
    if lines == {pack.cuda.line} and made_for[1].startswith(_ALIKE):
        fact = replace(fact, text="JetPacks with one CUDA bring the same libraries", source=f"{_WHEELS} ; {_SAME_CUDA}")
        return (warn(ID, f"{message}, which brings the same CUDA {pack.cuda.line}", fact),)
    return (unknown(ID, f"{message}: it is not known whether it finds its libraries there", fact),)


def _beyond_jetpack_4(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """A release of which nobody publishes a build for JetPack 4, unless somebody compiled it."""
    first = _AFTER_JETPACK_4.get(image.framework)
    never_5 = pool.gpu.capability in _LAST_JETPACK_4 if pool.jetson is None else pool.jetson.release <= _HOSTS_LIBRARIES
    if first is None or image.framework_version is None or image.l4t is not None or not never_5:
        return ()
    is_others = is_of_ones_own(image.remarks) or _OTHERS_BUILD.search(image.remarks)
    is_listed = image.code is not None and image.code.fact.source == THE_CASE
    if image.framework_version < first or is_others or is_listed:
        return ()
    fact = Fact(f"NVIDIA's builds of {image.framework} from {first} on need JetPack 5", _BUILDS_OF_4, "2026-11-27")
    message = f"{fact.text}, and {pool.gpu.name} has JetPack 4; pip installs a wheel without CUDA there"
    return (refuse(ID, message, fact),)


def _without_release(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """The JetPack is not stated: then one that brings this very CUDA is meant."""
    brings = [
        row
        for row in tables.jetsons()
        if image.cuda is not None and row.cuda.line == image.cuda.line and pool.gpu.capability in row.modules
    ]
    if brings and not image.is_opaque:
        pack = brings[-1]
        fact = pack.origin.fact(f"JetPack {pack.jetpack} (L4T {pack.l4t}) brings CUDA {pack.cuda}", "cuda", "l4t")
        return (note(ID, f"{fact.text}: assumed, because the case names no L4T release", fact),)
    if (never := _on_none(image, pool)) is not None:
        return (never,)
    fact = Fact("what runs on a Jetson depends on its L4T release", _SOURCE, _DATE)
    return (unknown(ID, "the Jetson's L4T release or JetPack is not known", fact),)


def _on_none(image: ImageFacts, pool: PoolFacts) -> Finding | None:
    """Is the CUDA too new for every JetPack that the module can have? Then it does not matter which one it is."""
    if image.cuda is None:
        return None
    rows = [row for row in tables.jetsons() if pool.gpu.capability in row.modules]
    if any(_on(image, pool, row.l4t, image.cuda.line).severity is not Severity.REFUSE for row in rows):
        return None
    verified = [row for row in rows if "cuda" not in row.origin.unverified]
    if not verified:
        return None
    newest = max(verified, key=lambda row: (row.cuda, row.l4t))
    fact = newest.origin.fact(f"the newest CUDA that a JetPack brings to {pool.gpu.name} is {newest.cuda.line}", "cuda")
    return refuse(ID, f"{fact.text}; CUDA {image.cuda.line} runs on none of them", fact)


def _on(image: ImageFacts, pool: PoolFacts, release: JetsonVersion, cuda: CudaVersion) -> Finding:
    """A CUDA line on an L4T release."""
    row = jetpack_of(release)
    if row is None:
        fact = Fact(f"no table has L4T {release}", _SOURCE, "", verified=False)
        return unknown(ID, f"it is not known which CUDA L4T {release} brings", fact)
    fact = row.origin.fact(f"JetPack {row.jetpack} (L4T {row.l4t}) brings CUDA {row.cuda}", "cuda", "l4t")
    if row.modules and pool.gpu.capability not in row.modules:
        return refuse(ID, f"JetPack {row.jetpack} is not for {pool.gpu.name} ({pool.gpu.capability})", fact)
    if cuda <= row.cuda.line:
        return note(ID, f"{fact.text}, which runs CUDA {cuda}", fact)
    same_major = cuda.major == row.cuda.major and cuda.major >= 11
    if row.upgradable_to is not None and cuda <= row.upgradable_to.line:
        if image.compat_package is Present.YES:
            return note(ID, f"a compat package brings CUDA {cuda} to JetPack {row.jetpack}", fact)
        has_its_own = image.framework in _HAVE_RUNNERS_FOR_JETPACK
        if not same_major or (release.release < _LIKE_SERVERS and not has_its_own):
            message = f"{fact.text}; CUDA {cuda} needs its compat package (error 35 without)"
            source = f"{fact.source} ; {_SOURCE} ; {_WITHOUT_PACKAGE}"
            return refuse(ID, message, replace(fact, source=source), Setting("cuda_compat", "yes"))
    if same_major:
        return note(ID, f"{fact.text}; CUDA {cuda} runs by minor-version compatibility", fact)
    return refuse(ID, f"{fact.text}; CUDA {cuda} is newer", fact)


def is_for_jetson(name: str) -> bool:
    """Does an image's name mean that it is for Jetson modules? `dustynv/…-sbsa-…` is for arm64 servers."""
    return bool(_FOR_JETSON.search(name)) and not _FOR_SERVERS.search(name)


def _elsewhere(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """An image for Jetson on another machine: its libraries are Tegra's, its code is only for that chip."""
    if not is_for_jetson(image.name) or (image.l4t is not None and image.l4t.release >= _LIKE_SERVERS):
        return ()
    fact = Fact("CUDA for Tegra is a target of its own: programs built for it do not run on other GPUs", _SOURCE, _DATE)
    return (refuse(ID, f"{image.name} is made for Jetson, but {pool.gpu.name} is not a Jetson", fact),)


def _of_servers(image: ImageFacts, pool: PoolFacts) -> Finding | None:
    """An image for servers on a Jetson before JetPack 7: of amd64 alone, or for the GPUs of arm64 servers."""
    is_before = (
        pool.gpu.capability not in _HAVE_JETPACK_7 if pool.jetson is None else pool.jetson.release < _LIKE_SERVERS
    )
    if not is_before or image.code is not None or is_for_jetson(image.name):
        return None
    if _OF_CUDA.search(image.name) and image.cuda is not None and image.cuda.line < _FIRST_CUDA_OF_ARM:
        fact = Fact("nvidia/cuda has no image for arm64 before CUDA 11", _FOR_AMD64, "2026-11-27")
        return refuse(ID, f"{image.name} is for amd64 and POWER; on {pool.gpu.name} use an l4t image", fact)
    if not _OF_NGC.search(image.name):
        return None
    fact = Fact("NGC images for Jetson have tags with -igpu; the others are for servers", _NGC, "2026-11-27")
    message = f"{image.name} is for servers, and what is built for their GPUs does not run on {pool.gpu.name}"
    return refuse(ID, f"{message} before JetPack 7: use the image with -igpu, or an l4t image", fact)


def _generic(image: ImageFacts, pool: PoolFacts) -> Finding | None:
    """CUDA libraries for arm64 servers, where the case states that it has those: they find no GPU on Tegra."""
    if pool.jetson is None or pool.jetson.release >= _LIKE_SERVERS:
        return None
    if "jetpack" in image.remarks.lower() or not _GENERIC.search(image.remarks):
        return None
    fact = Fact("the CUDA libraries of arm64 servers do not run on a Jetson before JetPack 7", _OLLAMA, "2026-11-23")
    return refuse(ID, f"{fact.text} (errors 35 and 801): use those made for its JetPack", fact)


def _made_for(l4t: JetsonVersion, image: ImageFacts, pool: PoolFacts) -> Finding:
    """An image for one L4T release, on a host with that release, another one or one that is not stated."""
    fit = [row for row in tables.jetsons() if pool.gpu.capability in row.modules and _fits(l4t, row.l4t) is _Fit.YES]
    host = pool.jetson
    if host is None:
        fact = Fact(f"{image.name} is made for L4T {l4t}", _COMPATIBLE, _DATE)
        if not fit:
            return refuse(ID, f"{fact.text}, which is not for {pool.gpu.name} ({pool.gpu.capability})", fact)
        return note(
            ID, f"{fact.text}: the host is assumed to be of that line, because the case names no L4T release", fact
        )
    row = jetpack_of(host)
    if row is not None and row.modules and pool.gpu.capability not in row.modules:
        fact = row.origin.fact(f"JetPack {row.jetpack} (L4T {row.l4t}) is for {_listed(row.modules)}", "modules")
        return refuse(ID, f"{fact.text}, not for {pool.gpu.name} ({pool.gpu.capability})", fact)
    made = jetpack_of(l4t)
    if made is not None and made.modules and pool.gpu.capability not in made.modules:
        fact = made.origin.fact(f"L4T {l4t} is for {_listed(made.modules)}", "modules")
        message = f"{image.name} is made for L4T {l4t}, which is for {_listed(made.modules)}, the chips of its time"
        return refuse(ID, f"{message}; {pool.gpu.name} has {pool.gpu.capability}, and Tegra runs no other's code", fact)
    fact = Fact(_LINES, _COMPATIBLE, _DATE)
    message = f"{image.name} is made for L4T {l4t}; the host has L4T {host}"
    match _fits(l4t, host):
        case _Fit.NO:
            return refuse(ID, f"{message}: {_LINES}", fact)
        case _Fit.UNKNOWN:
            return unknown(ID, f"{message}: it is not known whether JetPack 7 runs it", fact)
        case _Fit.LIKELY:
            return warn(
                ID, f"{message}: it is made for another release of that line, and libraries may be missing", fact
            )
    return note(ID, message, fact)


class _Fit(Enum):
    """Does an image for one L4T release run on another?"""

    YES = "yes"
    LIKELY = "likely"
    UNKNOWN = "unknown"
    NO = "no"


def _fits(image: JetsonVersion, host: JetsonVersion) -> _Fit:
    """Follows l4t_version_compatible of jetson-containers, which is stricter in R36 than the pages of its images.

    On R32 a container takes CUDA, cuDNN and TensorRT from the host, so an older image finds newer libraries there.
    """
    if min(image, host).release >= _LIKE_SERVERS:
        return _Fit.YES  # the content of the image counts
    if image.release != host.release:
        return _Fit.UNKNOWN if host.release >= _LIKE_SERVERS > image.release > _HOSTS_LIBRARIES else _Fit.NO
    if image.release > _HOSTS_LIBRARIES:
        halves = {each.release == _SPLIT[0] and each.revision >= _SPLIT[1] for each in (image, host)}
        return _Fit.YES if len(halves) == 1 else _Fit.LIKELY
    if image.revision == host.revision:
        return _Fit.YES
    packs = jetpack_of(image), jetpack_of(host)
    same_cuda = all(packs) and len({pack.cuda.line for pack in packs if pack is not None}) == 1
    return _Fit.LIKELY if same_cuda and image < host else _Fit.NO


def _listed(capabilities: tuple[ComputeCapability, ...]) -> str:
    return ", ".join(map(str, capabilities))


RULE = Rule(
    id=ID,
    title="Jetson",
    says=(
        "A Jetson's driver is part of its L4T release: a JetPack brings one CUDA, JetPack 5 and newer run later CUDA "
        "with compat packages, and images must be made for the L4T line of the host; from JetPack 7 on those for arm64 "
        "servers run too. Images for Jetson run nowhere else. Driver versions of other platforms do not count here."
    ),
    sources=(_SOURCE, _COMPATIBLE, _JETPACK_7, "https://developer.nvidia.com/embedded/jetpack-archive"),
    severity=Severity.REFUSE,
    check=check,
    of_pool=("gpu", "platform", "jetson"),
    passing={"gpu": "Jetson AGX Orin", "driver": "JetPack 6.2", "cuda": "12.6", "os": "l4t"},
    failing={"gpu": "Jetson Nano", "driver": "JetPack 4.6", "cuda": "11.4", "os": "l4t"},
    undecided={"gpu": "Jetson AGX Orin", "cuda": "12.5", "os": "l4t"},
)
