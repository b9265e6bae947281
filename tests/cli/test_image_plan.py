"""`gpu-commons image plan`: what goes in, why its CUDA runs on each pool or does not, how big it will be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli.image.plan import report_of
from cli.image.plan_report import plan_text
from imaging.spec.load import IMAGES, load_family

Run = Callable[..., Result]
PROJECT = Path(__file__).resolve().parents[2]
STACK = PROJECT / "stacks" / "Pulumi.dsmlp-fall.yaml"


def data(run: Run, *arguments: str) -> dict[str, Any]:
    found = json.loads(run("image", "plan", *arguments, "--json").stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("image", "stack"),
    [
        ("scipy-ml-notebook", "dsmlp-fall"),
        ("scipy-ml-notebook-cu126", None),
        ("cupy-notebook", "dsmlp-fall"),
        ("proxy", None),
        ("perceptron", "dsmlp-next"),
    ],
)
def test_the_page_at_80_columns_is_the_approved_one(
    golden: Callable[[str], Any], image: str, stack: str | None
) -> None:
    text = plan_text(report_of(load_family(image), IMAGES, stack), width=80)
    assert max(len(line) for line in text.splitlines() if "@sha256:" not in line) <= 80
    golden(f"plan/{image}.txt").equals(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scipy-ml-notebook", str(IMAGES / "scipy-ml-notebook"), "images/scipy-ml-notebook/"])
def test_an_image_is_named_or_its_folder_is(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    result = run("image", "plan", name)
    assert result.exit_code == 0
    assert result.stdout.startswith("scipy-ml-notebook 1.0.0")


def test_json_has_every_pool_its_findings_and_its_ceiling(run: Run) -> None:
    found = data(run, "scipy-ml-notebook", "--stack", "dsmlp-fall")
    assert found["stack"] == "dsmlp-fall"
    assert [pool["name"] for pool in found["pools"]] == ["gtx1080ti", "rtx2080ti", "gtx1070ti"]
    tensorflow, torch = found["uses"]
    assert (tensorflow["where"], tensorflow["cuda"]) == ("kernel tensorflow-2.3", {"line": "10.1", "source": "conda"})
    assert (torch["where"], torch["cuda"]) == ("kernel pytorch-1.7", {"line": "10.1", "source": "wheels"})
    for use in (tensorflow, torch):
        for answer in use["answers"]:
            assert answer["verdict"] == "compatible"
            assert answer["deciding"] == ["R-BACK"]
            assert "R-BACK" in [finding["rule"] for finding in answer["findings"]]
            assert answer["ceiling"]["cuda"] == "10.1"
            assert answer["ceiling"]["how"].startswith("pip install ")


def test_the_size_is_a_lower_bound_with_its_parts_and_what_is_not_in_it(run: Run) -> None:
    size = data(run, "scipy-ml-notebook")["size"]
    assert size["is_lower_bound"]
    assert [part["image"] for part in size["counted"]] == ["scipy-ml-notebook", "datahub-base-notebook"]
    assert 0 < size["compressed"] < size["unpacked"]
    names = " ".join(size["not_counted"])
    assert all(word in names for word in ("base quay.io", "OS packages", "kernel pytorch-1.7", "torch==1.7.1+cu101"))
    for pool in size["pools"]:
        assert pool["start_s"]["total"] == sum(pool["start_s"][part] for part in ("pull", "unpack", "start"))
        assert pool["are_rates_planned"]
        assert pool["disk_bytes"] < pool["room_bytes"]


def test_rates_and_disks_are_those_of_the_pool(run: Run, tmp_path: Path) -> None:
    faster = tmp_path / "Pulumi.faster.yaml"
    faster.write_text(
        STACK.read_text().replace("root_disk_gib: 480", "root_disk_gib: 100\n        pull_mb_per_s: 500", 1)
    )
    first, second, _ = data(run, "scipy-ml-notebook", "--stack", str(faster))["size"]["pools"]
    assert first["start_s"]["pull"] == pytest.approx(second["start_s"]["pull"] / 10)
    assert (first["are_rates_planned"], second["are_rates_planned"]) == (False, True)
    assert first["room_bytes"] < second["room_bytes"]


def test_pools_with_different_drivers_are_distinguished(run: Run, tmp_path: Path) -> None:
    mixed = tmp_path / "Pulumi.mixed.yaml"
    mixed.write_text(STACK.read_text().replace('driver: "418.88"', 'driver: "390.144"', 1))
    result = run("image", "plan", "scipy-ml-notebook", "--stack", str(mixed))
    assert result.exit_code == 1
    assert "✕ incompatible: gtx1080ti\n" in result.stdout
    assert "✓ compatible: rtx2080ti, gtx1070ti\n" in result.stdout
    assert "with driver 390.144" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("stack", "code"), [("dsmlp-fall", 1), ("dsmlp-next", 0)])
def test_what_an_old_driver_does_not_run_a_new_one_does(run: Run, tmp_path: Path, stack: str, code: int) -> None:
    images = shutil.copytree(IMAGES, tmp_path / "images")
    spec = images / "scipy-ml-notebook" / "image.yaml"
    text = spec.read_text().replace('line: "10.1"', 'line: "10.2"')
    for old, new in (
        ("cudatoolkit=10.1.243", "cudatoolkit=10.2.89"),
        ("torch==1.7.1+cu101", "torch==1.7.1"),
        ("torchvision==0.8.2+cu101", "torchvision==0.8.2"),
    ):
        assert old in text
        text = text.replace(old, new)
    spec.write_text(text)
    result = run("image", "plan", str(spec.parent), "--stack", stack)
    assert result.exit_code == code
    assert ("✕" in result.stdout, "✓" in result.stdout) == (bool(code), not code)


def test_an_image_that_uses_no_gpu_says_so_and_checks_no_pool(run: Run) -> None:
    result = run("image", "plan", "hub")
    assert result.exit_code == 0
    assert "GPU: not used; it runs on any pool" in result.stdout
    assert "Size: at least" in result.stdout


@pytest.mark.slow
def test_a_driver_container_says_which_nodes_it_is_for(run: Run) -> None:
    text = run("image", "plan", "driver-builder").stdout
    assert "GPU: it brings the driver 535.309.01, on nodes with kernel 6.1.0-56-cloud-amd64 only" in text
    assert data(run, "driver-builder")["modules"] == {"driver": "535.309.01", "kernel": "6.1.0-56-cloud-amd64"}


def test_without_a_stack_that_builds_it_there_is_no_pool(run: Run) -> None:
    result = run("image", "plan", "driver-builder")
    assert result.exit_code == 0
    assert "No stack with pools builds it: name one with --stack." in result.stdout
    assert "✕" not in result.stdout


def test_a_stack_that_does_not_build_it_is_checked_anyway(run: Run) -> None:
    result = run("image", "plan", "cupy-notebook", "--stack", "dsmlp-fall")
    assert result.exit_code == 1
    assert "The stack dsmlp-fall does not build cupy-notebook; these are its pools." in result.stdout
    assert "✕ incompatible" in result.stdout


def test_a_stack_without_pools_says_that_it_has_none(run: Run) -> None:
    result = run("image", "plan", "cupy-notebook", "--stack", "cupy")
    assert result.exit_code == 0
    assert "The stack cupy has no pools" in result.stdout


def test_all_stacks_that_build_it_are_checked(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stacks").mkdir()
    shutil.copy(STACK, tmp_path / "stacks" / "Pulumi.second.yaml")
    monkeypatch.chdir(tmp_path)
    output = run("image", "plan", "scipy-ml-notebook").stdout
    assert "CUDA on the pools of dsmlp-fall, dsmlp-next, second" in output
    assert "compatible: dsmlp-fall/gtx1080ti" in output
    assert "second/gtx1070ti" in output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("scipy-ml-notebok",), "scipy-ml-notebook"),
        (("images/nope",), "has no image.yaml"),
        (("hub", "--stack", "nope"), 'there is no stack "nope"'),
    ],
)
def test_a_wrong_name_gets_a_suggestion(run: Run, arguments: tuple[str, ...], says: str) -> None:
    result = run("image", "plan", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert not result.stdout


def test_the_guide_shows_what_the_command_prints(run: Run) -> None:
    guide = (PROJECT / "docs" / "images.md").read_text()
    _, _, rest = guide.partition("image plan scipy-ml-notebook --stack dsmlp-fall\n")
    shown = rest.partition("```text\n")[2].partition("```")[0]
    output = run("image", "plan", "scipy-ml-notebook", "--stack", "dsmlp-fall").stdout
    assert all(part.strip("\n") in output for part in shown.split("…"))


@pytest.mark.slow
def test_a_target_is_planned_as_a_separate_image(run: Run) -> None:
    found = data(run, "cupy-notebook", "--target", "batch", "--stack", "dsmlp-fall")
    assert (found["image"], found["target"], found["targets"]) == ("cupy-notebook", "batch", [])
    assert [use["where"] for use in found["uses"]] == ["batch"]
    client = run("image", "plan", "cupy-notebook", "--target", "gateway-client")
    assert client.exit_code == 0
    assert "cupy-notebook-gateway-client 1.0.0" in client.stdout
    assert "GPU: not used" in client.stdout
    wrong = run("image", "plan", "cupy-notebook", "--target", "bach")
    assert wrong.exit_code == 2
    assert "did you mean batch" in wrong.stderr


@pytest.mark.slow
def test_how_it_is_run_is_printed_for_each_engine_with_what_that_one_cannot_say(
    golden: Callable[[str], Any], run: Run, tmp_path: Path
) -> None:
    shutil.copytree(IMAGES / "proxy", tmp_path / "proxy")
    spec = tmp_path / "proxy" / "image.yaml"
    spec.write_text(spec.read_text() + "runtime: {shm_gib: 1, memlock: unlimited, stack_mib: 64}\n")
    text = plan_text(report_of(load_family("proxy", images=tmp_path), tmp_path, None), width=80)
    golden("plan/runtime.txt").equals(text)
    runtime = data(run, str(tmp_path / "proxy"))["runtime"]
    assert runtime["docker"]["says"] == ["--shm-size=1g", "--ulimit memlock=-1", "--ulimit stack=67108864"]
    assert runtime["kubernetes"]["cannot"]
    assert data(run, "proxy")["runtime"] == {}
