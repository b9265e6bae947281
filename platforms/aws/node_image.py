"""The node image of a group: an EKS machine image or a Flatcar release."""

from dataclasses import dataclass
from typing import Protocol

from compat.values.versions import DriverVersion
from fleet.driver_key import DriverKey
from platforms.aws.driver_request import WantedDriver
from platforms.aws.flatcar.driver import Driver, NoDriver, Way
from platforms.aws.flatcar.driver import choose as choose_driver
from platforms.aws.flatcar.releases import Release
from platforms.aws.instances import GroupShape


class NodeImage(Protocol):
    """Initial software of a node; `str` names it."""

    @property
    def driver(self) -> DriverVersion | None: ...
    @property
    def container_toolkit(self) -> str: ...
    @property
    def has_device_plugin(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class FlatcarImage:
    """A Flatcar release with the driver installed at first boot."""

    release: Release
    source: Driver
    driver: DriverVersion
    container_toolkit: str
    has_device_plugin: bool = False

    def __str__(self) -> str:
        return f"Flatcar {self.release.version}, {self.source}"


def flatcar_image(
    shape: GroupShape, release: Release, wanted: WantedDriver, container: DriverKey | None, toolkit: str
) -> FlatcarImage | NoDriver:
    """The release with the group's driver, or why there is none."""
    if shape.gpu is None:
        return NoDriver(f"{shape} has no GPU, and flatcar is for nodes with GPUs", "leave flatcar out")
    found = choose_driver(shape, release, wanted, container)
    if isinstance(found, NoDriver):
        return found
    if found.driver is None:
        what = "driver container" if found.way is Way.CONTAINER else "extension"
        reason = f"it is not known which driver the {what} {found} brings"
        return NoDriver(reason, 'write the whole driver: driver: "580.126.09"', is_unknown=True)
    return FlatcarImage(release, found, found.driver, toolkit)
