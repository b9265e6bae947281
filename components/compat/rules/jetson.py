"""R-JETSON: Jetson has a driver line of its own: L4T, which JetPack brings with one CUDA."""

from __future__ import annotations

from functools import lru_cache

from components.compat import tables
from components.compat.model import Change, Fact, Finding, ImageFacts, Platform, PoolFacts, Present, Severity
from components.compat.rules.rule import Need, Rule, note, refuse, unknown
from components.compat.tables import Jetson
from components.compat.versions import JetsonVersion

ID = "R-JETSON"
_SOURCE = "https://docs.nvidia.com/cuda/cuda-for-tegra-appnote/index.html"
_DATE = "2026-11-21"
_CONTAINERS = "https://github.com/dusty-nv/jetson-containers"
_OWN_CUDA = 34


@lru_cache(256)
def jetpack_of(release: JetsonVersion) -> Jetson | None:
    """The JetPack of an L4T release: its own row, or the newest one of the same release line before it."""
    rows = [row for row in tables.jetsons() if row.l4t.release == release.release and row.l4t <= release]
    return max(rows, key=lambda row: row.l4t, default=None)


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if pool.platform is not Platform.JETSON or image.cuda is None:
        return ()
    if pool.jetson is None:
        brings = [
            row for row in tables.jetsons() if row.cuda.line == image.cuda.line and pool.gpu.capability in row.modules
        ]
        if brings and not image.is_opaque:
            pack = brings[-1]
            fact = pack.origin.fact(f"JetPack {pack.jetpack} (L4T {pack.l4t}) brings CUDA {pack.cuda}", "cuda", "l4t")
            return (note(ID, f"{fact.text}: read as that, because the case names no L4T release", fact),)
        fact = Fact("what runs on a Jetson depends on its L4T release", _SOURCE, _DATE)
        return (
            unknown(ID, "the Jetson's L4T release or JetPack is not known", fact, Change("driver", "", "JetPack 6.2")),
        )
    if (apart := _other_generation(image, pool)) is not None:
        return (apart,)
    row = jetpack_of(pool.jetson)
    if row is None:
        fact = Fact(f"no table has L4T {pool.jetson}", _SOURCE, "", verified=False)
        return (unknown(ID, f"it is not known which CUDA L4T {pool.jetson} brings", fact),)
    fact = row.origin.fact(f"JetPack {row.jetpack} (L4T {row.l4t}) brings CUDA {row.cuda}", "cuda", "l4t")
    if row.modules and pool.gpu.capability not in row.modules:
        message = f"JetPack {row.jetpack} is not for {pool.gpu.name} ({pool.gpu.capability})"
        return (refuse(ID, message, fact),)
    cuda = image.cuda.line
    if cuda <= row.cuda.line:
        return (note(ID, f"{fact.text}, which runs CUDA {cuda}", fact),)
    same_major = cuda.major == row.cuda.major and cuda.major >= 11
    if row.upgradable_to is not None and cuda <= row.upgradable_to.line:
        if image.compat_package is Present.YES:
            return (note(ID, f"a compat package brings CUDA {cuda} to JetPack {row.jetpack}", fact),)
        if not same_major:
            message = f"{fact.text}; CUDA {cuda} needs its compat package"
            return (refuse(ID, message, fact, Change("cuda_compat", "", "yes")),)
    if same_major:
        return (note(ID, f"{fact.text}; CUDA {cuda} runs by minor-version compatibility", fact),)
    newer = next(
        (each for each in tables.jetsons() if each.cuda.line >= cuda and pool.gpu.capability in each.modules), None
    )
    to = [Change("driver", str(pool.jetson), str(newer.l4t))] if newer else []
    return (refuse(ID, f"{fact.text}; CUDA {cuda} is newer", fact, *to),)


def _other_generation(image: ImageFacts, pool: PoolFacts) -> Finding | None:
    """Up to L4T 32 containers take CUDA from the host, from 34 on they bring it: neither runs on the other."""
    if image.l4t is None or pool.jetson is None or (image.l4t.release < _OWN_CUDA) == (pool.jetson.release < _OWN_CUDA):
        return None
    fact = Fact(
        "containers of L4T 32 use the host's CUDA, those of L4T 34 and newer bring their own", _CONTAINERS, _DATE
    )
    message = f"{image.name} is made for L4T {image.l4t}; the host has L4T {pool.jetson}"
    return refuse(ID, message, fact)


RULE = Rule(
    id=ID,
    title="Jetson",
    says=(
        "A Jetson's driver is part of its L4T release: a JetPack brings one CUDA, JetPack 5 and newer take later CUDA "
        "by compat packages, and images must be made for L4T. Numbers of other drivers say nothing here."
    ),
    sources=(_SOURCE, "https://developer.nvidia.com/embedded/jetpack-archive"),
    severity=Severity.REFUSE,
    need=Need.CUDA,
    check=check,
    reads=("on_jetson",),
    passing={"gpu": "Jetson AGX Orin", "driver": "JetPack 6.2", "cuda": "12.6", "os": "l4t"},
    failing={"gpu": "Jetson Nano", "driver": "JetPack 4.6", "cuda": "11.4", "os": "l4t"},
    undecided={"gpu": "Jetson AGX Orin", "cuda": "12.5", "os": "l4t"},
)
