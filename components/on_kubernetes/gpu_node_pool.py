"""GpuNodePool: declares an on-premises node pool as labels and taints of named nodes."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from components.on_kubernetes.kubernetes_object import KubernetesObject
from components.on_kubernetes.node_taint import Taint
from fleet import labels
from platforms.kubernetes import node_pool as manifest


class GpuNodePoolArgs(TypedDict):
    """Arguments of GpuNodePool. Plain values decide which resources exist; others may be outputs.

    `gpu`, `gpus_per_node`, `driver_version` and `container_toolkit_version` belong together: without them, nodes have
    no GPUs.
    """

    pool: str
    """Name of the pool; the value of the label `gpu-commons.org/pool`."""
    node_names: Sequence[str]
    """Node names as known to the API server."""
    gpu: NotRequired[str]
    """GPU model, such as "GeForce GTX 1080 Ti"; none: nodes without GPU or GPU taint."""
    gpus_per_node: NotRequired[int]
    """GPUs in each node; 0 without gpu."""
    driver_version: NotRequired[pulumi.Input[str]]
    """Expected NVIDIA driver, such as "418.88"."""
    container_toolkit_version: NotRequired[pulumi.Input[str]]
    """Expected NVIDIA container toolkit."""
    node_drivers: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Expected drivers of nodes that differ from the pool, such as {"n07": "580.95.05"}, for changing a driver
    node by node."""
    node_container_toolkits: NotRequired[Mapping[str, pulumi.Input[str]]]
    """The same for the container toolkit."""
    labels: NotRequired[Mapping[str, str]]
    """Additional node labels."""
    taints: NotRequired[Sequence[Taint]]
    """Additional node taints."""


class GpuNodePool(pulumi.ComponentResource):
    """Labels and taints of named nodes, one NodePatch each. The nodes themselves are not managed.

    The driver is a property: a change is one visible line in a preview. The component installs no driver:
    images, configuration management or the GPU operator do. It compares the declared version with the one
    reported by GPU feature discovery and lists the nodes that differ.
    Destroying it removes its labels and taints and leaves the nodes as they were.
    A node name unknown to the API server is an error, because a patch would create such a node: a preview reads
    every node and reports this before anything is created; an update without a preview reports it afterwards.
    """

    node_names: pulumi.Output[Sequence[str]]
    """Nodes of the pool."""
    gpus: pulumi.Output[int]
    """GPUs of the pool."""
    drifted_nodes: pulumi.Output[Sequence[str]]
    """Nodes whose reported driver differs from the declared one. A preview reads the nodes; after an update the value
    dates from when their patch was last written or refreshed."""

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
            # Only in a preview: what an update reads stays in the state, and every refresh would then find it changed,
            # by our own patch or by a heartbeat.
            found = _read(f"{name}-{node_name}-found", node_name, self) if pulumi.runtime.is_dry_run() else None
            metadata = {
                "name": node_name,
                "labels": node_labels[node_name],
                # The node controller manages taints too, and the list has one owner at a time.
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
            return drifted  # values in the state are too old for a warning
        for driver in dict.fromkeys(declared[node] for node in drifted):
            nodes = [node for node in drifted if declared[node] == driver]
            pulumi.log.warn(f"driver {driver} is declared, but {_summary(nodes, reported)}", resource=self)
        return drifted


def _read(name: str, node_name: str, parent: pulumi.Resource) -> KubernetesObject:
    return KubernetesObject("Node", name, {}, pulumi.ResourceOptions(parent=parent, id=node_name))


def _labels_read(node: KubernetesObject) -> pulumi.Output[Mapping[str, str]]:
    return node.metadata.apply(lambda metadata: metadata.get("labels") or {})


def _labels_patched(patch: KubernetesObject) -> pulumi.Output[Mapping[str, str] | None]:
    """All labels of the node after the patch; None if the patch itself created the node.

    A kubelet reports its machine's capacity first, so a node without capacity never had a kubelet.
    """
    has_kubelet = patch.status.apply(lambda status: bool(status and status.get("capacity")))
    labels_now = patch.metadata.apply(lambda metadata: (metadata and metadata.get("labels")) or {})
    return pulumi.Output.all(has_kubelet, labels_now).apply(lambda each: each[1] if each[0] else None)


def _by_node(args: GpuNodePoolArgs, key: str, by_node: str) -> dict[str, Any]:
    """The expected value of each node: its own, else the pool's."""
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
