"""Probes a node of a cluster: starts a Job, waits, deletes the Job."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cli.kubectl import Cluster, ClusterUnreachable, listed, run
from cli.probe.node import ProbeFailed, chosen, progress_of, with_node
from cli.probe.script import Probed, read
from errors import UserError
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
