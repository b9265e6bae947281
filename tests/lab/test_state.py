"""Which locks of a stack were left by an engine that was killed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from lab import state
from lab.instance import Instance, open_instance

if TYPE_CHECKING:
    from pathlib import Path

STACK = "small"


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return open_instance("state")


def lock(instance: Instance, name: str, text: str) -> Path:
    path = state.folder(instance) / ".pulumi" / "locks" / "organization" / "gpu-commons" / STACK / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def held_by(pid: int) -> str:
    return json.dumps({"pid": pid, "hostname": socket.gethostname()})


@pytest.fixture
def dead() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    return ended.pid


def test_a_stack_without_a_lock_was_not_left_locked(instance: Instance) -> None:
    assert not state.left_locked(instance, STACK)


def test_the_lock_of_a_dead_engine_was_left_and_that_of_one_that_runs_was_not(instance: Instance, dead: int) -> None:
    lock(instance, "a.json", held_by(dead))
    assert state.left_locked(instance, STACK)
    lock(instance, "b.json", held_by(os.getpid()))
    assert not state.left_locked(instance, STACK)


def test_a_lock_that_is_being_written_is_left_alone_until_it_must_have_been_abandoned(instance: Instance) -> None:
    draft = lock(instance, "a.json.18ab.tmp", "")
    assert not state.left_locked(instance, STACK)
    os.utime(draft, (0, 0))
    assert state.left_locked(instance, STACK)


def test_the_files_that_the_engine_no_longer_writes_are_removed_and_no_other(instance: Instance) -> None:
    beside = [lock(instance, name, "{}") for name in ("a.json", "a.json.attrs")]
    state.make(instance)
    assert [path.exists() for path in beside] == [True, False]
