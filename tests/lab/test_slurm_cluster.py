"""The lab's Slurm: jobs of its account get their GPUs, what died comes back, and nothing of it stays."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from lab import processes
from lab.instance import Instance
from lab.machine import mounts, slurm_cluster
from lab.servers import slurm_files, slurmd, slurmrestd
from lab.toolchain import Toolchain
from tests.lab import slurm_labs as labs

pytestmark = pytest.mark.lab

SHOW = 'echo "$CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS $SLURM_JOB_NODELIST $(id -un)"'


@pytest.fixture(scope="module")
def slurm(new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    with labs.running("s", new_instance) as instance:
        yield instance


def test_a_partition_that_is_shared_gives_what_was_asked(slurm: Instance) -> None:
    output = labs.run_job(slurm, "--partition=gpu-shared --gres=gpu:p100:2", SHOW)
    assert output == f"0,1 0,1 gpu-p100-1 {slurm_files.account(slurm)}"


def test_a_partition_of_whole_nodes_gives_all_gpus_of_the_node(slurm: Instance) -> None:
    output = labs.run_job(slurm, "--partition=gpu --gres=gpu:k80:1 --account=teaching", SHOW)
    assert output == f"0,1,2,3 0,1,2,3 gpu-k80-1 {slurm_files.account(slurm)}"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--partition=gpu --gres=gpu:a100:1", "Requested node configuration is not available"),
        ("--partition=gpu-shared --gres=gpu:p100:5", "Requested node configuration is not available"),
        ("--partition=gpu --time=61", "Requested time limit is invalid"),
        ("--partition=gpu --account=nobodys", "Invalid account"),
    ],
)
def test_what_can_never_run_is_refused_with_slurms_own_reason(slurm: Instance, options: str, reason: str) -> None:
    assert reason in labs.ssh(slurm, f"sbatch {options} --wrap hostname", fails=True)


def test_a_limit_of_a_quality_of_service_makes_a_job_wait(slurm: Instance) -> None:
    submit = "sbatch --parsable --time=5 --partition=gpu-shared --qos=two-gpus --gres=gpu:p100:2 --wrap 'sleep 60'"
    first, second = labs.ssh(slurm, f"{submit}; {submit}").split()
    try:
        labs.wait_until(lambda: labs.ssh(slurm, f"squeue -h -o %r -j {second}") == "QOSMaxGRESPerUser")
        assert labs.ssh(slurm, f"squeue -h -o %T -j {first}") == "RUNNING"
    finally:
        labs.ssh(slurm, f"scancel {first} {second}")
    # It is updated when the jobs have ended, and keeps what they had.
    show = f"sacct -n -P -X -o jobid,state,alloctres -j {first}"
    labs.wait_until(lambda: "CANCELLED" in labs.ssh(slurm, show))
    assert "gres/gpu:p100=2" in labs.ssh(slurm, show)


def test_jobs_by_rest_are_the_accounts_own_and_nobody_else_reaches_it(slurm: Instance) -> None:
    socket = slurm_files.rest_socket(slurm)
    assert socket.parent.stat().st_mode & 0o077 == 0
    job = {
        "name": "by-rest",
        "partition": "gpu-shared",
        "gres": "gpu:p100:1",
        "time_limit": 5,
        "current_working_directory": str(slurm_files.home(slurm)),
        "standard_output": str(slurm_files.home(slurm) / "rest.out"),
        "environment": {"PATH": "/usr/bin:/bin"},
    }
    base = f"http://localhost/slurm/{slurmrestd.VERSION}"
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), timeout=20) as client:
        answer = client.post(f"{base}/job/submit", json={"script": "#!/bin/sh\nid -un\n", "job": job}).json()
        assert answer["errors"] == []

        def state() -> str:
            return str(client.get(f"{base}/job/{answer['job_id']}").json()["jobs"][0]["job_state"])

        labs.wait_until(lambda: state() == "COMPLETED")
    assert (slurm_files.home(slurm) / "rest.out").read_text().strip() == slurm_files.account(slurm)


def test_a_second_start_leaves_all_that_runs_alone(slurm: Instance) -> None:
    before = {record.name: record.pid for record in processes.records(slurm)}
    slurm_cluster.start(slurm, Toolchain(), labs.CLUSTER)
    assert {record.name: record.pid for record in processes.records(slurm)} == before


def test_what_was_killed_comes_back_and_jobs_that_run_go_on(slurm: Instance) -> None:
    log, go_on = slurm_files.home(slurm) / "survivor.out", slurm_files.home(slurm) / "go-on"
    script = f"echo $$; until [ -e {go_on} ]; do sleep 0.2; done; echo survived"
    job = labs.ssh(slurm, f"sbatch --parsable --time=5 --partition=gpu-shared --output={log} --wrap '{script}'")
    labs.wait_until(lambda: log.exists() and log.read_text().endswith("\n"))
    shell = log.read_text()
    # The controller writes its queue down every five seconds, also between a submission and its start: a kill then
    # makes it take the job for one that waits, and end what runs. So what it wrote must be newer than the start.
    labs.ssh(slurm, f"scontrol update job={job} comment=was-seen-running")
    queue = slurm.data / "slurm" / "controller" / "job_state"
    labs.wait_until(lambda: b"was-seen-running" in queue.read_bytes())
    for record in processes.records(slurm):
        os.kill(record.pid, signal.SIGKILL)
    slurm_cluster.start(slurm, Toolchain(), labs.CLUSTER)
    assert labs.ssh(slurm, f"squeue -h -o %T -j {job}") == "RUNNING"
    go_on.touch()
    labs.wait_until(lambda: "COMPLETED" in labs.ssh(slurm, f"scontrol show job {job}"))
    assert log.read_text() == f"{shell}survived\n"


def test_the_machine_never_sees_what_a_node_has_in_dev(slurm: Instance) -> None:
    def machine() -> tuple[set[Path], str]:
        return {*Path("/dev").iterdir()}, mounts.TABLE.read_text()

    before = machine()
    show, gpu = "ls -d /dev/nvidia?", "--partition=gpu-shared --gres=gpu:p100:1"
    first = labs.run_job(slurm, gpu, show)
    assert first.split() == [f"/dev/nvidia{number}" for number in range(4)]
    record = processes.read_record(slurm, slurmd.name("gpu-p100-1"))
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    slurm_cluster.start(slurm, Toolchain(), labs.CLUSTER)
    assert labs.run_job(slurm, gpu, show) == first
    assert machine() == before


def test_its_end_takes_jobs_and_account_and_the_next_start_finds_what_was_kept(slurm: Instance) -> None:
    labs.ssh(slurm, "sbatch --quiet --time=5 --partition=gpu-shared --wrap 'sleep 300'; echo kept > ../images/file")
    labs.wait_until(lambda: any("sleep 300" in line for line in labs.processes_of(slurm)))
    slurm_cluster.end(slurm)
    assert labs.processes_of(slurm) == []
    assert "node-devices" not in mounts.TABLE.read_text()
    assert not labs.account_exists(slurm)
    slurm_cluster.end(slurm)
    slurm_cluster.start(slurm, Toolchain(), labs.CLUSTER)
    assert labs.ssh(slurm, "cat ../images/file") == "kept"
    assert labs.ssh(slurm, "echo mine > ../images/file; stat -c %U ../images/file") == slurm_files.account(slurm)
