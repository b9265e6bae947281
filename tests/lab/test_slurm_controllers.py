"""Slurm by its commands over ssh and by its REST service: the same tests on the lab's real Slurm."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import processes
from lab.instance import Instance
from lab.machine import slurm_cluster
from lab.servers import slurm_files, slurmctld, slurmrestd, sshd
from lab.toolchain import Toolchain
from platforms.slurm.controllers import Controller, SlurmError, Unreachable
from platforms.slurm.controllers.choice import controller_of
from platforms.slurm.controllers.files import forget, forgotten, log_tail, make_folder
from platforms.slurm.controllers.polling import Poller
from platforms.slurm.controllers.submitting import end_all, submission, submit_once
from platforms.slurm.site_model import SlurmAccess
from tests.lab import slurm_labs as labs

pytestmark = pytest.mark.lab

WAYS = ("commands", "rest", "token")


@pytest.fixture(scope="module")
def slurm(new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    with labs.running("c", new_instance) as instance:
        processes.start(instance, slurmrestd.by_token(instance, Toolchain()))
        token = labs.ssh(instance, f"SLURM_CONF={slurm_files.config(instance)} scontrol token lifespan=3600")
        token_file(instance).write_text(f"{token}\n")
        yield instance


def token_file(instance: Instance) -> Path:
    return instance.config / "token"


def site(instance: Instance, way: str) -> SlurmAccess:
    """The lab's Slurm as a stack would write it."""
    access = {
        "kind": "ssh",
        "address": f"{slurm_files.account(instance)}@127.0.0.1",
        "port": instance.ports["sshd"],
        "identity": str(sshd.identity(instance)),
        "known_hosts": str(sshd.known_hosts(instance)),
    }
    socket = {"rest": slurm_files.rest_socket, "token": slurm_files.token_socket}
    of_token = {"user": slurm_files.account(instance), "token_file": str(token_file(instance))}
    rest: dict[str, str] = {}
    if way in socket:
        rest = {"url": f"unix://{socket[way](instance)}", "version": slurmrestd.VERSION}
        rest |= of_token if way == "token" else {}
    return SlurmAccess.model_validate(
        {
            "access": access,
            "image_store": str(slurm_files.image_store(instance)),
            "config": str(slurm_files.config(instance)),
            "account": "teaching",
            **({"rest": rest} if rest else {}),
        }
    )


@pytest.fixture(params=WAYS)
def here(slurm: Instance, request: pytest.FixtureRequest) -> SlurmAccess:
    made = site(slurm, request.param)
    make_folder(made, logs(made))
    return made


def logs(here: SlurmAccess) -> str:
    return f"{here.image_store}/logs/tests"


def text(
    here: SlurmAccess, body: str, *, gres: str = "gpu:p100:1", partition: str = "gpu-shared", minutes: int = 5
) -> str:
    options = {
        "partition": partition,
        "nodes": "1",
        "ntasks-per-node": "1",
        "cpus-per-task": "1",
        "mem": "100M",
        "gres": gres,
        "time": str(minutes),
        "account": "teaching",
        "chdir": "/tmp",
        "output": f"{logs(here)}/job-%j.log",
        "open-mode": "append",
        "export": "NONE",
    }
    lines = [f"#SBATCH --{name}={value}" for name, value in options.items()]
    return "\n".join(["#!/bin/bash", *lines, "#SBATCH --no-requeue", "", body, ""])


def name() -> str:
    return f"job{time.monotonic_ns()}"


def test_a_job_is_submitted_runs_and_is_found_again_with_its_log(here: SlurmAccess) -> None:
    controller = controller_of(here)
    wanted = submission("tests", name(), 1, text(here, 'echo "sees $CUDA_VISIBLE_DEVICES"; exit 3'))
    first = submit_once(controller, wanted)
    ended = Poller(controller, 0.5).wait_for_end(first.job)
    assert (ended.state, ended.exit_code, ended.nodes) == ("FAILED", 3, "gpu-p100-1")
    assert submit_once(controller, wanted).job == first.job
    assert log_tail(here, f"{logs(here)}/job-{first.job}.log") == "sees 0\n"


def test_a_job_ends_with_its_resource_and_runs_again_with_the_next(here: SlurmAccess) -> None:
    controller = controller_of(here)
    wanted = submission("tests", name(), 1, text(here, "sleep 300"))
    first = submit_once(controller, wanted)
    labs.wait_until(lambda: {part.state for part in controller.jobs([first.job])} == {"RUNNING"})
    assert end_all(controller, wanted) == ([first.job], [first.job])
    assert Poller(controller, 0.5).wait_for_end(first.job).state == "CANCELLED"
    controller.cancel([first.job])  # safe to repeat
    forget(here, logs(here), [first.job])
    second = submit_once(controller, wanted, forgotten(here, logs(here)))
    assert second.job > first.job
    end_all(controller, wanted)


def test_the_tasks_of_an_array_are_one_job(here: SlurmAccess) -> None:
    controller = controller_of(here)
    script = text(here, "exit $SLURM_ARRAY_TASK_ID").replace("#SBATCH --no-requeue", "#SBATCH --array=0-2%2")
    became = submit_once(controller, submission("tests", name(), 1, script))
    ended = Poller(controller, 0.5).wait_for_end(became.job)
    assert (ended.state, ended.exit_code) == ("FAILED", 2)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"partition": "nope"}, "[Ii]nvalid partition"),
        ({"minutes": 61}, "Requested time limit is invalid"),
    ],
)
def test_what_slurm_refuses_is_an_error_in_its_words_and_leaves_nothing(
    here: SlurmAccess, wrong: dict[str, str], expected: str
) -> None:
    controller, wanted = controller_of(here), submission("tests", name(), 1, text(here, "true", **wrong))  # type: ignore[arg-type]
    with pytest.raises(SlurmError, match=expected):
        submit_once(controller, wanted)
    assert not [part for part in controller.own_jobs() if part.comment == wanted.key and not part.has_ended]


def test_gpus_that_no_node_has_are_refused_at_submission(slurm: Instance) -> None:
    here = site(slurm, "commands")
    with pytest.raises(SlurmError, match="Requested node configuration is not available"):
        submit_once(controller_of(here), submission("tests", name(), 1, text(here, "true", gres="gpu:a100:1")))


def test_both_ways_know_the_same_of_the_cluster(slurm: Instance) -> None:
    by_commands, by_rest, _ = (controller_of(site(slurm, way)).facts() for way in WAYS)
    assert by_commands.version == by_rest.version
    assert by_commands.partitions.keys() == by_rest.partitions.keys() == {"gpu", "gpu-shared"}
    for one, other in zip(by_commands.partitions.values(), by_rest.partitions.values(), strict=True):
        assert (one.max_time_min, one.state) == (other.max_time_min, other.state) == (60, "UP")
        assert [(node.name, node.gpus) for node in one.nodes] == [(node.name, node.gpus) for node in other.nodes]
    assert [each.is_exclusive for each in by_commands.partitions.values()] == [True, False]


def test_a_partition_without_a_limit_has_none_both_ways(slurm: Instance) -> None:
    admin = ["env", f"SLURM_CONF={slurm_files.config(slurm)}", "scontrol", "update", "partitionname=gpu-shared"]
    subprocess.run([*admin, "maxtime=UNLIMITED"], check=True)
    try:
        for way in WAYS:
            assert controller_of(site(slurm, way)).facts().partitions["gpu-shared"].max_time_min is None, way
    finally:
        subprocess.run([*admin, "maxtime=60"], check=True)


def test_a_drained_node_is_away_both_ways(slurm: Instance) -> None:
    admin = ["env", f"SLURM_CONF={slurm_files.config(slurm)}", "scontrol", "update", "nodename=gpu-k80-1"]
    subprocess.run([*admin, "state=drain", "reason=bad fan"], check=True)
    try:
        for way in WAYS:
            (node,) = controller_of(site(slurm, way)).facts().partitions["gpu"].nodes
            assert (node.is_away, node.reason) == (True, "bad fan"), way
    finally:
        subprocess.run([*admin, "state=resume"], check=True)


KILLED_JOBS = int(os.environ.get("GPU_COMMONS_TEST_KILLED_JOBS", "6"))  # each of three ways twice; more in `make soak`
# One submission as a process that can be killed: `python -c SUBMITS JSON TEXT`.
SUBMITS = """
import json, sys
from platforms.slurm.controllers.choice import controller_of
from platforms.slurm.controllers.submitting import submission, submit_once
from platforms.slurm.site_model import SlurmAccess
here = SlurmAccess.model_validate_json(sys.argv[1])
print(submit_once(controller_of(here), submission("tests", sys.argv[2], 1, sys.argv[3])).job)
"""


@pytest.mark.soak(part="kills")
def test_killed_at_random_moments_a_job_runs_once(slurm: Instance) -> None:
    chance = random.Random(19)
    for number in range(KILLED_JOBS):
        here = site(slurm, WAYS[number % len(WAYS)])
        make_folder(here, logs(here))
        runs = f"{logs(here)}/runs-{number}"
        given = [here.model_dump_json(), f"killed{number}-{time.monotonic_ns()}", text(here, f"echo ran >> {runs}")]
        argv = [sys.executable, "-c", SUBMITS, *given]
        for _ in range(chance.randint(1, 3)):
            killed = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.2, 1.6))
            killed.send_signal(signal.SIGKILL)
            killed.wait()
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        job = int(done.stdout)
        controller = controller_of(here)
        assert Poller(controller, 0.5).wait_for_end(job).state == "COMPLETED"
        time.sleep(0.5)
        key = submission("tests", given[1], 1, given[2])
        _, every = end_all(controller, key)  # what arrived late was held
        assert Path(runs).read_text() == "ran\n", (number, every)


def test_a_controller_that_is_away_is_reported_and_nothing_runs_twice(slurm: Instance) -> None:
    here = site(slurm, "commands")
    make_folder(here, logs(here))
    wanted = submission("tests", name(), 1, text(here, f"echo ran >> {logs(here)}/away"))
    processes.stop(slurm, slurmctld.NAME)
    try:
        for way in WAYS:
            with pytest.raises(Unreachable, match="does not answer"):
                submit_once(controller_of(site(slurm, way)), wanted)
    finally:
        slurm_cluster.start(slurm, Toolchain(), labs.CLUSTER)
    became = submit_once(controller_of(here), wanted)
    assert Poller(controller_of(here), 0.5).wait_for_end(became.job).state == "COMPLETED"
    assert Path(f"{logs(here)}/away").read_text() == "ran\n"


def test_a_token_that_has_expired_is_named_without_it(slurm: Instance, tmp_path: Path) -> None:
    token = labs.ssh(slurm, f"SLURM_CONF={slurm_files.config(slurm)} scontrol token lifespan=1")
    assert token.startswith("SLURM_JWT=")
    (tmp_path / "token").write_text(f"{token}\n")
    here = site(slurm, "token")
    assert here.rest is not None
    rest = here.rest.model_copy(update={"token_file": str(tmp_path / "token")})
    time.sleep(2)
    with pytest.raises(SlurmError, match="does not accept the token, which may have expired") as caught:
        controller_of(here.model_copy(update={"rest": rest})).facts()
    assert "scontrol token" in str(caught.value)
    assert token.removeprefix("SLURM_JWT=") not in str(caught.value)


def test_a_host_key_that_is_not_known_is_refused(slurm: Instance, tmp_path: Path) -> None:
    (tmp_path / "known_hosts").write_text("")
    here = site(slurm, "commands")
    access = here.access.model_copy(update={"known_hosts": str(tmp_path / "known_hosts")})
    controller: Controller = controller_of(here.model_copy(update={"access": access}))
    with pytest.raises(Unreachable, match=r"ssh to .* failed: .*[Hh]ost key"):
        controller.facts()
