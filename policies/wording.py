"""What people call the things that rules are about: in a Kubernetes cluster, on a Docker host, at a site with Slurm.

A rule writes each sentence with the words of the workload that it judges. Here are only those that differ; all others
stand in the rules. Pure.
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
    """Nouns, parts of sentences, and remedies that are whole sentences."""

    system: str  # what accepts a workload or rejects it
    node: str
    nodes: str
    node_of_pool: str  # with its article, and `{pool}`
    runtime_class: str
    host_pid: str  # what shows a workload the processes of its node
    volume: str  # what brings a path of the node
    selects: str  # how a workload takes GPUs that it did not request
    who_selects: str  # what sets the variable of the visible devices otherwise
    leaves: str  # who leaves room on the disk of a node
    on_a_full_disk: str
    no_amount: str  # after an amount that is none
    request_a_gpu: str
    only_request: str
    fit: str
    write_amounts: str
    mount_read_only: str
    remove_host_pid: str
    remove_plugins: str
    obstacles: scheduling_blockers.Names
    places: Mapping[str, str] = field(default_factory=dict)  # path in a pod spec → where people write that

    def place(self, path: str) -> str:
        """Where people write the value at a path of the pod spec: the longest known prefix, then the rest."""
        known = [each for each in self.places if path == each or path.startswith((f"{each}.", f"{each}["))]
        return self.places[best] + path.removeprefix(best) if (best := max(known, key=len, default="")) else path

    def a_node_of(self, pool: str) -> str:
        """`a node of pool a100`, `the host workstation`."""
        return self.node_of_pool.format(pool=pool)


def sentence(text: str) -> str:
    """The text with a capital letter, to begin a sentence with."""
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

# Only words for what a job has: it has no volumes, no privileges and no variables.
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
