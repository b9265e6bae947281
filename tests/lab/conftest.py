"""Labs of the tests' own: folders, ports and address ranges that no other lab has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from lab import control_plane, processes
from lab.instance import Instance
from lab.machine import network
from lab.servers import moto
from tests.slots import free_slot, ports

# Minutes each, and alone with their files' fixtures: other workers may take them.
LONG = ("test_a_driver_container_is_built", "test_a_new_image_locks_plans_builds")


class OneWorkerForEachFileAndEachLongTest(LoadScopeScheduling):
    """Fixtures of a file are made once; what takes long comes first, so that no worker ends long after the others."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, test = nodeid.partition("::")
        return nodeid if test.startswith(LONG) else file

    def _assign_work_unit(self, node: WorkerController) -> None:
        for scope in [each for each in self.workqueue if "::" in each]:
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return OneWorkerForEachFileAndEachLongTest(config, log)


@pytest.fixture(scope="module")
def running_aws(tmp_path_factory: pytest.TempPathFactory, new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    """A lab with nothing but its AWS, empty."""
    instance = new_instance(tmp_path_factory.mktemp("lab"), moto.NAME)
    processes.start(instance, moto.server(instance))
    yield instance
    processes.stop(instance, moto.NAME)


@pytest.fixture(scope="module")
def claimed(tmp_path_factory: pytest.TempPathFactory, new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    """A lab with its own slot, ports and address but no server; nothing of it is left afterwards."""
    made = new_instance(tmp_path_factory.mktemp("lab"))
    with free_slot() as slot:
        instance = replace(made, name="cluster-tests", slot=slot, ports=ports(slot))
        network.claim(instance)
        try:
            yield instance
        finally:
            control_plane.stop(instance)
            network.release(instance)
