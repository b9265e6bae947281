"""What a hub may do on the lab's real Slurm: by its key, through its agent, as each of its users, and nothing else."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from lab.instance import Instance
from lab.machine import machine_account
from lab.servers import slurm_files, sshd
from platforms.slurm.controllers.files import put_files
from platforms.slurm.hub import FOLDER, files
from platforms.slurm.hub_files.queue_words import counts_in
from platforms.slurm.hub_model import parse_hub
from platforms.slurm.site_model import SlurmAccess
from tests.lab import slurm_labs as labs
from workloads.hub_programs import hub_programs

pytestmark = pytest.mark.lab

HUB: Final = "quest"
IMAGE: Final = f"notebook@sha256:{'0' * 64}"
VARIABLES: Final = "JUPYTERHUB_API_TOKEN=secret\0JUPYTERHUB_USER=ada"
# In place of what starts images: says who runs what with which devices, and stays as a server does.
PROGRAM: Final = """#!/bin/sh
echo "user=$(id -un) devices=$CUDA_VISIBLE_DEVICES token=$APPTAINERENV_JUPYTERHUB_API_TOKEN"
echo "started: $*"
exec sleep 600
"""


@pytest.fixture(scope="module")
def slurm(new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    with labs.running("h", new_instance, replace(labs.CLUSTER, people=("ada", "bob"))) as instance:
        site = site_of(instance)
        profile = {
            "name": "two-gpus",
            "title": "Two GPUs",
            "image": IMAGE,
            "image_name": "notebook",
            "partitions": [{"pool": "gpu-p100", "partition": "gpu-shared", "gres": "p100"}],
            "gpus": 2,
            "cpu": 1,
            "memory_gib": 1,
            "time_min": 30,
        }
        args = {
            **{f"{part}_image": IMAGE for part in ("hub", "proxy")},
            "expose": {"kind": "login_node"},
            "authenticator": {"kind": "dummy"},
            "profiles": [profile, {**profile, "name": "too-long", "title": "Too long", "time_min": 600}],
        }
        hub = parse_hub(HUB, args, site)
        sifs = {hub.hub_image_name: "/hub.sif", hub.proxy_image_name: "/proxy.sif", "notebook": "/notebook.sif"}
        program = Path(site.program)
        program.write_text(PROGRAM)
        program.chmod(0o755)
        put_files(
            site, f"{site.image_store}/{FOLDER}", files(HUB, hub, site, sifs, hub_programs("platforms.slurm")), own=HUB
        )
        yield instance


def site_of(instance: Instance) -> SlurmAccess:
    reached = {
        "kind": "ssh",
        "port": instance.ports["sshd"],
        "identity": str(sshd.identity(instance)),
        "known_hosts": str(sshd.known_hosts(instance)),
    }
    return SlurmAccess.model_validate(
        {
            "access": {**reached, "address": f"{slurm_files.account(instance)}@127.0.0.1"},
            "program": str(slurm_files.root(instance) / "starts-images"),
            "image_store": str(slurm_files.image_store(instance)),
            "config": str(slurm_files.config(instance)),
            "account": "lab",
            "hubs": {
                "access": {**reached, "address": f"{slurm_files.hub_account(instance)}@127.0.0.1"},
                "inside": "127.0.0.1",
                "identity": str(slurm_files.hub_identity(instance)),
                "accounts": {user: slurm_files.person_account(instance, user) for user in ("ada", "bob")},
            },
        }
    )


def as_hub(instance: Instance, user: str, command: str) -> subprocess.CompletedProcess[str]:
    """A command by the hub's key, from the account that hubs run as, into the account of a user."""
    name = slurm_files.hub_account(instance)
    become = ["setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups"]
    options = [
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        f"UserKnownHostsFile={slurm_files.hub_known_hosts(instance)}",
    ]
    ssh = ["ssh", "-F", "none", "-T", "-i", str(slurm_files.hub_identity(instance)), "-p", str(instance.ports["sshd"])]
    where = f"{slurm_files.person_account(instance, user)}@127.0.0.1"
    words = [*become, *ssh, *(word for each in options for word in ("-o", each)), where, command]
    return subprocess.run(words, input=VARIABLES, capture_output=True, text=True, check=False, timeout=60)


def reply(instance: Instance, user: str, command: str) -> str:
    done = as_hub(instance, user, command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("gpu-commons: ")
    return done.stdout.removeprefix("gpu-commons: ").strip()


def log(instance: Instance, user: str, job: str) -> str:
    home = slurm_files.home_of(instance, slurm_files.person_account(instance, user))
    path = home / ".gpu-commons" / "hubs" / HUB / f"{job}.log"
    return path.read_text() if path.exists() else ""


def queue(instance: Instance) -> set[tuple[str, ...]]:
    return {*labs.queue(instance, "%i %u %P")}


def free(instance: Instance, user: str) -> dict[str, object]:
    """Counts of the profile with two GPUs."""
    found: dict[str, object] = counts_in(reply(instance, user, f"free {HUB}"))["two-gpus"]
    return found


def test_two_users_have_jobs_of_their_own_accounts_with_exactly_their_devices(slurm: Instance) -> None:
    before = free(slurm, "ada")
    jobs = {user: reply(slurm, user, f"submit {HUB} two-gpus") for user in ("ada", "bob")}
    seen = {}
    for user, job in jobs.items():
        labs.wait_until(lambda user=user, job=job: "started" in log(slurm, user, job))
        seen[user] = log(slurm, user, job)
        assert reply(slurm, user, f"query {HUB} {job}") == "RUNNING 127.0.0.1"
    accounts = {user: slurm_files.person_account(slurm, user) for user in jobs}
    assert queue(slurm) == {(jobs[user], accounts[user], "gpu-shared") for user in jobs}
    devices = set()
    for user, text in seen.items():
        first, second = text.splitlines()[:2]
        assert first.startswith(f"user={accounts[user]} devices=")
        assert first.endswith("token=secret")
        assert "--nv" in second
        assert second.endswith("--ip=127.0.0.1")
        devices.add(first.split("devices=")[1].split()[0])
    assert devices == {"0,1", "2,3"}
    assert (before["gpus"], before["busy_gpus"], before["servers"], before["lack"]) == (4, 0, 2, "")
    now = free(slurm, "bob")
    assert (now["gpus"], now["busy_gpus"], now["servers"], now["lack"]) == (4, 4, 0, "gpus")

    assert reply(slurm, "ada", f"end {HUB}") == "ended 1"
    labs.wait_until(lambda: queue(slurm) == {(jobs["bob"], accounts["bob"], "gpu-shared")})
    assert reply(slurm, "ada", f"query {HUB} {jobs['ada']}").startswith("GONE CANCELLED")
    assert reply(slurm, "bob", f"end {HUB}") == "ended 1"
    labs.wait_until(lambda: queue(slurm) == set())


def test_no_token_is_where_slurm_or_anybody_else_can_read_it(slurm: Instance) -> None:
    job = reply(slurm, "ada", f"submit {HUB} two-gpus")
    labs.wait_until(lambda: "started" in log(slurm, "ada", job))
    home = slurm_files.home_of(slurm, slurm_files.person_account(slurm, "ada"))
    assert [*home.rglob("variables-*")] == []
    assert "secret" not in labs.ssh(slurm, f"scontrol show job {job}; sacct -j {job} --batch-script || true")
    assert "Permission denied" in labs.ssh(slurm, f"ls {home}", fails=True)
    assert reply(slurm, "ada", f"end {HUB}") == "ended 1"
    labs.wait_until(lambda: queue(slurm) == set())


@pytest.mark.parametrize(
    "command", ["id", "sbatch --wrap id", f"submit {HUB} gpu", f"submit {HUB} two-gpus --gres=gpu:4"]
)
def test_the_hubs_key_opens_nothing_but_the_agent(slurm: Instance, command: str) -> None:
    done = as_hub(slurm, "bob", command)
    assert (done.returncode, done.stdout) == (1, "")
    assert queue(slurm) == set()


def test_a_job_that_slurm_refuses_is_reported_in_slurms_words(slurm: Instance) -> None:
    done = as_hub(slurm, "bob", f"submit {HUB} too-long")
    assert done.returncode == 1
    assert "time limit" in done.stderr.lower()


def test_the_account_of_hubs_can_change_neither_the_agent_nor_the_texts(slurm: Instance) -> None:
    name = slurm_files.hub_account(slurm)
    become = ["setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups"]
    folder = slurm_files.image_store(slurm) / FOLDER
    for path in (folder / "agent.py", folder / HUB / "profiles" / "two-gpus.sbatch", folder / HUB / "jobs.json"):
        done = subprocess.run([*become, "sh", "-c", f"echo >> {path}"], capture_output=True, text=True, check=False)
        assert "Permission denied" in done.stderr


def test_the_labs_accounts_end_with_it(new_instance: Callable[..., Instance]) -> None:
    with labs.running("e", new_instance, replace(labs.CLUSTER, people=("ada",))) as instance:
        names = [slurm_files.hub_account(instance), slurm_files.person_account(instance, "ada")]
        assert all(machine_account.exists(name) for name in names)
    assert not any(machine_account.exists(name) for name in names)
