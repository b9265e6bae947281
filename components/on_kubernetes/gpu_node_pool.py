"""GpuNodePool: what an on-premises pool of nodes is supposed to be, as labels and taints of named nodes."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from components.on_kubernetes.kubernetes_object import KubernetesObject
from components.on_kubernetes.node_taint import Taint
from fleet import labels
from platforms.kubernetes import node_pool as manifest


class GpuNodePoolArgs(TypedDict):
    """Arguments of GpuNodePool. Plain values decide which resources exist; inputs flow through.

    `gpu`, `gpus_per_node`, `driver_version` and `container_toolkit_version` come together: a pool without them has
    nodes without GPUs.
    """

    pool: str
    """Name of the pool; the value of the label `gpu-commons.org/pool`."""
    node_names: Sequence[str]
    """Names of the nodes, as the API server knows them."""
    gpu: NotRequired[str]
    """GPU model, such as "GeForce GTX 1080 Ti"; none: the nodes have no GPU, and get no GPU taint."""
    gpus_per_node: NotRequired[int]
    """GPUs in each node; 0 without gpu."""
    driver_version: NotRequired[pulumi.Input[str]]
    """NVIDIA driver that the nodes are supposed to run, such as "418.88"."""
    container_toolkit_version: NotRequired[pulumi.Input[str]]
    """NVIDIA container toolkit that the nodes are supposed to run."""
    node_drivers: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Nodes of the pool that are supposed to run another driver, such as {"n07": "580.95.05"}: one change of a driver,
    node by node."""
    node_container_toolkits: NotRequired[Mapping[str, pulumi.Input[str]]]
    """The same for the container toolkit."""
    labels: NotRequired[Mapping[str, str]]
    """Further labels of the site."""
    taints: NotRequired[Sequence[Taint]]
    """Further taints of the site."""


class GpuNodePool(pulumi.ComponentResource):
    """Labels and taints of named nodes, one NodePatch each. The nodes themselves stay yours.

    The driver is a property: a change is one visible line in a preview. It installs
    no driver: whatever installs drivers (image, configuration management, GPU operator) does so, and this component
    compares the declared version with the one that GPU feature discovery reports, and names the nodes that differ.
    Destroying it removes its labels and taints and leaves the nodes as they were.
    A name that the API server does not know is an error, because a patch would create such a node: a preview reads
    every node and says so before anything is created; an update without a preview says so afterwards.
    """

    node_names: pulumi.Output[Sequence[str]]
    """Nodes of the pool."""
    gpus: pulumi.Output[int]
    """GPUs of the pool."""
    drifted_nodes: pulumi.Output[Sequence[str]]
    """Nodes that report another driver than the declared one. A preview reads the nodes; after an update it is what
    they reported when their patch was last written or refreshed."""

    def __init__(self, name: str, args: GpuNodePoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        if found_wrong := manifest.problems(args):
            raise ValueError("; ".join(f'pool "{args["pool"]}": {each}' for each in found_wrong))
        has_gpus = bool(args.get("gpu"))
        drivers: dict[str, Any] = _by_node(args, "driver_version", "node_drivers")
        toolkits = _by_node(args, "container_toolkit_version", "node_container_toolkits")
        node_labels = {
            node: manifest.node_labels(args["pool"], drivers[node], toolkits[node], args.get("labels") or {})
            for node in args["node_names"]
        }
        taints = manifest.node_taints([_taint(taint) for taint in args.get("taints") or ()], has_gpus=has_gpus)
        spec: Any = {"taints": taints} if taints else None
        super().__init__("gpu-commons:index:GpuNodePool", name, {**args}, opts)
        seen: dict[str, Any] = {}
        for node_name in args["node_names"]:
            # Only in a preview: what an update reads stays in the state, and then every refresh would find it changed,
            # by our own patch, by a heartbeat.
            found = _read(f"{name}-{node_name}-found", node_name, self) if pulumi.runtime.is_dry_run() else None
            metadata = {
                "name": node_name,
                "labels": node_labels[node_name],
                # The node controller adds and removes taints of its own, and the list has one owner at a time.
                "annotations": {"pulumi.com/patchForce": "true"},
            }
            patch = KubernetesObject(
                "NodePatch",
                f"{name}-{node_name}",
                {"metadata": metadata, "spec": spec},
                opts=pulumi.ResourceOptions(parent=self, depends_on=[found] if found else []),
            )
            seen[node_name] = _labels_read(found) if found else _labels_patched(patch)
        self.node_names = pulumi.Output.from_input(list(args["node_names"]))
        self.gpus = pulumi.Output.from_input(len(args["node_names"]) * int(args.get("gpus_per_node") or 0))
        self.drifted_nodes = pulumi.Output.all(declared=drivers, seen=seen).apply(self._compare)
        self.register_outputs({"node_names": self.node_names, "gpus": self.gpus, "drifted_nodes": self.drifted_nodes})

    def _compare(self, values: Mapping[str, Any]) -> Sequence[str]:
        declared, seen = values["declared"], values["seen"]
        if unknown := [node for node in declared if seen[node] is None]:
            raise pulumi.RunError(manifest.unknown_nodes(unknown))
        reported = {node: found.get(labels.GFD_DRIVER) for node, found in seen.items()}
        drifted = manifest.differing_nodes(declared, reported)
        if not pulumi.runtime.is_dry_run():
            return drifted  # what the state remembers is too old for a warning
        for driver in dict.fromkeys(declared[node] for node in drifted):
            nodes = [node for node in drifted if declared[node] == driver]
            pulumi.log.warn(f"driver {driver} is declared, but {_summary(nodes, reported)}", resource=self)
        return drifted


def _read(name: str, node_name: str, parent: pulumi.Resource) -> KubernetesObject:
    return KubernetesObject("Node", name, {}, pulumi.ResourceOptions(parent=parent, id=node_name))


def _labels_read(node: KubernetesObject) -> pulumi.Output[Mapping[str, str]]:
    return node.metadata.apply(lambda metadata: metadata.get("labels") or {})


def _labels_patched(patch: KubernetesObject) -> pulumi.Output[Mapping[str, str] | None]:
    """Labels of the whole node, as its patch has left it; None where the patch itself has made that node.

    A kubelet says how much its machine has in its first word. What no kubelet ever spoke for has no capacity.
    """
    has_kubelet = patch.status.apply(lambda status: bool(status and status.get("capacity")))
    labels_now = patch.metadata.apply(lambda metadata: (metadata and metadata.get("labels")) or {})
    return pulumi.Output.all(has_kubelet, labels_now).apply(lambda each: each[1] if each[0] else None)


def _by_node(args: GpuNodePoolArgs, key: str, by_node: str) -> dict[str, Any]:
    """What each node is supposed to have: its own, else the pool's."""
    given: Mapping[str, Any] = {**args}
    own = given.get(by_node) or {}
    return {node: own.get(node, given.get(key)) for node in args["node_names"]}


def _summary(nodes: Sequence[str], reported: Mapping[str, str]) -> str:
    """`n01, n02 report 418.88; n03 reports 470.57.02`"""
    by_driver: dict[str, list[str]] = {}
    for node in nodes:
        by_driver.setdefault(reported[node], []).append(node)
    return "; ".join(
        f"{', '.join(same)} {'reports' if len(same) == 1 else 'report'} {driver}" for driver, same in by_driver.items()
    )


def _taint(taint: Taint) -> Mapping[str, str]:
    return {key: str(value) for key, value in taint.items() if value is not None}
