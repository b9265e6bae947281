"""flatcar-ec2: instances on Flatcar, whose driver is a container for their kernel, and a batch job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aws_lab import AwsLab, aws_lab

from lab.cluster import Cluster
from lab.machine import driver_folders
from tests.stacks.contract import Contract, Window

MADE_BY_THE_LAB = [each for each in (driver_folders.MODULES, driver_folders.SHOWN) if not each.exists()]


@contextmanager
def new_lab(stack: str) -> Iterator[AwsLab]:
    """With that stack; what its driver container has on the machine is gone afterwards."""
    with aws_lab(stack) as lab:
        yield lab
    assert [each for each in MADE_BY_THE_LAB if each.exists()] == []


def use(lab: AwsLab, window: Window) -> None:
    """The driver container runs on each node of its pool and stays there, and the job ran beside it."""
    del window
    assert "P-DRIVER" not in lab.output
    with Cluster(lab.instance) as cluster:
        pods = [pod for pod in cluster.pods() if pod["metadata"]["name"].startswith("driver-t4-")]
        jobs = [pod for pod in cluster.pods() if pod["metadata"]["namespace"] == "batch"]
        nodes = {node["metadata"]["name"] for node in cluster.nodes()}
        (real,) = [pod for pod in pods if pod["spec"]["nodeName"] == "t4-1"]
        log = f"/api/v1/namespaces/gpu-runtime/pods/{real['metadata']['name']}/log"
        logs = {name: cluster.text(f"{log}?container={name}") for name in ("same-kernel", "driver")}
    assert {pod["spec"]["nodeName"] for pod in pods} == nodes - {"system-1"}
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    assert all("stands for a driver container in the lab" in each for each in logs.values())
    assert [pod["status"]["phase"] for pod in jobs] == ["Succeeded"]


CONTRACT = Contract(
    "flatcar-ec2",
    printed=(r"\n +t4 .*g4dn\.xlarge.*1 x Tesla T4.*580\.178\.04.*580-6\.12\.102-flatcar-flatcar4593\.2\.5.*24 vCPUs",),
    use=use,
    other_driver="535.183.01",
    refusal=r"driver container 580-\S+ is of branch 580; the pool wants 535\.183\.01",
    left=AwsLab.assert_empty,
    new_lab=new_lab,
)
