"""Waits until an object is ready or gone; reports its pods' problems."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lab.providers.kubernetes import messages
from lab.providers.kubernetes.api import ApiError, ApiServer, UnreachableError
from lab.providers.kubernetes.kinds import ObjectKind, Served, object_id
from lab.providers.kubernetes.naming import annotation
from lab.providers.kubernetes.pod_problems import has_log, troubles
from lab.providers.kubernetes.readiness import (
    NEEDS_ENDPOINTS,
    NEEDS_STORAGE_CLASS,
    WITH_PODS,
    Readiness,
    State,
    readiness,
    waited_for,
)
from lab.providers.plugin import Engine
from lab.providers.values import Properties
from lab.providers.vocabulary import CancelledError, PluginError

SKIP_AWAIT: Final = "pulumi.com/skipAwait"
TIMEOUT: Final = "pulumi.com/timeoutSeconds"
WAIT_FOR: Final = "pulumi.com/waitFor"
DEFAULT_TIMEOUT_S: Final = 600.0
FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 2.0
PODS_SHOWN: Final = 3
LOG_LINES: Final = "10"


class NotReadyError(PluginError):
    """The object exists but is not ready; `live` is the last one seen."""

    def __init__(self, live: Properties, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.live = live
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Target:
    """The object to wait for, and the resource with its status line."""

    api: ApiServer
    engine: Engine
    urn: str
    kind: ObjectKind
    served: Served


def timeout_of(inputs: Properties, custom_s: float) -> float:
    """The resource's custom time-outs beat the annotation, which beats ten minutes."""
    seconds = annotation(inputs, TIMEOUT)
    return custom_s or (float(seconds) if isinstance(seconds, str | int | float) else 0.0) or DEFAULT_TIMEOUT_S


def skips_await(inputs: Properties) -> bool:
    return str(annotation(inputs, SKIP_AWAIT)).lower() == "true"


def current(api: ApiServer, live: Properties) -> Readiness:
    """Whether `live` is ready now."""
    expression = annotation(live, WAIT_FOR)
    if expression:
        return waited_for(live, str(expression))
    return readiness(live, _related(api, live))


def until_ready(target: Target, live: Properties, *, timeout_s: float) -> Properties:
    """The object once it is ready. Raises NotReadyError on failure, time-out or cancellation."""
    api, kind, place = target.api, target.kind, _place(live)
    path = target.served.path(str(live["metadata"].get("namespace", "")), str(live["metadata"]["name"]))
    deadline = time.monotonic() + timeout_s
    shown = ""
    try:
        for pause_s in _pauses():
            found = current(api, live)
            if found.state is State.READY:
                if shown:
                    target.engine.status(target.urn, "ready")  # replaces the missing object
                return live
            if found.state is State.FAILED:
                head = messages.not_ready(kind, place, found.message, timeout_s=None)
                raise NotReadyError(live, [head, *reasons_of(api, live)])
            if time.monotonic() >= deadline:
                head = messages.not_ready(kind, place, found.message, timeout_s=timeout_s)
                raise NotReadyError(live, [head, *reasons_of(api, live)])
            message = " — ".join([found.message, *itertools.islice(_pod_troubles(api, live), 1)])
            if message != shown:
                target.engine.status(target.urn, message)
                shown = message
            target.engine.wait(min(pause_s, max(deadline - time.monotonic(), 0)))
            again = api.find(path)
            if again is None:
                raise NotReadyError(
                    live, [f"{kind.kind} {place} was deleted by somebody while the update waited for it"]
                )
            live = again
    except CancelledError as error:
        raise NotReadyError(live, [f"{kind.kind} {place}: cancelled while waiting for it to become ready"]) from error
    except UnreachableError as error:
        raise NotReadyError(live, [f"{kind.kind} {place}: lost sight of it: {error}"]) from error
    raise AssertionError("unreachable: the pauses never end")


def until_gone(target: Target, path: str, uid: str, *, timeout_s: float) -> None:
    """Return when the object (that one, not a new one of its name) is gone. Raises NotReadyError on time-out."""
    deadline = time.monotonic() + timeout_s
    for pause_s in _pauses():
        live = target.api.find(path)
        if live is None or live["metadata"].get("uid") != uid:
            return
        finalizers = [str(each) for each in live["metadata"].get("finalizers", ())]
        if time.monotonic() >= deadline:
            raise NotReadyError(
                live, [messages.still_there(target.kind, _place(live), finalizers, timeout_s=timeout_s)]
            )
        waiting = f"waiting for finalizers {', '.join(finalizers)}" if finalizers else "waiting until it is gone"
        target.engine.status(target.urn, waiting)
        target.engine.wait(min(pause_s, max(deadline - time.monotonic(), 0)))


def reasons_of(api: ApiServer, live: Properties) -> list[str]:
    """The problems of the object's pods, else the warnings in its events."""
    troubles = list(itertools.islice(_pod_troubles(api, live, with_logs=True), PODS_SHOWN * 2))
    return troubles or _warnings(api, live)


def _pod_troubles(api: ApiServer, live: Properties, *, with_logs: bool = False) -> Iterator[str]:
    for pod in itertools.islice(_pods(api, live), PODS_SHOWN):
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        for container, trouble in troubles(pod):
            where = f"pod {name}, container {container}" if container else f"pod {name}"
            log = ""
            if with_logs and container and has_log(trouble):
                path = f"/api/v1/namespaces/{namespace}/pods/{name}/log"
                log = api.log(path, {"container": container, "tailLines": LOG_LINES}).strip()
            yield f"{where}: {trouble}" + (f"; its last lines:\n{log}" if log else "")


def _pods(api: ApiServer, live: Properties) -> Iterator[Properties]:
    """The object's pods that are not ready, newest first."""
    if live.get("kind") == "Pod":
        yield live
        return
    if live.get("kind") not in WITH_PODS:
        return
    selector = (live.get("spec") or {}).get("selector") or {}
    labels = selector if live.get("kind") == "Service" else selector.get("matchLabels") or {}
    if not labels:
        return
    namespace = live["metadata"]["namespace"]
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items()), "limit": "50"}
    found = api.get(f"/api/v1/namespaces/{namespace}/pods", query=query).get("items", [])
    for pod in sorted(found, key=lambda each: str(each["metadata"].get("creationTimestamp")), reverse=True):
        if not pod["metadata"].get("deletionTimestamp"):
            yield pod


def _warnings(api: ApiServer, live: Properties) -> list[str]:
    metadata = live["metadata"]
    namespace = metadata.get("namespace") or "default"
    query = {"fieldSelector": f"involvedObject.uid={metadata.get('uid')},type=Warning"}
    events = api.get(f"/api/v1/namespaces/{namespace}/events", query=query).get("items", [])
    return list(dict.fromkeys(f"{event.get('reason')}: {event.get('message')}" for event in events[-3:]))


def _related(api: ApiServer, live: Properties) -> list[Mapping[str, Any]]:
    metadata, spec = live["metadata"], live.get("spec") or {}
    if live.get("kind") == NEEDS_ENDPOINTS and live.get("apiVersion") == "v1" and spec.get("selector"):
        path = f"/apis/discovery.k8s.io/v1/namespaces/{metadata['namespace']}/endpointslices"
        found = api.get(path, query={"labelSelector": f"kubernetes.io/service-name={metadata['name']}"})
        return list(found.get("items", []))
    is_claim = live.get("kind") == NEEDS_STORAGE_CLASS and live.get("apiVersion") == "v1"
    if is_claim and spec.get("storageClassName") and not spec.get("volumeName"):
        try:
            found_class = api.find(f"/apis/storage.k8s.io/v1/storageclasses/{spec['storageClassName']}")
        except ApiError:  # no right to read storage classes: wait for the claim itself
            found_class = None
        return [found_class] if found_class else []
    return []


def _place(live: Properties) -> str:
    return object_id(str(live["metadata"].get("namespace", "")), str(live["metadata"]["name"]))


def _pauses() -> Iterator[float]:
    pause_s = FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)
