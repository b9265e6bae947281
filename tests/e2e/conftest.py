"""The lab with the stack dsmlp-fall on it, as `make up` leaves it. That stack is the user's: tests look at it.

What changes anything uses the stack of own_stack.py, in test_own_stack.py alone: each file has one worker.

GPU_COMMONS_LAB          name of the instance; `make test` sets it
GPU_COMMONS_ARTEFACTS    folder for screenshots and traces; default: artefacts in the project
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab import engine, steps
from lab.cluster import Cluster
from lab.instance import LabError, open_instance, state_home
from lab.toolchain import Toolchain

sys.path.insert(0, str(Path(__file__).parent))  # for running_lab.py: folders of tests are no packages here
from running_lab import STACK, RunningLab, environment_of


@pytest.fixture(scope="session")
def servers() -> Iterator[RunningLab]:
    """The lab's servers, whatever is deployed; without them the tests fail and say what to run."""
    name = os.environ.get("GPU_COMMONS_LAB")
    if not name:
        pytest.fail("these tests need a lab with its stack: run `make test` (it sets GPU_COMMONS_LAB)", pytrace=False)
    if not (state_home() / name / "instance.json").is_file():
        pytest.fail(f"there is no lab {name} in {state_home()}: run `make up`, then `make test`", pytrace=False)
    instance, tools = open_instance(name), Toolchain()
    if not steps.is_up(instance):
        pytest.fail(f"the servers of the lab {name} do not run: run `make up`, then `make test`", pytrace=False)
    variables = engine.environment(instance, tools)
    pulumi = shutil.which("pulumi", path=variables["PATH"])
    if pulumi is None:
        pytest.fail("pulumi is not installed: run `make tools`", pytrace=False)
    with Cluster(instance) as cluster:
        yield RunningLab(cluster, pulumi, environment_of(variables), {})


@pytest.fixture(scope="session")
def lab(servers: RunningLab) -> RunningLab:
    """The lab with the stack's outputs."""
    try:
        outputs = engine.outputs(open_instance(os.environ["GPU_COMMONS_LAB"]), Toolchain(), STACK)
    except LabError as error:
        pytest.fail(f"the stack {STACK} has no outputs: run `make up`, then `make test`\n{error}", pytrace=False)
    return replace(servers, outputs=outputs)
