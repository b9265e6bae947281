from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import processes
from lab.instance import Instance, LabError, forget_instance
from lab.machine import builder, mounts
from lab.processes import Server
from lab.servers import buildkit
from lab.toolchain import Toolchain


class Tools:
    """Programs that are never started."""

    def path(self, name: str) -> Path:
        return Path("/usr/sbin") / name


def an_instance(home: Path) -> Instance:
    instance = Instance("buildkit-tests", 0, home, {"registry": 5005})
    for folder in (instance.run, instance.logs, instance.config, instance.data):
        folder.mkdir(parents=True)
    return instance


@pytest.fixture
def running(tmp_path: Path, new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    instance = new_instance(tmp_path, "registry")
    processes.start(instance, buildkit.server(instance, Toolchain()))
    yield instance
    processes.stop(instance, "buildkitd", within_s=30)


def test_steps_share_the_machines_network_and_the_lab_registry_is_plain_http(tmp_path: Path) -> None:
    instance = an_instance(tmp_path)
    config = tomllib.loads(buildkit.configuration(instance, Path("/usr/sbin/runc")))
    assert config["worker"]["oci"]["networkMode"] == "host"
    assert config["worker"]["oci"]["binary"] == "/usr/sbin/runc"
    assert config["worker"]["oci"]["maxUsedSpace"] == "40GB"
    assert config["worker"]["containerd"]["enabled"] is False
    assert config["registry"] == {"127.0.0.1:5005": {"http": True}}
    assert config["root"] == f"{tmp_path}/data/buildkit"


def test_buildx_finds_the_builder_by_name_in_a_folder_of_the_labs_own(tmp_path: Path) -> None:
    instance = an_instance(tmp_path)
    buildkit.server(instance, Tools())
    record = json.loads((buildkit.docker_config(instance) / "buildx/instances/gpu-commons").read_text())
    assert record["Driver"] == "remote"
    assert record["Nodes"][0]["Endpoint"] == f"unix://{tmp_path}/run/buildkitd.sock"


def test_what_builds_leave_behind_lies_in_the_instance_and_not_in_everybodys_temporary_folder(tmp_path: Path) -> None:
    instance = an_instance(tmp_path)
    scratch = Path(buildkit.server(instance, Tools()).env["TMPDIR"])
    assert scratch.is_relative_to(instance.data)
    assert scratch.is_dir()


def test_a_path_too_long_for_a_socket_is_named_before_anything_starts(tmp_path: Path) -> None:
    instance = an_instance(tmp_path / ("x" * 100))
    with pytest.raises(LabError, match=r"too long for a socket .* set XDG_STATE_HOME to a shorter folder"):
        buildkit.server(instance, Tools())


@pytest.mark.lab
def test_it_starts_and_leaves_no_socket_behind(running: Instance) -> None:
    assert buildkit.socket_path(running).is_socket()
    processes.stop(running, "buildkitd", within_s=120)  # else it is killed, and removes nothing
    assert not buildkit.socket_path(running).exists()


@pytest.mark.lab
def test_it_starts_again_over_what_a_killed_one_left(running: Instance) -> None:
    record = processes.read_record(running, "buildkitd")
    assert record is not None
    process = record.process()
    assert process is not None
    process.kill()
    process.wait(5)
    assert buildkit.socket_path(running).exists()
    processes.start(running, buildkit.server(running, Toolchain()))
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(buildkit.socket_path(running)))


@pytest.mark.lab
def test_a_builder_that_ends_at_once_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    instance = an_instance(tmp_path)
    good = buildkit.server(instance, Toolchain())
    (instance.config / "buildkitd.toml").write_text("[worker.oci]\n  snapshotter = 'nonsense'\n")
    with pytest.raises(LabError, match="nonsense"):
        processes.start(instance, Server(good.name, good.argv, good.ready, ready_within_s=20))


@pytest.mark.lab
def test_the_mounts_of_a_build_that_it_was_killed_in_do_not_keep_its_folder(running: Instance) -> None:
    (record,) = processes.records(running)
    os.kill(record.pid, signal.SIGKILL)
    left = buildkit.scratch(running) / "buildkit-mount1"
    left.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "left", str(left)], check=True)
    builder.end(running)
    assert mounts.below(running.data) == []
    forget_instance(running)
    assert not running.home.exists()
