"""When an object of each kind is ready, and why it is not yet. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

Object = Mapping[str, Any]


class State(Enum):
    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"  # waiting longer does not help


@dataclass(frozen=True, slots=True)
class Readiness:
    state: State
    message: str = ""  # what is missing, in a few words; empty if ready


READY: Final = Readiness(State.READY)
# Related objects that a kind's answer depends on: the edge reads them and passes them in.
NEEDS_ENDPOINTS: Final = "Service"
NEEDS_STORAGE_CLASS: Final = "PersistentVolumeClaim"
# Kinds whose pods' problems are worth reporting.
WITH_PODS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Service"})


def readiness(live: Object, related: Sequence[Object] = ()) -> Readiness:
    """The state of `live`; a kind without a rule is ready.

    `related` are the EndpointSlices of a Service, or the StorageClass of a PersistentVolumeClaim.
    """
    rule = RULES.get((_group(live), str(live.get("kind"))))
    return rule(live, related) if rule else READY


def _deployment(live: Object, related: Sequence[Object]) -> Readiness:
    del related
    spec, status = _part(live, "spec"), _part(live, "status")
    if spec.get("paused"):
        return READY  # nothing moves until somebody resumes it
    progressing = _condition(live, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return Readiness(State.FAILED, str(progressing.get("message", "the rollout exceeded its progress deadline")))
    wanted = spec.get("replicas", 1)
    if not _observed(live):
        return Readiness(State.WAITING, "the controller has not seen this version yet")
    if status.get("updatedReplicas", 0) < wanted:
        failure = _condition(live, "ReplicaFailure")
        why = f": {failure['message']}" if failure.get("status") == "True" and failure.get("message") else ""
        return Readiness(State.WAITING, f"{status.get('updatedReplicas', 0)} of {wanted} pods are created{why}")
    if status.get("availableReplicas", 0) < wanted:
        return Readiness(State.WAITING, f"{status.get('availableReplicas', 0)} of {wanted} pods are available")
    surplus = status.get("replicas", 0) - status.get("updatedReplicas", 0)
    return Readiness(State.WAITING, f"{surplus} pods of the old version are still there") if surplus > 0 else READY


def _stateful_set(live: Object, related: Sequence[Object]) -> Readiness:
    del related
    spec, status = _part(live, "spec"), _part(live, "status")
    wanted = spec.get("replicas", 1)
    if not _observed(live):
        return Readiness(State.WAITING, "the controller has not seen this version yet")
    if status.get("readyReplicas", 0) < wanted:
        return Readiness(State.WAITING, f"{status.get('readyReplicas', 0)} of {wanted} pods are ready")
    strategy = _part(spec, "updateStrategy")
    partition = _part(strategy, "rollingUpdate").get("partition", 0)
    if strategy.get("type") != "OnDelete" and status.get("updateRevision") != status.get("currentRevision"):
        updated = status.get("updatedReplicas", 0)
        if updated < wanted - partition:
            return Readiness(State.WAITING, f"{updated} of {wanted - partition} pods are of the new version")
    return READY


def _daemon_set(live: Object, related: Sequence[Object]) -> Readiness:
    del related
    status = _part(live, "status")
    wanted = status.get("desiredNumberScheduled", 0)  # no matching node: complete at once
    if not _observed(live):
        return Readiness(State.WAITING, "the controller has not seen this version yet")
    if _part(_part(live, "spec"), "updateStrategy").get("type") != "OnDelete":
        updated = status.get("updatedNumberScheduled", 0)
        if updated < wanted:
            return Readiness(State.WAITING, f"{updated} of {wanted} pods are of this version")
    available = status.get("numberAvailable", 0)
    return READY if available >= wanted else Readiness(State.WAITING, f"{available} of {wanted} pods are available")


def _replica_set(live: Object, related: Sequence[Object]) -> Readiness:
    del related
    wanted, ready = _part(live, "spec").get("replicas", 1), _part(live, "status").get("readyReplicas", 0)
    if _observed(live) and ready >= wanted:
        return READY
    return Readiness(State.WAITING, f"{ready} of {wanted} pods are ready")


def _job(live: Object, related: Sequence[Object]) -> Readiness:
    del related
    spec, status = _part(live, "spec"), _part(live, "status")
    failed = _condition(live, "Failed")
    if failed.get("status") == "True":
        why = failed.get("message") or failed.get("reason") or "no reason given"
        return Readiness(State.FAILED, f"the job failed: {why}")
    if _condition(live, "Complete").get("status") == "True" or spec.get("suspend"):
        return READY
    return Readiness(
        State.WAITING,
        f"{status.get('succeeded', 0)} of {spec.get('completions', 1)} completions, "
        f"{status.get('active', 0)} active, {status.get('failed', 0)} failed",
    )


def _pod(live: Object, related: Sequence[Object]) -> Readiness:
    del related
    status = _part(live, "status")
    if status.get("phase") == "Succeeded" or _condition(live, "Ready").get("status") == "True":
        return READY
    if status.get("phase") == "Failed":
        return Readiness(
            State.FAILED, f"the pod failed: {status.get('message') or status.get('reason') or 'see below'}"
        )
    return Readiness(State.WAITING, f"the pod is {status.get('phase', 'Pending')} and not ready")


def _claim(live: Object, related: Sequence[Object]) -> Readiness:
    phase = _part(live, "status").get("phase")
    waits_for_pod = any(each.get("volumeBindingMode") == "WaitForFirstConsumer" for each in related)
    if phase == "Bound" or (phase != "Lost" and waits_for_pod):
        return READY
    if phase == "Lost":
        return Readiness(State.FAILED, "the volume of this claim is lost")
    return Readiness(State.WAITING, "the claim is not bound to a volume")


def _volume(live: Object, related: Sequence[Object]) -> Readiness:
    del related
    phase = _part(live, "status").get("phase", "Pending")
    if phase == "Failed":
        return Readiness(State.FAILED, f"the volume failed: {_part(live, 'status').get('message', 'no reason given')}")
    return READY if phase in ("Available", "Bound", "Released") else Readiness(State.WAITING, f"the volume is {phase}")


def _service(live: Object, related: Sequence[Object]) -> Readiness:
    spec = _part(live, "spec")
    if spec.get("type") == "LoadBalancer" and not _part(_part(live, "status"), "loadBalancer").get("ingress"):
        return Readiness(State.WAITING, "no load balancer address yet")
    if spec.get("type") == "ExternalName" or not spec.get("selector") or spec.get("clusterIP") == "None":
        return READY
    endpoints = [_part(endpoint, "conditions") for each in related for endpoint in each.get("endpoints") or ()]
    if not any(endpoint.get("ready", True) for endpoint in endpoints):
        return Readiness(State.WAITING, "no ready pod matches the service's selector")
    # Terminating pods are not ready either; that is no problem.
    unready = sum(not endpoint.get("ready", True) and not endpoint.get("terminating") for endpoint in endpoints)
    return Readiness(State.WAITING, f"{unready} of {len(endpoints)} endpoints are not ready") if unready else READY


def _ingress(live: Object, related: Sequence[Object]) -> Readiness:
    del related
    if _part(_part(live, "status"), "loadBalancer").get("ingress"):
        return READY
    return Readiness(State.WAITING, "no ingress controller has given it an address yet")


def _custom_resource_definition(live: Object, related: Sequence[Object]) -> Readiness:
    del related
    refused = _condition(live, "NamesAccepted")
    if refused.get("status") == "False":
        return Readiness(State.FAILED, str(refused.get("message", "its names are not accepted")))
    established = _condition(live, "Established").get("status") == "True"
    return READY if established else Readiness(State.WAITING, "not established yet")


def _quota(live: Object, related: Sequence[Object]) -> Readiness:
    del related
    observed = _part(live, "status").get("hard")
    return READY if observed else Readiness(State.WAITING, "the quota is not observed yet")


RULES: Final[dict[tuple[str, str], Callable[[Object, Sequence[Object]], Readiness]]] = {
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "ReplicationController"): _replica_set,
    ("", "ResourceQuota"): _quota,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _custom_resource_definition,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "Job"): _job,
    ("networking.k8s.io", "Ingress"): _ingress,
}


def waited_for(live: Object, annotation: str) -> Readiness:
    """The annotation `pulumi.com/waitFor`: one expression, or a JSON list of several, which must all be met.

    `condition=Ready`, `condition=Ready=False`, `jsonpath={.a.b}`, `jsonpath={.a.b}=value`; ValueError for another.
    """
    listed = json.loads(annotation) if annotation.startswith("[") else [annotation]
    answers = [_met(live, str(expression)) for expression in listed]
    return next((answer for answer in answers if answer.state is not State.READY), READY)


def _met(live: Object, expression: str) -> Readiness:
    form, _, rest = expression.partition("=")
    if form == "condition" and rest:
        kind, _, wanted = rest.partition("=")
        found = _condition(live, kind).get("status")
        met = str(found).lower() == (wanted or "True").lower()
    elif form == "jsonpath" and rest.startswith("{.") and "}" in rest:
        path, _, wanted = rest[2:].partition("}")
        value: Any = live
        for step in path.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        met = value is not None and (not wanted or str(value) == wanted.removeprefix("="))
    else:
        raise ValueError(
            f'pulumi.com/waitFor: "{expression}" is neither "condition=TYPE" nor "jsonpath={{.a.b}}=value"'
        )
    return READY if met else Readiness(State.WAITING, f"waiting for {expression}")


def _group(live: Object) -> str:
    return str(live.get("apiVersion", "")).rpartition("/")[0]


def _part(live: Object, key: str) -> Object:
    part = live.get(key)
    return part if isinstance(part, Mapping) else {}


def _condition(live: Object, kind: str) -> Object:
    conditions = _part(live, "status").get("conditions") or ()
    return next((each for each in conditions if each.get("type") == kind), {})


def _observed(live: Object) -> bool:
    generation = _part(live, "metadata").get("generation", 0)
    return bool(_part(live, "status").get("observedGeneration", 0) >= generation)
