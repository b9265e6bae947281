"""A host as the rules see it: GPU, driver, runtime and processor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from packaging.version import Version

from compat.values.fact import Fact, Present
from compat.values.versions import ComputeCapability, DriverVersion


class Platform(StrEnum):
    """The driver lines. Both have the same numbers, but each has its own floors."""

    LINUX = "linux"
    LINUX_ARM = "linux-aarch64"


@dataclass(frozen=True, slots=True)
class GpuDrivers:
    """Drivers of one GPU model on Linux, by release of the branches that a source names."""

    first: tuple[DriverVersion, ...]  # they know it
    not_in: tuple[DriverVersion, ...]  # they and older ones of their branch do not
    fact: Fact
    boards: tuple[tuple[GpuDrivers, ...], ...] = ()  # for each of its possible chips, the drivers of all boards with it

    def lack(self, driver: DriverVersion) -> bool:
        """Is this driver too old for the model? Branches between the named ones are not judged."""
        if driver.branch < self.not_in[0].branch:
            return driver.branch < self.first[0].branch
        return any(each.branch == driver.branch and driver <= each for each in self.not_in)

    def kin(self, driver: DriverVersion) -> GpuDrivers | None:
        """A board of the same chip that this driver knows; None unless each of its chips has one."""
        found = [next((each for each in of_chip if not each.lack(driver)), None) for of_chip in self.boards]
        return found[0] if all(found) and found else None

    @property
    def turns(self) -> tuple[DriverVersion, ...]:
        """Drivers that may change the answer: its own first ones and those of its chips."""
        return (*self.first, *(first for of_chip in self.boards for each in of_chip for first in each.first))


@dataclass(frozen=True, slots=True, eq=False)
class Gpu:
    """The relevant facts of a GPU. Models with the same facts are one GPU to the rules."""

    name: str
    capability: ComputeCapability
    architecture: str
    product_class: str  # datacenter, workstation, geforce; empty: not known
    forward_compat: Present
    fact: Fact
    mig: str = ""  # profile of the slice, if it is one
    mig_driver: DriverVersion | None = None  # the oldest that slices it, if a source names one
    mig_fact: Fact | None = None
    supported_from: DriverVersion | None = None  # from the MIG guide; nothing is known of older ones
    drivers: GpuDrivers | None = None  # of its model, if a source names its first one
    last_branch: int | None = None  # of its model, if it was dropped before its architecture
    last_fact: Fact | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PoolFacts:
    """Facts of a host. None or empty: not known."""

    gpu: Gpu
    driver: DriverVersion | None
    platform: Platform = Platform.LINUX
    host: str = ""  # bare, docker, kubernetes, apptainer
    container_toolkit: Version | None = None
    kernel_module: str = ""  # open, proprietary
    cpu_architecture: str = ""
    glibc: Version | None = None
    instance_type: str = ""
    ami_release: str = ""
    operator: str = ""

    @property
    def wheels_for(self) -> str:
        """The platform of wheels, as distributions write it."""
        return "linux aarch64" if self.cpu_architecture == "arm64" else "linux x86_64"
