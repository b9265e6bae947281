"""The fewest images for a set of pools: one per group with a common CUDA line and code for its GPUs. Pure.

A pool runs an unbroken range of lines: from the first that generates code for its GPU to the newest that its driver
reaches. So the fewest groups come from taking the pool whose newest line is the oldest, giving it that line, and
adding all others that run it.
"""

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
    """One image: its CUDA line, the GPUs that it has code for, and its pools."""

    cuda: CudaVersion
    targets: tuple[ComputeCapability, ...]
    pools: tuple[str, ...]
    held_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups, oldest line first; pools with an unknown driver, and pools that run nothing."""

    groups: tuple[Group, ...]
    undecided: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def image_groups(pools: Sequence[Pool]) -> Groups:
    """The fewest images for these pools. A line that runs only by minor-version compatibility counts."""
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
    return frozenset(
        line for line in every if decide(Case(cuda=str(line), sm_list=codes, ptx="none"), host).verdict.runs
    )
