"""The fewest images that serve a stack, as text and data. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cli.words import counted
from compat import Pool
from compat.verdict.image_groups import Group, Groups
from errors.problems import listing

_MOST = 40


def groups_text(stack: str, groups: Groups, pools: Sequence[Pool]) -> str:
    """A headline, then each image with its pools and its limit."""
    hosts = {pool.name: pool.host.shown for pool in pools}
    served = sum(len(each.pools) for each in groups.groups)
    lines = [f"{stack}: {counted(len(groups.groups), 'image')} for {counted(served, 'pool')}"]
    for group in groups.groups:
        targets = listing([str(each) for each in group.targets], most=_MOST)
        lines += [
            f"  CUDA {group.cuda}, code for {targets}: {listing(group.pools, most=_MOST)}",
            f"    limited by {_limits(group, hosts)}",
        ]
    if groups.undecided:
        lines.append(f"  undecided: {listing(groups.undecided, most=_MOST)}, whose driver is not known")
    if groups.without:
        lines.append(f"  none: {listing(groups.without, most=_MOST)}, whose driver runs no CUDA for its GPUs")
    return "\n".join(lines) + "\n"


def groups_data(stack: str, groups: Groups) -> dict[str, Any]:
    """For programs."""
    return {
        "stack": stack,
        "images": [
            {
                "cuda": str(each.cuda),
                "code_for": [str(target) for target in each.targets],
                "pools": list(each.pools),
                "held_by": list(each.held_by),
            }
            for each in groups.groups
        ],
        "driver_unknown": list(groups.undecided),
        "without": list(groups.without),
    }


def _limits(group: Group, hosts: Mapping[str, Any]) -> str:
    held = {(hosts[name].gpu, hosts[name].driver) for name in group.held_by}
    limits = [f"{gpu} with driver {driver}" for gpu, driver in sorted(held)]
    return listing(limits, most=4)
