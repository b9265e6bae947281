"""Node keys of a pool, for any machine owner: stack file keys shared with components."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from errors.faults import FORM
from errors.problems import Fault
from fleet.machines import DISK_MB_PER_S, PULL_MB_PER_S
from workloads.amounts import MegabytesPerSecond
from workloads.names import LabelValue, Name, SiteKey

TaintEffect = Annotated[
    Literal["NoSchedule", "PreferNoSchedule", "NoExecute"], Field(description="What it does to pods.")
]
PoolName = Annotated[Name, Field(description="Name of the pool; becomes the label gpu-commons.org/pool.")]


class Taint(BaseModel):
    """A taint of the site, besides the GPU taint of nodes with GPUs."""

    model_config = FORM
    key: SiteKey = Field(description="Taint key, such as example.edu/course.")
    value: LabelValue = Field("", description="Taint value.")
    effect: TaintEffect


DefaultRuntime = Annotated[
    Literal["nvidia", "runc"] | None,
    Field(
        description="Runtime that a pod without a runtime class gets on these nodes: under nvidia an image of the CUDA "
        "family sees all GPUs without asking for one; none: not known."
    ),
]
PullRate = Annotated[
    MegabytesPerSecond | None,
    Field(description=f"MB per second that one node pulls; none: a planning figure, {PULL_MB_PER_S:g}."),
]
DiskRate = Annotated[
    MegabytesPerSecond | None,
    Field(description=f"MB per second that a node's disk writes; none: a planning figure, {DISK_MB_PER_S:g}."),
]
Labels = Annotated[dict[SiteKey, LabelValue], Field(description="Further labels for these nodes.")]
Taints = Annotated[
    tuple[Taint, ...], Field(alias="taints", description="Further taints for these nodes, besides the GPU taint.")
]


def doubled_taints(taints: Sequence[Taint]) -> Iterator[Fault]:
    """Kubernetes allows one taint per key and effect."""
    seen: dict[tuple[str, str], int] = {}
    for index, taint in enumerate(taints):
        if (first := seen.setdefault((taint.key, taint.effect), index)) != index:
            reason = f"has the key and the effect of taints[{first}]"
            fix = "keep one of the two: a node can have only one taint per key and effect"
            yield Fault(("taints", index), reason, fix)
