"""Joins the machines of a stack's fleet to the lab: one may be real, kwok simulates the others.

They exist before `pulumi up`, as a site's machines would, simulated ones with the labels of GPU feature discovery.
Pulumi's additions (labels, taints) belong to another field manager and survive every `join`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fleet.labels import GPU_RESOURCE
from fleet.nodes import capacity, reported_labels
from fleet.pools import NodeGpus
from lab.cluster import REAL_NODE, SIMULATED_NODE, Cluster, name_of, wait_until
from lab.instance import Instance, LabError
from settings.fleet import landing_pools
from settings.instance_pools import InstancePool
from settings.models import Stack
from settings.pool import Pool
from settings.pools import Fleet

FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class FleetNode:
    """One node as the cluster sees it now; `gpus` are those that pods can request."""

    name: str
    is_simulated: bool
    gpus: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The fleet and its pods, without ended pods; a simulated pod executes nothing."""

    nodes: tuple[FleetNode, ...]
    pods: int
    simulated_pods: int

    @property
    def gpus(self) -> int:
        return sum(node.gpus for node in self.nodes)


def join(
    instance: Instance,
    fleet: Fleet,
    real_node: str | None,
    *,
    within_s: float = 60,
) -> None:
    """Bring the cluster's nodes in line with `fleet`; returns when the simulated ones are Ready.

    The real node registers itself (it must run) and only gets the labels of its group; its GPUs and their labels come
    from the stack's daemons. Nodes no longer in the fleet are removed. Repeating it changes nothing. Raises LabError if
    `real_node` is not in the fleet or does not register in time.
    """
    nodes = {
        name: (pool, each.gpus)
        for pool in fleet.pools
        for each in pool.variants()
        for name in each.node_names[: started(pool)]
    }
    if real_node is not None and real_node not in nodes:
        raise LabError(f"real node: {real_node!r} is not a node of the fleet; name one of {', '.join(sorted(nodes))}")
    simulated = set(nodes) - {real_node}
    with Cluster(instance) as cluster:
        for name in _lab_nodes(cluster) - set(nodes):
            cluster.delete(f"/api/v1/nodes/{name}")
        for name in sorted(simulated):
            pool, gpus = nodes[name]
            cluster.apply(f"/api/v1/nodes/{name}", simulated_node(name, gpus, pool))
            cluster.apply(f"/api/v1/nodes/{name}/status", simulated_status(name, pool))
        if real_node is not None:
            _label_real_node(cluster, real_node, nodes[real_node][0], within_s=within_s)
        cluster.wait_for_nodes(simulated, within_s=within_s)


def started(pool: Pool) -> int | None:
    """How many nodes a pool has: all, or the initial instances of its group."""
    return pool.scale.desired if isinstance(pool, InstancePool) else None


def carrying_pool(stack: Stack) -> Pool:
    """The pool whose first node is the real one: that of the hub, or the first.

    If instances of the hub's pool have no GPUs, and a job could start on an instance of another pool, it is that pool:
    the one real node must run both hub and job.
    """
    core = stack.fleet.pool(stack.site.core_pool) if stack.site.core_pool else stack.fleet.pools[0]
    if not isinstance(core, InstancePool) or core.gpu:
        return core
    wanted = {name for job in stack.jobs if job.gpus for name in landing_pools(stack, job)}
    return next((pool for pool in stack.fleet.pools if pool.name in wanted and started(pool)), core)


def simulated_node(name: str, gpus: NodeGpus | None, pool: Pool) -> dict[str, Any]:
    """A node for kwok: what a kubelet, GPU feature discovery and a node group would report."""
    labels, taints = _of_group(pool)
    return _node(name, {**reported_labels(name, gpus), **labels, SIMULATED_NODE[0]: SIMULATED_NODE[1]}, taints)


def _of_group(pool: Pool) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Labels and taints that a node group's instances register with; named nodes get theirs from a stack."""
    if not isinstance(pool, InstancePool):
        return {}, []
    return pool.labels_of(pool.name), [asdict(taint) for taint in pool.node_taints]


def simulated_status(name: str, pool: Pool) -> dict[str, Any]:
    """Its capacity, all of it for pods: nothing else runs there."""
    has = capacity(cpu=pool.cpu, memory_gib=pool.memory_gib, disk_gib=pool.root_disk_gib, gpus=pool.gpus_per_node)
    return {**_node(name, {}), "status": {"capacity": has, "allocatable": has}}


def summary(instance: Instance) -> Summary:
    """The cluster's current nodes and GPUs, and how many of its pods are only simulated."""
    with Cluster(instance) as cluster:
        nodes = cluster.nodes()
        pods = [pod for pod in cluster.pods() if pod["status"].get("phase") not in FINISHED]
    found = tuple(_fleet_node(node) for node in sorted(nodes, key=name_of))
    simulated = {node.name for node in found if node.is_simulated}
    on_simulated = Counter(pod["spec"].get("nodeName") in simulated for pod in pods)
    return Summary(nodes=found, pods=len(pods), simulated_pods=on_simulated[True])


def _lab_nodes(cluster: Cluster) -> set[str]:
    return {name_of(node) for labels in (SIMULATED_NODE, REAL_NODE) for node in cluster.nodes(labels=labels)}


def _label_real_node(cluster: Cluster, name: str, pool: Pool, *, within_s: float) -> None:
    # A node that kwok simulated until now has not registered itself yet.
    def missing() -> set[str]:
        node = cluster.get(f"/api/v1/nodes/{name}")
        version = node["status"].get("nodeInfo", {}).get("kubeletVersion", "") if node else ""
        return set() if version.startswith("v") else {name}

    wait_until(missing, within_s=within_s, what="the kubelet has not registered its node")
    declared, taints = _of_group(pool)
    labels = {REAL_NODE[0]: REAL_NODE[1], **declared}
    cluster.apply(f"/api/v1/nodes/{name}", _node(name, labels, taints))


def _node(name: str, labels: Mapping[str, str], taints: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, **({"labels": dict(labels)} if labels else {})}
    spec = {"spec": {"taints": [*taints]}} if taints else {}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, **spec}


def _fleet_node(node: Mapping[str, Any]) -> FleetNode:
    key, value = SIMULATED_NODE
    labels = node["metadata"].get("labels", {})
    return FleetNode(
        name=name_of(node),
        is_simulated=labels.get(key) == value,
        gpus=int(node["status"].get("allocatable", {}).get(GPU_RESOURCE, 0)),
    )
