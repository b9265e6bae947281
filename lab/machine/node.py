"""The lab's one node that really runs pods: starts it, checks its health, and removes all of it.

The order of stopping matters: a kubelet would restart pods, containers outlive containerd, and mounts outlive both.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from lab import accounts, files, processes
from lab.cluster import Cluster, is_ready, name_of, wait_until
from lab.instance import LabError, stored_instance
from lab.machine import driver_folders, leftovers, mounts, network, stand_in_gpus, traces
from lab.machine.traces import Kind, Trace
from lab.servers import containerd, coredns, cri, kube_proxy, kubelet, local_path, persistenced
from lab.stand_ins import images
from platforms.kubernetes.runtime import RUNTIME_CLASS

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab.instance import Instance
    from lab.machine.stand_in_gpus import StandInGpus
    from lab.servers import Tools
    from workloads.storage import NfsExport

USE = "node"  # selects stand-ins for GPUs
OWNER_FILE = ".gpu-commons-lab"  # in the kubelet's folder: names the home of the lab that wrote it
# In the order of stopping; containerd is last.
SERVERS = ("local-path-provisioner", "coredns", "kube-proxy", "kubelet", persistenced.NAME)
# Created by containerd, its shims, the CNI library and the kubelet, wherever their own folders are.
SHARED_FOLDERS = (
    *(Path(name) for name in ("/run/containerd", "/run/containerd/s")),
    *leftovers.CNI_STATE,
    *(Path(name) for name in ("/var/log/containers", "/etc/cni", "/etc/cni/net.d")),
    persistenced.PID_FILE.parent,
)
# Which pod has which GPU. Lives as long as etcd: a kubelet without it would give a GPU away twice.
CHECKPOINT = kubelet.ROOT / "device-plugins" / "kubelet_internal_checkpoint"
CONTAINER_CGROUP = "k8s.io"  # containerd's name for everything in Kubernetes
# Reasons of GPU pods that the kubelet met before the device plugin was back: the plugin's devices are not
# available, or the node reports none.
REJECTED = ("UnexpectedAdmissionError", "OutOf")


@dataclass(frozen=True, slots=True)
class RealNode:
    """The machine of the fleet that the real node represents."""

    name: str
    gpus: StandInGpus | None  # what NVIDIA's programs find on it
    has_driver_container: bool = False  # of the stack's, on its pool
    storage_classes: tuple[str, ...] = ()  # that the stack names
    has_default_class: bool = False
    exports: tuple[NfsExport, ...] = ()  # that the stack names


def start(instance: Instance, tools: Tools, node: RealNode, report: Callable[[str], None] = lambda _: None) -> None:
    """Start the node and what pods need from it, after the control plane; also after a crash. Safe to repeat.

    Raises LabError without root, beside another Kubernetes, and if the substitute images were not pushed.
    """
    if os.geteuid() != 0:
        raise LabError("the real node needs root: containers, network devices and mounts; run it as root")
    pause, busybox = (images.find(name, tools) for name in (images.PAUSE, images.BUSYBOX))
    for image in (pause, busybox):
        _check_pushed(instance, image)
    own_kubelet_folder(instance, tools)
    network.claim(instance)
    network.enclose(instance, tools)
    leftovers.record(instance, cgroup=CONTAINER_CGROUP, folders=SHARED_FOLDERS)
    if node.has_driver_container:
        driver_folders.make(instance)
    stand_in_gpus.make(instance, tools, USE, node.gpus)
    stand_in_gpus.XIDS.parent.mkdir(parents=True, exist_ok=True)
    containerd.configure(instance, tools, pause.reference(instance), stand_in_gpus.cdi(instance, USE))
    if node.gpus and not node.has_driver_container and not persistenced.is_somebody_elses(instance):
        processes.start(instance, persistenced.server(instance))
    report("containerd and kubelet …")
    processes.start(instance, containerd.server(instance, tools))
    processes.start(instance, kubelet.server(instance, tools, node.name, node.exports))
    processes.start(instance, kube_proxy.server(instance, tools, node.name))
    report("CoreDNS and volumes …")
    with Cluster(instance) as cluster:
        name_server = accounts.ensure(instance, cluster, coredns.ACCOUNT)
        provisioner = accounts.ensure(instance, cluster, local_path.ACCOUNT)
        for path, body in local_path.objects(node.storage_classes, has_default=node.has_default_class):
            cluster.apply(path, body)
    processes.start(instance, coredns.server(instance, tools, name_server))
    helper, classes = busybox.reference(instance), node.storage_classes
    processes.start(instance, local_path.server(instance, tools, provisioner, helper, classes))


def settle(instance: Instance, node_name: str, *, within_s: float = 120) -> None:
    """Wait until the node is Ready by its present kubelet and has no pods from an earlier life.

    GPU pods that it met before the device plugin was back can never run, and those that run with the files of another
    driver would not have outlived its installation: they are deleted, and their controllers create new ones. Raises
    LabError with what is missing.
    """
    driver_since = stand_in_gpus.since(instance, USE)
    with Cluster(instance) as cluster:
        wait_until(
            lambda: set() if _is_up(instance, cluster, node_name) else {node_name},
            within_s=within_s,
            what="nodes that are not Ready",
        )
        wait_until(lambda: _stale(cluster, node_name, driver_since), within_s=within_s, what="pods that do not end")


def stop(instance: Instance, tools: Tools) -> None:
    """End the node and undo all its changes to the machine except the address. Safe to repeat, also half-way.

    The API server need not run: pods stay recorded there and restart with the next `start`. Raises LabError with what
    could not be removed.
    """
    for name in SERVERS:
        processes.stop(instance, name)
    persistenced.forget()
    _end_pods(instance, tools)
    processes.stop(instance, "containerd", within_s=20)
    leftovers.kill_shims(containerd.socket_path(instance))
    folders = (containerd.socket_path(instance).parent, containerd.root(instance), kubelet.ROOT)
    mounts.unmount_below(*(folder for folder in folders if folder != kubelet.ROOT or _is_ours(instance)))
    driver_folders.unmount(instance)
    shutil.rmtree(instance.run / "containerd", ignore_errors=True)
    shutil.rmtree(instance.run / "cni", ignore_errors=True)
    stand_in_gpus.remove(instance, USE)
    network.restore(instance, tools)
    leftovers.remove(instance)
    traces.undo(instance, {Kind.FOLDER: lambda trace: _remove_folder(instance, Path(trace.value))})


def refuse_second(instance: Instance) -> None:
    """Raise LabError if another running lab has the machine's one real node. Starts and changes nothing."""
    home = _owner()
    if home and home != instance.home and (other := stored_instance(home)) and _runs(other):
        raise LabError(
            f"the lab at {home} already has the one real node that this machine can have: run `{other.make('down')}` "
            f"there, or bring this one up without: {sys.executable} -m lab --instance {instance.name} up --simulated"
        )


def own_kubelet_folder(instance: Instance, tools: Tools) -> None:
    """Make the kubelet's folder ours, by a file in it with this lab's name.

    A lab whose node has died, as after a reboot, gives it up: that node's leftovers are removed first. Raises LabError
    if a kubelet of the machine or of another running lab has it.
    """
    root, owner = kubelet.ROOT, kubelet.ROOT / OWNER_FILE
    home = _owner()
    if home is None and root.exists() and any(root.iterdir()):
        raise LabError(
            f"{root} belongs to a kubelet of this machine; the lab's real node needs it and does not share it: "
            "stop that Kubernetes and move the folder away, or run the lab on another machine"
        )
    if home and home != instance.home and (other := stored_instance(home)):
        refuse_second(instance)
        stop(other, tools)
    traces.record(instance, Trace(Kind.FOLDER, str(root)))
    root.mkdir(parents=True, exist_ok=True, mode=0o750)
    files.write(owner, f"{instance.home}\n")
    saved = _saved_checkpoint(instance)
    if saved.exists() and not CHECKPOINT.exists():
        CHECKPOINT.parent.mkdir(exist_ok=True)
        shutil.copy(saved, CHECKPOINT)


def _runs(instance: Instance) -> bool:
    """Whether any part of its node runs: the servers, or the parents of containers, which outlive them."""
    return any(processes.is_running(instance, name) for name in (*SERVERS, "containerd")) or bool(
        leftovers.shims(containerd.socket_path(instance))
    )


def _saved_checkpoint(instance: Instance) -> Path:
    return instance.data / CHECKPOINT.name


def _owner() -> Path | None:
    with contextlib.suppress(FileNotFoundError):
        return Path((kubelet.ROOT / OWNER_FILE).read_text().strip())
    return None


def _is_ours(instance: Instance) -> bool:
    return _owner() == instance.home


def _check_pushed(instance: Instance, image: images.StandInImage) -> None:
    reference = image.reference(instance)
    url = f"http://{instance.registry_address}/v2/{image.name}/manifests/{image.tag}"
    accept = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, */*"
    try:
        answer = httpx.head(url, headers={"accept": accept}, trust_env=False, timeout=10)
    except httpx.HTTPError as error:
        raise LabError(f"the lab's registry at {instance.registry_address} does not answer: {error}") from error
    if answer.is_error:
        raise LabError(f"{reference} is not in the lab's registry; the real node needs it: run `make up`")


def _is_up(instance: Instance, cluster: Cluster, node_name: str) -> bool:
    """Ready, as reported by the present kubelet: the API server remembers reports of earlier ones."""
    record = processes.read_record(instance, "kubelet")
    node = cluster.get(f"/api/v1/nodes/{node_name}")
    if record is None or node is None or not is_ready(node):
        return False
    ready = next(one for one in node["status"]["conditions"] if one["type"] == "Ready")
    return datetime.fromisoformat(ready["lastHeartbeatTime"]).timestamp() >= int(record.started)


def _stale(cluster: Cluster, node_name: str, driver_since: datetime | None) -> set[str]:
    """Pods of the node that the kubelet has not met yet, lost, is ending, or rejected, or with an earlier driver.

    The kubelet is queried too: it reports a rejected pod to the API server only half a minute later.
    """
    kubelet_api = f"/api/v1/nodes/{node_name}/proxy"
    running = {pod["metadata"]["uid"] for pod in cluster.items(f"{kubelet_api}/runningpods/") or ()}
    known = {pod["metadata"]["uid"]: pod["status"] for pod in cluster.items(f"{kubelet_api}/pods") or ()}
    stale = set()
    for pod in cluster.pods():
        uid, status = pod["metadata"]["uid"], pod["status"]
        if pod["spec"].get("nodeName") != node_name:
            continue
        rejected = any(one.get("reason", "").startswith(REJECTED) for one in (status, known.get(uid, {})))
        earlier = driver_since is not None and _runs_since_before(driver_since, pod, known.get(uid, {}))
        if rejected or earlier:
            cluster.delete(_pod_path(pod))
        lost = uid not in known or (status["phase"] == "Running" and uid not in running)
        if rejected or earlier or lost or "deletionTimestamp" in pod["metadata"]:
            stale.add(f"{pod['metadata']['namespace']}/{name_of(pod)}")
    return stale


def _runs_since_before(driver_since: datetime, pod: dict[str, Any], status: dict[str, Any]) -> bool:
    """Whether a container with the driver's files started before those of now were there, or in the same second."""
    states = (each.get("state", {}).get("running", {}) for each in status.get("containerStatuses", ()))
    starts = [datetime.fromisoformat(each["startedAt"]) for each in states if each]
    return pod["spec"].get("runtimeClassName") == RUNTIME_CLASS and any(start <= driver_since for start in starts)


def _pod_path(pod: dict[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{name_of(pod)}"


def _end_pods(instance: Instance, tools: Tools) -> None:
    """Through the runtime, which also frees addresses and namespaces; it is started for that if it has died."""
    if not processes.is_running(instance, "containerd"):
        if not leftovers.shims(containerd.socket_path(instance)):
            return
        processes.start(instance, containerd.server(instance, tools))
    try:
        cri.end_pods(containerd.socket_path(instance))
    except LabError as error:
        # The next steps end whatever is left; the reason must not be lost.
        with processes.log_path(instance, "containerd").open("a") as log:
            log.write(f"--- {error}\n")


def _remove_folder(instance: Instance, folder: Path) -> None:
    if not folder.exists() or not _is_ours(instance):
        return
    if left := mounts.below(folder):
        raise LabError(f"{folder} is kept: {left[-1]} is still mounted; umount it and run `make down` again")
    if CHECKPOINT.exists():
        shutil.copy(CHECKPOINT, _saved_checkpoint(instance))
    shutil.rmtree(folder)
