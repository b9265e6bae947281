"""Objects without pods that give pods GPUs outside the scheduler, or bring images to a host. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from errors.problems import listing
from fleet.labels import GPU_RESOURCE, NVIDIA_PREFIX, OWNED_PREFIXES
from fleet.nodes import Node
from fleet.unknown import UNKNOWN
from policies.finding import Finding, Level
from policies.host_paths import check_driver, check_host_path, check_path, of_volume
from policies.kinds import kind_of, objects
from policies.model import Coverage, Image, Site
from policies.rules.pin import of_image
from policies.rules.resource_claims import check_claim
from policies.shapes import at, items, object_name, text
from policies.vocabulary import DOCKER

# Labels obeyed by NVIDIA's daemons.
_STEERS: Final = tuple(
    f"{NVIDIA_PREFIX}{name}" for name in ("device-plugin.config", "gpu.deploy.", "mig.config", "mps.", "vgpu.config")
)
PULLED: Final = "docker:index/remoteImage:RemoteImage"


def openings(token: str, name: str, inputs: Mapping[str, Any], site: Site) -> Iterator[Finding]:
    """What such an object opens."""
    if token in _DOCKER_CHECKS:
        yield from _DOCKER_CHECKS[token](inputs, site)
    if (kind := kind_of(token)) is None:
        return
    for index, each in objects(kind, inputs):
        if isinstance(each, Mapping):
            item = f"items[{index}] ({object_name('without a name', each)}): " if kind.is_list else ""
            for finding in _CHECKS[kind.name](name, each, site):
                yield replace(finding, message=f"{item}{finding.message}")
        else:
            yield Finding("it is not known yet which objects it lists", Level.UNPROVED)


def opens(token: str) -> bool:
    """True for checked kinds."""
    kind = kind_of(token)
    is_object = kind is not None and kind.group in {"core", "resource.k8s.io"} and kind.name in _CHECKS
    return is_object or token in _DOCKER_CHECKS


def claims(token: str) -> bool:
    """True for device claims and their templates."""
    kind = kind_of(token)
    return kind is not None and kind.group == "resource.k8s.io" and kind.name in _SPECS


def claimed(token: str, inputs: Mapping[str, Any], site: Site) -> Iterator[Finding]:
    """Whether a pool has the claimed GPUs."""
    if (kind := kind_of(token)) is None:
        return
    for _, each in objects(kind, inputs):
        if isinstance(each, Mapping):
            path = _SPECS[kind.name]
            yield from check_claim(at(each, *path), ".".join(path), site)


def called(token: str, name: str, inputs: Mapping[str, Any]) -> str:
    """Display name: PersistentVolume scratch."""
    kind = kind_of(token)
    if token in _DOCKER_CHECKS:
        return f"{token.rpartition(':')[2]} {name}"  # an image is judged by its name
    known = f"{kind.name}{'Patch' * (kind.name == 'Node' and kind.is_patch)}" if kind else token
    return f"{known} {object_name(name, inputs)}"


def _volume(_: str, inputs: Mapping[str, Any], __: Site) -> Iterator[Finding]:
    yield from check_driver("spec", inputs.get("spec"))
    for each in of_volume("spec", inputs.get("spec"), kinds=("hostPath", "local")):
        yield from check_host_path(each, is_written=True)


def _engine_volume(inputs: Mapping[str, Any], _: Site) -> Iterator[Finding]:
    """An engine volume. Its own driver binds a host folder or disk if the options say so."""
    device, path = at(inputs, "driverOpts", "device"), "driverOpts.device"
    if device is UNKNOWN:
        yield Finding(f"{path} is not known yet: it may reach the devices of the host", Level.UNPROVED)
    elif isinstance(device, str) and device.startswith("/"):
        for finding in check_path(f"{path} {device}", device, DOCKER, is_written=True):
            yield replace(finding, remedy="Leave the folder to the engine: remove driverOpts.")


def _pulled(inputs: Mapping[str, Any], site: Site) -> Iterator[Finding]:
    """An image pulled by a host; containers name it by ID there, which hides the registry."""
    if inputs.get("build"):
        yield Finding("it is built on the host, so its contents were neither planned nor inspected", Level.UNPROVED)
    elif inputs.get("name") is UNKNOWN:
        yield Finding("name is not known yet", Level.UNPROVED)
    else:
        yield from of_image(Image("name", inputs.get("name")), site)


def _claim(_: str, inputs: Mapping[str, Any], __: Site) -> Iterator[Finding]:
    yield from _requests(inputs.get("spec"), "spec")


def _claim_template(_: str, inputs: Mapping[str, Any], __: Site) -> Iterator[Finding]:
    yield from _requests(at(inputs, "spec", "spec"), "spec.spec")


def _requests(spec: Any, path: str) -> Iterator[Finding]:
    """Source: kubernetes/api resource/v1 types.go, DeviceRequest; before v1beta2 its fields stood beside its name."""
    requests = at(spec, "devices", "requests")
    if requests is UNKNOWN:
        yield Finding(f"{path}.devices.requests is not known yet: one may ask for adminAccess", Level.UNPROVED)
        return
    for index, each in enumerate(items(requests)):
        where = f"{path}.devices.requests[{index}]"
        request = each if each is UNKNOWN else each.get("exactly", each)
        access, of = at(request, "adminAccess"), at(request, "deviceClassName")
        if access is UNKNOWN:
            yield Finding(f"it is not known yet whether {where} asks for adminAccess", Level.UNPROVED)
        elif access is True and isinstance(of, str) and ("nvidia" in of or "gpu" in of):
            yield Finding(
                f"{where} asks for adminAccess, which gives it every device of the class {of}, even those in use",
                remedy="Remove adminAccess; only daemons of the site may monitor GPUs.",
            )
        elif access is True:
            what = f"the class {of}" if isinstance(of, str) else "its class, which is not known yet,"
            yield Finding(f"{where} asks for adminAccess: it is not known whether {what} has GPUs", Level.UNPROVED)


def _node(name: str, inputs: Mapping[str, Any], site: Site) -> Iterator[Finding]:
    """A Node replaces all taints, so omitting the GPU taint removes it. Labels change individually."""
    taints, node_name = at(inputs, "spec", "taints"), at(inputs, "metadata", "name")
    node_name = node_name if node_name is UNKNOWN else text(node_name, name)
    nodes = [node for node in site.nodes if node_name in {UNKNOWN, node.name}]
    yield from _labels(at(inputs, "metadata", "labels"), nodes)
    if taints is None:
        return
    for value, taint in {_gpu_taint(node): None for node in nodes if any(_gpu_taint(node))}:
        if UNKNOWN in items(taints):
            yield Finding(f"it is not known yet whether its taints keep {GPU_RESOURCE}:{taint}", Level.UNPROVED)
        elif not any(_is_kept(each, taint, value) for each in items(taints)):
            message = f"it removes the taint {GPU_RESOURCE}:{taint}, which keeps pods without GPUs off the node"
            yield Finding(
                message if node_name is not UNKNOWN else f"{message}, if the node has GPUs: its name is not known yet",
                Level.REFUSE if node_name is not UNKNOWN else Level.UNPROVED,
                remedy=f"Add {GPU_RESOURCE}={value}:{taint} to spec.taints.",
            )
    if not site.nodes and site.coverage is Coverage.SOME and not any(_is_kept(each) for each in items(taints)):
        yield Finding(
            "it is not known whether it removes the taint of a node with GPUs: no fleet is described", Level.UNPROVED
        )


def _binding(_: str, inputs: Mapping[str, Any], site: Site) -> Iterator[Finding]:
    """A scheduler's Binding: the pod goes to its node regardless of taints and requests."""
    name = at(inputs, "target", "name")
    name = name if name is UNKNOWN else text(name)
    bound = [node for node in site.nodes if name in {UNKNOWN, node.name} and node.amount(GPU_RESOURCE) != 0]
    if bound or (not site.nodes and site.coverage is Coverage.SOME):
        yield Finding(
            "it binds a pod to a node with GPUs, regardless of the scheduler, the node's taints and its free GPUs",
            Level.REFUSE if bound and name is not UNKNOWN else Level.UNPROVED,
            remedy="Remove it; select the node by a label.",
        )


def _labels(labels: Any, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Labels that tell the scheduler a node's GPUs: a wrong value sends pods to the wrong GPUs."""
    if labels is UNKNOWN and nodes:
        yield Finding("it is not known yet whether it changes labels that describe the GPUs of a node", Level.UNPROVED)
    for key, value in labels.items() if isinstance(labels, Mapping) else ():
        known = {node.labels[key] for node in nodes if key in node.labels} if key.startswith(OWNED_PREFIXES) else ()
        if known and value is UNKNOWN:
            yield Finding(f"the new value of the label {key} is not known yet", Level.UNPROVED)
        elif not known and key.startswith(_STEERS) and any(node.amount(GPU_RESOURCE) != 0 for node in nodes):
            yield Finding(
                f"it is not known how NVIDIA's daemons react to the label {key}: they may allocate GPUs differently",
                Level.UNPROVED,
            )
        elif known and value not in tuple(known):
            change = f"removes the label {key}" if value is None else f"sets the label {key} to {value}"
            has = listing(sorted(known), most=3)
            yield Finding(
                f"it {change}, but the label describes the GPUs of the node, where its value is {has}",
                remedy="Do not set the label here; change the pool in the stack file.",
            )


def _gpu_taint(node: Node) -> tuple[str, str]:
    """Value and effect; empty without one."""
    found = [
        (taint.get("value", ""), taint.get("effect", "")) for taint in node.taints if taint.get("key") == GPU_RESOURCE
    ]
    return found[0] if found and node.amount(GPU_RESOURCE) != 0 else ("", "")


def _is_kept(taint: Any, effect: str = "", value: str = "") -> bool:
    if not isinstance(taint, Mapping) or taint.get("key") not in (GPU_RESOURCE, UNKNOWN):
        return False
    if taint.get("value") not in (value, UNKNOWN) and effect:
        return False  # pods that tolerate another value enter
    return not effect or taint.get("effect") in (effect, "NoExecute", UNKNOWN)


_SPECS: Final = {"ResourceClaim": ("spec",), "ResourceClaimTemplate": ("spec", "spec")}
_CHECKS: Final[Mapping[str, Callable[[str, Mapping[str, Any], Site], Iterator[Finding]]]] = {
    "Binding": _binding,
    "Node": _node,
    "PersistentVolume": _volume,
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _claim_template,
}
_DOCKER_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any], Site], Iterator[Finding]]]] = {
    "docker:index/volume:Volume": _engine_volume,
    PULLED: _pulled,
}
