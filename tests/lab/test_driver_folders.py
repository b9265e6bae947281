"""What the pod of a driver container mounts of its node is there, and is gone afterwards where the lab made it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.instance import Instance
from lab.machine import driver_folders, mounts, traces
from lab.machine.traces import Kind, Trace


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Folders that became shared mounts; both folders of a node lie below a folder of the test."""
    found: list[Path] = []
    monkeypatch.setattr(driver_folders, "MODULES", tmp_path / "modules")
    monkeypatch.setattr(driver_folders, "SHOWN", tmp_path / "nvidia")
    monkeypatch.setattr(mounts, "share", found.append)
    return found


def test_folders_that_the_machine_lacks_are_made_and_written_down(
    tmp_path: Path, shared: list[Path], new_instance: Callable[[Path], Instance]
) -> None:
    instance = new_instance(tmp_path / "lab")
    for _ in range(2):  # a second start finds its own
        driver_folders.make(instance)
    assert (tmp_path / "modules").is_dir()
    assert shared == [tmp_path / "nvidia"] * 2
    assert traces.traces(instance) == [
        Trace(Kind.SHARED_FOLDER, str(tmp_path / name)) for name in ("modules", "nvidia")
    ]


def test_folders_of_the_machine_are_left_as_they_are(
    tmp_path: Path, shared: list[Path], new_instance: Callable[[Path], Instance]
) -> None:
    for name in ("modules", "nvidia"):
        (tmp_path / name).mkdir()
    instance = new_instance(tmp_path / "lab")
    driver_folders.make(instance)
    assert shared == []
    assert traces.traces(instance) == []
