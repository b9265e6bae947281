"""Chooses the EKS machine image of a group by GPUs, Kubernetes version, requested driver and pin."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from compat.evidence.machine_images import drivers_in, release_order, rows_until, serves
from compat.facts import tables as facts
from compat.facts.rows import Origin, Row
from compat.values.versions import DriverVersion
from errors.problems import listing
from platforms.aws import machine_image_errors, tables
from platforms.aws.driver_request import NEWEST, WantedDriver
from platforms.aws.image_releases import number_of, release_version
from platforms.aws.instances import GroupShape
from platforms.aws.machine_image_errors import Refusal

_OLDEST = DriverVersion(1, 0)


class KernelModule(StrEnum):
    """The NVIDIA kernel module that a machine image loads for a GPU."""

    OPEN = "open"
    PROPRIETARY = "proprietary"
    GRID = "grid"  # also open; supports fractional GPUs
    NONE = "none"  # nodes without GPUs
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Pin:
    """A requested machine image; empty fields are chosen. The release may also be `1.34.9-20260714`."""

    ami_type: str = ""
    release: str = ""


@dataclass(frozen=True, slots=True)
class MachineImage:
    """One EKS machine image release with its driver on a group's nodes."""

    ami_type: str
    release: str  # 20260714; 1.68.0 of Bottlerocket
    kubernetes: str  # 1.34
    driver: DriverVersion | None  # prints as the branch if a table has no more; None: nodes without GPUs
    container_toolkit: str  # empty: unknown, or the release notes list several
    kernel_module: KernelModule
    has_device_plugin: bool
    branch_setting: str  # for Bottlerocket with two branches, chosen by user data: lts or pb
    release_version: str  # as EKS requires it, 1.34.9-20260714; empty: the patch version is in no table
    origin: Origin

    @property
    def branch(self) -> int | None:
        return self.driver.branch if self.driver else None

    @property
    def is_bottlerocket(self) -> bool:
        return self.ami_type.startswith("BOTTLEROCKET")

    def __str__(self) -> str:
        return f"{self.ami_type} {self.release_version or self.release}"


@dataclass(frozen=True, slots=True)
class NoMachineImage:
    """Why there is none. `reason` is a sentence; `is_unknown`: a table lacks the fact rather than denying it."""

    reason: str
    fix: str
    nearest: MachineImage | None = None  # closest alternative for the group
    is_unknown: bool = False


def choose(
    shape: GroupShape, kubernetes: str, wanted: WantedDriver = NEWEST, pin: Pin | None = None, *, today: dt.date
) -> MachineImage | NoMachineImage:
    """The newest machine image allowed by the group's GPUs, Kubernetes version, requested driver and pin.

    Without a pin it is an Amazon Linux image, EKS's default.
    """
    pin = pin or Pin()
    if shape.gpu is None:
        return _without_gpus(shape, kubernetes, wanted, pin, today)
    if refused := (
        machine_image_errors.by_version(kubernetes, today)
        or machine_image_errors.by_type(shape, pin.ami_type)
        or machine_image_errors.by_driver(shape, wanted)
        or machine_image_errors.by_release(pin.release, kubernetes)
    ):
        return _with_nearest(refused, shape, kubernetes, pin, today)
    ami_type = pin.ami_type or shape.ami_types[0]
    number = number_of(pin.release)
    rows = [row for row in rows_until(ami_type, number) if serves(row, kubernetes)]
    if not rows:
        return _with_nearest(
            machine_image_errors.without_rows(shape, ami_type, kubernetes, number), shape, kubernetes, pin, today
        )
    if number and (refused := machine_image_errors.off_the_table(ami_type, rows[-1], kubernetes, number)):
        return _with_nearest(refused, shape, kubernetes, pin, today)
    found = [*_images(shape, rows[-1:] if number else rows, kubernetes, pin)]
    fitting = [each for each in found if each.driver and wanted.takes(each.driver) and shape.takes(each.driver)]
    if fitting:
        newest = max(fitting, key=lambda each: (release_order(each.release), each.driver or _OLDEST))
        alike = [each for each in fitting if each.driver == newest.driver]
        # EKS only accepts a release's full name: a known full name beats a newer release without one.
        return max(alike, key=lambda each: (bool(each.release_version), release_order(each.release)))
    return _with_nearest(_no_such_driver(shape, found, wanted, pin), shape, kubernetes, pin, today, found)


def _without_gpus(
    shape: GroupShape, kubernetes: str, wanted: WantedDriver, pin: Pin, today: dt.date
) -> MachineImage | NoMachineImage:
    """For nodes without GPUs: EKS builds these images on the same days, under one name."""
    refused = machine_image_errors.by_version(kubernetes, today) or machine_image_errors.by_release(
        pin.release, kubernetes
    )
    named = [row for row in tables.rows("eks_releases") if row["kubernetes"] == kubernetes]
    newest = max(named, key=lambda row: row["release"], default=None)
    if wanted != NEWEST:
        refused = refused or Refusal(f"{shape} has no GPU, and driver {wanted} is asked for", "leave driver out")
    if pin.ami_type and pin.ami_type not in shape.ami_types:
        refused = refused or Refusal(f"{pin.ami_type} is not for {shape}", f"take {listing(shape.ami_types)}")
    if newest is None:
        reason = f"no table has a release of {shape.ami_types[0]} for Kubernetes {kubernetes}"
        refused = refused or Refusal(reason, machine_image_errors.REFRESH, is_unknown=True)
    if refused:
        return NoMachineImage(refused.reason, refused.fix, None, refused.is_unknown)
    assert newest is not None  # noqa: S101 - that is refused
    release = number_of(pin.release) or newest["release"]
    return MachineImage(
        ami_type=shape.ami_types[0],
        release=release,
        kubernetes=kubernetes,
        driver=None,
        container_toolkit="",
        kernel_module=KernelModule.NONE,
        has_device_plugin=False,
        branch_setting="",
        release_version=release_version(kubernetes, release, pin.release),
        origin=Origin.of(newest),
    )


def _no_such_driver(shape: GroupShape, found: list[MachineImage], wanted: WantedDriver, pin: Pin) -> Refusal:
    drivers = tuple(dict.fromkeys(str(each.driver) for each in reversed(found)))
    where = f"{found[-1].ami_type} {pin.release}".strip() + f" for Kubernetes {found[-1].kubernetes}"
    carried = f"{where} carries {listing(drivers, most=6)}"
    if not any(_fits(shape, each.driver) for each in found):
        needs = f"needs {shape.min_driver} or newer" if shape.min_driver else ""
        last = f"takes no branch after {shape.max_branch}" if shape.max_branch else ""
        reason = f"{carried}; {shape} {' and '.join(filter(None, (needs, last)))}"
        return Refusal(reason, "take another release or another instance type")
    branches = {each.branch for each in found}
    fix = f"ask for R{wanted.branch}" if wanted.branch in branches else "ask for one of them, or newest"
    return Refusal(f"no such image has driver {wanted}: {carried}", fix)


def _with_nearest(  # noqa: PLR0913, PLR0917 - the state of `choose`
    refused: Refusal,
    shape: GroupShape,
    kubernetes: str,
    pin: Pin,
    today: dt.date,
    found: list[MachineImage] | None = None,
) -> NoMachineImage:
    """Adds an alternative: an image that matches all but the driver, else one without the pin."""
    other = next(iter(_others(shape, kubernetes, pin, today, found or [])), None)
    return NoMachineImage(refused.reason, refused.fix, other, refused.is_unknown)


def _others(
    shape: GroupShape, kubernetes: str, pin: Pin, today: dt.date, found: list[MachineImage]
) -> Iterator[MachineImage]:
    fitting = [each for each in found if _fits(shape, each.driver)]
    if fitting:
        yield max(fitting, key=lambda each: release_order(each.release))
    if machine_image_errors.by_version(kubernetes, today) or machine_image_errors.by_type(shape, ""):
        return
    for kind in dict.fromkeys((pin.ami_type, *shape.ami_types)):
        without = Pin(kind)
        if without != pin and not machine_image_errors.by_type(shape, kind):
            other = choose(shape, kubernetes, NEWEST, without, today=today)
            if isinstance(other, MachineImage):
                yield other


# --- from rows to images


def _fits(shape: GroupShape, driver: DriverVersion | None) -> bool:
    return driver is not None and shape.takes(driver)


def _images(shape: GroupShape, rows: list[Row], kubernetes: str, pin: Pin) -> Iterator[MachineImage]:
    for row in rows:
        drivers = drivers_in(row)
        release = number_of(pin.release) or number_of(row["release"])
        toolkit = row["nvidia_container_toolkit"]
        for driver in drivers:
            yield MachineImage(
                ami_type=row["ami_type"],
                release=release,
                kubernetes=kubernetes,
                driver=driver,
                container_toolkit="" if "|" in toolkit else toolkit,
                kernel_module=kernel_module(shape),
                has_device_plugin=tables.by_first_column("ami_types")[row["ami_type"]]["device_plugin"] == "yes",
                branch_setting=_branch_setting(row["ami_type"], release, kubernetes, driver),
                release_version=release_version(kubernetes, release, pin.release),
                origin=Origin.of(row),
            )


def _branch_setting(ami_type: str, release: str, kubernetes: str, driver: DriverVersion) -> str:
    """Bottlerocket's name for a branch: `lts` or `pb`, production; empty if a release has one driver.

    Without it, nodes choose by their GPUs, and older releases do not start with an unknown setting.
    Sources: https://github.com/bottlerocket-os/bottlerocket/releases/tag/v1.66.0 and v1.68.0;
    https://github.com/bottlerocket-os/bottlerocket-core-kit/blob/develop/sources/ghostdog/src/nvidia.rs
    """
    first = (1, 66, 0) if release_order(kubernetes) >= (1, 37) else (1, 68, 0)
    if not ami_type.startswith("BOTTLEROCKET") or release_order(release) < first:
        return ""
    row = facts.by_key("driver_branch", "branch").get(str(driver.branch))
    return "lts" if row and row[0]["branch_type"].startswith("LTS") else "pb"


def kernel_module(shape: GroupShape) -> KernelModule:
    """The kernel module that the image loads on these nodes; AL2023 and Bottlerocket decide at boot.

    GRID for a fractional L4; proprietary for T4 and A10G (g4dn, g5, g5g), where AL2023 must switch the GPU System
    Processor off, which only that module can do; else open if supported.
    Sources: https://github.com/awslabs/amazon-eks-ami/blob/main/templates/al2023/runtime/gpu/nvidia-kmod-load.sh;
    https://github.com/bottlerocket-os/bottlerocket-core-kit/blob/develop/sources/ghostdog/src/nvidia.rs
    """
    if shape.gpus < 1:
        return KernelModule.GRID
    if shape.gpu is None:
        return KernelModule.NONE
    architecture = facts.architectures().get(shape.gpu.compute_capability)
    if architecture is None:
        return KernelModule.UNKNOWN
    is_closed = architecture.open_kernel_module.startswith("not supported")
    is_forced = any(each.family in {"g4dn", "g5", "g5g"} for each in shape.types)
    return KernelModule.PROPRIETARY if is_closed or is_forced else KernelModule.OPEN
