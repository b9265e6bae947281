"""An API server that goes away for good in the middle of an update."""

from __future__ import annotations

import re

import pytest
from convergence import CLASSES, is_complete, keeps, made
from second_lab import Lab, read_until

pytestmark = pytest.mark.lab


def test_an_update_whose_api_server_was_killed_is_finished_by_the_next_one(empty: Lab) -> None:
    update = empty.start_pulumi("up", "--yes", "--skip-preview")
    read_until(update, "RuntimeClass nvidia-class created")
    empty.kill("kube-apiserver")
    output, _ = update.communicate(timeout=120)
    assert update.returncode != 0, output
    assert "Traceback" not in output
    assert re.search(r"connection refused|connection reset|unexpected EOF|unreachable", output), output
    empty.start()
    before = made(empty)
    assert before[CLASSES]
    empty.up().succeeded()
    keeps(before, made(empty))
    is_complete(empty)
