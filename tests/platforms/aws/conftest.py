"""Groups of instance types and their machine images, for tests of what is made from them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from platforms.aws.driver_request import WantedDriver
from platforms.aws.instances import GroupShape, find_instance, group_of
from platforms.aws.machine_images import MachineImage, Pin, choose


@pytest.fixture
def group() -> Callable[..., GroupShape]:
    """`group("g6.xlarge", "g6.2xlarge")`."""
    return lambda *names: group_of([find_instance(name) for name in names])


@pytest.fixture
def image(group: Callable[..., GroupShape]) -> Callable[..., MachineImage]:
    """`image("g6.xlarge", ami_type="BOTTLEROCKET_x86_64_NVIDIA")`: what such a group gets on Kubernetes 1.34."""

    def chosen(
        types: str = "g6.xlarge",
        *,
        kubernetes: str = "1.34",
        wanted: str = "newest",
        ami_type: str = "",
        release: str = "",
    ) -> MachineImage:
        shape, pin = group(*types.split()), Pin(ami_type, release)
        found = choose(shape, kubernetes, WantedDriver.parse(wanted), pin, today=dt.date(2026, 11, 23))
        assert isinstance(found, MachineImage), found
        return found

    return chosen
