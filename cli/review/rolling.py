"""Instances that an AWS update replaces: which pools roll, how, and what ends with old instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cli.review.consequence import Consequence
from cli.review.recorded import EKS_GROUP, FLATCAR_GROUP, GROUPS, pool_name
from cli.review.stream import Step, Stream
from cli.review.values import known_text, texts, whole
from cli.words import counted

# Inputs below a group's component that start other instances. EKS also replaces nodes for a version alone.
_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_VERSIONS: Final = ("releaseVersion", "version", "amiType")

_HOW: Final = {
    # https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
    EKS_GROUP: "EKS drains {number} of its instances at a time and ends each when a new one is ready",
    # https://docs.aws.amazon.com/autoscaling/ec2/userguide/instance-refresh-overview.html
    FLATCAR_GROUP: "an instance refresh ends {number} of its instances at a time without draining them, and pods get "
    "two minutes",
}


def groups(stream: Stream) -> frozenset[str]:
    """Pools of AWS instances."""
    return frozenset(
        pool_name(step.name, step.new or step.old or {}) for step in stream.steps.values() if step.type in GROUPS
    )


def rolls(stream: Stream) -> Iterator[Consequence]:
    """One for each pool whose instances are replaced or end."""
    moved = {step.name for step in stream.changed if _starts_others(step)}
    for step in sorted(stream.changed, key=lambda step: step.name):
        if step.type not in GROUPS:
            continue
        name = pool_name(step.name, step.new or step.old or {})
        if step.new is None:
            yield Consequence(
                f"The instances of pool {name} end, and with them the sessions and jobs that run there.",
                short=f"pool {name} is removed with its instances",
                is_heavy=True,
            )
        elif step.old is not None and step.name in moved:
            yield _roll(step.type, name, step.old, step.new)


def _starts_others(step: Step) -> bool:
    """A group's resource that defines how an instance starts."""
    if step.op not in {"update", "replace"} or not any(kind in step.parents.split("$") for kind in GROUPS):
        return False
    old, new = step.old or {}, step.new or {}
    return step.type == _TEMPLATE or (
        step.type == _NODE_GROUP and (step.op == "replace" or any(old.get(key) != new.get(key) for key in _VERSIONS))
    )


def _roll(kind: str, name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Consequence:
    how = _HOW[kind].format(number=whole(new.get("max_unavailable")) or 1)
    before, after = (known_text(side.get("driver_version")) for side in (old, new))
    gets = f" with driver {after}" if after and before != after else ""
    most = counted(whole(new.get("max")) or 0, "instance")
    return Consequence(
        f"Pool {name} rolls: {how}. Sessions and jobs on it end; a preview cannot know how many are running.",
        short=f"pool {name} rolls: up to {most} of {' or '.join(texts(new.get('instance_types')))} replaced{gets}",
        is_heavy=True,
    )
