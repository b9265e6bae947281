"""Objects that make no pods and open a way to GPUs past the scheduler for those that do. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from components.labels import GPU_RESOURCE
from components.placement import UNKNOWN, Node
from policies.finding import Finding, Level
from policies.host_paths import of_volume
from policies.model import Coverage, Site


def openings(token: str, name: str, inputs: Mapping[str, Any], site: Site) -> Iterator[Finding]:
    """What one such object opens."""
    items = inputs.get("items") if token.endswith("List") else [inputs]
    if items is UNKNOWN or UNKNOWN in _list(items):
        yield Finding("which objects it lists is not known yet", Level.UNPROVED)
    for each in _list(items):
        if isinstance(each, Mapping):
            yield from _CHECKS[_kind(token)](name, each, site)


def opens(token: str) -> bool:
    """True for the kinds that are looked at."""
    return token.startswith(("kubernetes:core/", "kubernetes:resource.k8s.io/")) and _kind(token) in _CHECKS


def called(token: str, name: str, inputs: Mapping[str, Any]) -> str:
    """As a person knows it: PersistentVolume scratch."""
    metadata = inputs.get("metadata")
    parts = [metadata.get("namespace"), metadata.get("name")] if isinstance(metadata, Mapping) else []
    return f"{_kind(token)} {'/'.join(part for part in parts if isinstance(part, str) and part) or name}"


def _kind(token: str) -> str:
    kind = token.rpartition(":")[2]
    return kind if kind == "NodePatch" else kind.removesuffix("Patch").removesuffix("List")


def _volume(_: str, inputs: Mapping[str, Any], __: Site) -> Iterator[Finding]:
    spec = inputs.get("spec")
    if spec is UNKNOWN or isinstance(spec, Mapping):
        yield from of_volume("spec", spec, ("hostPath", "local"))


def _claim(_: str, inputs: Mapping[str, Any], __: Site) -> Iterator[Finding]:
    yield from _requests(inputs.get("spec"), "spec")


def _claim_template(_: str, inputs: Mapping[str, Any], __: Site) -> Iterator[Finding]:
    spec = inputs.get("spec")
    yield from _requests(spec.get("spec") if isinstance(spec, Mapping) else spec, "spec.spec")


def _requests(spec: Any, path: str) -> Iterator[Finding]:
    """Source: kubernetes/api resource/v1 types.go, DeviceRequest; before v1beta2 its fields stood beside its name."""
    devices = spec.get("devices") if isinstance(spec, Mapping) else spec
    requests = devices.get("requests") if isinstance(devices, Mapping) else devices
    if requests is UNKNOWN:
        yield Finding(f"{path}.devices.requests is not known yet: one may ask for adminAccess", Level.UNPROVED)
    for index, each in enumerate(_list(requests)):
        where = f"{path}.devices.requests[{index}]"
        request = each.get("exactly", each) if isinstance(each, Mapping) else each
        access = request.get("adminAccess") if isinstance(request, Mapping) else request
        of = request.get("deviceClassName") if isinstance(request, Mapping) else UNKNOWN
        if access is UNKNOWN:
            yield Finding(f"whether {where} asks for adminAccess is not known yet", Level.UNPROVED)
        elif access is True and isinstance(of, str) and ("nvidia" in of or "gpu" in of):
            yield Finding(
                f"{where} asks for adminAccess: it gets every device of the class {of}, also those of others",
                remedy="Remove adminAccess; what watches GPUs is a daemon of the site.",
            )
        elif access is True:
            what = f"the class {of}" if isinstance(of, str) else "its class, which is not known yet,"
            yield Finding(f"{where} asks for adminAccess: whether {what} has GPUs is not known", Level.UNPROVED)


def _node(name: str, inputs: Mapping[str, Any], site: Site) -> Iterator[Finding]:
    """A patch writes the whole list of taints: who leaves the one for GPUs out removes it."""
    spec, metadata = inputs.get("spec"), inputs.get("metadata")
    taints = spec.get("taints") if isinstance(spec, Mapping) else spec
    node_name = metadata.get("name", name) if isinstance(metadata, Mapping) else metadata
    if taints is None:
        return
    nodes = [node for node in site.nodes if node_name in {UNKNOWN, node.name}]
    for taint in {_effect(node): None for node in nodes if _effect(node)}:
        if taints is UNKNOWN or UNKNOWN in _list(taints):
            yield Finding(f"whether its taints keep {GPU_RESOURCE}:{taint} is not known yet", Level.UNPROVED)
        elif not any(_is_kept(each, taint) for each in _list(taints)):
            said = f"it removes the taint {GPU_RESOURCE}:{taint}, which keeps pods without GPUs off the node"
            yield Finding(
                said
                if node_name is not UNKNOWN
                else f"{said}, if its node is one with GPUs: its name is not known yet",
                Level.REFUSE if node_name is not UNKNOWN else Level.UNPROVED,
                remedy=f"List {GPU_RESOURCE} among spec.taints.",
            )
    if not site.nodes and site.coverage is Coverage.SOME and not any(_is_kept(each, "") for each in _list(taints)):
        yield Finding("whether it removes the taint of a node with GPUs is not known: no fleet is", Level.UNPROVED)


def _effect(node: Node) -> str:
    found = [taint.get("effect", "") for taint in node.taints if taint.get("key") == GPU_RESOURCE]
    return found[0] if found and node.amount(GPU_RESOURCE) != 0 else ""


def _is_kept(taint: Any, effect: str) -> bool:
    if not isinstance(taint, Mapping) or taint.get("key") not in {GPU_RESOURCE, UNKNOWN}:
        return False
    return not effect or taint.get("effect") in {effect, "NoExecute", UNKNOWN}


def _list(found: Any) -> Sequence[Any]:
    return found if isinstance(found, Sequence) and not isinstance(found, str) else ()


_CHECKS: Final[Mapping[str, Callable[[str, Mapping[str, Any], Site], Iterator[Finding]]]] = {
    "NodePatch": _node,
    "PersistentVolume": _volume,
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _claim_template,
}
