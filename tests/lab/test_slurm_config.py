"""The configuration of the lab's Slurm: many nodes on one machine, and nothing that two labs would share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.instance import Instance
from lab.machine import slurm_cluster, traces
from lab.machine.traces import Kind, Trace
from lab.servers import slurm_config, slurm_files
from lab.servers.slurm_config import NodeGroup, Place

K80 = NodeGroup("gpu-k80", "gpu", 2, 24, 120_000, gpus=4, gres="k80", exclusive=True, max_time_min=2880)
P100 = NodeGroup("gpu-p100", "gpu", 1, 28, 128_000, gpus=4, gres="p100", exclusive=True, max_time_min=1440)
PLACE = Place(
    hostname="machine",
    munge_socket=Path("/r/munge/socket"),
    state=Path("/r/state"),
    spool=Path("/r/spool"),
    run=Path("/r/run"),
    controller_port=6817,
    accounting_port=6819,
    node_ports={"gpu-k80-1": 16818, "gpu-k80-2": 16819, "gpu-p100-1": 16820},
    token_key=Path("/r/state/key"),
)


def test_pools_of_one_partition_share_it_with_the_shorter_time() -> None:
    text = slurm_config.slurm_conf([K80, P100], PLACE)
    assert [line for line in text.splitlines() if line.startswith("PartitionName")] == [
        (
            "PartitionName=gpu Nodes=gpu-k80-1,gpu-k80-2,gpu-p100-1 Default=YES MaxTime=1440"
            " OverSubscribe=EXCLUSIVE State=UP"
        )
    ]


def test_each_node_has_a_port_of_its_own_and_the_gpus_of_its_pool() -> None:
    text = slurm_config.slurm_conf([K80, P100], PLACE)
    assert [line for line in text.splitlines() if line.startswith("NodeName")] == [
        (
            "NodeName=gpu-k80-1 NodeHostname=machine NodeAddr=127.0.0.1 Port=16818 CPUs=24 RealMemory=120000"
            " Gres=gpu:k80:4 State=UNKNOWN"
        ),
        (
            "NodeName=gpu-k80-2 NodeHostname=machine NodeAddr=127.0.0.1 Port=16819 CPUs=24 RealMemory=120000"
            " Gres=gpu:k80:4 State=UNKNOWN"
        ),
        (
            "NodeName=gpu-p100-1 NodeHostname=machine NodeAddr=127.0.0.1 Port=16820 CPUs=28 RealMemory=128000"
            " Gres=gpu:p100:4 State=UNKNOWN"
        ),
    ]
    assert "AccountingStorageTRES=gres/gpu,gres/gpu:k80,gres/gpu:p100\n" in text


@pytest.mark.parametrize(
    ("group", "line"),
    [
        (K80, "NodeName=gpu-k80-1 Name=gpu Type=k80 File=/dev/nvidia[0-3]"),
        (replace(K80, gpus=1, gres=None), "NodeName=gpu-k80-1 Name=gpu File=/dev/nvidia0"),
        (replace(K80, gpus=0, gres=None), "AutoDetect=off"),
    ],
)
def test_gpus_are_device_files_of_their_node(group: NodeGroup, line: str) -> None:
    first = slurm_config.gres_conf([replace(group, nodes=1)]).splitlines()[-1]
    assert first == line


def test_labs_of_one_machine_share_neither_accounts_nor_folders(tmp_path: Path) -> None:
    labs = [Instance("default", 0, tmp_path / name, {}) for name in ("one", "two")]
    assert len({slurm_files.account(each) for each in labs}) == 2
    assert len({slurm_files.root(each) for each in labs}) == 2
    assert all(len(slurm_files.account(each)) <= 32 for each in labs)  # the longest name that useradd takes


def test_the_end_of_a_lab_without_slurm_keeps_the_record_of_what_its_node_made(tmp_path: Path) -> None:
    instance = Instance("x", 0, tmp_path, {})
    instance.run.mkdir()
    made = Trace(Kind.SHARED_FOLDER, str(tmp_path / "of-the-node"))
    (tmp_path / "of-the-node" / "used").mkdir(parents=True)
    traces.record(instance, made)
    slurm_cluster.end(instance)
    assert traces.traces(instance) == [made]
