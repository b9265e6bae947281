"""Labs of the tests' own: folders, ports and address ranges that no other lab has."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import control_plane
from lab.instance import PREFERRED_PORTS, Instance
from lab.machine import network

SLOT = 10 + 2 * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 4)


def make_folders(instance: Instance) -> Instance:
    for folder in (instance.run, instance.logs, instance.config, instance.data):
        folder.mkdir(parents=True)
    return instance


@pytest.fixture(scope="session")
def new_instance() -> Callable[[Path], Instance]:
    """`new_instance(home)`: a lab with a free port for its registry, and nothing that runs."""

    def make(home: Path) -> Instance:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        return make_folders(Instance("lab-tests", 0, home, {"registry": port}))

    return make


@pytest.fixture(scope="session")
def new_aws_instance() -> Callable[[Path], Instance]:
    """`new_aws_instance(home)`: a lab with a free port for its AWS, and nothing that runs."""

    def make(home: Path) -> Instance:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        return make_folders(Instance("aws-tests", 0, home, {"aws": port}))

    return make


@pytest.fixture(scope="module")
def claimed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """A lab with its own slot, ports and address but no server; nothing of it is left afterwards."""
    ports = {name: 21000 + 100 * SLOT + number for number, name in enumerate(PREFERRED_PORTS)}
    instance = make_folders(Instance("cluster-tests", SLOT, tmp_path_factory.mktemp("lab"), ports))
    network.claim(instance)
    try:
        yield instance
    finally:
        control_plane.stop(instance)
        network.release(instance)
