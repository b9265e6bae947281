"""Labs of the tests' own: folders, ports and address ranges that no other lab has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from lab import control_plane, processes
from lab.instance import PREFERRED_PORTS, Instance
from lab.machine import network
from lab.servers import moto

SLOT = 10 + 2 * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 4)


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
    ports = {name: 21000 + 100 * SLOT + number for number, name in enumerate(PREFERRED_PORTS)}
    instance = replace(new_instance(tmp_path_factory.mktemp("lab")), name="cluster-tests", slot=SLOT, ports=ports)
    network.claim(instance)
    try:
        yield instance
    finally:
        control_plane.stop(instance)
        network.release(instance)
