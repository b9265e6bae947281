"""The Job of `gpu-commons probe --kubernetes` with the real kubectl, API server, job controller and scheduler.

There is no kubelet: the test writes what one would. tests/lab/test_real_node.py has a Job that really runs.
"""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import control_plane
from lab.cluster import Cluster, wait_until
from lab.instance import Instance
from lab.toolchain import Toolchain

pytestmark = pytest.mark.lab

PROJECT = Path(__file__).parents[2]
IMAGE = "registry.example.edu/tools/python:3.13"
NODE = "gpu-01.example.edu"
NAMESPACE = "probes"
JOBS, PODS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", f"/api/v1/namespaces/{NAMESPACE}/pods"

AMOUNTS = {"cpu": "8", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "4"}
BODY: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": NODE, "labels": {"gpu-commons.org/pool": "a40"}},
    "spec": {"unschedulable": True, "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
}


@pytest.fixture(scope="module")
def cluster(claimed: Instance) -> Iterator[Cluster]:
    """A control plane with one node that nobody runs, which is cordoned, and a namespace that allows little."""
    control_plane.start(claimed, Toolchain(), real_node=None)
    with Cluster(claimed) as cluster:
        cluster.apply(f"/api/v1/nodes/{NODE}", BODY)
        # The API server itself refuses what is not restricted.
        restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
        cluster.apply(
            f"/api/v1/namespaces/{NAMESPACE}",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": restricted}},
        )
        account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
        wait_until(lambda: set() if cluster.get(account) else {account}, within_s=60, what="not there")
        yield cluster


@pytest.fixture(autouse=True)
def ready(cluster: Cluster) -> None:
    """The node was heard of just now: the controller gives it less than a minute."""
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Ready", "status": "True", "reason": "Test", "message": "nobody runs it"}
    status = {
        "capacity": AMOUNTS,
        "allocatable": AMOUNTS,
        "conditions": [{**condition, "lastHeartbeatTime": now, "lastTransitionTime": now}],
    }
    cluster.apply(f"/api/v1/nodes/{NODE}/status", {**{k: BODY[k] for k in BODY if k != "spec"}, "status": status})


def probe(claimed: Instance, *words: str) -> subprocess.CompletedProcess[str]:
    folder = Toolchain().path("kubectl").parent
    variables = {
        "KUBECONFIG": str(claimed.kubeconfig),
        "PATH": f"{folder}:{os.environ['PATH']}",
        "GPU_COMMONS_SITE": "",
    }
    argv = [sys.executable, "-m", "cli", "probe", "--image", IMAGE, "--namespace", NAMESPACE, *words]
    return subprocess.run(
        argv, cwd=PROJECT, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture
def kubelet(cluster: Cluster) -> Iterator[Callable[[dict[str, Any]], None]]:
    """`kubelet(state)`: as soon as a pod is on the node, its container is in that state."""
    ended, threads = threading.Event(), []

    def play(state: dict[str, Any]) -> None:
        def watch() -> None:
            while not ended.wait(0.3):
                for pod in cluster.items(PODS):
                    if pod["spec"].get("nodeName") != NODE or (pod.get("status") or {}).get("containerStatuses"):
                        continue
                    one = {"name": "probe", "image": IMAGE, "imageID": "", "ready": False, "restartCount": 0}
                    status = {"phase": "Pending", "containerStatuses": [{**one, "state": state}]}
                    meta = {"name": pod["metadata"]["name"], "namespace": NAMESPACE}
                    body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": status}
                    cluster.apply(f"{PODS}/{meta['name']}/status", body)

        threads.append(threading.Thread(target=watch))
        threads[-1].start()

    yield play
    ended.set()
    for each in threads:
        each.join()


def nothing_is_left(cluster: Cluster) -> None:
    """Pods go with their Job; one that no kubelet ends is marked for it."""

    def left() -> set[str]:
        pods = [each for each in cluster.items(PODS) if not each["metadata"].get("deletionTimestamp")]
        return {each["metadata"]["name"] for each in (*cluster.items(JOBS), *pods)}

    wait_until(left, within_s=60, what="is left")


def test_a_restricted_namespace_and_a_cordoned_node_take_the_job_and_a_lost_image_ends_it(
    cluster: Cluster, claimed: Instance, kubelet: Callable[[dict[str, Any]], None]
) -> None:
    kubelet({"waiting": {"reason": "ErrImagePull", "message": f'failed to pull "{IMAGE}": not found'}})
    result = probe(claimed, "--kubernetes", NODE)
    assert result.stderr == (
        f"Error: node {NODE} was not probed: image {IMAGE} cannot be pulled: "
        f'failed to pull "{IMAGE}": not found\n'
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (2, "")
    nothing_is_left(cluster)


def test_a_node_that_does_not_start_it_in_time_is_named_with_what_was_waited_for(
    cluster: Cluster, claimed: Instance
) -> None:
    result = probe(claimed, "--kubernetes", NODE, "--within-s", "10")
    assert result.returncode == 2
    assert f"node {NODE} was not probed in time: job gpu-commons-probe-" in result.stderr
    assert result.stderr.endswith("waited for its container, whose image is pulled first\n")
    nothing_is_left(cluster)


def test_a_quota_of_the_namespace_is_reported_in_the_servers_words(cluster: Cluster, claimed: Instance) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/none"
    meta = {"name": "none", "namespace": NAMESPACE}
    spec = {"hard": {"requests.nvidia.com/gpu": "0"}}
    cluster.apply(path, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": spec})
    wait_until(
        lambda: set() if ((cluster.get(path) or {}).get("status") or {}).get("hard") else {"quota"},
        within_s=60,
        what="is not counted",
    )
    try:
        result = probe(claimed, "--kubernetes", NODE)
    finally:
        cluster.delete(path)
    assert result.returncode == 2
    assert "the cluster refuses its pod: " in result.stderr
    assert "exceeded quota: none, requested: requests.nvidia.com/gpu=1" in result.stderr
    nothing_is_left(cluster)


def test_a_pool_that_has_no_node_to_probe_makes_no_job(cluster: Cluster, claimed: Instance) -> None:
    result = probe(claimed, "--kubernetes", "a40")
    assert result.stderr.startswith(
        f"Error: no node of pool a40 can be probed: {NODE} is cordoned: name the node itself"
    )
    assert (result.returncode, cluster.items(JOBS)) == (2, [])
