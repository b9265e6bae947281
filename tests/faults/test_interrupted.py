"""`kill -9` of `pulumi` in the middle of an update: its lock, what it was busy with, the way on (docs/faults.md)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import time
import uuid
from collections.abc import Callable

import psutil
import pytest
from convergence import is_complete, keeps, made
from second_lab import STACK, Lab, Settings, read_until

from lab import state

pytestmark = pytest.mark.lab
KILLS = int(os.environ.get("GPU_COMMONS_TEST_KILLS", "3"))


def test_after_kill_9_of_pulumi_cancel_and_up_finish_the_update(empty: Lab) -> None:
    plugins = kill_pulumi_at(empty, "Waiting for Job")
    _, left = psutil.wait_procs(plugins, timeout=20)
    # The publisher's own take minutes to notice; `make up` and `make down` end them.
    assert {each.name() for each in left} <= {"pulumi-resource-docker-build", "pulumi-resource-kubernetes"}
    assert len(empty.locks()) == 1
    assert empty.pending() == ["gpu-smoke-job"]
    before = made(empty)
    text = empty.up().refused()
    assert "locked by 1 lock" in text
    assert "pulumi cancel" in text

    empty.pulumi("cancel", "--yes").succeeded()
    empty.pulumi("refresh", "--clear-pending-creates", "--yes", "--skip-preview").succeeded()
    assert empty.pending() == []
    empty.up().succeeded()
    keeps(before, made(empty))
    is_complete(empty)


@pytest.mark.soak(part="kills")
@pytest.mark.parametrize("turn", range(KILLS))
def test_a_kill_at_any_moment_leaves_an_update_that_up_finishes(
    empty: Lab, turn: int, record_property: Callable[[str, object], None]
) -> None:
    """Moments are random; `make soak PART=kills` and `bench/kills.py` try more of them."""
    del turn
    after_s = random.uniform(2, 20)
    record_property("killed after s", round(after_s, 1))  # at once, so that the report has it whatever follows
    update = empty.start_pulumi("up", "--yes", "--skip-preview")
    with contextlib.suppress(subprocess.TimeoutExpired):
        update.wait(after_s)
    update.kill()
    update.communicate(timeout=30)
    record_property("resources by then", len(empty.resources()))
    before = made(empty)
    began = time.monotonic()
    text = empty.python_m_lab("up", "--simulated", "--stack", STACK).succeeded()
    record_property("make up then s", round(time.monotonic() - began))
    assert "Traceback" not in text
    keeps(before, made(empty))
    is_complete(empty)


def test_make_up_takes_away_the_lock_of_a_dead_pulumi_and_of_no_other(deployed: Lab, stack: Settings) -> None:
    stack["config"]["gpu-commons:jobs"][0]["command"] = ["true", "again"]  # another command is another Job
    deployed.write(stack)
    plugins = kill_pulumi_at(deployed, "Waiting for Job")
    assert deployed.pending() == ["gpu-smoke-job"]
    (lock,) = deployed.locks()
    left = json.loads(lock.read_text())
    text = deployed.python_m_lab("up", "--simulated", "--stack", "small").succeeded()
    assert "was killed: removing its lock" in text
    assert deployed.locks() == []
    assert [each.name() for each in psutil.wait_procs(plugins, timeout=20)[1]] == [], "plugins outlived their engine"
    is_complete(deployed)

    lock.write_text(json.dumps({**left, "pid": os.getpid()}))  # of one that runs: ourselves
    try:
        text = deployed.python_m_lab("up", "--simulated", "--stack", "small").refused()
    finally:
        lock.unlink()
    assert "was killed" not in text
    assert "locked by 1 lock" in text


def test_what_a_kill_left_half_written_in_the_state_is_no_obstacle(deployed: Lab) -> None:
    """A lock, and a file of the kind that the engine's storage writes in two steps unless it is told to write none."""
    folder = state.folder(deployed.instance)
    assert list(folder.rglob("*.attrs")) == [], "the engine still writes what a kill may leave empty"
    beside = deployed.state_file.with_name(f"{deployed.state_file.name}.attrs")
    beside.touch()
    draft = folder / ".pulumi" / "locks" / "organization" / "gpu-commons" / STACK / f"{uuid.uuid4()}.json.18ab.tmp"
    draft.parent.mkdir(parents=True, exist_ok=True)
    draft.touch()
    os.utime(draft, (0, 0))
    assert "failed to load checkpoint: EOF" in deployed.up().refused()

    text = deployed.python_m_lab("up", "--simulated", "--stack", STACK).succeeded()
    assert "was killed: removing its lock" in text
    assert not draft.exists()
    is_complete(deployed)


def kill_pulumi_at(lab: Lab, text: str) -> list[psutil.Process]:
    """`pulumi up`, and `kill -9` when it says `text`; the processes that it had started."""
    update = lab.start_pulumi("up", "--yes", "--skip-preview")
    read_until(update, text)
    plugins = psutil.Process(update.pid).children(recursive=True)
    update.kill()
    update.communicate(timeout=30)
    assert plugins
    return plugins
