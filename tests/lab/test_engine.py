"""What a bare `pulumi` gets from the lab, and the proof that the policy pack took part."""

from __future__ import annotations

import filecmp
import json
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from rows import each_row

from lab import engine, operations, orphans
from lab.instance import Instance, LabError, open_instance
from lab.toolchain import Toolchain

URN = "urn:pulumi:s::p::kubernetes:core/v1:Pod::"


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return open_instance("engine")


def log_of(*events: dict[str, Any]) -> bytes:
    """As the engine writes it: number and time first."""
    return b"\n".join(json.dumps({"sequence": 1, "timestamp": 2, **event}).encode() for event in events)


def looked_at(name: str) -> dict[str, Any]:
    event = {"resourceUrn": URN + name, "policyPackName": "gpu-commons", "policyPackVersion": "0.1.0"}
    return {"policyAnalyzeSummaryEvent": event}


def test_the_verdict_counts_resources_and_hints_of_the_pack() -> None:
    events = [*map(looked_at, "abb"), {"policyEvent": {"message": "hm"}}, {"summaryEvent": {"isPreview": False}}]
    verdict = operations.read_verdict(log_of(*events))
    assert (verdict.packs, verdict.resources, verdict.advice) == (("gpu-commons 0.1.0",), 2, 1)
    assert str(verdict) == "gpu-commons 0.1.0 looked at 2 resources and refused none, 1 hint above"


@each_row("log", [b"", log_of({"policyLoadEvent": {}}), log_of({"summaryEvent": {"isPreview": False}})])
def test_an_update_without_the_pack_is_an_error(log: bytes) -> None:
    with pytest.raises(LabError, match="no policy pack looked at any resource: nothing was proved"):
        operations.read_verdict(log)


def test_the_environment_names_the_pack_the_state_and_the_site_of_this_instance(instance: Instance) -> None:
    variables = engine.environment(instance, Toolchain())
    assert variables["PULUMI_OPTION_POLICY_PACK"] == str(engine.PROJECT / "policies")
    assert variables["PULUMI_BACKEND_URL"] == f"file://{instance.home}/data/state?metadata=skip"
    assert variables["GPU_COMMONS_SITE"] == f"{instance.home}/config/site.yaml"
    assert variables["KUBECONFIG"] == f"{instance.home}/config/kubeconfig"
    assert instance.networks.node_address in variables["NO_PROXY"].split(",")


def test_exports_can_be_evaluated_by_a_shell() -> None:
    text = engine.shell_exports({"ONE": "a b", "TWO": "it's"})
    assert shlex.split(text) == ["export", "ONE=a b", "export", "TWO=it's"]


def test_the_commands_own_folder_comes_first_on_path(instance: Instance) -> None:
    assert engine.environment(instance, Toolchain())["PATH"].split(":")[0] == str(engine.bin_folder(instance))


def test_no_plugin_is_on_path_where_the_engine_would_warn_of_it(instance: Instance, tmp_path: Path) -> None:
    tools = Toolchain(tmp_path / "tools")
    for pin in tools.pins.values():
        (tools.root / pin.key / "bin").mkdir(parents=True)
    path = engine.environment(instance, tools)["PATH"].split(":")
    assert any("/buildkit-" in folder for folder in path)
    assert not any("/docker-build-" in folder for folder in path)


def test_a_plugin_whose_engine_was_killed_is_ended_and_no_other(instance: Instance, tmp_path: Path) -> None:
    plugin = instance.config / "pulumi" / "plugins" / "resource-x-v1" / "pulumi-resource-x"
    plugin.parent.mkdir(parents=True)
    shutil.copy(shutil.which("sleep") or "", plugin)
    shutil.copy(shutil.which("dash") or "", tmp_path / "pulumi")
    with (
        subprocess.Popen([plugin, "60"]) as orphan,
        subprocess.Popen([tmp_path / "pulumi", "-c", f"{plugin} 60; true"]) as pulumi,
    ):
        while not (children := psutil.Process(pulumi.pid).children()) or children[0].exe() != str(plugin):
            time.sleep(0.05)
        left = psutil.Process(orphan.pid)
        orphans.end(instance)
        assert (left.is_running(), children[0].is_running()) == (False, True)
        children[0].terminate()


@pytest.mark.slow
def test_a_plugin_of_two_programs_is_ended_with_both_and_left_with_both(instance: Instance, tmp_path: Path) -> None:
    folder = instance.config / "pulumi" / "plugins" / "resource-y-v1"
    folder.mkdir(parents=True)
    plugin, beside = folder / "pulumi-resource-y", folder / "terraform-provider-y"
    shutil.copy(shutil.which("dash") or "", plugin)
    shutil.copy(shutil.which("sleep") or "", beside)
    shutil.copy(shutil.which("dash") or "", tmp_path / "pulumi")
    with (
        subprocess.Popen([plugin, "-c", f"{beside} 60; true"]) as orphan,
        subprocess.Popen([tmp_path / "pulumi", "-c", f"{plugin} -c '{beside} 60; true'; true"]) as pulumi,
    ):
        while len(ended := psutil.Process(orphan.pid).children()) < 1 or ended[0].exe() != str(beside):
            time.sleep(0.05)
        while len(left := psutil.Process(pulumi.pid).children(recursive=True)) < 2 or left[1].exe() != str(beside):
            time.sleep(0.05)
        before = [psutil.Process(orphan.pid), *ended]
        orphans.end(instance)
        still = [[runs(process) for process in family] for family in (before, left)]
        for process in left:
            process.kill()
        assert still == [[False, False], [True, True]]


@pytest.mark.slow
def test_the_plugin_of_dynamic_resources_is_ended_with_its_python_and_left_to_a_pulumi_that_runs(
    instance: Instance, tmp_path: Path
) -> None:
    script = instance.config / "bin" / "pulumi-resource-pulumi-python"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("#!/bin/sh\nsleep 60\n:\n")
    script.chmod(0o755)
    shutil.copy(shutil.which("dash") or "", tmp_path / "pulumi")
    with (
        subprocess.Popen([script, "127.0.0.1:1"]) as orphan,
        subprocess.Popen([tmp_path / "pulumi", "-c", f"{script} 127.0.0.1:1; true"]) as pulumi,
    ):
        while len(ended := psutil.Process(orphan.pid).children()) < 1:
            time.sleep(0.05)
        while len(left := psutil.Process(pulumi.pid).children(recursive=True)) < 2:
            time.sleep(0.05)
        before = [psutil.Process(orphan.pid), *ended]
        orphans.end(instance)
        still = [[runs(process) for process in family] for family in (before, left)]
        for process in left:
            process.kill()
        assert still == [[False, False], [True, True]]


def runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.lab
def test_a_stand_in_that_an_earlier_lab_installed_is_replaced_by_the_plugin(instance: Instance) -> None:
    tools = Toolchain()
    tools.ensure(print)
    engine.prepare(instance, tools, print)
    cached = instance.config / "pulumi" / "plugins" / "resource-docker-build-v0.0.22" / "pulumi-resource-docker-build"
    cached.write_text("#!/bin/sh\n")
    engine.prepare(instance, tools, print)
    assert filecmp.cmp(cached, tools.path(cached.name), shallow=False)
    assert engine.installed_plugins(instance)["docker-build"] in {"official", "built"}
