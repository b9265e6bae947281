"""Batch scripts: whole texts, and what no value of a stack file may do to them."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from errors.problems import SettingsError
from platforms.slurm.batch_script import Unwritable, batch_script, interactive_command, options_of, written
from platforms.slurm.controllers.rest import job_of
from platforms.slurm.job_model import SlurmJob, parse_slurm_job
from platforms.slurm.site_model import SlurmAccess

SIF = "/projects/gpu-commons/images/cupy/0123456789ab.sif"
LOGS = "/projects/gpu-commons/images/logs/comet"
K80 = {"pool": "gpu-k80", "partition": "gpu", "gres": "k80", "exclusive": True}
P100 = {"pool": "gpu-p100", "partition": "gpu-shared", "gres": "p100"}


def site(**given: Any) -> SlurmAccess:
    access = {"access": {"kind": "local"}, "program": "singularity", "image_store": "/projects/gpu-commons/images"}
    return SlurmAccess.model_validate({**access, **given})


def job(**given: Any) -> SlurmJob:
    args = {"image": "cupy@sha256:0", "image_name": "cupy", "gpus": 1, "cpu": 2, "memory_gib": 4}
    return parse_slurm_job("smoke", {**args, "command": ["python", "smoke.py"], "partitions": [K80], **given})


def test_a_job_asks_for_its_gpus_by_type_and_starts_the_image_behind_its_options(golden: Any) -> None:
    text = batch_script(job(deadline_s=90), site(), SIF, LOGS)
    golden("batch-script/one-gpu.sbatch").equals(text)


def test_a_job_with_every_key(golden: Any) -> None:
    keys = {
        "account": "teaching",
        "qos": "short",
        "array": "0-9%2",
        "mail": {"to": "ops@example.edu"},
        "nodes": 2,
    }
    args = {"partitions": [K80, P100], "gpus": 4, "retries": 2, "deadline_s": 3600, "env": {"SEED": "it's 7"}}
    text = batch_script(job(**args, slurm=keys), site(program="/opt/apptainer/bin/apptainer"), SIF, LOGS)
    golden("batch-script/every-key.sbatch").equals(text)


def test_a_job_without_gpus_sees_none(golden: Any) -> None:
    golden("batch-script/no-gpu.sbatch").equals(batch_script(job(gpus=0), site(account="teaching"), SIF, LOGS))


def test_people_get_a_shell_with_what_the_job_gets() -> None:
    words = shlex.split(interactive_command(job(deadline_s=3600), site(), SIF))
    assert words[:2] == ["srun", "--partition=gpu"]
    assert {"--gres=gpu:k80:1", "--time=60", "--mem=4096M", "--cpus-per-task=2"} <= {*words}
    assert words[-4:-1] == ["--pty", "bash", "-c"]
    assert words[-1].endswith(f"exec singularity shell --cleanenv --contain --nv {SIF}")


ANYTHING = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40)


@pytest.mark.slow
@given(value=ANYTHING)
def test_a_value_of_an_option_means_itself_or_is_refused(value: str) -> None:
    line = f"#SBATCH --account={value}"
    # As sbatch splits a line: at spaces, with quotes, up to a hash.
    if re.search(r"[^\x21-\x7e]|[#'\"\\]", value):
        with pytest.raises(Unwritable, match="use letters"):
            written("account", value)
    elif _is_written(value):
        assert options_of(f"#!/bin/bash\n{line}\n") == {"account": value}
        assert shlex.split(line.removeprefix("#SBATCH "), comments=True) == [f"--account={value}"]


def _is_written(value: str) -> bool:
    try:
        return written("account", value) == value
    except Unwritable:
        return False


@pytest.mark.slow
@given(command=st.lists(ANYTHING, min_size=1, max_size=4), value=ANYTHING)
def test_no_command_and_no_variable_reaches_sbatch_or_the_shell(command: list[str], value: str) -> None:
    plain = batch_script(job(env={"SEED": "7"}), site(), SIF, LOGS)
    text = batch_script(job(command=command, env={"SEED": value}), site(), SIF, LOGS)
    assert options_of(text) == options_of(plain)
    started = shlex.split(text.partition(f"SEED={shlex.quote(value)}\ncode=0\n")[2])
    assert started[: 8 + len(command)] == [
        *("singularity", "exec", "--cleanenv", "--contain", "--nv", "--workdir", "$scratch", SIF),
        *command,
    ]
    assert f"export SINGULARITYENV_SEED={shlex.quote(value)}\n" in text


def test_an_option_is_never_behind_the_image() -> None:
    text = batch_script(job(command=["python", "--nv"]), site(), SIF, LOGS)
    words = shlex.split(text.partition("code=0\n")[2])
    assert words.index("--nv") < words.index(SIF)


@each_row(
    ("given_site", "given_job", "expected"),
    [
        ({"account": "two words"}, {}, "--account: 'two words'"),
        ({"account": "a\\b"}, {}, "--account:"),
        ({"program_version": "2.6.1"}, {}, "singularity 2.6.1 reads no SIF: install 3.0 or newer"),
        ({}, {"env": {"A B": "1"}}, "env: 'A B' is not a name of a variable"),
    ],
)
def test_what_cannot_be_written_is_named(given_site: dict[str, Any], given_job: dict[str, Any], expected: str) -> None:
    with pytest.raises(Unwritable, match=expected.replace("\\", "\\\\")):
        batch_script(job(**given_job), site(**given_site), SIF, LOGS)


def test_a_job_that_names_its_devices_is_refused() -> None:
    with pytest.raises(SettingsError, match="is set by Slurm"):
        job(env={"CUDA_VISIBLE_DEVICES": "3"})


def test_the_rest_service_gets_what_sbatch_would_read() -> None:
    options = job_of(batch_script(job(deadline_s=90, retries=1), site(account="teaching"), SIF, LOGS))
    assert options | {"environment": None} == {
        "account": "teaching",
        "cpus_per_task": 2,
        "current_working_directory": "/tmp",
        "environment": None,
        "gres": "gpu:k80:1",
        "memory_per_node": 4096,
        "nodes": [1, 1],
        "open_mode": "append",
        "partition": "gpu",
        "requeue": True,
        "standard_output": f"{LOGS}/smoke-%j.log",
        "tasks_per_node": 1,
        "time_limit": 2,
    }
