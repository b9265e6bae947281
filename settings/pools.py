"""Pools of named nodes, the whole fleet, and the GPU runtime of a stack file."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from errors.agreements import check, located, of_each
from errors.faults import FORM, KINDS
from errors.problems import Fault, Loc, listing
from fleet.node_names import expand_all
from fleet.pools import Variant, alike
from platforms.node_keys import DefaultRuntime, Labels, Taints, doubled_taints
from settings.host_pools import HostPool
from settings.instance_pools import InstancePool
from settings.partition_pools import PartitionPool
from settings.pool import WITH_GPUS, MachinePool, Pool
from settings.values import Assumptions, Driver, Nodes, ToolkitVersion
from workloads.addresses import Reference
from workloads.amounts import Count
from workloads.names import Line


class NodeOverride(BaseModel):
    """Node-specific values that replace the pool's, while a driver is changed node by node."""

    model_config = FORM
    nodes: Nodes = Field(min_length=1, description="Nodes of this pool: names and ranges such as n01-n02.")
    driver: Driver | None = Field(None, description="NVIDIA driver on these nodes; none: the pool's.")
    container_toolkit: ToolkitVersion | None = Field(
        None, description="NVIDIA container toolkit on these nodes; none: the pool's."
    )


class NodePool(MachinePool):
    """Alike nodes listed by name, with or without GPUs."""

    nodes: Nodes = Field(description="Node names and ranges such as n01-n12.")
    nodes_except: Nodes = Field((), description="Names in the ranges that do not belong to this pool.")
    node_overrides: tuple[NodeOverride, ...] = Field(
        (), description="Nodes of this pool that have another driver or container toolkit than the others."
    )
    default_runtime: DefaultRuntime = None
    labels: Labels = {}  # noqa: RUF012 - pydantic copies it
    extra_taints: Taints = ()
    assumptions: Assumptions = ()

    @check
    def _nodes_left(self) -> Iterator[Fault]:
        listed = expand_all(self.nodes)
        for node in expand_all(self.nodes_except):
            if node not in listed:
                fix = f"pool {self.name} has {listing(listed, most=12)}: correct nodes or nodes_except"
                yield Fault(("nodes_except",), "is not among the nodes of its pool", fix, node)
        if not self.node_names:
            yield Fault(("nodes",), "leaves the pool without a node", "list at least one, or drop the pool")

    @check
    def _overrides(self) -> Iterator[Fault]:
        """Node overrides: each node is in the pool, is named once, and does differ."""
        if self.node_overrides and self.gpu is None:
            fix = "leave it out: nodes without GPUs have neither driver nor container toolkit"
            yield Fault(("node_overrides",), "is given for a pool without gpu", fix)
            return
        seen: set[str] = set()
        yield from of_each(located(self, "node_overrides"), partial(self._override, seen))
        if self.node_names and seen >= set(self.node_names):
            fix = "change the pool itself; an override is for some of its nodes"
            yield Fault(("node_overrides",), f"overrides every node of pool {self.name}", fix)

    def _override(self, seen: set[str], loc: Loc, each: NodeOverride) -> Iterator[Fault]:
        for node in expand_all(each.nodes):
            if node not in self.node_names:
                fix = f"pool {self.name} has {listing(self.node_names, most=12)}: correct it, or the nodes of the pool"
                yield Fault((*loc, "nodes"), "is not among the nodes of its pool", fix, node)
            elif node in seen:
                yield Fault((*loc, "nodes"), "is overridden twice", "state once what the node has", node)
            seen.add(node)
        given = [key for key in WITH_GPUS if getattr(each, key) is not None]
        if not given:
            yield Fault(loc, "overrides nothing", "give the driver or the container_toolkit that these nodes have")
        elif same := [key for key in given if getattr(each, key) == getattr(self, key)]:
            fix = f"write the {same[0]} that these nodes have, or leave it out"
            yield Fault((*loc, same[0]), f"is the {same[0]} of pool {self.name}", fix, str(getattr(each, same[0])))

    @check
    def _taints_once(self) -> Iterator[Fault]:
        yield from doubled_taints(self.extra_taints)

    @property
    def node_names(self) -> tuple[str, ...]:
        """Names in file order: ranges expanded, exceptions removed."""
        excepted = set(expand_all(self.nodes_except))
        return tuple(name for name in expand_all(self.nodes) if name not in excepted)

    def variants(self) -> tuple[Variant, ...]:
        """Groups of nodes with the same facts: the regular ones, then the others."""
        own = self.gpus_of_node
        if own is None or not self.node_overrides:
            return super().variants()
        overridden = {
            name: replace(
                own,
                driver=each.driver or own.driver,
                container_toolkit=str(each.container_toolkit or own.container_toolkit),
            )
            for each in self.node_overrides
            for name in expand_all(each.nodes)
        }
        found = alike(self.name, own, self.node_names, lambda name: overridden.get(name, own))
        return tuple(Variant(name, self.name, nodes, gpus) for name, nodes, gpus in found if nodes)


_KINDS: Final = {
    "instance_types": "instances",
    "engine": "hosts",
    "partition": "partitions",
}  # the key specific to each kind of pool


def _kind_of_pool(value: object) -> str:
    """By the key specific to its kind; a model knows its own."""
    if isinstance(value, Mapping):
        return next((kind for key, kind in _KINDS.items() if key in value), "nodes")
    models = {InstancePool: "instances", HostPool: "hosts", PartitionPool: "partitions"}
    return next((kind for model, kind in models.items() if isinstance(value, model)), "nodes")


def _with_kinds(schema: dict[str, Any]) -> None:
    kinds = ("nodes", "instances", "hosts", "partitions")
    schema[KINDS] = {kind: each["$ref"] for kind, each in zip(kinds, schema["oneOf"], strict=True)}


# Owned nodes, cloud instances, machines with an engine of their own, or Slurm partition nodes,
# distinguished by key.
EveryPool = Annotated[
    Annotated[NodePool, Tag("nodes")]
    | Annotated[InstancePool, Tag("instances")]
    | Annotated[HostPool, Tag("hosts")]
    | Annotated[PartitionPool, Tag("partitions")],
    Discriminator(_kind_of_pool),
    Field(json_schema_extra=_with_kinds),
]


class Fleet(BaseModel):
    """The stack's node pools."""

    model_config = FORM
    total_gpus: Count = Field(
        description="GPUs of the whole fleet; must be the sum of the pools, those of instances at their maximum."
    )
    pools: tuple[EveryPool, ...] = Field(description="The node pools.")
    managed_by: Line | None = Field(
        None,
        description="Who labels these nodes and runs the NVIDIA runtime on them: another stack, a team. "
        "This stack then places workloads on the pools and changes nothing about them; none: this stack manages them.",
    )

    @property
    def node_names(self) -> tuple[str, ...]:
        """All node names, pool by pool."""
        return tuple(name for pool in self.pools for name in pool.node_names)

    def pool(self, name: str) -> Pool:
        """The pool of that name; KeyError if missing (validated settings name only existing pools)."""
        return {pool.name: pool for pool in self.pools}[name]


class Runtime(BaseModel):
    """The GPU runtime on the nodes: images of its daemons."""

    model_config = FORM
    device_plugin: Reference = Field(description="Image of NVIDIA's Kubernetes device plugin.")
    persistence_daemon: Reference | None = Field(
        None,
        description="Image with a shell and chroot, for a pod on each node that starts the driver's own persistence "
        "daemon where the node runs none. None: the nodes start theirs, by a service or a machine image.",
    )
    node_feature_discovery: Reference | None = Field(
        None,
        description="Image of Node Feature Discovery, for labels of each node's GPUs and driver, so that a changed "
        "driver shows as drift. GPU feature discovery finds them, in device_plugin's image from 0.15 on. None: neither "
        "runs. Leave it out where the cluster has a Node Feature Discovery: two overwrite each other's labels.",
    )
    assumptions: Assumptions = ()


RUNTIME_IMAGES: Final = ("device_plugin", "persistence_daemon", "node_feature_discovery")


class ProvidedRuntime(BaseModel):
    """A GPU runtime that the cluster has already. This stack deploys nothing of it."""

    model_config = FORM
    provided_by: Literal["gpu-operator"] = Field(
        description="gpu-operator: NVIDIA's operator gives the cluster the runtime class nvidia, the device plugin, "
        "GPU feature discovery with Node Feature Discovery and, on nodes without them, driver and persistence daemon."
    )


def _kind_of_runtime(value: object) -> str:
    is_provided = "provided_by" in value if isinstance(value, Mapping) else isinstance(value, ProvidedRuntime)
    return "provided" if is_provided else "own"


def _with_runtimes(schema: dict[str, Any]) -> None:
    own, provided = schema["oneOf"]
    schema[KINDS] = {"own": own["$ref"], "provided": provided["$ref"]}


EveryRuntime = Annotated[
    Annotated[Runtime, Tag("own")] | Annotated[ProvidedRuntime, Tag("provided")],
    Discriminator(_kind_of_runtime),
    Field(json_schema_extra=_with_runtimes),
]
