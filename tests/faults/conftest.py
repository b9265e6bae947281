"""A second lab for tests that break things: its own name, ports, ranges and folder, simulated nodes only.

Files test_*_stack.py bring up labs of their own instead (`own_lab.py`).

The user's lab is a bystander: what it has on disk and what runs of it is kept in mind before anything is broken.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

sys.path.insert(0, str(Path(__file__).parent))  # for second_lab.py: folders of tests are no packages here
from bystander import Bystander, kept_files, running_servers
from second_lab import NAME, Lab, Settings, make_project, settings

from lab import engine, state, steps
from lab.instance import Instance, forget_instance, open_instance, state_home
from lab.toolchain import Toolchain

WITHOUT_A_CLUSTER = ("test_docker_", "test_slurm_")


class OneWorkerForEachKindOfLab(LoadScopeScheduling):
    """Beside the second lab, the labs of test_*_stack.py: one by one where they need the machine's one real node."""

    def _split_scope(self, nodeid: str) -> str:
        name = nodeid.partition("::")[0].rpartition("/")[2]
        if not name.endswith("_stack.py"):
            return "the second lab"
        return "labs without a cluster" if name.startswith(WITHOUT_A_CLUSTER) else "labs with the real node"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return OneWorkerForEachKindOfLab(config, log)


@pytest.fixture(scope="session")
def bystander() -> Iterator[Bystander]:
    """The lab whose tests these are, else `default`; where nobody has one, a decoy with a stack's state."""
    name = os.environ.get("GPU_COMMONS_LAB") or "default"
    is_decoy = not (state_home() / name / "instance.json").exists()
    instance = open_instance(name)
    if is_decoy:
        stack_file = state.stack_file(instance, "dsmlp-fall")
        stack_file.parent.mkdir(parents=True)
        stack_file.write_text('{"version": 3}\n')
        (instance.config / "site.yaml").write_text("lab: true\n")
    yield Bystander(instance, kept_files(instance), running_servers(instance))
    if is_decoy:
        forget_instance(instance)


@pytest.fixture(scope="session")
def second(bystander: Bystander, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The second lab, started once and removed at the end, whatever happened to it."""
    assert bystander.instance.name != NAME
    remove(open_instance(NAME))  # left by a run that was killed
    lab = Lab(open_instance(NAME), Toolchain(), make_project(tmp_path_factory.mktemp("project")))
    try:
        lab.write(settings())
        lab.start()
        engine.prepare(lab.instance, lab.tools, print)
        lab.fresh_nodes = lab.nodes()
        yield lab
    finally:
        remove(lab.instance)


def remove(instance: Instance) -> None:
    steps.stop(instance, Toolchain(), print)
    forget_instance(instance)


@pytest.fixture
def stack() -> Settings:
    """The settings of the stack, to be changed by the test."""
    return settings()


@pytest.fixture
def lab(second: Lab) -> Lab:
    """The second lab with all its servers and the stack file as it should be; the stack is in any state."""
    second.write(settings())
    if not steps.is_up(second.instance):
        second.start()
    if not second.exists():
        second.pulumi("stack", "init").succeeded()
    return second


@pytest.fixture
def deployed(lab: Lab) -> Lab:
    """With the stack as its file says."""
    lab.up().succeeded()
    return lab


@pytest.fixture
def empty(lab: Lab) -> Lab:
    """With nothing of the stack."""
    if lab.resources():
        lab.pulumi("destroy", "--yes", "--skip-preview").succeeded()
    return lab
