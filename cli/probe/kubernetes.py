"""Probes a node of a cluster: starts a Job, waits, deletes the Job."""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cli.kubectl import Cluster, ClusterUnreachable, listed, run
from cli.probe.script import Probed, read
from errors import UserError
from errors.problems import listing, nearest
from fleet import labels
from fleet.quantities import known_amounts
from platforms.docker import probe
from platforms.kubernetes.probe_job import CONTAINER, probe_job
from platforms.kubernetes.runtime import RUNTIME_CLASS

_EACH_S: Final = 1.0
_LONGER_S: Final = 60  # longer than we wait: after that, nobody is left to delete the job


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """A node of a cluster, and the image that probes it. `wanted`: a node or a pool; `names`: the pool's nodes."""

    cluster: Cluster
    wanted: str
    image: str
    token: str
    namespace: str | None = None
    names: tuple[str, ...] = ()


def by_kubernetes(request: ProbeRequest, *, within_s: int, show: Callable[[str], None]) -> Probed:
    """Probe one node. `show` gets a line on what the job waits for. Raises ProbeFailed and ClusterUnreachable."""
    cluster = request.cluster
    node = chosen(listed(cluster, "/api/v1/nodes"), request.wanted, request.names)
    node_name = str(node["metadata"]["name"])
    # If the GPU runtime is the nodes' default, no runtime class is needed.
    classes = {each["metadata"]["name"] for each in listed(cluster, "/apis/node.k8s.io/v1/runtimeclasses")}
    name = f"gpu-commons-probe-{request.token}"
    job = probe_job(
        name,
        node=node_name,
        image=request.image,
        program=Path(probe.__file__).read_text(encoding="utf-8"),
        deadline_s=within_s + _LONGER_S,
        runtime_class=RUNTIME_CLASS if RUNTIME_CLASS in classes else None,
    )
    where = ("--namespace", request.namespace) if request.namespace else ()
    made = json.loads(run(cluster, "create", *where, "--filename=-", "--output=json", stdin=json.dumps(job)))
    namespace = str(made["metadata"]["namespace"])
    try:
        pod = _ended_pod(request, namespace, name, node_name, time.monotonic() + within_s, show)
        output = run(cluster, "logs", "--namespace", namespace, pod, "--container", CONTAINER)
    except BaseException as error:
        if not _is_deleted(cluster, namespace, name) and isinstance(error, UserError):
            raise ProbeFailed(f"{error}; its job is left: kubectl --namespace {namespace} delete job {name}") from None
        raise
    _is_deleted(cluster, namespace, name)
    if (facts := read(output)) is None:
        words = "; ".join(output.strip().splitlines()[-4:]) or "nothing"
        raise ProbeFailed(f"node {node_name} was not probed: image {request.image} printed no facts: {words}")
    return with_node(facts, node)


def _ended_pod(  # noqa: PLR0913, PLR0917 - whose pod, and how long
    request: ProbeRequest, namespace: str, name: str, node: str, until: float, show: Callable[[str], None]
) -> str:
    """Its pod's name, once its container has ended."""
    while True:
        path, by_name = f"/api/v1/namespaces/{namespace}", f"app.kubernetes.io/instance={name}"
        pod: dict[str, Any] | None = next(iter(listed(request.cluster, f"{path}/pods", labelSelector=by_name)), None)
        now = progress_of(request.image, pod, () if pod else _warnings(request.cluster, path, name))
        if now.failed:
            raise ProbeFailed(f"node {node} was not probed: {now.failed}")
        if now.is_done and pod:
            return str(pod["metadata"]["name"])
        if time.monotonic() > until:
            raise ProbeFailed(f"node {node} was not probed in time: job {name} waited {now.waits}")
        show(f"job {name} on node {node} waits {now.waits}")
        time.sleep(_EACH_S)


def _is_deleted(cluster: Cluster, namespace: str, name: str) -> bool:
    try:
        run(cluster, "delete", "--namespace", namespace, f"job/{name}", "--ignore-not-found", "--wait=false")
    except ClusterUnreachable:
        return False
    return True


def _warnings(cluster: Cluster, path: str, name: str) -> list[dict[str, Any]]:
    chosen_by = f"involvedObject.kind=Job,involvedObject.name={name},type=Warning"
    return listed(cluster, f"{path}/events", fieldSelector=chosen_by)


Object = Mapping[str, Any]
_COUNT: Final = f"{labels.NVIDIA_PREFIX}gpu.count"  # set by GPU feature discovery: a shared GPU counts once
# Reasons for which waiting does not start a container: https://pkg.go.dev/k8s.io/kubernetes/pkg/kubelet/images
_STUCK: Final = frozenset({
    "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError",
    "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
})  # fmt: skip


class ProbeFailed(UserError):  # noqa: N818 - says what is the matter
    """The probe gave no facts; the message says why, and what to change."""


def chosen(nodes: Sequence[Object], wanted: str, names: Iterable[str] = ()) -> Object:
    """The node of that name, or a schedulable GPU node of the pool of that name. Raises ProbeFailed.

    A pool's nodes have this project's label or are listed in `names`.
    """
    by_name = {str(each["metadata"]["name"]): each for each in nodes}
    of_pool = {*names, *(name for name, each in by_name.items() if _label(each, labels.POOL) == wanted)}
    pool = [by_name[name] for name in sorted(of_pool & by_name.keys())]
    node = by_name.get(wanted) or next((each for each in pool if not _against(each, is_chosen_by_name=False)), None)
    if node is None and pool:
        text = "; ".join(f"{each['metadata']['name']} {_against(each, is_chosen_by_name=False)}" for each in pool[:4])
        raise ProbeFailed(f"no node of pool {wanted} can be probed: {text}")
    if node is None:
        known = {*by_name, *filter(None, (_label(each, labels.POOL) for each in nodes))}
        raise ProbeFailed(f'there is no node or pool "{wanted}" in this cluster; {nearest(wanted, known, what="name")}')
    if against := _against(node, is_chosen_by_name=True):
        have = sorted(name for name, each in by_name.items() if _gpus(each, "allocatable"))
        more = f"; nodes that have: {listing(have)}" if have and against.startswith("has no") else ""
        raise ProbeFailed(f"node {wanted} {against}{more}")
    return node


def _against(node: Object, *, is_chosen_by_name: bool) -> str:
    """Why it cannot be probed."""
    if not _gpus(node, "allocatable"):
        return f"has no {labels.GPU_RESOURCE}: it has no GPU, or no device plugin runs there, or all its GPUs fail"
    conditions = {each["type"]: each["status"] for each in (node.get("status") or {}).get("conditions") or ()}
    if conditions.get("Ready") != "True":
        return "is not ready: its kubelet starts nothing"
    if not is_chosen_by_name and (node.get("spec") or {}).get("unschedulable"):
        return "is cordoned: name the node itself"
    return ""


def with_node(probed: Probed, node: Object) -> Probed:
    """Facts about a node that the cluster knows and its pods cannot see."""
    status = node.get("status") or {}
    info = status.get("nodeInfo") or {}
    name = str(node["metadata"]["name"])
    count = _label(node, _COUNT)
    gpus = int(count) if count and count.isdigit() else _gpus(node, "capacity")
    disk = known_amounts(status.get("capacity") or {}).get("ephemeral-storage")
    host = {
        **probed.host,
        "host": name,
        "system": info.get("osImage") or {"unknown": "the kubelet does not say it"},
        "kubernetes": {
            "pool": _label(node, labels.POOL) or "",
            "kubelet": str(info.get("kubeletVersion", "")),
            "runtime": str(info.get("containerRuntimeVersion", "")),
            "gpus": gpus,
        },
    }
    keys = {**probed.pool, "gpus_per_node": gpus}
    if disk is not None:
        gib = float(disk) / 2**30
        host["data_root"] = {"path": "of the kubelet", "total_gib": round(gib, 1)}
        keys["root_disk_gib"] = int(gib)
    return Probed(keys, host)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a probe. `failed`: why there are no facts; `waits`: what it waits for."""

    is_done: bool = False
    failed: str = ""
    waits: str = "for its pod"


def progress_of(image: str, pod: Object | None, warnings: Sequence[Object] = ()) -> Progress:
    """The progress of a probe, from its pod, if any; `warnings` are events of a Job without a pod."""
    if pod is None:
        messages = [str(each.get("message", "")) for each in warnings if each.get("reason") == "FailedCreate"]
        return Progress(failed=f"the cluster refuses its pod: {messages[-1]}") if messages else Progress()
    status = pod.get("status") or {}
    own = [each for each in status.get("containerStatuses") or () if each.get("name") == CONTAINER]
    state = own[0].get("state") or {} if own else {}
    if ended := state.get("terminated"):
        return _ended(image, ended)
    waiting = state.get("waiting") or {}
    reason, message = str(waiting.get("reason", "")), str(waiting.get("message", ""))
    if reason in _STUCK:
        what = f"image {image} cannot be pulled" if "mage" in reason else "its container cannot be started"
        return Progress(failed=f"{what}: {_short(message) or reason}")
    if status.get("phase") == "Failed":  # before any container started: evicted, or refused by the kubelet
        return Progress(failed=f"its pod failed: {_short(str(status.get('message') or status.get('reason') or ''))}")
    return Progress(waits="for its output" if "running" in state else _waits(status))


def _waits(status: Object) -> str:
    conditions = {each["type"]: each for each in status.get("conditions") or ()}
    placed = conditions.get("PodScheduled") or {}
    if placed.get("status") == "False" and placed.get("message"):
        return f"for a GPU of its node: {_short(str(placed['message']))}"
    return "for its container, whose image is pulled first"


def _ended(image: str, ended: Object) -> Progress:
    code, message = ended.get("exitCode"), str(ended.get("message") or "")
    if code == 0:
        return Progress(is_done=True)
    if "python3" in message and "not found" in message:
        return Progress(failed=f"image {image} has no python3: name one that has, with --image")
    if message:
        return Progress(failed=f"its container ended with {code}: {_short(message)}")
    return Progress(is_done=True)  # its output has the details


def _short(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:300]


def _gpus(node: Object, kind: str) -> int:
    return int(((node.get("status") or {}).get(kind) or {}).get(labels.GPU_RESOURCE) or 0)


def _label(node: Object, key: str) -> str | None:
    value = (node["metadata"].get("labels") or {}).get(key)
    return str(value) if value is not None else None
