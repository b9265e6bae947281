"""Counts how many more servers of each profile fit now, from nodes and pods. Answers one question over HTTP.

Runs in a pod of its own whose account may list nodes and pods and nothing else. What it answers are numbers by profile:
no names of nodes, pods or people leave it. Standard library only.
"""

from __future__ import annotations

import json
import logging
import os
import re
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Object = Mapping[str, Any]
Amounts = dict[str, float]  # by resource, in its own unit

GPU = "nvidia.com/gpu"
COUNTED = (GPU, "cpu", "memory", "pods")
HOSTS_MATTER = ("NoSchedule", "NoExecute")
# What the cluster itself puts on a node in trouble: the node is then not usable, whatever a pod tolerates.
TROUBLE = "node.kubernetes.io/"

PORT = 8082
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
LIVING = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"
FRESH_S = 3.0
API_TIMEOUT_S = 5.0

_SUFFIXES = {
    **{suffix: 1000.0**power for power, suffix in enumerate(("", "k", "M", "G", "T", "P", "E"))},
    **{suffix: 1024.0**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    "m": 1e-3,
    "u": 1e-6,
    "n": 1e-9,
}


@dataclass(frozen=True)
class Count:
    """Numbers of one profile: of the nodes that it may land on, and of servers that still fit there."""

    nodes: int
    usable_nodes: int
    """Ready, and not cordoned."""
    gpus: int
    busy_gpus: int
    free_gpus: int
    """On usable nodes."""
    servers: int
    """How many more servers of the profile fit now."""
    lack: str
    """Why none fits: nodes, gpus, cpu, memory, pods, or room where each is there and no node has all; else empty."""
    waiting: int
    """Pods that wait for a node and could land here, GPU work beside GPU work."""


def count(profiles: Mapping[str, Object], nodes: Iterable[Object], pods: Iterable[Object]) -> dict[str, Count]:
    """Numbers of each profile. Pure: objects are those of the Kubernetes API, ended pods may be among them."""
    nodes = list(nodes)
    living = [pod for pod in pods if pod.get("status", {}).get("phase") not in {"Succeeded", "Failed"}]
    used: dict[str, Amounts] = {}
    queue = []
    for pod in living:
        if name := pod["spec"].get("nodeName"):
            taken = used.setdefault(name, dict.fromkeys(COUNTED, 0.0))
            for resource, amount in requests(pod).items():
                taken[resource] += amount
        elif pod.get("status", {}).get("phase", "Pending") == "Pending":
            queue.append(pod)
    return {name: _count(profile, nodes, used, queue) for name, profile in profiles.items()}


def _count(profile: Object, nodes: Sequence[Object], used: Mapping[str, Amounts], queue: Sequence[Object]) -> Count:
    wanted: Amounts = {**dict.fromkeys(COUNTED, 0.0), **profile["requests"], "pods": 1.0}
    here = [node for node in nodes if may_land(profile, node)]
    free: list[Amounts] = []
    for node in here:
        taken = used.get(node["metadata"]["name"], {})
        left = {each: max(0.0, amount - taken.get(each, 0.0)) for each, amount in allocatable(node).items()}
        if is_usable(node):
            free.append(left)
    fits = [min(int(left[each] / wanted[each] + 1e-9) for each in COUNTED if wanted[each]) for left in free]
    servers = sum(fits)
    return Count(
        nodes=len(here),
        usable_nodes=len(free),
        gpus=round(sum(allocatable(node)[GPU] for node in here)),
        busy_gpus=round(sum(used.get(node["metadata"]["name"], {}).get(GPU, 0.0) for node in here)),
        free_gpus=round(sum(left[GPU] for left in free)),
        servers=servers,
        lack="" if servers else _lack(wanted, free),
        waiting=sum(_waits_here(pod, bool(wanted[GPU]), here) for pod in queue),
    )


def _lack(wanted: Amounts, free: Sequence[Amounts]) -> str:
    if not free:
        return "nodes"
    none = (each for each in COUNTED if wanted[each] and all(left[each] < wanted[each] for left in free))
    return {GPU: "gpus"}.get(found := next(none, "room"), found)


def _waits_here(pod: Object, has_gpus: bool, here: Sequence[Object]) -> bool:  # noqa: FBT001 - one of two kinds
    return bool(requests(pod)[GPU]) == has_gpus and any(may_land(pod["spec"], node) for node in here)


def is_usable(node: Object) -> bool:
    """Ready, not cordoned, and without a taint by which the cluster says that it is in trouble."""
    spec, status = node.get("spec", {}), node.get("status", {})
    is_ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", ()))
    hard = (taint for taint in spec.get("taints") or () if taint.get("effect") in HOSTS_MATTER)
    return is_ready and not spec.get("unschedulable") and not any(each["key"].startswith(TROUBLE) for each in hard)


def may_land(spec: Object, node: Object) -> bool:
    """Do selector, required affinity and tolerations of a pod's spec allow this node, were it in good order?"""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms")
    if terms and not any(_term(term, labels, node["metadata"]["name"]) for term in terms):
        return False
    taints = (taint for taint in node.get("spec", {}).get("taints") or () if taint.get("effect") in HOSTS_MATTER)
    site = (taint for taint in taints if not taint["key"].startswith(TROUBLE))
    tolerations = spec.get("tolerations") or ()
    return all(any(_tolerates(toleration, taint) for toleration in tolerations) for taint in site)


def _term(term: Object, labels: Mapping[str, str], name: str) -> bool:
    asked = [(each, labels) for each in term.get("matchExpressions") or ()]
    asked += [(each, {"metadata.name": name}) for each in term.get("matchFields") or ()]
    return bool(asked) and all(_expression(each, values) for each, values in asked)


def _expression(asked: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(asked["key"]), list(asked.get("values") or ())
    operator = asked["operator"]
    if operator in {"Gt", "Lt"}:
        if value is None or not re.fullmatch(r"-?\d+", value):
            return False
        return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])
    is_in = value in values
    return {"In": is_in, "NotIn": not is_in, "Exists": value is not None, "DoesNotExist": value is None}[operator]


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint["key"]:
        return False
    return toleration.get("operator") == "Exists" or (toleration.get("value") or "") == (taint.get("value") or "")


def allocatable(node: Object) -> Amounts:
    """What a node has for pods."""
    found = node.get("status", {}).get("allocatable") or {}
    return {each: quantity(found.get(each, 0)) for each in COUNTED}


def requests(pod: Object) -> Amounts:
    """What the scheduler sets aside for a pod.

    Containers run side by side, init containers before them one after the other; a sidecar is an init container that
    stays, and counts beside all that start after it.
    """
    spec = pod["spec"]
    running = dict.fromkeys(COUNTED, 0.0)  # sidecars so far
    highest = dict.fromkeys(COUNTED, 0.0)
    for container in spec.get("initContainers") or ():
        asked = _asked(container)
        is_sidecar = container.get("restartPolicy") == "Always"
        for each in COUNTED:
            highest[each] = max(highest[each], running[each] + asked[each])
            running[each] += asked[each] if is_sidecar else 0.0
    for container in spec.get("containers") or ():
        for each, amount in _asked(container).items():
            running[each] += amount
    total = {each: max(running[each], highest[each]) for each in COUNTED}
    # Kubernetes 1.34: a pod may ask as a whole.
    whole = (spec.get("resources") or {}).get("requests") or {}
    total.update({each: quantity(whole[each]) for each in COUNTED if each in whole})
    for each, amount in (spec.get("overhead") or {}).items():
        if each in total:
            total[each] += quantity(amount)
    return {**total, "pods": 1.0}


def _asked(container: Object) -> Amounts:
    resources = container.get("resources") or {}
    # What has a limit alone asks for that much; the API server writes it so.
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {each: quantity(asked.get(each, 0)) for each in COUNTED}


def quantity(text: str | float) -> float:
    """A Kubernetes quantity as a number: 100m, 16Gi, 1e3."""
    match = re.fullmatch(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)", str(text).strip())
    return float(match[1]) * _SUFFIXES.get(match[2], 0.0) if match else 0.0


# --- the edge: the API server on one side, the hub on the other


def fetch(path: str) -> list[Object]:
    """All objects of a list. The token is read each time: it changes within the hour."""
    token = (ACCOUNT / "token").read_text().strip()
    context = ssl.create_default_context(cafile=ACCOUNT / "ca.crt")
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    address = f"[{host}]" if ":" in host else host
    url = f"https://{address}:{os.environ['KUBERNETES_SERVICE_PORT']}{path}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=API_TIMEOUT_S, context=context) as answer:  # noqa: S310 - https, as the url says
        return list(json.load(answer)["items"])


class Counts:
    """The last numbers, counted anew when somebody asks and they are old. One asks the API server, the others wait."""

    def __init__(
        self,
        profiles: Mapping[str, Object],
        ask: Callable[[str], list[Object]] = fetch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.profiles, self.ask, self.clock = profiles, ask, clock
        self.lock = threading.Lock()
        self.counted_at = float("-inf")
        self.answer: bytes | None = None

    def now(self) -> bytes | None:
        """The answer's text; None while the API server does not answer."""
        with self.lock:
            if self.clock() - self.counted_at >= FRESH_S:
                try:
                    # Version 0: the API server answers from its memory, and asks no database.
                    nodes = self.ask("/api/v1/nodes?resourceVersion=0")
                    pods = self.ask(f"/api/v1/pods?resourceVersion=0&{LIVING}")
                    found = {name: asdict(each) for name, each in count(self.profiles, nodes, pods).items()}
                    self.answer = json.dumps({"profiles": found}).encode()
                except (OSError, ValueError, KeyError) as error:
                    logging.warning("nothing counted: %s", error)  # noqa: LOG015 - a program of one file
                    self.answer = None
                self.counted_at = self.clock()
            return self.answer


def server(counts: Counts, port: int, host: str = "") -> ThreadingHTTPServer:
    """Answers /counts, and /health as long as it runs."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # of a connection on which nothing comes

        def do_GET(self) -> None:
            body = {"/health": lambda: b"{}", "/counts": counts.now}.get(self.path, lambda: b"")()
            status = 200 if body else 503 if body is None else 404
            body = body or b"{}"
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silent: probes ask every few seconds."""

    return ThreadingHTTPServer((host, port), Handler)


if __name__ == "__main__":
    settings = json.loads(Path(__file__).with_name("availability.json").read_text())
    server(Counts(settings["profiles"]), PORT).serve_forever()
