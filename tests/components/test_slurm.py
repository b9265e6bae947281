"""Components of a site with Slurm, under mocks; Slurm's commands are recorded answers of a Slurm 22.05.8."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
from rows import each_row

from components.on_slurm.sif_files import KeepsFile
from components.on_slurm.sif_image import SifImage
from components.on_slurm.slurm_gpu_job import SlurmGpuJob
from components.on_slurm.slurm_jobs import FollowsJob
from components.on_slurm.slurm_site import SlurmSite

REF = "registry.example.edu/gpu-commons/cupy@sha256:" + "0123456789abcdef" * 4
K80 = {"pool": "gpu-k80", "partition": "gpu", "gres": "k80", "exclusive": True, "max_time_min": 2880}
P100 = {"pool": "gpu-p100", "partition": "gpu-shared", "gres": "p100"}
JOB = {"image": REF, "image_name": "cupy", "gpus": 1, "cpu": 2, "memory_gib": 4, "command": ["python", "seen.py"]}

ANSWERS = {
    "sinfo": """\
[ "$1" = --version ] && { echo "slurm-wlm 22.05.8"; exit; }
echo 'gpu-k80-1|gpu|gpu:k80:4|STATE|REASON|'
echo 'gpu-p100-1|gpu-shared|gpu:p100:4|idle|none|'
""",
    "scontrol": """\
echo 'PartitionName=gpu MaxNodes=UNLIMITED MaxTime=2-00:00:00 OverSubscribe=EXCLUSIVE State=UP'
echo 'PartitionName=gpu-shared MaxNodes=1 MaxTime=2-00:00:00 OverSubscribe=NO State=UP'
""",
    "singularity": 'echo "singularity-ce version 4.3.3"\n',
}
# What Pulumi's SDK 3.259.0 wrote into the state for the first versions of these providers.
FIRST = {
    "FollowsJob": "gASVNAAAAAAAAACMHmNvbXBvbmVudHMub25fc2x1cm0uc2x1cm1fam9ic5SMCkZvbGxvd3NKb2KUk5QpgZQu",
    "KeepsFile": "gASVMgAAAAAAAACMHWNvbXBvbmVudHMub25fc2x1cm0uc2lmX2ZpbGVzlIwJS2VlcHNGaWxllJOUKYGULg==",
}


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Puts Slurm's commands on the path, which answer so; returns how the site is reached."""

    def put(state: str = "idle", reason: str = "none", **answers: str) -> dict[str, Any]:
        for name, answer in {**ANSWERS, **answers}.items():
            (tmp_path / name).write_text("#!/bin/sh\n" + answer.replace("STATE", state).replace("REASON", reason))
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        return {"access": {"kind": "local"}, "program": "singularity", "image_store": "/projects/images"}

    return put


def site(access: dict[str, Any], *pools: dict[str, Any]) -> None:
    declared = [{**pool, "nodes": 1, "gpus_per_node": 4} for pool in pools]
    found = SlurmSite("slurm", {"site": access, "pools": declared})  # type: ignore[typeddict-item]
    pulumi.export("facts", found.facts)


@pytest.mark.parametrize("preview", [True, False])
def test_a_site_says_what_its_slurm_has_and_makes_nothing(recorded: Any, say: Any, preview: bool) -> None:
    access = say()
    recording = recorded(lambda: site(access, K80, P100), preview=preview)
    (stack_outputs,) = [each for each in recording.resources if each.type == "gpu-commons:index:SlurmSite"]
    assert stack_outputs.inputs["pools"][0]["partition"] == "gpu"
    assert [each.type for each in recording.resources] == ["gpu-commons:index:SlurmSite"]


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ({**K80, "partition": "gpus"}, "Slurm has no partition gpus; did you mean gpu?"),
        ({**K80, "gres": "k8"}, "partition gpu has no GPUs of type k8; did you mean k80?"),
        ({**K80, "max_time_min": 9999}, "partition gpu ends a job after 2880 min: write max_time_min: 2880"),
    ],
)
def test_what_slurm_does_not_have_stops_the_update(
    recorded: Any, say: Any, pool: dict[str, Any], expected: str
) -> None:
    access = say()
    with pytest.raises(pulumi.RunError, match="site slurm is not what the stack says: pool gpu-k80: ") as caught:
        recorded(lambda: site(access, pool))
    assert expected in str(caught.value)


def test_a_partition_whose_nodes_are_drained_stops_the_update_with_the_reason(recorded: Any, say: Any) -> None:
    access = say(state="drained", reason="bad fan")
    with pytest.raises(pulumi.RunError, match=r"no node of partition gpu takes jobs \(gpu-k80-1 drained: bad fan\)"):
        recorded(lambda: site(access, K80))


def test_another_program_than_the_stack_was_proved_with_stops_the_update(recorded: Any, say: Any) -> None:
    access = {**say(), "program_version": "3.8.0"}
    with pytest.raises(pulumi.RunError, match=r'singularity is 4.3.3 and not 3.8.0: write program_version: "4.3.3"'):
        recorded(lambda: site(access, K80))


def test_a_controller_that_is_away_is_one_line(recorded: Any, say: Any) -> None:
    words = "slurm_load_partitions: Unable to contact slurm controller (connect failure)"
    access = say(scontrol=f'echo "{words}" >&2; exit 1\n')
    with pytest.raises(pulumi.RunError, match="site slurm: Slurm's controller does not answer: ") as caught:
        recorded(lambda: site(access, K80))
    assert "\n" not in str(caught.value)


def submitted(recorded: Any, access: dict[str, Any], *, preview: bool = False, **given: Any) -> Any:
    def program() -> dict[str, pulumi.Output[Any]]:
        file = SifImage("cupy", {"image": REF, "image_name": "cupy", "site": access})
        args: Any = {**JOB, "site": access, "sif": file.path, "partitions": [K80], **given}
        return {"shell": SlurmGpuJob("smoke", args).shell}

    return recorded(program, preview=preview)


@pytest.mark.parametrize("preview", [True, False])
def test_a_job_is_a_text_with_the_file_of_its_image(recorded: Any, say: Any, preview: bool) -> None:
    recording = submitted(recorded, say(), preview=preview)
    job, file = recording.only("SlurmJob"), recording.only("SifFile")
    assert file.inputs["path"] == "/projects/images/cupy/0123456789ab.sif"
    assert (file.inputs["ref"], job.inputs["image"]) == (REF, REF)
    assert "singularity exec --cleanenv --contain --nv" in job.inputs["text"]
    assert "/projects/images/cupy/0123456789ab.sif python seen.py" in job.inputs["text"]
    assert (job.inputs["pools"], job.inputs["gpus"], job.inputs["waits_for"]) == (["gpu-k80"], 1, "submission")
    assert recording.outputs["shell"].startswith("srun --partition=gpu ")


def test_a_job_with_a_value_that_no_script_can_hold_makes_nothing(recorded: Any, say: Any) -> None:
    access = {**say(), "account": "two words"}
    with pytest.raises(pulumi.RunError, match="--account: 'two words' cannot be written"):
        submitted(recorded, access)


def props(**given: Any) -> dict[str, Any]:
    known = {"stack": "comet", "job": "smoke", "run": 1.0, "text": "#!/bin/bash\n", "logs": "/l", "site": {}}
    return {**known, "waits_for": "submission", "state": "COMPLETED", **given}


@each_row(
    ("changed", "is_replaced"),
    [({"text": "#!/bin/sh\n"}, True), ({"run": 2.0}, True), ({"waits_for": "end"}, False), ({"site": {"a": 1}}, False)],
)
def test_another_text_or_run_is_another_job(changed: dict[str, Any], is_replaced: bool) -> None:
    found = FollowsJob().diff("7", props(), props(**changed))
    assert (found.changes, bool(found.replaces), found.delete_before_replace) == (True, is_replaced, True)


def test_what_became_of_a_job_is_no_difference_and_an_end_that_was_seen_stays() -> None:
    assert not FollowsJob().diff("7", props(state="FAILED"), props()).changes
    assert FollowsJob().read("7", props(state="TIMEOUT")).outs == props(state="TIMEOUT")  # Slurm is not called


@pytest.mark.parametrize("provider", [FollowsJob, KeepsFile])
def test_what_an_earlier_version_made_is_followed_by_todays_code(provider: type) -> None:
    loaded = pickle.loads(base64.b64decode(FIRST[provider.__name__]))  # noqa: S301 - written above
    assert type(loaded) is provider
    assert base64.b64encode(pickle.dumps(provider())).decode() == FIRST[provider.__name__]
    assert provider.serialize_as_secret_always is False


def test_a_file_that_was_cut_off_is_made_again_and_stays_when_its_resource_goes(tmp_path: Path, say: Any) -> None:
    path = tmp_path / "cupy.sif"
    path.write_bytes(b"12345")
    known = {"ref": REF, "path": str(path), "image_name": "cupy", "site": say(), "size_bytes": 5.0}
    assert not KeepsFile().diff("id", known, known).changes
    path.write_bytes(b"123")
    found = KeepsFile().diff("id", known, known)
    assert (found.changes, found.replaces) == (True, None)
    KeepsFile().delete("id", known)
    assert path.exists()
