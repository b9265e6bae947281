"""`gpu-commons stack check`: the offline report on a stack file, and messages about mistakes in it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli.words import NO_GPU

Run = Callable[..., Result]
PROJECT = Path(__file__).resolve().parents[2]
DSMLP = PROJECT / "stacks" / "Pulumi.dsmlp-fall.yaml"
TERM = 'guaranteed_gpus: 48\n      first_day: "2020-10-01"\n      last_day: "2020-12-18"'  # over: promised nothing
TOO_MANY = TERM.replace("48", "113").replace("2020-12", "2099-12")
RTX = 'nodes: [n18, n21, n22, n24]\n        driver: "418.88"'
JOB = "cpu: 1\n      memory_gib: 2\n      command"


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., str]:
    """The stack file of dsmlp-fall with some of its text replaced, each piece once."""

    def write(*replacements: tuple[str, str]) -> str:
        text = DSMLP.read_text()
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "Pulumi.changed.yaml"
        path.write_text(text)
        return str(path)

    return write


@pytest.mark.slow
@pytest.mark.parametrize("stack", [path.stem.removeprefix("Pulumi.") for path in (PROJECT / "stacks").glob("*.yaml")])
def test_nothing_is_refused_of_the_stacks_of_the_project(run: Run, stack: str) -> None:
    result = run("stack", "check", stack)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "refuse" not in result.stdout


def test_the_first_line_is_the_verdict_and_then_come_images_on_pools_and_findings(run: Run) -> None:
    result = run("stack", "check", "dsmlp-fall")
    first, second, *rest = result.stdout.splitlines()
    assert first == "! stacks/Pulumi.dsmlp-fall.yaml: 1 warning"
    assert second == "  119 GPUs in 15 nodes of 3 pools, 4 images, 1 hub, 1 job, 2 courses"
    assert "  scipy-ml-notebook      ✓ compatible on gtx1080ti, rtx2080ti, gtx1070ti" in rest
    assert f"  proxy                  {NO_GPU.symbol} uses no GPU" in rest
    (warning,) = [line for line in rest if line.startswith("warn ")]
    assert "P-DRIVER stack: pools gtx1080ti, rtx2080ti, gtx1070ti: driver branch 418 reached its end of life" in warning
    assert rest[-1].startswith("checked at preview or update, once the images are built: P-PIN")


def test_a_stack_of_images_alone_is_fine(run: Run) -> None:
    result = run("stack", "check", "cupy")
    assert result.stdout == "✓ stacks/Pulumi.cupy.yaml: nothing to change\n  no fleet, 4 images\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "rule", "subject", "says"),
    [
        ('driver: "418.88"', 'driver: "390.77"', "P-RUN", "image scipy-ml-notebook", "CUDA 10.1 needs driver 418.39"),
        (RTX, RTX.replace("418.88", "390.77"), "P-DRIVER", "stack", "does not support GeForce RTX 2080 Ti yet"),
        (TERM, TOO_MANY, "P-TERM", "stack", "Deep learning is promised 113 GPUs"),
        (JOB, JOB.replace("cpu: 1", "cpu: 33"), "P-HOST", "Job batch/gpu-smoke", "no pool can host it"),
        (", docker.io]", "]", "P-PIN", "DaemonSet gpu-runtime/persistence-daemon", "is not from an allowed registry"),
    ],
)
def test_what_the_pack_would_refuse_is_refused_offline(
    run: Run, changed: Callable[..., str], old: str, new: str, rule: str, subject: str, says: str
) -> None:
    file = changed((old, new))
    result = run("stack", "check", "--json", file)
    data = json.loads(result.stdout)
    assert (result.exit_code, data["verdict"], data["problems"]) == (1, "refused", [])
    found = [
        each for each in data["findings"] if (each["level"], each["rule"], each["subject"]) == ("refuse", rule, subject)
    ]
    assert found, data["findings"]
    assert all(says in each["message"] for each in found)
    text = run("stack", "check", file)
    assert text.exit_code == 1
    assert text.stdout.startswith(f"✕ {file}: ")
    assert f"\nrefuse  {rule} {subject}: " in text.stdout


def test_a_waiver_lets_it_through_and_is_reported(run: Run, changed: Callable[..., str]) -> None:
    waiver = (
        "config:\n  gpu-commons:policies:\n    waivers:\n      - {rule: P-TERM, resource: stack, reason: the term is"
        ' small, owner: ada, until: "2999-01-01"}\n'
    )
    result = run("stack", "check", changed(("config:\n", waiver), (TERM, TOO_MANY)))
    assert result.exit_code == 0
    assert "warn    P-TERM stack: waived until 2999-01-01 by ada: the term is small" in result.stdout
    assert "warn    P-WAIVER stack: waived: P-TERM of stack" in result.stdout


def test_all_mistakes_of_the_settings_come_at_once_with_path_and_line(run: Run, changed: Callable[..., str]) -> None:
    file = changed(('driver: "418.88"', 'driver: "418.8x"'), ("image: datahub-base-notebook", "image: datahub-base"))
    result = run("stack", "check", file)
    assert result.exit_code == 2
    assert not result.stdout
    assert result.stderr.startswith(f"Error: {file}: 2 problems\n")
    assert 'fleet.pools[0].driver: "418.8x" is not a driver version' in result.stderr
    as_json = run("stack", "check", "--json", file)
    data = json.loads(as_json.stdout)
    assert (as_json.exit_code, data["verdict"], data["findings"]) == (2, "invalid", [])
    assert [each["path"] for each in data["problems"]] == ["fleet.pools[0].driver", "hubs[0].profiles[0].image"]
    assert all(each["line"] and each["fix"] and each["reason"] and each["file"] == file for each in data["problems"])


def refused(run: Run, *arguments: str) -> str:
    """The message of a call that ends with 2 and prints nothing else."""
    result = run("stack", "check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr
    return result.stderr


def test_every_other_mistake_is_one_message_and_2(run: Run, changed: Callable[..., str], tmp_path: Path) -> None:
    assert refused(run, "dsmlp-autumn").startswith('Error: there is no stack "dsmlp-autumn"')
    assert "cannot be read: No such file" in refused(run, str(tmp_path / "Pulumi.none.yaml"))
    (tmp_path / "folder.yaml").mkdir()
    assert "cannot be read: Is a directory" in refused(run, str(tmp_path / "folder.yaml"))
    assert "Missing argument" in refused(run)
    assert "does not exist" in refused(run, "dsmlp-fall", "--site", str(tmp_path / "none"))
    no_such_image = refused(
        run, changed(("- name: scipy-ml-notebook", "- name: scipy-ml-notebook\n    - name: scipy-nl-notebook"))
    )
    assert "scipy-nl-notebook" in no_such_image
    orphan = refused(
        run, changed(("    - name: datahub-base-notebook\n", ""), ("image: datahub-base-notebook", "image: hub"))
    )
    assert "stands on our datahub-base-notebook" in orphan
    rule = "config:\n  gpu-commons:policies: {levels: {P-TREM: warn}}\n"
    assert 'policies.levels.P-TREM: "P-TREM" is not a rule' in refused(run, changed(("config:\n", rule)))


@pytest.mark.slow
def test_an_overlay_counts_when_it_is_named_and_only_then(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = tmp_path / "site.yaml"
    overlay.write_text("allowed_registries: [registry.example.edu]\n")
    monkeypatch.setenv("GPU_COMMONS_SITE", str(overlay))
    assert run("stack", "check", "dsmlp-fall").exit_code == 0
    assert run("stack", "check", "dsmlp-fall", "--site", str(overlay)).exit_code == 1


def test_it_uses_no_network_and_no_process(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a network is used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert run("stack", "check", "dsmlp-next").exit_code == 0


@pytest.mark.slow
def test_from_the_shell_it_loads_nothing_of_the_engine() -> None:
    program = "import sys, cli.__main__ as it\ntry: it.main()\nfinally: print(*sorted(sys.modules), file=sys.stderr)"
    call = [sys.executable, "-c", program, "stack", "check", "dsmlp-fall"]
    done = subprocess.run(call, capture_output=True, text=True, cwd=PROJECT, check=True)
    assert not {"pulumi", "pulumi_policy", "pulumi_kubernetes", "grpc", "rich"} & set(done.stderr.split())


@pytest.mark.parametrize(("name", "pools"), [("comet", "gpu-k80, gpu-p100, shared-k80, shared-p100"), ("quest", "gpu")])
def test_an_image_is_proved_on_each_partition_that_jobs_name(run: Run, name: str, pools: str) -> None:
    output = run("stack", "check", name).stdout
    assert re.search(rf"^  cupy-cuda11 +✓ compatible on {pools}$", output, re.MULTILINE)


def test_a_job_of_slurm_that_counts_on_its_node_is_refused_before_anything_is_built(run: Run, tmp_path: Path) -> None:
    text = (PROJECT / "stacks" / "Pulumi.comet.yaml").read_text()
    file = tmp_path / "Pulumi.comet.yaml"
    command = "command: [bash, -c, 'module load cuda/9.2; python /app/seen.py']"
    file.write_text(text.replace("command: [python, /app/seen.py]", command, 1))
    result = run("stack", "check", str(file))
    assert result.exit_code == 1
    assert "P-BATCH Job whole-node: 'module load cuda/9.2'" in result.stdout


def test_a_driver_that_nobody_looked_up_is_reported_with_what_brings_it(run: Run, tmp_path: Path) -> None:
    text = (PROJECT / "stacks" / "Pulumi.quest.yaml").read_text()
    file = tmp_path / "Pulumi.quest.yaml"
    file.write_text(
        text.replace('        driver: "470.256.02"\n', "").replace("gpus_per_node, driver,", "gpus_per_node,")
    )
    result = run("stack", "check", str(file))
    assert "which gpu-commons probe --via-slurm gpu prints (runs on 450.80.02 to branch 580)" in result.stdout


def test_a_text_that_no_batch_script_can_hold_is_one_mistake_of_its_job(run: Run, tmp_path: Path) -> None:
    text = (PROJECT / "stacks" / "Pulumi.quest.yaml").read_text()
    file = tmp_path / "Pulumi.quest.yaml"
    file.write_text(text.replace("image_store: /projects/gpu-commons/images", "image_store: /projects/100%/images"))
    assert "job seen: --output: the folder" in refused(run, str(file))
