"""What container runtimes leave: recorded before it is made, and removed when nobody uses it any more."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from lab.instance import Instance
from lab.machine import leftovers, traces


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    """A lab on a machine with two hierarchies of control groups, which are folders here."""
    for hierarchy in ("cpu", "memory"):
        (tmp_path / "cgroup" / hierarchy).mkdir(parents=True)
    monkeypatch.setattr(leftovers, "CGROUPS", tmp_path / "cgroup")
    (tmp_path / "home").mkdir()
    return Instance("leftovers", 0, tmp_path / "home", {})


def leave_socket(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen()
    return listening


def test_folders_and_groups_that_were_made_go_and_those_that_were_there_stay(
    instance: Instance, tmp_path: Path
) -> None:
    there, made = tmp_path / "there", tmp_path / "made"
    there.mkdir()
    groups = leftovers.cgroups("lab")
    groups[0].mkdir()
    leftovers.record(instance, cgroup="lab", folders=(there, made))
    made.mkdir()
    for group in groups:
        (group / "container").mkdir(parents=True)
    leftovers.remove(instance)
    assert (there.is_dir(), made.exists()) == (True, False)
    assert [group.exists() for group in groups] == [True, False]
    assert traces.traces(instance) == []


def test_sockets_of_shims_that_were_killed_go_and_those_of_others_keep_the_folder(
    instance: Instance, tmp_path: Path
) -> None:
    shared = tmp_path / "s"
    leftovers.record(instance, cgroup="lab", folders=(shared,))
    shared.mkdir()
    leave_socket(shared / "ours").close()
    with leave_socket(shared / "of-another-lab"):
        leftovers.remove(instance)
        assert [path.name for path in shared.iterdir()] == ["of-another-lab"]


def test_a_folder_that_another_lab_made_goes_with_the_last_that_uses_it(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "s"
    monkeypatch.setattr(leftovers, "RUNTIME_STATE", (shared,))
    (tmp_path / "other").mkdir()
    other = Instance("other", 1, tmp_path / "other", {})
    leftovers.record(instance, cgroup="lab", folders=(shared,))
    shared.mkdir()
    leftovers.record(other, cgroup="other", folders=(shared,))
    with leave_socket(shared / "of-the-other"):
        leftovers.remove(instance)
        assert shared.is_dir()
    leftovers.remove(other)
    assert not shared.exists()


@pytest.mark.usefixtures("instance")
def test_with_one_hierarchy_there_is_one_group(tmp_path: Path) -> None:
    assert [group.parent.name for group in leftovers.cgroups("lab")] == ["cpu", "memory"]
    (tmp_path / "cgroup" / "cgroup.controllers").touch()
    assert leftovers.cgroups("lab") == [tmp_path / "cgroup" / "lab"]


@pytest.mark.usefixtures("instance")
def test_what_runs_in_a_group_is_ended_and_nothing_else() -> None:
    with subprocess.Popen(["sleep", "60"]) as inside, subprocess.Popen(["sleep", "60"]) as outside:
        group = leftovers.cgroups("lab")[0] / "container"
        group.mkdir(parents=True)
        (group / "cgroup.procs").write_text(f"{inside.pid}\n")
        leftovers.kill_cgroup("lab")
        assert not psutil.pid_exists(inside.pid)
        assert outside.poll() is None
        outside.kill()
