"""`gpu-commons stack check --probed`: pools, compared with what a probe read on their hosts, and its date."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def probed(tmp_path: Path) -> Callable[..., str]:
    """`probed(driver="…")`: a file with the facts of a node of comet's shared P100, changed; its path."""

    def write(**changes: Any) -> str:
        gpu = changes.pop("gpu", "Tesla P100-PCIE-16GB")
        host = {
            "probed": "2026-11-20T09:30:00Z", "host": "comet-30-03.local", "gpus": [], "second_driver": "none",
            "slurm": {"job": "4711", "partition": "gpu-shared", "node": "comet-30-03"}, "glibc": "2.17",
            "apptainer": {"version": "3.8.0"}, "cpu": 28, "memory_gib": 125.6, "persistence_daemon": "running",
            "temporary": {"path": "/tmp", "is_memory": False},
        }  # fmt: skip
        keys = {"gpu": gpu, "gpus_per_node": 4, "driver": "470.256.02"}
        file = tmp_path / "comet-30-03.json"
        facts = {"pool": {**keys, **{k: v for k, v in changes.items() if k in keys}}, "host": {**host, **changes}}
        file.write_text(json.dumps(facts, indent=2))
        return str(file)

    return write


def test_a_host_as_its_pool_says_is_one_line_with_its_day(run: Run, probed: Callable[..., str]) -> None:
    result = run("stack", "check", "comet", "--probed", probed())
    assert (result.exit_code, result.stderr) == (0, "")
    assert "comet-30-03 (probed 2026-11-20) matches pool shared-p100; the same: gpu, gpus_per_node, driver" in (
        result.stdout
    )


def test_a_driver_that_is_another_ends_the_check_with_1(run: Run, probed: Callable[..., str]) -> None:
    file = probed(driver="470.199.02")
    result, data = (
        run("stack", "check", "comet", "--probed", file),
        run("stack", "check", "comet", "--json", "--probed", file),
    )
    assert (result.exit_code, data.exit_code) == (1, 1)
    assert "driver: the pool says 470.256.02, the host has 470.199.02" in result.stdout
    (host,) = json.loads(data.stdout)["probed"]
    assert (host["stack"], host["compared_with"], host["is_fine"]) == ("comet", "shared-p100", False)
    assert host["host"]["probed"] == "2026-11-20T09:30:00Z"


def test_a_host_is_compared_with_the_pool_that_is_named(run: Run, probed: Callable[..., str]) -> None:
    result = run("stack", "check", "comet", "--probed", f"shared-k80={probed()}")
    assert result.exit_code == 1
    assert "gpu: the pool says Tesla K80, the host has Tesla P100-PCIE-16GB" in result.stdout


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slurm": "none"}, "comet-30-03 may belong to pool gpu-k80, gpu-p100, shared-k80"),
        ({"gpu": {"unknown": "no driver"}}, "may belong to pool shared-k80, shared-p100; say which: --probed POOL="),
    ],
)
def test_a_host_that_may_be_of_several_pools_needs_the_name_of_one(
    run: Run, probed: Callable[..., str], change: dict[str, Any], words: str
) -> None:
    result = run("stack", "check", "comet", "--probed", probed(**change))
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pool:\n", "is not the output of gpu-commons probe --json"),
        ('["pool", "host"]', "is not the output of gpu-commons probe --json"),
        (
            '{"pool": {}, "host": {"probed": "2026-11-20", "host": "n", "slurm": {"partition": "gpu"}}}',
            "may belong to pool gpu-k80, gpu-p100",
        ),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_is_no_probe_is_one_line(run: Run, tmp_path: Path, text: str | None, words: str) -> None:
    file = tmp_path / "facts.json"
    if text is not None:
        file.write_text(text)
    result = run("stack", "check", "comet", "--probed", str(file))
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_facts_of_an_older_probe_have_to_be_probed_again(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "old.json"
    file.write_text('{"pool": {}, "host": {"probed": "2026-01-01", "host": "n", "slurm": "none"}}')
    result = run("stack", "check", "comet", "--probed", f"gpu-k80={file}")
    assert result.exit_code == 2
    assert "lacks facts that this version compares: probe the host again" in result.stderr
    assert "there is no pool" in run("stack", "check", "comet", "--probed", f"gpu-k8={file}").stderr
