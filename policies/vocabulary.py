"""Nouns of each platform for the rules: a Kubernetes cluster, a Docker host, a site with Slurm. Data.

The sentences are in the rules.
"""

from dataclasses import dataclass, replace
from typing import Final

from fleet import scheduling_blockers
from fleet.labels import POOL
from fleet.quantities import NO_QUANTITY


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What things are called where a workload runs, and what its user changes there."""

    system: str  # accepts or rejects workloads
    node: str
    volume: str  # mounts a host path
    runtime: str
    processes: str  # the setting that shows a workload the processes of its node
    amount: str  # what an amount of cores or memory must be
    amounts: str  # and where it is written
    requests: str  # how a workload gets GPUs
    moves: str  # how it gets to other nodes
    blockers: scheduling_blockers.Names


KUBERNETES: Final = Vocabulary(
    system="Kubernetes",
    node="node",
    volume="volume",
    runtime="runtime class",
    processes="hostPID",
    amount=NO_QUANTITY.removeprefix("is not "),
    amounts="every amount as a Kubernetes quantity",
    requests="request a GPU in resources.limits (nvidia.com/gpu)",
    moves="change the node selector, add the toleration",
    blockers=scheduling_blockers.CLUSTER,
)
DOCKER: Final = Vocabulary(
    system="Docker",
    node="host",
    volume="mount",
    runtime="runtime",
    processes="pidMode host",
    amount="an amount",
    amounts="memory in MiB, and cpus as a number",
    requests="name its GPUs in deviceRequests",
    moves=f"change the label {POOL}",
    blockers=replace(scheduling_blockers.CLUSTER, label="label", node="the host", nodes="hosts"),
)
DOCKER_HUB: Final = replace(
    DOCKER,
    amounts="memory_gib and cpu as numbers",
    requests="request GPUs with gpus",
    moves="choose another pool for the hub",
)
SLURM: Final = replace(
    KUBERNETES,
    system="Slurm",
    amount="a number",
    amounts="gpus as a whole number",
    requests="request GPUs with gpus",
    moves="choose other pools",
)


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
