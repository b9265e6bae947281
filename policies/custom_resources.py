"""Finds pod templates and other possible pod sources in custom resources. Pure.

No list of pod-creating kinds is complete. A pod template has the same shape everywhere; fields that name an image, a
GPU or a template elsewhere are reported, because they cannot be judged. `api_groups.toml` names kinds by role.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from fleet.labels import NVIDIA_PREFIX
from fleet.unknown import UNKNOWN, Unknown, list_at, mapping_at
from policies.kinds import kind_of
from policies.pod_fields import POD_FIELDS, changes_pods, is_image, way_to_gpus
from policies.shapes import at, is_list

_KINDS: Final[Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("api_groups.toml").read_text(encoding="utf-8")
)
BUILT_IN: Final = frozenset(_KINDS["built_in"])
_OUT_OF_SIGHT: Final[Mapping[str, str]] = _KINDS["out_of_sight"]
_CHANGES_PODS: Final[Mapping[str, str]] = _KINDS["changes_pods"]
_ABOUT: Final = frozenset({"apiVersion", "kind", "metadata", "status"})  # metadata, not specification
# Keys above pod templates: spec, template, pytorchReplicaSpecs, workerGroupSpecs, replicatedJobs, tasks.
_HOLDER: Final = re.compile(r"(?:spec|template|container|group|task|job|pod)s?(?:\[\d+\])?$", re.IGNORECASE)
# image, imageName, containerImage, driverImage; not imagePullPolicy, nor `images` to watch.
_IMAGE: Final = re.compile(r"(?:^i|I|[_.]i)mage(?:Name|[._]?[Rr]ef|_name|URL|Url|URI|Uri|Repository|Tag)?$")
_SOURCE: Final = re.compile(r"://|^git@|\.git$")  # a source repository
_IMAGE_PARTS: Final = ("repository", "name", "tag", "digest", "registry", "value", "ref")
# Pod templates in another object, of the cluster or of a bundle.
_REFERENCES: Final = frozenset(
    {
        "baseRefs",
        "clusterWorkflowTemplateRef",
        "jobTemplateRef",
        "modelFormat",
        "pipelineRef",
        "podTemplateRef",
        "runtimeRef",
        "taskRef",
        "templateRef",
        "workflowTemplateRef",
        "workloadRef",
    }
)
_REF: Final = re.compile(r"\b(?:steps\[\d+\]|template)\.ref$")  # Tekton
# Pod templates, patches, or whole objects, written as text.
_TEXTS: Final = re.compile(r"^(?:pod[_-]?(?:spec|template)(?:[_-]?(?:patch|yaml|file))?|manifest)$", re.IGNORECASE)
_CONTAINERS: Final = ("container", "containers", "initContainers", "sidecars")
# Pod fields judged by the rules.
_JUDGED: Final = ("containers", "initContainers", "ephemeralContainers", "volumes", "runtimeClassName")

CHANGES: Final = "changes pods or nodes after they were checked, so it is not known which pods reach GPUs"
AN_IMAGE: Final = "names an image"
REFERS: Final = "refers to a template elsewhere"
TEXT: Final = "is text that pods are created from"
NO_IMAGE: Final = "is a container without an image"


class Doubt(Enum):
    """What a place without pod template holds."""

    WAY = "a way to GPUs"
    MAKES = "what pods may come from"
    CHANGES = "a change of pods"


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a resource, as a path of keys: `spec.pytorchReplicaSpecs.Worker.template`.

    `template` is the pod template there, UNKNOWN if not known yet, and None for anything else that
    may create pods, described by `why`.
    """

    path: str
    template: Mapping[str, Any] | Unknown | None
    why: str = "is not known yet"
    doubt: Doubt = Doubt.MAKES


def is_custom(token: str) -> bool:
    """True for kinds outside Kubernetes itself, including charts that are rendered elsewhere."""
    kind = kind_of(token)
    if kind is None:
        return False
    return (
        kind.group not in BUILT_IN
        or out_of_sight(token) is not None
        or "".join(_group_and_kind(token)) in _CHANGES_PODS
    )


def out_of_sight(token: str) -> str | None:
    """Why pods of this kind bypass the engine; None for all other kinds."""
    return _OUT_OF_SIGHT.get("".join(_group_and_kind(token)))


def _group_and_kind(token: str) -> tuple[str, str]:
    kind = kind_of(token)
    name = token.rpartition(":")[2].removesuffix("Patch").removesuffix("List")
    return (f"{kind.group}:", name) if kind else ("", "")


def places(token: str, inputs: Mapping[str, Any]) -> Iterator[Place]:
    """Every pod template and other possible pod source of a resource."""
    group, kind = _group_and_kind(token)
    called = f"{group}{kind}"
    wants = {key: value for key, value in inputs.items() if key not in _ABOUT}
    if called in _CHANGES_PODS and changes_pods(wants, _CHANGES_PODS[called]):
        yield Place("items" if "items" in wants else "spec", None, CHANGES, Doubt.CHANGES)
        if not _CHANGES_PODS[called]:
            return
    if not {group, called}.isdisjoint(_KINDS["without_pods"]):
        return
    if group.removesuffix(":") in BUILT_IN:
        return
    patterns = _KINDS["patterns"].get(group, ())
    found = [place for key, value in wants.items() for place in _inner(str(key), value, str(key), patterns)]
    yield from found
    if not found and called in _KINDS["made_elsewhere"]:
        yield Place("spec", None, REFERS)


def filled_in_later(value: Any) -> Any:
    """Replaces each text that its controller fills in by UNKNOWN: ${schema.spec.image}, {{inputs.parameters.x}}."""
    if isinstance(value, str):
        return UNKNOWN if _PLACEHOLDER.search(value) else value
    if isinstance(value, Mapping):
        return {key: filled_in_later(inner) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [filled_in_later(each) for each in value]
    return value


# kro, Argo, Tekton. Not the kubelet's $(NAME), nor the $NAME of a shell.
_PLACEHOLDER: Final = re.compile(
    r"\$\{[^}$.]{1,99}\.[^}$]{0,199}\}|\{\{[^{}]{0,199}\}\}|\$\((?:params|tasks|context|workspaces|inputs)[.\[]",
    re.DOTALL,
)


def _places(value: Any, path: str, patterns: Collection[str]) -> Iterator[Place]:
    if value is UNKNOWN:
        if _HOLDER.search(path) or POD_FIELDS.match(_holder(path)):
            yield Place(path, UNKNOWN)
    elif isinstance(value, Mapping):
        yield from _of_mapping(value, path, patterns)
    elif is_list(value):
        for index, inner in enumerate(value):
            yield from _inner("", inner, f"{path}[{index}]", patterns)


def _of_mapping(value: Mapping[str, Any], path: str, patterns: Collection[str]) -> Iterator[Place]:
    judged: Collection[str] = ()
    if _is_template(value):
        yield Place(path, value)
        yield from _beside(value["spec"], f"{path}.spec", patterns)
        judged = ("metadata", "spec")
    elif _is_pod(value):
        yield Place(path, {"spec": value})
        judged = _JUDGED
    yield from _image(value, path) if judged else _makes_pods(value, path)
    for key, inner in value.items():
        if key not in judged and key not in patterns:
            yield from _inner(key, inner, f"{path}.{key}", patterns)


def _beside(pod: Mapping[str, Any], path: str, patterns: Collection[str]) -> Iterator[Place]:
    """Extra fields of a pod template whose kind extends the pod spec."""
    yield from _image(pod, path)
    for key, inner in pod.items():
        if key not in _JUDGED and key not in patterns:
            yield from _inner(key, inner, f"{path}.{key}", patterns)


def _inner(key: str, value: Any, path: str, patterns: Collection[str]) -> Iterator[Place]:
    if value and (key in _REFERENCES or (key == "ref" and _REF.search(path))):
        yield Place(path, UNKNOWN) if value is UNKNOWN else Place(path, None, REFERS)
    elif way := way_to_gpus(key, value):
        yield Place(path, None, way, Doubt.WAY)
    elif is_image(value) and not _IMAGE.search(key):  # `_image` reports that with its neighbours
        yield Place(path, None, AN_IMAGE, Doubt.WAY)
    elif isinstance(value, str) and value and any(_TEXTS.match(step) for step in key.split(".")):
        yield Place(path, None, TEXT, Doubt.WAY)
    else:
        yield from _places(value, path, patterns)


def _is_template(value: Mapping[str, Any]) -> bool:
    found = at(value.get("spec"), "containers")
    is_open = found is UNKNOWN and isinstance(value.get("spec"), Mapping)
    return is_open or (is_list(found) and not (found and all(isinstance(each, str) for each in found)))


def _is_pod(value: Mapping[str, Any]) -> bool:
    """A pod spec without its template, as in KServe and the Prometheus operator."""
    found = list_at(value, "containers")
    return bool(found) and all(isinstance(each, Mapping) for each in found)


def _makes_pods(value: Mapping[str, Any], path: str) -> Iterator[Place]:
    """Pod sources: a container of another shape, or fields for a controller."""
    if found := [*_image(value, path), *_request(value, path)]:
        yield from found
    elif _holder(path) in _CONTAINERS and value and not any(_IMAGE.search(str(key)) for key in value):
        yield Place(path, None, NO_IMAGE)


def _image(value: Mapping[str, Any], path: str) -> Iterator[Place]:
    """The first field that names an image."""
    repository, tag = value.get("repository"), value.get("tag")
    is_pair = isinstance(repository, str) and bool(tag) and not _SOURCE.search(repository)
    fields = [key for key, each in value.items() if _IMAGE.search(str(key)) and _is_image(each)]
    for field in ["repository"] if is_pair else fields[:1]:
        yield Place(f"{path}.{field}", None, AN_IMAGE)


def _holder(path: str) -> str:
    """The key of a value, alone or in a list."""
    return path.rpartition(".")[2].partition("[")[0]


def _is_image(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(
            value.get(key) is UNKNOWN or (value.get(key) and isinstance(value[key], str)) for key in _IMAGE_PARTS
        )
    return value is UNKNOWN or (isinstance(value, str) and bool(value))


def _request(value: Mapping[str, Any], path: str) -> Iterator[Place]:
    """`resources`, `computeResources`, Kubeflow's `resourcesPerNode`: with amounts of an NVIDIA device.

    Or as in Spark: `gpu: {name: nvidia.com/gpu, quantity: 1}`.
    """
    if str(value.get("name", "")).startswith(NVIDIA_PREFIX) and "quantity" in value:
        yield Place(path, None, "asks for GPUs")
    for key, each in value.items():
        names = [name for kind in ("limits", "requests") for name in mapping_at(each, kind)]
        if "resource" in key.lower() and any(name.startswith(NVIDIA_PREFIX) for name in names):
            yield Place(f"{path}.{key}", None, "asks for GPUs")
