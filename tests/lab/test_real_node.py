"""The one real node: pods, names, volumes, GPUs that the device plugin reports, and nothing left at the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml

from fleet.labels import GFD_DRIVER
from lab import control_plane, health, image_pushes, processes
from lab.cluster import REAL_NODE, Cluster, wait_until
from lab.instance import RECORD, Instance, LabError
from lab.machine import iptables, mounts, network, node, stand_in_gpus, traces
from lab.machine.leftovers import CNI_STATE, RUNTIME_STATE, cgroups, is_listened_to, kill_shims
from lab.machine.node import RealNode
from lab.machine.stand_in_gpus import StandInGpus
from lab.processes import Server
from lab.servers import buildkit, containerd, kube_proxy, kubelet, local_path, persistenced, registry
from lab.stand_ins import images
from lab.toolchain import Toolchain
from platforms.kubernetes import feature_discovery, runtime
from platforms.kubernetes.feature_discovery import DISCOVERY, access, definitions
from platforms.kubernetes.node_pool import differing_nodes
from tests.slots import free_slot, ports

GPUS = StandInGpus(
    name="GeForce RTX 2080 Ti",
    driver="418.88",
    cuda=(10, 1),
    compute_capability=(7, 5),
    memory_mib=11264,
    uuids=tuple(f"GPU-00000000-0000-0000-0000-00000000000{index}" for index in range(8)),
)
NODE = RealNode("n21", GPUS)
PODS = "/api/v1/namespaces/default/pods"
CNI_RESULTS = CNI_STATE[-1]

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="a real node needs root"),
    # One node, one order: what the first test starts, the last one ends.
]


@dataclass(frozen=True, slots=True)
class Lab:
    instance: Instance
    tools: Toolchain
    cluster: Cluster
    foreign: frozenset[Path]  # shared folders, and files in them, from before: a killed lab leaves some

    def image(self, name: str) -> str:
        return images.find(name, self.tools).reference(self.instance)

    def kubectl(self, *argv: str) -> str:
        program = str(self.tools.path("kubectl"))
        ours = [f"--kubeconfig={self.instance.kubeconfig}", f"--cache-dir={self.instance.run / 'kubectl'}"]
        return processes.run([program, *ours, *argv], timeout_s=60)

    def gpus(self) -> tuple[int, int]:
        """Capacity and what pods may ask for."""
        status = (self.cluster.get(f"/api/v1/nodes/{NODE.name}") or {})["status"]
        return tuple(int(status[kind].get("nvidia.com/gpu", 0)) for kind in ("capacity", "allocatable"))  # type: ignore[return-value] # two


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab of its own with a real node. A machine has one: a lab that runs is asked to end first."""
    tools = Toolchain()
    with free_slot() as slot:
        instance = Instance("real-node-tests", slot, tmp_path_factory.mktemp("lab"), ports(slot))
        for folder in (instance.run, instance.logs, instance.config, instance.data):
            folder.mkdir()
        try:
            network.claim(instance)
            folders = {each for each in node.SHARED_FOLDERS if each.exists() and each not in RUNTIME_STATE}
            foreign = frozenset({*folders, *CNI_RESULTS.glob("*")})
            start_everything(instance, tools)
            with Cluster(instance) as cluster:
                yield Lab(instance, tools, cluster, foreign)
        finally:
            end_everything(instance, tools)


def start_everything(instance: Instance, tools: Toolchain) -> None:
    processes.start(instance, registry.server(instance, tools))
    processes.start(instance, buildkit.server(instance, tools))
    for image in images.images(tools):
        image_pushes.push(instance, tools, image.reference(instance), image.dockerfile, image.files)
    control_plane.start(instance, tools, real_node=NODE.name)
    node.start(instance, tools, NODE)
    node.settle(instance, NODE.name)


def end_everything(instance: Instance, tools: Toolchain) -> None:
    node.stop(instance, tools)
    control_plane.stop(instance)
    for name in ("buildkitd", "registry"):
        processes.stop(instance, name)
    network.release(instance)


def pod(name: str, image: str, script: str, **spec: Any) -> dict[str, Any]:
    """A pod that runs a shell script; `spec` is added to its one container, `pod_spec` to the pod."""
    pod_spec = spec.pop("pod_spec", {})
    container = {"name": "main", "image": image, "command": ["sh", "-c", script], **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container], **pod_spec},
    }


def device_plugin(lab: Lab) -> dict[str, Any]:
    """As NvidiaRuntime has it, for any node."""
    pod_spec = {**runtime.device_plugin_pod(lab.image(images.DEVICE_PLUGIN)), "affinity": {}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "device-plugin", "namespace": "kube-system"},
        "spec": runtime.daemon_set_spec("device-plugin", pod_spec),
    }


DEVICE_PLUGIN = "/apis/apps/v1/namespaces/kube-system/daemonsets/device-plugin"


def eventually(what: str, check: Callable[[], bool], within_s: float = 60) -> None:
    wait_until(lambda: set() if check() else {what}, within_s=within_s, what="not yet")


def run(lab: Lab, body: dict[str, Any], phase: str = "Running") -> None:
    name = body["metadata"]["name"]
    lab.cluster.apply(f"{PODS}/{name}", body)
    eventually(f"{name} is {phase}", lambda: (lab.cluster.get(f"{PODS}/{name}") or {})["status"]["phase"] == phase)


def service(name: str, node_port: int) -> dict[str, Any]:
    """A Service of the web server."""
    ports = [{"port": 80, "targetPort": 8080, "nodePort": node_port}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": "NodePort", "selector": {"app": "web"}, "ports": ports},
    }


@pytest.fixture(scope="module")
def web(lab: Lab) -> dict[str, Any]:
    """A web server with a volume, behind a Service with a node port."""
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    eventually("the default service account", lambda: lab.cluster.get(account) is not None)
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "web"},
        "spec": {
            "storageClassName": local_path.STORAGE_CLASS,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    lab.cluster.apply("/api/v1/namespaces/default/persistentvolumeclaims/web", claim)
    made: dict[str, Any] = lab.cluster.apply("/api/v1/namespaces/default/services/web", service("web", 30089))
    body = pod(
        "web",
        lab.image(images.BUSYBOX),
        "echo said by the pod; echo hello >> /data/index.html; exec httpd -f -p 8080 -h /data",
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
        pod_spec={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "web"}}]},
    )
    run(lab, body)
    return made


def test_the_node_carries_its_label_and_listens_on_this_machine_only(lab: Lab) -> None:
    assert [one["metadata"]["name"] for one in lab.cluster.nodes(labels=REAL_NODE)] == ["n21"]
    heard = {
        (record.name, connection.laddr.ip)
        for record in processes.records(lab.instance)
        for connection in psutil.Process(record.pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN or connection.type.name == "SOCK_DGRAM"
    }
    assert {address for _, address in heard} <= {"127.0.0.1", lab.instance.networks.node_address}, heard


def test_a_pod_runs_and_its_log_and_shell_can_be_reached(lab: Lab, web: dict[str, Any]) -> None:
    assert web["metadata"]["name"] == "web"
    assert lab.kubectl("logs", "web") == "said by the pod\n"
    assert lab.kubectl("exec", "web", "--", "cat", "/data/index.html") == "hello\n"


def test_a_service_is_found_by_name_and_answers_to_pods(lab: Lab, web: dict[str, Any]) -> None:
    address = web["spec"]["clusterIP"]
    fetch = ("exec", "client", "--", "timeout", "5", "wget", "-qO-")
    run(lab, pod("client", lab.image(images.BUSYBOX), "sleep 600"))
    assert f"Address: {address}\n" in lab.kubectl("exec", "client", "--", "nslookup", "web.default.svc.cluster.local")
    assert lab.kubectl(*fetch, "http://web") == "hello\n"
    assert lab.kubectl(*fetch, f"http://{address}") == "hello\n"


def test_a_name_that_nobody_knows_is_answered_at_once(lab: Lab, web: dict[str, Any]) -> None:
    assert web
    started = time.monotonic()
    with pytest.raises(LabError, match="NXDOMAIN"):
        lab.kubectl("exec", "web", "--", "nslookup", "no-such-host.invalid")
    assert time.monotonic() - started < 5


def test_a_volume_is_a_folder_of_the_instance(lab: Lab, web: dict[str, Any]) -> None:
    assert web
    (folder,) = local_path.volumes(lab.instance).glob("pvc-*_default_web")
    assert (folder / "index.html").read_text() == "hello\n"


def test_a_node_port_is_open_on_127_0_0_1_and_not_on_other_addresses(lab: Lab, web: dict[str, Any]) -> None:
    assert web
    eventually("the node port answers", lambda: answer("127.0.0.1") == "hello\n")
    others = [address for _, where in network.used_networks() if where.startswith("address") for address in [_]]
    for address in (*others, lab.instance.networks.node_address):
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://{address}:30089", timeout=3, trust_env=False)


def answer(address: str, port: int = 30089) -> str:
    try:
        return httpx.get(f"http://{address}:{port}", timeout=3, trust_env=False).text
    except httpx.HTTPError as error:
        return str(error)


NEIGHBOUR = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=2).close()
except OSError as error:
    raise SystemExit(f"{type(error).__name__}") from None
"""


def test_a_neighbour_with_a_route_to_this_machine_reaches_neither_pods_nor_services(
    lab: Lab, web: dict[str, Any]
) -> None:
    pod_address = (lab.cluster.get(f"{PODS}/web") or {})["status"]["podIP"]
    processes.start(lab.instance, Server("neighbour", ["unshare", "--net", "sleep", "60"], ready=lambda: True))
    record = processes.read_record(lab.instance, "neighbour")
    assert record is not None
    inside = ["nsenter", "--target", str(record.pid), "--net"]
    apart = Path("/proc/self/ns/net").readlink()
    eventually("a namespace of its own", lambda: Path(f"/proc/{record.pid}/ns/net").readlink() != apart)
    try:
        for argv in (
            ["ip", "link", "add", "gpuctest", "type", "veth", "peer", "name", "outside", "netns", str(record.pid)],
            ["ip", "address", "add", "198.51.100.1/30", "dev", "gpuctest"],
            ["ip", "link", "set", "gpuctest", "up"],
            [*inside, "ip", "address", "add", "198.51.100.2/30", "dev", "outside"],
            [*inside, "ip", "link", "set", "outside", "up"],
            [*inside, "ip", "route", "add", "10.0.0.0/8", "via", "198.51.100.1"],
        ):
            processes.run(argv)
        reach = [*inside, sys.executable, "-c", NEIGHBOUR]
        targets = [
            (pod_address, 8080),
            (web["spec"]["clusterIP"], 80),
            ("198.51.100.1", 30089),
            (lab.instance.networks.node_address, lab.instance.ports["apiserver"]),
            (lab.instance.networks.node_address, lab.instance.ports["kubelet"]),
        ]
        for address, port in targets:
            with pytest.raises(LabError, match=r"TimeoutError|ConnectionRefusedError"):
                processes.run([*reach, address, str(port)])
    finally:
        processes.stop(lab.instance, "neighbour")  # the devices go with its namespace


def test_made_up_addresses_lead_nowhere(lab: Lab, web: dict[str, Any]) -> None:
    assert web
    networks = lab.instance.networks
    ranges = (networks.simulated_pod_cidr, networks.pod_cidr)
    simulated, of_another_node = (cidr.removesuffix("0.0/16") + "77.7" for cidr in ranges)
    for address in (simulated, of_another_node):
        assert "blackhole" in route_to(address)
        with pytest.raises(LabError):
            lab.kubectl("exec", "web", "--", "timeout", "2", "wget", "-qO-", f"http://{address}")


def route_to(address: str) -> str:
    return processes.run(["ip", "route", "show", "match", address])


@pytest.fixture(scope="module")
def gpus(lab: Lab) -> None:
    """The node offers its GPUs, by the runtime class and the device plugin of NvidiaRuntime."""
    body = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "nvidia"},
        "handler": containerd.NVIDIA_HANDLER,
    }
    lab.cluster.apply("/apis/node.k8s.io/v1/runtimeclasses/nvidia", body)
    assert lab.gpus() == (0, 0)
    lab.cluster.apply(DEVICE_PLUGIN, device_plugin(lab))
    eventually("8 GPUs", lambda: lab.gpus() == (8, 8))


SEES = "find /dev /usr -name '*nvidia*' 2>/dev/null; echo that is all; sleep 600"  # a pod without a driver has no /usr


def seen(lab: Lab, name: str, gpus: int = 0, **pod_spec: Any) -> set[str]:
    """What of NVIDIA a pod finds; with GPUs it has the runtime class, as hubs and jobs give it."""
    limits = {"resources": {"limits": {"nvidia.com/gpu": gpus}}} if gpus else {}
    shape = {"runtimeClassName": runtime.RUNTIME_CLASS, **pod_spec} if gpus else pod_spec
    run(lab, pod(name, lab.image(images.BUSYBOX), SEES, **limits, pod_spec=shape))
    eventually("all was looked at", lambda: "that is all" in lab.kubectl("logs", name))
    return set(lab.kubectl("logs", name).splitlines()) - {"that is all"}


def device_files(found: set[str]) -> set[str]:
    return {each for each in found if each.startswith("/dev/") and each[-1].isdigit()}


def plugin_says(lab: Lab) -> str:
    return lab.kubectl("logs", "-n", "kube-system", "daemonset/device-plugin")


@pytest.mark.usefixtures("gpus")
def test_two_users_have_the_gpu_each_asked_for_and_the_driver(lab: Lab) -> None:
    ann, bob, cyd = seen(lab, "ann", 1), seen(lab, "bob", 1), seen(lab, "cyd", 2)
    assert [len(device_files(each)) for each in (ann, bob, cyd)] == [1, 1, 2]
    assert len(device_files(ann | bob | cyd)) == 4
    driver = f"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.{GPUS.driver}"
    assert {"/dev/nvidiactl", "/usr/bin/nvidia-smi", driver} <= ann & bob & cyd
    for name in ("ann", "bob", "cyd"):
        lab.cluster.delete(f"{PODS}/{name}")


@pytest.mark.usefixtures("gpus")
def test_who_asked_for_none_has_neither_gpu_nor_driver(lab: Lab) -> None:
    assert seen(lab, "none") == set()
    assert seen(lab, "classy", runtimeClassName=runtime.RUNTIME_CLASS) == set()
    for name in ("none", "classy"):
        lab.cluster.delete(f"{PODS}/{name}")


PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
PROBE_IMAGE = """\
FROM scratch
COPY --chmod=755 python /usr/bin/python3
COPY lib /usr/lib
COPY loader /lib64
"""


def image_with_python(lab: Lab) -> str:
    """Debian's python3 with its libraries, and nothing else: what a probe asks of an image."""
    program = Path(f"/usr/bin/{PYTHON}")
    modules = Path(f"/usr/lib/{PYTHON}")
    if not program.is_file() or not modules.is_dir():
        pytest.skip("this machine has no Debian python3 to make an image of")
    ffi = next(modules.glob("lib-dynload/_ctypes.*.so"))
    linked = {
        word
        for each in (program, ffi)
        for word in processes.run(["ldd", str(each)]).split()
        if word.startswith(("/lib/", "/usr/lib/"))
    }
    files = {
        f"lib/{PYTHON}/{path.relative_to(modules)}": path
        for path in modules.rglob("*")
        if path.is_file() and path.suffix in {".py", ".so"} and "test" not in path.parts
    }
    files |= {f"lib/x86_64-linux-gnu/{Path(each).name}": Path(each).resolve() for each in linked}
    files |= {"python": program, "loader/ld-linux-x86-64.so.2": Path("/lib64/ld-linux-x86-64.so.2").resolve()}
    name = f"{lab.instance.registry_address}/lab-tests/python:1"
    image_pushes.push(lab.instance, lab.tools, name, PROBE_IMAGE, files)
    return name


@pytest.mark.usefixtures("gpus")
def test_a_job_probes_the_node_and_what_it_prints_is_what_the_driver_says(lab: Lab) -> None:
    """Of the driver and its GPUs everything is a stand-in's; Job, pod, device plugin and kubectl are real."""
    variables = {
        "KUBECONFIG": str(lab.instance.kubeconfig),
        "PATH": f"{lab.tools.path('kubectl').parent}:{os.environ['PATH']}",
        "GPU_COMMONS_SITE": "",
    }
    words = [sys.executable, "-m", "cli", "probe", "--kubernetes", NODE.name, "--image", image_with_python(lab)]
    done = subprocess.run(
        [*words, "--json", "--within-s", "120"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    assert facts["pool"]["gpu"] == GPUS.name
    assert (facts["pool"]["driver"], facts["pool"]["gpus_per_node"]) == (GPUS.driver, 8)
    (gpu,) = facts["host"]["gpus"]
    assert gpu["uuid"] in GPUS.uuids
    assert facts["host"]["host"] == NODE.name
    assert facts["host"]["container"] == "kubernetes"
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    eventually("no Job of a probe", lambda: lab.cluster.items(jobs) == [])


@pytest.mark.usefixtures("gpus")
def test_the_device_plugin_is_nvidias_and_a_gpu_that_fails_is_offered_no_more(lab: Lab) -> None:
    assert 'Starting NVIDIA Device Plugin" version="v0.18.0"' in plugin_says(lab)
    stand_in_gpus.break_one(7, 43)  # an application's own fault
    stand_in_gpus.break_one(7, 79)  # fallen off the bus
    eventually("7 GPUs of 8", lambda: lab.gpus() == (8, 7))
    log = plugin_says(lab)
    assert f"XidCriticalError: Xid=79 on Device={GPUS.uuids[7]}; marking device as unhealthy" in log
    assert "Xid=43" not in log
    lab.cluster.delete(DEVICE_PLUGIN)
    eventually("0 GPUs", lambda: lab.gpus()[1] == 0)  # the kubelet keeps the capacity for 5 minutes more


RBAC = "rbac.authorization.k8s.io/v1"
NODE_FEATURES = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/kube-system/nodefeatures"


@pytest.fixture(scope="module")
def discovery(lab: Lab, gpus: None, tmp_path_factory: pytest.TempPathFactory) -> None:  # noqa: ARG001 - their class
    """GPU feature discovery and what labels nodes for it, as NvidiaRuntime has them, for any node."""
    assert not [key for key in node_labels(lab) if key.startswith("nvidia.com/")]
    pods = {**runtime.discovery_pod(lab.image(images.DEVICE_PLUGIN)), "affinity": {}}
    labeller = feature_discovery.labeller_spec(lab.image(images.NODE_FEATURE_DISCOVERY))
    specs = {"DaemonSet": runtime.daemon_set_spec(DISCOVERY, pods), "Deployment": labeller}
    objects = [
        *(("apiextensions.k8s.io/v1", "CustomResourceDefinition", each) for each in definitions().values()),
        *((RBAC if "Role" in kind else "v1", kind, made) for kind, _, made in access("kube-system")),
        *(
            ("apps/v1", kind, {"metadata": {"name": DISCOVERY, "namespace": "kube-system"}, "spec": spec})
            for kind, spec in specs.items()
        ),
    ]
    file = tmp_path_factory.mktemp("discovery") / "objects.yaml"
    file.write_text(yaml.safe_dump_all({"apiVersion": api, "kind": kind, **made} for api, kind, made in objects))
    lab.kubectl("apply", "-f", str(file))


def node_labels(lab: Lab) -> dict[str, str]:
    found: dict[str, str] = (lab.cluster.get(f"/api/v1/nodes/{NODE.name}") or {})["metadata"]["labels"]
    return found


def node_feature(name: str, node_name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeature",
        "metadata": {"name": name, "labels": {"nfd.node.kubernetes.io/node-name": node_name}},
        "spec": {"labels": labels},
    }


@pytest.mark.usefixtures("discovery")
def test_the_labels_of_the_node_come_from_the_pods_of_gpu_feature_discovery(lab: Lab) -> None:
    eventually("labels of its GPUs", lambda: "nvidia.com/gpu.product" in node_labels(lab), within_s=120)
    found = node_labels(lab)
    assert found["nvidia.com/gpu.product"] == "GeForce-RTX-2080-Ti"
    assert (found["nvidia.com/gpu.count"], found["nvidia.com/gpu.replicas"]) == ("8", "1")
    assert found["nvidia.com/cuda.driver-version.full"] == "418.88"


def test_the_persistence_pod_finds_the_service_of_the_node(lab: Lab) -> None:
    image = lab.image(images.PERSISTENCE_DAEMON)
    spec = runtime.persistence_pod(image)
    spec = {key: spec[key] for key in ("hostPID", "containers", "volumes")}
    run(lab, {**pod("persistence", image, ""), "spec": {**spec, "terminationGracePeriodSeconds": 1}})
    service = int(persistenced.PID_FILE.read_text())
    said = f"this node runs nvidia-persistenced, process {service}: using it"
    eventually(said, lambda: lab.kubectl("logs", "persistence").strip() == said)


@pytest.mark.usefixtures("discovery")
def test_a_changed_driver_is_seen_as_drift(lab: Lab) -> None:
    def drifted() -> list[str]:
        return differing_nodes({NODE.name: GPUS.driver}, {NODE.name: node_labels(lab).get(GFD_DRIVER)})

    def with_driver(gpus: StandInGpus) -> None:
        stand_in_gpus.make(lab.instance, lab.tools, node.USE, gpus)
        node.settle(lab.instance, NODE.name)  # pods with the earlier driver end, as on a machine that starts anew

    assert drifted() == []
    with_driver(replace(GPUS, driver="470.57.02"))
    eventually("drift", lambda: drifted() == [NODE.name], within_s=180)  # it looks once a minute
    with_driver(GPUS)
    eventually("no drift", lambda: drifted() == [], within_s=180)


@pytest.mark.usefixtures("discovery")
def test_a_token_of_a_gpu_node_sets_no_label_but_nvidias(lab: Lab) -> None:
    ours, theirs = "nvidia.com/gpu.lie", ("gpu-commons.org/pool", "feature.node.kubernetes.io/x", "unprefixed")
    lab.cluster.apply(f"{NODE_FEATURES}/lie", node_feature("lie", NODE.name, **dict.fromkeys((ours, *theirs), "told")))
    eventually("the label of NVIDIA's", lambda: ours in node_labels(lab))
    assert [key for key, value in node_labels(lab).items() if value == "told"] == [ours]
    lab.cluster.delete(f"{NODE_FEATURES}/lie")
    eventually("it is gone", lambda: ours not in node_labels(lab))


@pytest.mark.usefixtures("discovery")
def test_what_was_found_on_a_node_goes_with_the_node(lab: Lab) -> None:
    gone = "/api/v1/nodes/gone"
    lab.cluster.apply(gone, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gone"}})
    lab.cluster.apply(f"{NODE_FEATURES}/of-it", node_feature("of-it", "gone", **{"nvidia.com/gpu.count": "8"}))
    lab.cluster.delete(gone)
    eventually("it went too", lambda: lab.cluster.get(f"{NODE_FEATURES}/of-it") is None)


def settings_of(lab: Lab) -> dict[str, tuple[int, int]]:
    """Every file that the lab wrote for its servers: which one it is and when it was written."""
    found = [path for path in lab.instance.config.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def pids(lab: Lab) -> dict[str, int]:
    return {record.name: record.pid for record in processes.records(lab.instance) if record.process()}


def test_a_second_start_touches_no_file_and_no_server(lab: Lab, web: dict[str, Any]) -> None:
    assert web
    files, servers = settings_of(lab), pids(lab)
    assert len(servers) == 13
    start_everything(lab.instance, lab.tools)
    time.sleep(2)  # kube-proxy would need a moment to notice a change, and to end itself
    assert settings_of(lab) == files
    assert pids(lab) == servers
    assert str(health.check(lab.instance)) == "13 servers run"


@pytest.mark.parametrize("broken", ["killed", "its file was changed"])
def test_a_kube_proxy_that_ended_is_named_and_comes_back(lab: Lab, web: dict[str, Any], broken: str) -> None:
    assert web
    before = pids(lab)
    if broken == "killed":
        psutil.Process(before["kube-proxy"]).kill()
    else:
        (lab.instance.config / "kube-proxy.yaml").write_text("mode: none\n")  # it watches its file, and ends itself
    eventually("kube-proxy has ended", lambda: "kube-proxy" not in pids(lab))
    with pytest.raises(LabError, match="kube-proxy ended after the start"):
        health.check(lab.instance)
    node.start(lab.instance, lab.tools, NODE)
    after = pids(lab)
    assert {name for name in after if after[name] != before[name]} == {"kube-proxy"}
    assert str(health.check(lab.instance)) == "13 servers run"
    # It really serves again: a Service that it has never seen before answers.
    again = lab.cluster.apply("/api/v1/namespaces/default/services/again", service("again", 30090))
    try:
        eventually("the new node port answers", lambda: answer("127.0.0.1", 30090) == "hello\n")
        assert again["spec"]["clusterIP"]
    finally:
        lab.cluster.delete("/api/v1/namespaces/default/services/again")


def test_another_setting_restarts_the_server_that_reads_it(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    before = pids(lab)
    usual = kube_proxy.configuration
    with monkeypatch.context() as changed:
        changed.setattr(kube_proxy, "configuration", lambda *given: {**usual(*given), "configSyncPeriod": "10m0s"})
        node.start(lab.instance, lab.tools, NODE)
    after = pids(lab)
    assert {name for name in after if after[name] != before[name]} == {"kube-proxy"}
    node.start(lab.instance, lab.tools, NODE)


def test_killed_servers_come_back_and_pods_never_noticed(lab: Lab, web: dict[str, Any]) -> None:
    assert web
    before = (lab.cluster.get(f"{PODS}/web") or {})["status"]["containerStatuses"][0]["containerID"]
    for name in ("containerd", "kubelet", "kube-proxy", "coredns", "local-path-provisioner"):
        record = processes.read_record(lab.instance, name)
        assert record is not None
        psutil.Process(record.pid).kill()
    node.start(lab.instance, lab.tools, NODE)
    node.settle(lab.instance, NODE.name)
    status = (lab.cluster.get(f"{PODS}/web") or {})["status"]["containerStatuses"][0]
    assert (status["containerID"], status["restartCount"]) == (before, 0)
    assert lab.kubectl("exec", "web", "--", "cat", "/data/index.html") == "hello\n"


def test_another_lab_cannot_take_the_kubelets_folder(lab: Lab, tmp_path: Path) -> None:
    other = other_lab(lab, tmp_path)
    with pytest.raises(
        LabError, match=rf"the lab at {lab.instance.home} already has the one real node that this machine can have"
    ):
        node.own_kubelet_folder(other, lab.tools)


def other_lab(lab: Lab, home: Path) -> Instance:
    """Another lab of this machine, for which ours is one that it finds."""
    (lab.instance.home / RECORD).write_text(json.dumps({**asdict(lab.instance), "home": str(lab.instance.home)}))
    other = Instance("other", 8, home, {})
    for folder in (other.run, other.data):
        folder.mkdir()
    return other


def left_without_a_gpu(lab: Lab, name: str) -> set[str]:
    """The pod and its status, unless it is gone, or runs and the kubelet has given a GPU to it."""
    pod = lab.cluster.get(f"{PODS}/{name}")
    if pod is None:
        return set()
    runs = pod["status"]["phase"] == "Running" and "reason" not in pod["status"]
    is_served = pod["metadata"]["uid"] in node.CHECKPOINT.read_text()
    return set() if runs and is_served else {f"{name} (in the checkpoint: {is_served}): {pod['status']}"}


def test_after_a_stop_and_a_start_pods_and_volumes_are_back(lab: Lab, web: dict[str, Any]) -> None:
    assert web
    lab.cluster.apply(DEVICE_PLUGIN, device_plugin(lab))
    eventually("8 GPUs", lambda: lab.gpus()[1] == 8)
    limits = {"limits": {"nvidia.com/gpu": 1}}
    run(lab, pod("gpu", lab.image(images.BUSYBOX), "sleep 600", resources=limits))
    node.stop(lab.instance, lab.tools)
    assert leftovers(lab) == []
    node.stop(lab.instance, lab.tools)  # once more does no harm
    node.start(lab.instance, lab.tools, NODE)
    node.settle(lab.instance, NODE.name)
    # The kubelet may meet it before the device plugin is back: no such pod may run on without a GPU.
    wait_until(lambda: left_without_a_gpu(lab, "gpu"), within_s=180, what="neither gone nor with a GPU")
    eventually("8 GPUs again", lambda: lab.gpus()[1] == 8)
    # The server wrote its line a second time, into the same volume.
    eventually("the node port answers", lambda: answer("127.0.0.1") == "hello\nhello\n")


def test_a_node_that_died_gives_the_machine_to_another_lab_and_leaves_nothing(lab: Lab, tmp_path: Path) -> None:
    other = other_lab(lab, tmp_path)
    for name in (*node.SERVERS, "containerd"):
        record = processes.read_record(lab.instance, name)
        assert record is not None
        psutil.Process(record.pid).kill()
    kill_shims(containerd.socket_path(lab.instance))
    node.own_kubelet_folder(other, lab.tools)
    assert leftovers(lab) == [f"folder {kubelet.ROOT}"]
    node.stop(other, lab.tools)
    assert leftovers(lab) == []
    node.start(lab.instance, lab.tools, NODE)
    node.settle(lab.instance, NODE.name)


def test_nothing_is_left_when_containers_lost_their_runtime(lab: Lab) -> None:
    record = processes.read_record(lab.instance, "containerd")
    assert record is not None
    psutil.Process(record.pid).kill()
    of_a_lost_pod = (f"{containerd.network_name(lab.instance)}-0a1b-eth0", "cni-loopback-0a1b-lo")
    for name in of_a_lost_pod:  # nobody took its network back
        (CNI_RESULTS / name).touch()
    end_everything(lab.instance, lab.tools)
    assert leftovers(lab) == []
    assert traces.traces(lab.instance) == []
    assert f"{lab.instance.networks.node_address}/32" not in network.loopback_addresses()


def is_in_use(folder: Path) -> bool:
    """Whether another runtime of this machine, such as an engine of other tests, has sockets there that answer."""
    return any(path.is_socket() and is_listened_to(path) for path in folder.rglob("*"))


def leftovers(lab: Lab) -> list[str]:
    """What the node made and is still there, but for the address: that goes with the control plane."""
    home = str(lab.instance.home)
    ended = ("containerd", "containerd-shim", "kubelet", "kube-proxy", "coredns", "local-path", "busybox", "httpd")
    networks = lab.instance.networks
    ranges = (networks.pod_cidr, networks.service_cidr, networks.simulated_pod_cidr)
    routes = network.ip_json("-4", "route", "show", "type", "blackhole")
    return [
        *(
            f"process {process.info['name']} {process.pid}"
            for process in psutil.process_iter(["name", "cmdline"])
            if str(process.info["name"]).startswith(ended) and home in " ".join(process.info["cmdline"] or [])
        ),
        *(f"device file {path}" for path in (lab.instance.run / "gpus").rglob("dev/*")),
        *(f"mount {point}" for point in mounts.below(lab.instance.run / "containerd", kubelet.ROOT)),
        *(f"chain {name}" for name in iptables.present(lab.tools)),
        *(f"link {link['ifname']}" for link in network.ip_json("link", "show") if link["ifname"] == networks.bridge),
        *(f"route {route['dst']}" for route in routes if route["dst"] in ranges),
        *(
            f"folder {folder}"
            for folder in {kubelet.ROOT, *node.SHARED_FOLDERS} - lab.foreign
            if folder.exists() and not is_in_use(folder)
        ),
        *(f"file {path}" for path in set(CNI_RESULTS.glob("*")) - lab.foreign),
        *(f"cgroup {group}" for group in cgroups(node.CONTAINER_CGROUP) if group.exists()),
    ]
