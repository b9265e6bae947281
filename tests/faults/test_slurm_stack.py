"""A stack on a site with Slurm whose jobs are refused, and whose updates are killed: nothing runs twice."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from own_lab import PROJECT, OwnLab, own_lab
from projects import linked_project, write_stack

from lab import engine
from lab.toolchain import Toolchain
from tests.lab import slurm_labs
from tests.stacks.stack_comet import submitted

sys.path.insert(0, str(Path(__file__).parents[1] / "imaging" / "inspection"))  # folders of tests are no packages
from made import fatbin, library

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

COMET: Final[dict[str, Any]] = yaml.safe_load((PROJECT / "stacks" / "Pulumi.comet.yaml").read_text())
# Code for a V100 and nothing else, with the runtime of CUDA 10.2 beside it.
VOLTA: Final = {
    "/opt/train/libtrain.so": library(fatbin(("cubin", 70))),
    "/usr/local/cuda-10.2/lib64/libcudart.so.10.2.89": library(),
}
JOB: Final = {"cpu": 1, "memory_gib": 1, "deadline_s": 600}
KILLS: Final = 3


@pytest.fixture(scope="module")
def project() -> Iterator[Path]:
    """This project by link, with one stack file that may be changed, and one image more."""
    with linked_project({"comet": with_jobs()}, {"volta": VOLTA}) as folder:
        yield folder


def write(folder: Path, *jobs: dict[str, Any]) -> None:
    write_stack(folder, "comet", with_jobs(*jobs))


def with_jobs(*jobs: dict[str, Any]) -> dict[str, Any]:
    """The stack as its file says, with the image for Volta, whose base the lab then knows, and these jobs as well."""
    config = dict(COMET["config"])
    config["gpu-commons:images"] = [*config["gpu-commons:images"], {"name": "volta"}]
    config["gpu-commons:jobs"] = [*config["gpu-commons:jobs"], *({**JOB, **job} for job in jobs)]
    return {**COMET, "config": config}


@pytest.fixture(scope="module")
def lab(project: Path) -> Iterator[OwnLab]:
    with own_lab("comet", project) as lab:
        yield lab


@pytest.fixture(autouse=True)
def as_its_file_says(project: Path) -> Iterator[None]:
    yield
    write(project)


def queue(lab: OwnLab) -> list[str]:
    """Names of the jobs that wait or run."""
    return [name for (name,) in slurm_labs.queue(lab.instance, "%j")]


def test_the_commands_that_make_up_recommends_answer_in_its_shell(lab: OwnLab) -> None:
    assert "sinfo" in lab.output
    done = subprocess.run(["sinfo", "-h", "-o", "%R"], env=lab.shell(), capture_output=True, text=True, check=True)
    assert {*done.stdout.split()} == {"gpu", "gpu-shared"}


def test_an_image_for_volta_alone_is_refused_for_k80_before_anything_is_submitted(lab: OwnLab, project: Path) -> None:
    job = {"name": "volta", "image": "volta", "pools": ["shared-k80", "shared-p100"], "gpus": 1, "command": ["true"]}
    write(project, job)
    message = lab.refused("up", "--yes", "--skip-preview")
    assert re.search(r"P-RUN: Job volta: \S+/volta@\S+ does not run on pools shared-k80, shared-p100", message)
    assert "On shared-k80: Build it for sm_37 as well. On shared-p100: Build it for sm_60 as well." in message
    assert queue(lab) == []
    assert submitted(lab, "volta") == []


@pytest.mark.soak(part="kills")
def test_a_run_that_is_killed_three_times_submits_each_job_once(lab: OwnLab, project: Path) -> None:
    names = [f"killed-{number}" for number in range(4)]
    write(project, *(_on_shared(name, "print(1)", waits_for="end") for name in names))
    command = [engine.program(lab.instance, Toolchain()), "up", "--yes", "--skip-preview", "--stack", "comet"]
    chance = random.Random(19)
    for _ in range(KILLS):
        killed = subprocess.Popen(
            [*command, "--non-interactive"],
            cwd=project,
            env=lab.shell(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(3, 12))
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        lab.pulumi("cancel", "--yes")
    lab.up()
    assert {name: len(submitted(lab, name)) for name in names} == dict.fromkeys(names, 1)
    assert queue(lab) == []


def test_what_slurm_refuses_is_the_error_of_its_job(lab: OwnLab, project: Path) -> None:
    write(project, _on_shared("nobodys", "print(1)", account="nobodys"))
    assert re.search(r"Slurm refuses.*[Ii]nvalid account", lab.refused("up", "--yes", "--skip-preview"))
    assert queue(lab) == []


def test_destroy_ends_what_runs(lab: OwnLab, project: Path) -> None:
    write(project, _on_shared("long", "import time; time.sleep(600)", waits_for="submission"))
    lab.pulumi("up", "--yes", "--skip-preview")
    assert [name.rpartition("-")[0] for name in queue(lab)] == ["long"]
    lab.pulumi("destroy", "--yes", "--skip-preview")
    slurm_labs.wait_until(lambda: queue(lab) == [])


def _on_shared(name: str, program: str, **slurm: Any) -> dict[str, Any]:
    command = ["python", "-c", program]
    return {"name": name, "image": "cupy-cuda11", "pool": "shared-p100", "gpus": 1, "command": command, "slurm": slurm}
