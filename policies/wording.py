"""Vocabulary of the rules: for a Kubernetes cluster, a Docker host and a Slurm site.

A rule words each sentence for the workload it judges. Only differing words are here; all others
are in the rules. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from fleet import scheduling_blockers
from fleet.labels import POOL
from fleet.quantities import NO_QUANTITY


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Nouns, phrases, and remedies as whole sentences."""

    system: str  # accepts or rejects workloads
    node: str
    nodes: str
    node_of_pool: str  # with article and `{pool}`
    runtime_class: str
    host_pid: str  # gives a workload access to node processes
    volume: str  # mounts a host path
    selects: str  # how a workload takes unrequested GPUs
    who_selects: str  # who else sets the visible devices variable
    leaves: str  # who reserves space on a node's disk
    on_a_full_disk: str
    no_amount: str  # follows an invalid amount
    request_a_gpu: str
    only_request: str
    fit: str
    write_amounts: str
    mount_read_only: str
    remove_host_pid: str
    remove_plugins: str
    obstacles: scheduling_blockers.Names
    places: Mapping[str, str] = field(default_factory=dict)  # path in a pod spec → path in user input

    def place(self, path: str) -> str:
        """User-visible place of a pod spec path: the longest known prefix, then the rest."""
        known = [each for each in self.places if path == each or path.startswith((f"{each}.", f"{each}["))]
        return self.places[best] + path.removeprefix(best) if (best := max(known, key=len, default="")) else path

    def a_node_of(self, pool: str) -> str:
        """`a node of pool a100`, `the host workstation`."""
        return self.node_of_pool.format(pool=pool)


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


KUBERNETES: Final = Vocabulary(
    system="Kubernetes",
    node="node",
    nodes="nodes",
    node_of_pool="a node of pool {pool}",
    runtime_class="runtime class",
    host_pid="hostPID",
    volume="volume",
    selects="and bypasses the scheduler",
    who_selects="the device plugin sets it",
    leaves="the kubelet leaves",
    on_a_full_disk="it will remove unused images and pull them again",
    no_amount=NO_QUANTITY,
    request_a_gpu="request a GPU in resources.limits (nvidia.com/gpu)",
    only_request="Set nvidia.com/gpu in resources.limits, and remove the variable or the volume.",
    fit="Change the node selector, add the toleration, or request no more than one node has.",
    write_amounts="Write every amount as a Kubernetes quantity.",
    mount_read_only="Mount it with readOnly: true",
    remove_host_pid="Remove hostPID: true.",
    remove_plugins="Remove the volume, or name the image of a device plugin in site.runtime_daemons.",
    obstacles=scheduling_blockers.CLUSTER,
)

DOCKER: Final = Vocabulary(
    system="Docker",
    node="host",
    nodes="hosts",
    node_of_pool="the host {pool}",
    runtime_class="runtime",
    host_pid="pidMode host",
    volume="mount",
    selects="by hand, no matter who holds them",
    who_selects="the runtime sets it from deviceRequests",
    leaves="a host should leave",
    on_a_full_disk="the engine does not remove images by itself",
    no_amount="is not an amount",
    request_a_gpu="name its GPUs in deviceRequests",
    only_request="Name the GPUs that the container holds in deviceRequests, as DockerGpuContainer does, and remove "
    "what bypasses that.",
    fit=f"Change the label {POOL}, or request no more than one host has.",
    write_amounts="Write memory in MiB, and cpus as a number.",
    mount_read_only="Mount it read-only (readOnly: true)",
    remove_host_pid="Remove pidMode.",
    remove_plugins="Remove the mount.",
    obstacles=scheduling_blockers.Names("label", "the host", "hosts", scheduling_blockers.CLUSTER.affinity),
)

# Only what jobs have: no volumes, privileges or variables.
SLURM: Final = replace(
    KUBERNETES,
    system="Slurm",
    leaves="a node should leave",
    on_a_full_disk="Slurm does not remove images by itself",
    no_amount="is not a number",
    request_a_gpu="request GPUs with gpus",
    only_request="Request GPUs with gpus.",
    fit="Choose other pools, or request no more than one node has.",
    write_amounts="Write gpus as a whole number.",
    obstacles=replace(scheduling_blockers.CLUSTER, affinity="the job does not name this pool"),
    places={
        "containers[0]": "the job",
        "containers[0].image": "image",
        "containers[0].resources": "gpus",
        "containers[0].resources.limits.nvidia.com/gpu": "gpus",
        "affinity": "pools",
    },
)
