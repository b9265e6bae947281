"""A pod's resource requests: cores, memory, devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fleet.quantities import Amounts, added, larger, quantity
from fleet.unknown import UNKNOWN, list_at, mapping_at


def requests(pod: Mapping[str, Any], runtime_class: Mapping[str, Any] | None = None) -> Amounts:
    """What the scheduler reserves: the sum of containers or the biggest init container; sidecars add to both.

    Pod-level requests replace that sum; the overhead of its runtime class is added.
    """
    running: Amounts = {}
    peak: Amounts = {}
    for container in list_at(pod, "initContainers"):
        requested = _container_requests(container)
        if isinstance(container, Mapping) and container.get("restartPolicy") == "Always":
            running = added(running, requested)
            requested = dict(running)
        else:
            requested = added(running, requested)
        peak = larger(peak, requested)
    for container in list_at(pod, "containers"):
        running = added(running, _container_requests(container))
    total = larger(peak, running)
    total |= _pod_level(pod, total)
    overhead = mapping_at(pod, "overhead") or mapping_at(mapping_at(runtime_class, "overhead"), "podFixed")
    return added(total, {name: quantity(value) for name, value in overhead.items()})


def _container_requests(container: Any) -> Amounts:
    resources = mapping_at(container, "resources") if isinstance(container, Mapping) else {}
    # A limit without a request is the request.
    requested = {**_implied(resources), **mapping_at(resources, "requests")}
    return {name: quantity(value) for name, value in requested.items()}


def _implied(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Requests implied by limits. While the requests are unknown, only device limits imply them."""
    limits = mapping_at(resources, "limits")
    if resources.get("requests") is not UNKNOWN:
        return dict(limits)
    return {name: value if "/" in name else UNKNOWN for name, value in limits.items()}


def _pod_level(pod: Mapping[str, Any], together: Amounts) -> Amounts:
    """Pod-level requests. The pod's limit is its request only if no container requests the resource."""
    resources = mapping_at(pod, "resources")
    limits = {name: value for name, value in _implied(resources).items() if name not in together}
    stated = {**limits, **mapping_at(resources, "requests")}
    return {name: quantity(value) for name, value in stated.items() if re.fullmatch(r"cpu|memory|hugepages-.*", name)}
