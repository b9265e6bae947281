"""Node taints and pod tolerations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fleet.nodes import Node
from fleet.scheduling_blockers import OtherBlocker
from fleet.unknown import UNKNOWN, has_unknown, list_at, mapping_at


def taint_blockers(tolerations: Sequence[Any], node: Node, *, is_bound: bool) -> Iterator[OtherBlocker]:
    """A cordon, and taints that none of these tolerations tolerates."""
    # A pod with a nodeName bypasses the scheduler, and the kubelet checks NoExecute only.
    effects = {"NoExecute"} if is_bound else {"NoExecute", "NoSchedule"}
    if node.is_cordoned and not is_bound and not any(_tolerates(each, _CORDON) for each in tolerations):
        yield OtherBlocker("it is cordoned")
    for taint in node.taints:
        if taint.get("effect") in effects and not any(_tolerates(each, taint) for each in tolerations):
            value = f"={taint['value']}" if taint.get("value") else ""
            yield OtherBlocker(f"it does not tolerate the taint {taint['key']}{value}:{taint['effect']}")


_CORDON: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def _tolerates(toleration: Any, taint: Mapping[str, str]) -> bool:
    if not isinstance(toleration, Mapping) or has_unknown(toleration):
        return True
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key")
    if toleration.get("operator", "Equal") == "Exists":
        return not key or key == taint["key"]
    return bool(key == taint["key"] and (toleration.get("value") or "") == (taint.get("value") or ""))


def as_daemon(pod: Mapping[str, Any], runtime_class: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The controller adds tolerations to a DaemonSet's pods, so that they stay where others are evicted.

    It chooses the nodes from the template, before the runtime class adds its own tolerations to a pod.
    """
    scheduling = {**mapping_at(runtime_class, "scheduling"), "tolerations": ()}
    effects = {**_DAEMON_TAINTS, **({"network-unavailable": "NoSchedule"} if pod.get("hostNetwork") else {})}
    added = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect} for key, effect in effects.items()
    ]
    known = {} if pod.get("tolerations") is UNKNOWN else {"tolerations": [*list_at(pod, "tolerations"), *added]}
    return {**pod, **known}, {**runtime_class, "scheduling": scheduling}


# Source: kubernetes v1.34.2, pkg/controller/daemon/util/daemonset_util.go, AddOrUpdateDaemonPodTolerations.
_DAEMON_TAINTS: Final = {
    "not-ready": "NoExecute",
    "unreachable": "NoExecute",
    "disk-pressure": "NoSchedule",
    "memory-pressure": "NoSchedule",
    "pid-pressure": "NoSchedule",
    "unschedulable": "NoSchedule",
}
