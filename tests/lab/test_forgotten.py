"""A stack whose AWS was started anew is refreshed before it is updated, as often as it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import engine, forgotten, processes
from lab.instance import Instance, LabError
from lab.servers import moto
from lab.toolchain import Toolchain


@pytest.fixture
def running(tmp_path: Path, new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    instance = new_instance(tmp_path / "lab", moto.NAME, "registry")
    program = engine.bin_folder(instance) / "pulumi"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\ntest ! -e {tmp_path}/fails\n')
    program.chmod(0o755)
    processes.start(instance, moto.server(instance))
    yield instance
    processes.stop(instance, moto.NAME)


@pytest.mark.slow
def test_a_refresh_comes_after_a_restart_and_at_no_other_time(running: Instance, tmp_path: Path) -> None:
    calls, messages = tmp_path / "calls", list[str]()

    def look() -> list[str]:
        forgotten.refresh(running, Toolchain(), "eks-g6", messages.append)
        return calls.read_text().splitlines() if calls.exists() else []

    assert look() == []
    assert look() == []
    processes.stop(running, moto.NAME)
    assert look() == [], "no AWS runs, so nothing is known of it"
    processes.start(running, moto.server(running))
    (tmp_path / "fails").touch()
    with pytest.raises(LabError):
        look()
    (tmp_path / "fails").unlink()
    expected = "refresh --yes --skip-preview --non-interactive --stack eks-g6"
    assert look() == [expected] * 2, "one that failed is done again"
    assert look() == [expected] * 2
    assert set(messages) == {
        "the lab's AWS was restarted and is empty: pulumi refresh removes its former resources from the state …"
    }
