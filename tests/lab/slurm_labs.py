"""Slurms of the tests' own: how they are made, queried, and proved gone."""

from __future__ import annotations

import pwd
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from lab.instance import Instance
from lab.machine import slurm_cluster
from lab.machine.slurm_accounting import Qos
from lab.machine.slurm_cluster import Cluster
from lab.servers import slurm_files, sshd
from lab.servers.slurm_config import NodeGroup
from lab.toolchain import Toolchain

K80: Final = NodeGroup("gpu-k80", "gpu", 1, 24, 120_000, gpus=4, gres="k80", exclusive=True, max_time_min=60)
P100: Final = NodeGroup("gpu-p100", "gpu-shared", 1, 28, 120_000, gpus=4, gres="p100", max_time_min=60)
CLUSTER: Final = Cluster((K80, P100), accounts=("lab", "teaching"), qos=(Qos("two-gpus", 2),), has_images=False)


@contextmanager
def running(name: str, free_ports: Callable[..., Instance], cluster: Cluster = CLUSTER) -> Iterator[Instance]:
    """A lab with nothing but a Slurm of two nodes."""
    with tempfile.TemporaryDirectory(prefix="gc-") as home:
        instance = free_ports(Path(home) / name, "slurmctld", "slurmdbd", "sshd")
        try:
            slurm_cluster.start(instance, Toolchain(), cluster)
            yield instance
        finally:
            slurm_cluster.end(instance)
            slurm_cluster.forget(instance)
        assert processes_of(instance) == []
        assert not account_exists(instance)
        assert not slurm_files.root(instance).exists()


def ssh(instance: Instance, command: str, *, fails: bool = False) -> str:
    """What a command prints on the login node, without its last line end; its error where it has to fail."""
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": str(sshd.known_hosts(instance)),
        "IdentitiesOnly": "yes",
    }
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    where = ["-p", str(instance.ports["sshd"]), f"{slurm_files.account(instance)}@127.0.0.1"]
    argv = ["ssh", "-F", "none", "-i", str(sshd.identity(instance)), *words, *where, command]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return (done.stderr if fails else done.stdout).strip()


def queue(instance: Instance, shows: str, *options: str) -> list[tuple[str, ...]]:
    """What squeue shows of each job that waits or runs; one that ends stays in its list until its node is clean."""
    output = ssh(instance, f"squeue -h -t PENDING,RUNNING -o '{shows}' {' '.join(options)}")
    return [tuple(line.split()) for line in output.splitlines()]


def run_job(instance: Instance, options: str, command: str) -> str:
    """Submit a job, wait for its end, return its output."""
    log = slurm_files.home(instance) / "job.out"
    submit = f"timeout 30 sbatch --wait --quiet --time=5 --output={log} {options} --wrap '{command}'"
    ssh(instance, f"{submit} || {{ cat {log}; exit 1; }}")
    return log.read_text().strip()


def wait_until(holds: Callable[[], bool], within_s: float = 20) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.2)


def account_exists(instance: Instance) -> bool:
    return slurm_files.account(instance) in {each.pw_name for each in pwd.getpwall()}


def processes_of(instance: Instance) -> list[str]:
    """Command lines of all that says that it belongs to this lab, and of all that runs as its account."""
    words = (str(instance.home), str(slurm_files.root(instance)))
    found = []
    for process in psutil.process_iter(["cmdline", "username", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if any(word in line for word in words) or process.info["username"] == slurm_files.account(instance):
            found.append(line)
    return found
