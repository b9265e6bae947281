from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from lab import control_plane, fleet, processes, steps
from lab.cluster import Cluster, is_ready, name_of, wait_until
from lab.instance import Instance, LabError
from lab.machine import node
from lab.toolchain import Toolchain
from settings.pools import Fleet, NodePool
from settings.reading import load_stack

NODES = ["n01", "n02", "n03", "n04", "n05", "n06", "n07", "n08", "n10", "n11", "n12", "n18", "n21", "n22", "n24"]


def fleet_of(*pools: NodePool) -> Fleet:
    return Fleet(total_gpus=sum(pool.gpus for pool in pools), pools=pools)


def pool(name: str, nodes: tuple[str, ...], **gpus: Any) -> NodePool:
    sizes = {"cpu": 32, "memory_gib": 192, "root_disk_gib": 480}
    return NodePool.model_validate({"name": name, "nodes": nodes, **sizes, **gpus})


def gpus(model: str, per_node: int, driver: str = "418.88") -> dict[str, Any]:
    return {"gpu": model, "gpus_per_node": per_node, "driver": driver, "container_toolkit": "1.7.0"}


DSMLP = fleet_of(
    pool("gtx1080ti", (*NODES[:8], "n11", "n12"), **gpus("GeForce GTX 1080 Ti", 8)),
    pool("gtx1070ti", ("n10",), **gpus("GeForce GTX 1070 Ti", 7)),
    pool("rtx2080ti", ("n18", "n21", "n22", "n24"), **gpus("GeForce RTX 2080 Ti", 8)),
)


@pytest.fixture(scope="module")
def instance(claimed: Instance) -> Instance:
    """A lab with a control plane."""
    control_plane.start(claimed, Toolchain(), real_node=None)
    return claimed


@pytest.fixture
def cluster(instance: Instance) -> Iterator[Cluster]:
    """The whole fleet, simulated, with an empty namespace `work`."""
    fleet.join(instance, DSMLP, None)
    with Cluster(instance) as cluster:
        cluster.apply(
            "/api/v1/namespaces/work", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work"}}
        )
        account = "/api/v1/namespaces/work/serviceaccounts/default"
        wait_until(lambda: set() if cluster.get(account) else {"default"}, within_s=20, what="no service account")
        yield cluster
        collections = [
            "/apis/apps/v1/namespaces/work/deployments",
            "/apis/apps/v1/namespaces/work/replicasets",
            "/apis/batch/v1/namespaces/work/jobs",
            "/api/v1/namespaces/work/pods",
        ]
        for collection in collections:
            cluster.delete(collection)
        wait_until(
            lambda: {name_of(one) for collection in collections for one in cluster.items(collection)},
            within_s=60,
            what="still there",
        )


@pytest.mark.lab
def test_the_fleet_is_15_nodes_with_119_gpus(instance: Instance, cluster: Cluster) -> None:
    found = fleet.summary(instance)
    assert [node.name for node in found.nodes] == NODES
    assert all(node.is_simulated for node in found.nodes)
    assert all(is_ready(node) for node in cluster.nodes())
    assert found.gpus == 119
    leases = cluster.items("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")
    assert {name_of(lease) for lease in leases} >= set(NODES)


@pytest.mark.lab
def test_n10_has_what_gpu_feature_discovery_and_a_kubelet_would_say(cluster: Cluster) -> None:
    node = cluster.get("/api/v1/nodes/n10")
    assert node is not None
    capacity = {"cpu": "32", "memory": "192Gi", "ephemeral-storage": "480Gi", "pods": "110", "nvidia.com/gpu": "7"}
    assert node["status"]["capacity"] == capacity
    assert node["status"]["allocatable"] == capacity
    labels = node["metadata"]["labels"]
    assert labels["kubernetes.io/hostname"] == "n10"
    assert labels["nvidia.com/gpu.product"] == "GeForce-GTX-1070-Ti"
    assert labels["nvidia.com/gpu.count"] == "7"
    assert labels["nvidia.com/cuda.driver-version.full"] == "418.88"


@pytest.mark.lab
def test_a_node_without_gpus_says_nothing_of_any_and_takes_only_pods_that_ask_for_none(
    instance: Instance, cluster: Cluster
) -> None:
    fleet.join(instance, fleet_of(pool("cpu", ("c01",))), None)
    node = cluster.get("/api/v1/nodes/c01")
    assert node is not None
    assert "nvidia.com/gpu" not in node["status"]["capacity"]
    assert not [label for label in node["metadata"]["labels"] if label.startswith("nvidia.com/")]
    assert fleet.summary(instance).gpus == 0
    create_pod(cluster, "plain")
    create_pod(cluster, "hopes", gpus=1)
    wait_until(lambda: set() if landed(cluster, "plain") == "c01" else {"plain"}, within_s=20, what="not scheduled")
    wait_until(lambda: set() if "Unschedulable" in reasons(cluster, "hopes") else {"hopes"}, within_s=20, what="landed")


def versions(cluster: Cluster) -> dict[str, str]:
    """A node has another one after every write, whoever wrote."""
    return {name_of(node): node["metadata"]["resourceVersion"] for node in cluster.nodes()}


def settled(cluster: Cluster, *, quiet_s: float = 3) -> dict[str, str]:
    """The versions of the nodes once nobody has written for a while: controllers go on after a node has joined."""
    last, since = versions(cluster), time.monotonic()

    def restless() -> set[str]:
        nonlocal last, since
        now = versions(cluster)
        if now != last:
            last, since = now, time.monotonic()
        return set() if time.monotonic() - since > quiet_s else set(now)

    wait_until(restless, within_s=60, what="nodes that controllers still write")
    return last


@pytest.mark.lab
def test_top_says_which_pods_have_gpus_which_wait_and_what_is_free(instance: Instance, cluster: Cluster) -> None:
    create_pod(cluster, "trains", gpus=3)
    create_pod(cluster, "hopes", gpus=9)
    wait_until(lambda: set() if landed(cluster, "trains") else {"trains"}, within_s=20, what="not scheduled")
    wait_until(lambda: set() if "Unschedulable" in reasons(cluster, "hopes") else {"hopes"}, within_s=20, what="landed")
    kubectl = Toolchain().path("kubectl").parent
    output = processes.run(
        [sys.executable, "-m", "cli", "top", "--stack", "dsmlp-fall", "--json"],
        env={"KUBECONFIG": str(instance.kubeconfig), "PATH": f"{kubectl}:{os.environ['PATH']}", "GPU_COMMONS_SITE": ""},
    )
    found = json.loads(output)["gpus"]
    held, waiting = (each for each in found if each["state"] != "free")
    assert (held["holder"], held["node"], held["count"]) == ("work/trains", landed(cluster, "trains"), 3)
    assert held["since"] is not None
    assert (waiting["state"], waiting["holder"], waiting["count"]) == ("waiting", "work/hopes", 9)
    assert sum(each["count"] for each in found if each["state"] == "free") == 119 - 3
    assert {each["node"] for each in found if each["node"]} == {*NODES}


@pytest.mark.lab
def test_joining_again_changes_no_node(instance: Instance, cluster: Cluster) -> None:
    before = settled(cluster)
    fleet.join(instance, DSMLP, None)
    assert versions(cluster) == before


@pytest.mark.lab
def test_labels_and_taints_that_somebody_else_set_stay(instance: Instance, cluster: Cluster) -> None:
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    patch = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n21", "labels": {"gpu-commons.org/pool": "rtx2080ti"}},
        "spec": {"taints": [taint]},
    }
    cluster.apply("/api/v1/nodes/n21", patch, manager="pulumi")
    fleet.join(instance, DSMLP, None)
    node = cluster.get("/api/v1/nodes/n21")
    assert node is not None
    assert node["metadata"]["labels"]["gpu-commons.org/pool"] == "rtx2080ti"
    assert node["spec"]["taints"] == [taint]
    cluster.apply("/api/v1/nodes/n21", {**patch, "metadata": {"name": "n21"}, "spec": {}}, manager="pulumi")


@pytest.mark.lab
def test_a_node_that_left_the_fleet_is_removed_and_a_changed_one_follows(instance: Instance, cluster: Cluster) -> None:
    newer = pool("gtx1070ti", ("n10",), **gpus("GeForce GTX 1070 Ti", 6, driver="430.26"))
    fleet.join(instance, fleet_of(DSMLP.pools[0], newer), None)
    assert {name_of(node) for node in cluster.nodes()} == {*NODES} - {"n18", "n21", "n22", "n24"}
    node = cluster.get("/api/v1/nodes/n10")
    assert node is not None
    assert node["metadata"]["labels"]["nvidia.com/cuda.driver-version.full"] == "430.26"
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "6"


@pytest.mark.lab
def test_a_deployment_becomes_available_on_simulated_nodes_and_the_summary_says_so(
    instance: Instance, cluster: Cluster
) -> None:
    create_deployment(cluster, "web", replicas=3)

    def missing() -> set[str]:
        deployment = cluster.get("/apis/apps/v1/namespaces/work/deployments/web")
        return set() if deployment and deployment["status"].get("availableReplicas") == 3 else {"web"}

    wait_until(missing, within_s=30, what="not available")
    found = fleet.summary(instance)
    assert (found.pods, found.simulated_pods) == (3, 3)
    pods = cluster.items("/api/v1/namespaces/work/pods")
    simulated = ip_network(instance.networks.simulated_pod_cidr)
    assert all(ip_address(pod["status"]["podIP"]) in simulated for pod in pods)
    log = cluster.text(f"/api/v1/namespaces/work/pods/{name_of(pods[0])}/log")
    assert log == "This pod is simulated: no container was started for it.\n"


@pytest.mark.lab
def test_a_job_completes_and_its_pod_no_longer_counts(instance: Instance, cluster: Cluster) -> None:
    template = {"spec": {**pod_spec(gpus=1), "restartPolicy": "Never"}}
    cluster.apply(
        "/apis/batch/v1/namespaces/work/jobs/once",
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": template}},
    )

    def missing() -> set[str]:
        job = cluster.get("/apis/batch/v1/namespaces/work/jobs/once")
        return set() if job and job["status"].get("succeeded") == 1 and "completionTime" in job["status"] else {"once"}

    wait_until(missing, within_s=30, what="not complete")
    assert fleet.summary(instance).pods == 0


@pytest.mark.lab
def test_a_pod_that_asks_for_more_gpus_than_a_node_has_lands_nowhere(cluster: Cluster) -> None:
    create_pod(cluster, "greedy", gpus=9)
    wait_until(
        lambda: set() if "Unschedulable" in reasons(cluster, "greedy") else {"greedy"}, within_s=20, what="landed"
    )


@pytest.mark.lab
def test_a_notebook_on_a_simulated_node_waits_and_then_says_that_nothing_runs_there_unless_asked_for(
    cluster: Cluster,
) -> None:
    notebook = {"labels": {"component": "singleuser-server"}}
    create_pod(cluster, "waits", notebook)
    create_pod(cluster, "runs", {**notebook, "annotations": {"gpu-commons.org/simulate": "ready"}})
    wait_until(lambda: set() if is_ready(pod(cluster, "runs")) else {"runs"}, within_s=20, what="not Ready")
    wait_until(
        lambda: set() if pod(cluster, "waits")["status"].get("containerStatuses") else {"waits"},
        within_s=20,
        what="not simulated",
    )
    (container,) = pod(cluster, "waits")["status"]["containerStatuses"]
    assert container["state"]["waiting"]["reason"] == "ContainerCreating"

    def going_on() -> set[str]:
        return set() if pod(cluster, "waits")["status"]["phase"] == "Failed" else {"waits"}

    wait_until(going_on, within_s=10, what="still waiting")
    failed = pod(cluster, "waits")
    assert failed["status"]["reason"] == "Simulated"
    assert failed["status"]["message"] == f"node {failed['spec']['nodeName']} is simulated, so nothing runs there"
    assert is_ready(pod(cluster, "runs"))
    assert not is_ready(failed)


@pytest.mark.lab
def test_a_new_kwok_continues_at_once_after_the_last_was_killed(instance: Instance, cluster: Cluster) -> None:
    record = processes.read_record(instance, "kwok")
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    wait_until(lambda: {"kwok"} if processes.is_running(instance, "kwok") else set(), within_s=5, what="alive")
    control_plane.start(instance, Toolchain(), real_node=None)
    create_pod(cluster, "later")
    # The old one's leases last 40 s.
    wait_until(lambda: set() if is_ready(pod(cluster, "later")) else {"later"}, within_s=15, what="not Ready")


@pytest.mark.lab
def test_a_deleted_pod_goes_when_nobody_holds_it_any_more(cluster: Cluster) -> None:
    path = "/api/v1/namespaces/work/pods/held"
    spec = {**pod_spec(), "terminationGracePeriodSeconds": 30}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "held"}, "spec": spec}
    cluster.apply(path, {**body, "metadata": {"name": "held", "finalizers": ["example.org/keep"]}})
    wait_until(lambda: set() if is_ready(pod(cluster, "held")) else {"held"}, within_s=20, what="not Ready")
    cluster.delete(path)
    time.sleep(1)  # long enough for a simulation that ignores finalizers
    assert pod(cluster, "held")["metadata"]["deletionTimestamp"]
    cluster.apply(path, body)
    wait_until(lambda: {"held"} if cluster.get(path) else set(), within_s=10, what="still there")


@pytest.mark.lab
def test_pods_land_on_the_real_node_wherever_they_may(instance: Instance, cluster: Cluster) -> None:
    register_as_kubelet(cluster, "n05")
    fleet.join(instance, DSMLP, "n05")
    # Seven pods fill the two cores; spreading them over emptier nodes is what the scheduler would do by itself.
    create_deployment(cluster, "web", replicas=7, cpu="250m")
    create_pod(cluster, "elsewhere", selector={"nvidia.com/gpu.product": "GeForce-RTX-2080-Ti"})

    def landings() -> list[str]:
        pods = cluster.items("/api/v1/namespaces/work/pods", labels=("app", "web"))
        return [pod["spec"].get("nodeName", "") for pod in pods]

    wait_until(lambda: set() if len([*filter(None, landings())]) == 7 else {"web"}, within_s=20, what="not scheduled")
    wait_until(lambda: set() if landed(cluster, "elsewhere") else {"elsewhere"}, within_s=20, what="not scheduled")
    assert set(landings()) == {"n05"}
    assert landed(cluster, "elsewhere") in {"n18", "n21", "n22", "n24"}
    assert fleet.summary(instance).simulated_pods == 1


@pytest.mark.lab
def test_the_real_node_is_labelled_and_keeps_the_capacity_it_reports(instance: Instance, cluster: Cluster) -> None:
    register_as_kubelet(cluster, "n05")
    fleet.join(instance, DSMLP, "n05")
    node = cluster.get("/api/v1/nodes/n05")
    assert node is not None
    assert node["status"]["capacity"] == {"cpu": "2", "memory": "24Gi", "pods": "110"}
    labels = node["metadata"]["labels"]
    assert labels["gpu-commons.org/lab-node"] == "real"
    assert not [label for label in labels if label.startswith("nvidia.com/")]  # those come from the stack's pods
    assert "kwok.x-k8s.io/node" not in labels
    assert fleet.summary(instance).gpus == 111


@pytest.mark.lab
def test_a_real_node_that_does_not_register_is_named(instance: Instance, cluster: Cluster) -> None:
    with pytest.raises(LabError, match=r"the kubelet has not registered its node after 1 s: n06"):
        fleet.join(instance, DSMLP, "n06", within_s=1)
    assert cluster.get("/api/v1/nodes/n06") is not None


def test_where_the_core_pool_has_no_gpus_the_real_node_has_none(tmp_path: Path) -> None:
    nowhere = Instance("default", 0, tmp_path, {})
    mixed = Path(__file__).parents[1] / "stacks" / "Pulumi.mixed.yaml"
    context = steps.Context(nowhere, Toolchain(), mixed, steps.Nodes.ONE_REAL, lambda _: None)
    assert context.real_node() == node.RealNode("c01", None)


def test_a_simulated_node_with_a_driver_of_its_own_reports_it() -> None:
    mixed = load_stack(Path(__file__).parents[1] / "stacks" / "Pulumi.mixed.yaml").fleet.pool("gtx1080ti")
    reported = {
        name: fleet.simulated_node(name, each.gpus, mixed)["metadata"]["labels"]["nvidia.com/cuda.driver-version.full"]
        for each in mixed.variants()
        for name in each.node_names
    }
    assert reported == {"n01": "418.88", "n02": "580.95.05", "n03": "418.88"}


def test_a_real_node_outside_the_fleet_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    nowhere = Instance("default", 0, tmp_path, {})
    with pytest.raises(LabError, match=r"real node: 'n99' is not a node of the fleet; name one of n10"):
        fleet.join(nowhere, fleet_of(DSMLP.pools[1]), "n99")


def register_as_kubelet(cluster: Cluster, name: str) -> None:
    """What a kubelet says of itself when it starts, on a machine with two cores."""
    cluster.delete(f"/api/v1/nodes/{name}")
    labels = {"kubernetes.io/hostname": name}
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    capacity = {"cpu": "2", "memory": "24Gi", "pods": "110"}
    status = {
        "capacity": capacity,
        "allocatable": capacity,
        "nodeInfo": {
            **dict.fromkeys(("architecture", "bootID", "containerRuntimeVersion", "kernelVersion"), "test"),
            **dict.fromkeys(("kubeProxyVersion", "machineID", "operatingSystem", "osImage", "systemUUID"), "test"),
            "kubeletVersion": "v1.34.2",
        },
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}],
    }
    cluster.apply(f"/api/v1/nodes/{name}", body, manager="kubelet")
    cluster.apply(f"/api/v1/nodes/{name}/status", {**body, "status": status}, manager="kubelet")
    wait_until(
        lambda: {name} if (cluster.get(f"/api/v1/nodes/{name}") or {}).get("spec", {}).get("taints") else set(),
        within_s=20,
        what="still tainted as not ready",
    )


def create_deployment(cluster: Cluster, name: str, *, replicas: int, cpu: str = "0") -> None:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(cpu=cpu)}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    cluster.create(
        "/apis/apps/v1/namespaces/work/deployments",
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec},
    )


def pod_spec(gpus: int = 0, cpu: str = "0") -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    resources = {"limits": limits, "requests": {"cpu": cpu}}
    container = {"name": "main", "image": "registry.example.edu/none:1", "resources": resources}
    return {"containers": [container], "terminationGracePeriodSeconds": 0}


def create_pod(
    cluster: Cluster,
    name: str,
    metadata: dict[str, Any] | None = None,
    *,
    gpus: int = 0,
    selector: dict[str, str] | None = None,
) -> None:
    cluster.create(
        "/api/v1/namespaces/work/pods",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, **(metadata or {})},
            "spec": {**pod_spec(gpus), "nodeSelector": selector or {}},
        },
    )


def pod(cluster: Cluster, name: str) -> dict[str, Any]:
    found = cluster.get(f"/api/v1/namespaces/work/pods/{name}")
    assert found is not None
    return found


def landed(cluster: Cluster, name: str) -> str:
    return str(pod(cluster, name)["spec"].get("nodeName", ""))


def reasons(cluster: Cluster, name: str) -> set[str]:
    return {condition.get("reason", "") for condition in pod(cluster, name)["status"].get("conditions", [])}
