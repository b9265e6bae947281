"""One workload from one set of settings, as a pod, as a container and as a job of Slurm: what its process sees there.

All run for real: a pod on the lab's real node, a container of the lab's engine, a SIF file under the lab's Slurm.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from own_lab import PROJECT, OwnLab, own_lab
from projects import linked_project

from lab.cluster import Cluster

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1500)]

# What the process prints of itself: paths are those of cgroup v1 and v2.
SEES = """
import hashlib, json, os, pathlib, resource, sys
def first(*paths):
    return next((p.read_text().split()[0] for p in map(pathlib.Path, paths) if p.exists()), "")
def files(*folders):
    # Folder → its files, without times, because each lab builds the image anew, and without the right to write: what
    # unpacks a SIF takes it from all but the owner.
    found = {}
    for top in folders:
        for here, below, names in os.walk(top):
            below[:] = [name for name in below if name != "__pycache__"]
            part = found.setdefault("/".join(here.split("/")[:7]), [])
            for name in names:
                stat = os.lstat(os.path.join(here, name))
                part.append(f"{here}/{name} {stat.st_mode & ~0o222} {stat.st_size}")
    return {part: hashlib.sha256("\\n".join(sorted(each)).encode()).hexdigest()[:8] for part, each in found.items()}
status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
shm = os.statvfs("/dev/shm")
quota = first("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu.max")
print(json.dumps({
    "user": [os.getuid(), os.getgid()],
    "folder": os.getcwd(),
    "can write": [p for p in ("/", "/usr", "/tmp", "/home/perceptron") if os.access(p, os.W_OK)],
    "memory": first("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"),
    "cpu quota": quota,
    "shm": shm.f_blocks * shm.f_frsize,
    # Slurm names the devices of an allocation; elsewhere a process has no others.
    "GPUs": len(os.environ["CUDA_VISIBLE_DEVICES"].split(",")) if "SLURM_JOB_ID" in os.environ
    else len(list(pathlib.Path("/dev").glob("nvidia[0-9]*"))),
    "device files": sorted(p.name for p in pathlib.Path("/dev").glob("nvidia[!0-9]*")),
    "driver": sorted(p.name for p in pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("lib*.so.580.95.05")),
    "files": files("/app", "/opt/venv"),
    "python": sys.version,
    "capabilities": status["CapEff"].strip(),
    "no new privileges": status["NoNewPrivs"].strip(),
    "seccomp": status["Seccomp"].strip(),
    "language": os.environ.get("LANG"),
    "path": os.environ["PATH"],
    "memlock": resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
    "stack": resource.getrlimit(resource.RLIMIT_STACK)[0],
}))
"""
WORKLOAD: dict[str, Any] = {
    "gpu-commons:images": [{"name": "perceptron"}],
    "gpu-commons:jobs": [
        {
            "name": "sees",
            "image": "perceptron",
            "pool": "box",
            "gpus": 1,
            "cpu": 1,
            "memory_gib": 2,
            "command": ["python", "-c", SEES],
        }
    ],
}
POOL: dict[str, Any] = {
    "name": "box",
    "gpu": "Tesla T4",
    "gpus_per_node": 2,
    "driver": "580.95.05",
    "container_toolkit": "1.18.1",
    "cpu": 16,
    "memory_gib": 128,
    "root_disk_gib": 500,
}
SITE = {"name": "same", "registry": "registry.example.edu/same", "allowed_registries": ["registry.example.edu"]}
# Kubernetes has no field for limits of a process: a node's own hold.
OF_THE_NODE = {"memlock", "stack"}
# What the image and the job say, and every target gives.
OF_THE_SPEC = {"GPUs", "files", "python", "language", "path", "capabilities", "no new privileges"}


def settings(name: str) -> dict[str, Any]:
    """A stack file of the project's own."""
    found: dict[str, Any] = yaml.safe_load((PROJECT / "stacks" / f"Pulumi.{name}.yaml").read_text())
    return found


def stack(site: dict[str, Any], pool: dict[str, Any], **more: Any) -> dict[str, Any]:
    salt = settings("perceptron")["encryptionsalt"]
    keys = {key: value for key, value in {**POOL, **pool}.items() if value is not None}
    fleet = {"total_gpus": 2, "pools": [keys]}
    return {
        "encryptionsalt": salt,
        "config": {"gpu-commons:site": {**SITE, **site}, "gpu-commons:fleet": fleet, **WORKLOAD, **more},
    }


STACKS = {
    "cluster": stack(
        {"allowed_registries": ["registry.example.edu", "nvcr.io", "docker.io"]},
        {"nodes": ["n01"]},
        **{"gpu-commons:runtime": settings("dsmlp-fall")["config"]["gpu-commons:runtime"]},
    ),
    "host": stack({"kind": "docker"}, {"engine": "ssh://ops@box.example.edu", "gpu_access": "runtime"}),
    "partition": stack(
        {"kind": "slurm", "slurm": {"access": {"kind": "local"}, "image_store": "/projects/images"}},
        {"partition": "gpu", "gres": "t4", "nodes": 1, "container_toolkit": None},
        # The same job; only Slurm has to wait, and the others' updates wait by themselves.
        **{"gpu-commons:jobs": [{**WORKLOAD["gpu-commons:jobs"][0], "slurm": {"waits_for": "end"}}]},
    ),
}


def log(lab: OwnLab) -> str:
    """What the job printed, without what those say who start it."""
    if lab.stack != "cluster":
        printed = str(json.loads(lab.pulumi("stack", "output", "logs", "--json"))["sees"])
    else:
        with Cluster(lab.instance) as cluster:
            (pod,) = [each for each in cluster.pods() if each["metadata"]["namespace"] == "batch"]
            printed = cluster.text(f"/api/v1/namespaces/batch/pods/{pod['metadata']['name']}/log")
    (line,) = [each for each in printed.splitlines() if each.startswith("{")]
    return line


@pytest.fixture(scope="module")
def seen() -> dict[str, dict[str, Any]]:
    found = {}
    with linked_project(STACKS) as folder:
        for name in STACKS:
            with own_lab(name, folder) as lab:
                found[name] = json.loads(log(lab))
    return found


def test_a_process_sees_the_same_in_a_pod_and_in_a_container(seen: dict[str, dict[str, Any]]) -> None:
    pod, container = (
        {key: value for key, value in seen[name].items() if key not in OF_THE_NODE} for name in ("cluster", "host")
    )
    assert pod == container
    assert (pod["GPUs"], pod["shm"], pod["memory"]) == (1, 2**30, str(2 * 2**30))
    assert "libnvidia-ml.so.580.95.05" in pod["driver"]
    assert (pod["capabilities"], pod["no new privileges"], pod["seccomp"]) == ("0" * 16, "1", "2")
    assert pod["user"][0] != 0


def test_the_limits_of_the_image_hold_on_the_host_and_are_the_nodes_own_in_a_cluster(
    seen: dict[str, dict[str, Any]],
) -> None:
    assert seen["host"]["stack"] == 64 * 2**20
    assert {*seen["cluster"]} & OF_THE_NODE == OF_THE_NODE


def test_a_job_of_slurm_sees_the_image_and_the_gpus_that_the_others_see(seen: dict[str, dict[str, Any]]) -> None:
    pod, container, job = ({key: one[key] for key in OF_THE_SPEC} for one in seen.values())
    assert pod == container == job
    assert job["GPUs"] == 1


def test_a_job_of_slurm_is_its_sites_user_and_writes_into_nothing_of_the_image(seen: dict[str, dict[str, Any]]) -> None:
    job = seen["partition"]
    assert job["user"][0] not in {0, seen["host"]["user"][0]}
    assert job["can write"] == ["/tmp"]
    assert job["folder"].endswith("/home")  # of the account that the site runs it as
