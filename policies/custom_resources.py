"""What of a custom resource makes pods: the pod templates in it, and places where something else may. Pure.

Nobody knows all kinds that make pods. A pod template has one shape wherever it stands, and what names an image or a
GPU outside of one is told, because it cannot be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.labels import NVIDIA_PREFIX
from components.placement import UNKNOWN, Unknown

# Kinds whose objects are made by a controller in the cluster, from a chart or a repository.
OUT_OF_SIGHT: Final[Mapping[str, str]] = {
    "helm.sh:Release": "its chart is rendered inside the provider; a Chart of kubernetes.helm.v4 shows each object",
    "helm.toolkit.fluxcd.io:HelmRelease": "Flux renders its chart in the cluster",
    "kustomize.toolkit.fluxcd.io:Kustomization": "Flux applies it in the cluster",
    "helm.cattle.io:HelmChart": "its chart is rendered in the cluster",
    "argoproj.io:Application": "Argo CD applies it in the cluster",
    "argoproj.io:ApplicationSet": "Argo CD applies it in the cluster",
}
_COMPONENTS: Final = "helm.sh"  # the engine's own group for charts: what a Chart makes is shown by itself
_ABOUT: Final = frozenset({"apiVersion", "kind", "metadata", "status"})  # of an object, not what it wants
# Keys below which pod templates stand: spec, template, pytorchReplicaSpecs, workerGroupSpecs, replicatedJobs, tasks.
_HOLDER: Final = re.compile(r"(?:spec|template|container|group|task|job|pod)s?(?:\[\d+\])?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a resource, as a path of keys: `spec.pytorchReplicaSpecs.Worker.template`.

    `template` is a pod template there, UNKNOWN where what stands there is not known yet, and None where it is something
    else that names an image or a GPU.
    """

    path: str
    template: Mapping[str, Any] | Unknown | None


def is_custom(token: str) -> bool:
    """True for kinds that Kubernetes itself does not have, charts that are rendered elsewhere among them."""
    package, _, rest = token.partition(":")
    group = rest.partition("/")[0]
    if package != "kubernetes" or "." not in group:
        return False
    is_of_kubernetes = group.endswith(".k8s.io") and not group.endswith(".x-k8s.io")
    return out_of_sight(token) is not None or not (is_of_kubernetes or group == _COMPONENTS)


def out_of_sight(token: str) -> str | None:
    """Why what this kind makes does not pass through the engine; None for all others."""
    rest = token.partition(":")[2]
    return OUT_OF_SIGHT.get(f"{rest.partition('/')[0]}:{rest.rpartition(':')[2].removesuffix('Patch')}")


def places(inputs: Mapping[str, Any]) -> Iterator[Place]:
    """Every pod template of a resource, and every other place that may make pods."""
    for key, value in inputs.items():
        if key not in _ABOUT:
            yield from _places(value, str(key))


def _places(value: Any, path: str) -> Iterator[Place]:
    if value is UNKNOWN:
        if _HOLDER.search(path):
            yield Place(path, UNKNOWN)
    elif isinstance(value, Mapping):
        if _is_template(value):
            yield Place(path, value)
        elif _may_make_pods(value):
            yield Place(path, None)
        else:
            for key, inner in value.items():
                yield from _places(inner, f"{path}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, inner in enumerate(value):
            yield from _places(inner, f"{path}[{index}]")


def _is_template(value: Mapping[str, Any]) -> bool:
    spec = value.get("spec")
    return isinstance(spec, Mapping) and _is_list(spec.get("containers"))


def _may_make_pods(value: Mapping[str, Any]) -> bool:
    """It names an image or asks for GPUs: a container of another shape, or what a controller makes one from."""
    image = value.get("image")
    return image is UNKNOWN or (isinstance(image, str) and bool(image)) or _asks(value)


def _asks(value: Mapping[str, Any]) -> bool:
    """`resources`, or as Kubeflow's trainer has it `resourcesPerNode`, with amounts of an NVIDIA device."""
    amounts = [
        each.get(kind)
        for key, each in value.items()
        if key.startswith("resources") and isinstance(each, Mapping)
        for kind in ("limits", "requests")
    ]
    return any(key.startswith(NVIDIA_PREFIX) for each in amounts if isinstance(each, Mapping) for key in each)


def _is_list(value: Any) -> bool:
    return value is UNKNOWN or (isinstance(value, Sequence) and not isinstance(value, str))
