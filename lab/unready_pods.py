"""Why pods are not ready: what Pulumi's plugin for Kubernetes leaves out when a Deployment or a Job is late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from lab import processes
from lab.cluster import Cluster
from lab.instance import LabError

if TYPE_CHECKING:
    from lab.instance import Instance

Object = Mapping[str, Any]

# Reasons of a waiting container that lead to running, not problems.
HARMLESS: Final = frozenset({"ContainerCreating", "PodInitializing"})


def explained(instance: Instance) -> str:
    """A paragraph on the pods that cannot start; empty without one, or without a cluster that answers."""
    if not processes.is_running(instance, "kube-apiserver"):
        return ""
    try:
        with Cluster(instance) as cluster:
            found = [*lines(cluster.pods(), cluster.items("/api/v1/events"))]
    except LabError:
        return ""
    return "\n".join(["Pods that are not ready:", *found, ""]) if found else ""


def lines(pods: Iterable[Object], events: Iterable[Object] = ()) -> Iterator[str]:
    """`  NAMESPACE/POD, container hub: ImagePullBackOff: …` for each problem of pods.

    What keeps a container from being created, such as a Secret that is missing, is only in the pod's last event.
    """
    mounts = {each["involvedObject"].get("uid"): each for each in events if each.get("reason") == "FailedMount"}
    for pod in pods:
        name = f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"
        for container, trouble in troubles(pod):
            yield f"  {name}{container and f', container {container}'}: {trouble}"
        failed = mounts.get(pod["metadata"].get("uid"))
        if failed and (pod.get("status") or {}).get("phase") == "Pending":
            yield f"  {name}: FailedMount: {failed.get('message', '')}"


def troubles(pod: Object) -> Iterator[tuple[str, str]]:
    """(container or "", problem) for a pod that is not ready."""
    status = pod.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield "", f"{condition.get('reason', 'Unschedulable')}: {condition.get('message', 'no node can take it')}"
    for state in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        if trouble := _container_trouble(state):
            yield str(state.get("name", "")), trouble


def _container_trouble(status: Object) -> str:
    waiting = (status.get("state") or {}).get("waiting") or {}
    ended = (status.get("state") or {}).get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
    exit_code = ended.get("exitCode", 0)
    ending = f"exit code {exit_code}{_reason(ended)}" if exit_code else ""
    reason = waiting.get("reason", "")
    if reason and reason not in HARMLESS:
        parts = [f"{reason}: {waiting['message']}" if waiting.get("message") else reason, ending]
        return "; ".join(part for part in parts if part)
    return ending if not status.get("ready") else ""


def _reason(ended: Object) -> str:
    reason = ended.get("reason")
    return f" ({reason})" if reason and reason != "Error" else ""
