"""A pod's problems: the container and the reason. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

Object = Mapping[str, Any]

# Reasons of a waiting container that lead to running, not problems.
HARMLESS: Final = frozenset({"ContainerCreating", "PodInitializing"})


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


def has_log(trouble: str) -> bool:
    """Whether the container has run, so that its log may help."""
    return "exit code" in trouble or trouble.startswith("CrashLoopBackOff")
