"""P-GPU: workloads request GPUs and never take them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from fleet.labels import GPU_RESOURCE, NVIDIA_PREFIX
from fleet.quantities import quantity
from fleet.unknown import UNKNOWN
from policies.finding import Finding, Level
from policies.model import Container, Coverage, Rule, Site, Workload
from policies.rules.gpu_docker_escapes import faults
from policies.rules.gpu_escapes import escapes, weighed
from policies.scheduling import landing_on
from policies.shapes import at
from policies.vocabulary import DOCKER, KUBERNETES, Vocabulary, sentence


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Amounts valid in Kubernetes, and scheduler bypasses: see `gpu_escapes.py`.

    A pod that never lands on a GPU node takes no GPU, whatever it may do there.
    """
    whole = workload.pod.get("resources")
    for kind in ("limits", "requests"):
        if isinstance(whole, Mapping) and any(name.startswith(NVIDIA_PREFIX) for name in _names(whole.get(kind))):
            yield Finding(
                f"resources.{kind} of the pod asks for GPUs, which Kubernetes only accepts from containers",
                remedy="Ask for them in the resources of one container.",
            )
    if whole is UNKNOWN or (isinstance(whole, Mapping) and UNKNOWN in (whole.get("limits"), whole.get("requests"))):
        yield Finding("resources of the pod are not known yet: they may ask for GPUs", Level.UNPROVED)
    yield from faults(workload)
    for container in workload.containers:
        if container.is_known:
            yield from _amounts(container, workload.words.system)
    if found := list(escapes(workload, site)):
        comes = _comes_to_gpus(workload, site)
        if comes is None:
            yield from weighed(found, f"but it is not known whether it lands on a {workload.words.node} with GPUs")
        elif comes:
            yield from found


def _comes_to_gpus(workload: Workload, site: Site) -> bool | None:
    """Whether it may land on a GPU node; None if unknown values may exclude all of them.

    This requires a site that knows all GPU nodes, and for our own stacks, nodes without GPUs. Nodes may
    have undescribed labels: a taint or another value excludes a pod, a label missing from the description
    does not.
    """
    nodes = [replace(node, open_labels="") for node in site.nodes if node.amount(GPU_RESOURCE) != 0]
    if site.coverage is Coverage.SOME or (site.coverage is Coverage.ALL and len(nodes) == len(site.nodes)):
        return True  # P-HOST refuses pods of our own stacks that fit no node
    try:
        found = landing_on(nodes, workload, site)
    except ValueError:  # an invalid amount: P-HOST refuses it
        return True
    if workload.pod.get("schedulerName") not in (None, "", "default-scheduler") and not found.certain:
        return None  # another scheduler may ignore taints
    return True if found.certain else None if found.possible else False


def _amounts(container: Container, system: str) -> Iterator[Finding]:
    kinds, where = (container.limits, container.requests), container.amounts_place
    names = {name for each in kinds for name in _names(each) if name.startswith(NVIDIA_PREFIX)}
    for name in sorted({GPU_RESOURCE, *names}):
        limit, request = (at(each, name) for each in kinds)
        if UNKNOWN in (limit, request):
            yield Finding(f"{where}: the GPU request is not known yet", Level.UNPROVED)
            return
        if request is not None and limit is None:
            yield Finding(f"{where}.requests has {name} without a limit: {system} rejects such a pod")
        elif request is not None and _number(request) != _number(limit):
            yield Finding(f"{where}: {name} is {request} in requests and {limit} in limits; they must be equal")
        elif isinstance(number := _number(limit), Decimal) and (number < 0 or number != number.to_integral_value()):
            yield Finding(
                f"{where}: {name} is {limit}: {system} only accepts whole numbers",
                remedy="Ask for whole devices; slices and shared GPUs have their own resource names.",
            )


def _names(amounts: Any) -> list[str]:
    return [str(name) for name in amounts] if isinstance(amounts, Mapping) else []


def _number(amount: Any) -> Any:
    """As a number, so that 1 and "1.0" are equal; as text if invalid, which P-HOST refuses."""
    try:
        return None if amount is None else quantity(amount)
    except ValueError:
        return str(amount)


def _remedy(words: Vocabulary) -> str:
    if words == KUBERNETES:
        return "Set nvidia.com/gpu in resources.limits, and remove the variable or the volume."
    if words == DOCKER:
        held = "Name the GPUs that the container holds in deviceRequests, as DockerGpuContainer does"
        return f"{held}, and remove what bypasses that."
    return f"{sentence(words.requests)}."


RULE = Rule(
    id="P-GPU",
    says="GPUs are requested as nvidia.com/gpu, with equal requests and limits, and nothing bypasses that",
    remedy=_remedy,
    check=check,
)
