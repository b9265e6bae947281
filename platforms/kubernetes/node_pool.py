"""Node pool declarations as fields of a Kubernetes Node. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fleet import labels
from fleet.labels import Taint
from fleet.pools import NodeGpus

# Keys of pools with GPUs only.
_WITH_GPUS = ("gpu", "gpus_per_node", "driver_version", "container_toolkit_version")

_BY_NODE = ("node_drivers", "node_container_toolkits")


@dataclass(frozen=True, slots=True)
class DeclaredPool:
    """A pool of named nodes."""

    name: str
    node_names: tuple[str, ...]
    gpus: NodeGpus | None  # of the regular nodes; None: without GPUs
    others: Mapping[str, NodeGpus]  # those of nodes with another driver or container toolkit
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


def problems(args: Mapping[str, Any]) -> list[str]:
    """Problems with a pool's arguments, each one sentence with its remedy."""
    found = [] if args["node_names"] else ["node_names is empty; name at least one node"]
    for key in ("labels", *_BY_NODE):
        found += [
            f'{key}["{inner}"] is None; give a text, or leave the key out'
            for inner, value in (args.get(key) or {}).items()
            if value is None
        ]
    given = [key for key in _WITH_GPUS if args.get(key)]  # outputs count: they are objects
    if missing := [key for key in _WITH_GPUS if given and key not in given]:
        found.append(f"{missing[0]} is missing beside {given[0]}; a pool has {', '.join(_WITH_GPUS)}, or none of them")
    for key in _BY_NODE:
        if others := [node for node in args.get(key) or {} if node not in args["node_names"]]:
            found.append(f"{key} names {others[0]}, which is not in node_names; name nodes of the pool")
        if args.get(key) and "driver_version" not in given:
            found.append(f"{key} is given for nodes without GPUs; leave it out, or give {', '.join(_WITH_GPUS)}")
    return found


def node_labels(pool: str, driver: Any, toolkit: Any, extra: Mapping[str, str]) -> dict[str, Any]:
    """Labels this project owns on a node; a site's own follow and may not override them.

    Raises ValueError if an extra label is one of ours or belongs to GPU feature discovery.
    """
    owners = f"{labels.OWN_PREFIX} belongs to gpu-commons, nvidia.com/ to NVIDIA's software"
    for key in extra:
        if key.startswith(labels.OWNED_PREFIXES):
            raise ValueError(f'label "{key}" has another owner: {owners}; use a prefix of your own')
    ours = {labels.POOL: pool, labels.DRIVER: driver, labels.TOOLKIT: toolkit}
    return {**{key: value for key, value in ours.items() if value is not None}, **extra}


def node_taints(extra: Sequence[Mapping[str, str]], *, has_gpus: bool) -> list[dict[str, str]]:
    """The GPU taint of nodes with GPUs, then the site's own, as NodeSpec.taints."""
    return [*([asdict(labels.GPU_TAINT)] if has_gpus else []), *(dict(taint) for taint in extra)]


def differing_nodes(declared: Mapping[str, str | None], reported: Mapping[str, str | None]) -> list[str]:
    """Nodes whose reported driver differs from the declared one; nodes lacking either are left out."""
    return sorted(node for node, driver in reported.items() if driver and declared[node] and driver != declared[node])


def unknown_nodes(names: Sequence[str]) -> str:
    """Remedy for nodes created only by a patch."""
    this, node = ("this name", "a node") if len(names) == 1 else ("these names", "nodes")
    return (
        f"node_names: {', '.join(names)}: no kubelet has ever registered under {this}, so the patch has created {node} "
        f"without a machine: kubectl delete node {' '.join(names)}, then name nodes that `kubectl get nodes` lists"
    )
