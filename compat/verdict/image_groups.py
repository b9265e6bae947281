"""How few images serve a set of pools: one for each group that has a CUDA line in common, with code for its GPUs. Pure.

The lines that a pool runs have no gap: from the first that generates code for its GPU to the newest that its driver
reaches. So the fewest groups come from taking the pool that goes least far, giving it its newest line, and serving all
others that run this line too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compat.evidence import alternatives
from compat.evidence.case import Case
from compat.evidence.host import Host, Pool, lowest_driver
from compat.values.images import ImageFacts
from compat.values.versions import ComputeCapability, CudaVersion
from compat.verdict.decide import decide


@dataclass(frozen=True, slots=True)
class Group:
    """One image: its CUDA line, the GPUs that it has code for, and the pools that go no further."""

    cuda: CudaVersion
    targets: tuple[ComputeCapability, ...]
    pools: tuple[str, ...]
    held_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups, the oldest line first; pools whose driver is not known, and those that run nothing."""

    groups: tuple[Group, ...]
    undecided: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def image_groups(pools: Sequence[Pool]) -> Groups:
    """The fewest images for these pools. A line that runs by minor-version compatibility alone counts."""
    known = {pool.name: pool.host for pool in pools if lowest_driver(pool.host.may_be) is not None}
    runs = {name: _lines(host) for name, host in known.items()}
    left = {name: lines for name, lines in runs.items() if lines}
    groups = []
    while left:
        line = min(max(lines) for lines in left.values())
        own = [name for name, lines in left.items() if line in lines]
        targets = {each.gpu.capability for name in own for each in known[name].may_be}
        held = tuple(name for name in own if max(left[name]) == line)
        groups.append(Group(line, tuple(sorted(targets)), tuple(own), held))
        left = {name: lines for name, lines in left.items() if name not in own}
    undecided = tuple(pool.name for pool in pools if pool.name not in known)
    return Groups(tuple(groups), undecided, tuple(name for name, lines in runs.items() if not lines))


def _lines(host: Host) -> frozenset[CudaVersion]:
    pool = host.may_be[0]
    every = alternatives.lines(ImageFacts(""), pool, lowest_driver(host.may_be))
    codes = ";".join(sorted({str(each.gpu.capability) for each in host.may_be}))
    return frozenset(line for line in every if _runs(Case(cuda=str(line), sm_list=codes, ptx="none"), host))


def _runs(case: Case, host: Host) -> bool:
    return decide(case, host).verdict.runs
