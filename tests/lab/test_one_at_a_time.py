"""A second `make up` of the same lab says that another one runs, and which."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.instance import Instance, LabError
from lab.one_at_a_time import alone


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    return Instance("default", 0, tmp_path, {"registry": 5000})


def test_a_second_one_is_refused_with_the_pid_of_the_first(instance: Instance) -> None:
    refused = pytest.raises(LabError, match=rf"another make up runs for this lab, pid {os.getpid()}: wait for it")
    with alone(instance, "make up"), refused, alone(instance, "make up"):
        pass
    with alone(instance, "make up"):
        pass


@pytest.mark.slow
def test_one_that_was_killed_holds_nothing(instance: Instance) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from lab.instance import Instance; from lab.one_at_a_time import alone\n"
        "with alone(Instance('default', 0, Path(sys.argv[1]), {}), 'make up'):\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(instance.home)], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        with pytest.raises(LabError, match=f"pid {first.pid}:"), alone(instance, "make up"):
            pass
        first.kill()
    with alone(instance, "make up"):
        pass
