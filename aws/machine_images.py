"""Which machine image of EKS a group gets: by its GPUs, its Kubernetes version, the driver it wants, and a pin."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from aws import tables
from aws.image_releases import kubernetes_of, listed_releases, number_of, release_version
from aws.instances import GroupShape
from aws.kubernetes_versions import is_version, known_versions, supported_versions
from aws.wanted_driver import NEWEST, WantedDriver
from compat import tables as facts
from compat.machine_images import LEFT_AFTER, age_in_days, drivers_in, release_order, rows_until, serves
from compat.rows import Origin, Row
from compat.versions import DriverVersion
from messages.problems import listing, nearest

REFRESH = "python -m aws.refresh reads newer ones into the tables"


class KernelModule(StrEnum):
    """Which of NVIDIA's kernel modules a machine image loads for a GPU."""

    OPEN = "open"
    PROPRIETARY = "proprietary"
    GRID = "grid"  # open as well; drives a part of a GPU
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Pin:
    """A machine image that somebody insists on; what is empty is chosen. The release may be `1.34.9-20260714` too."""

    ami_type: str = ""
    release: str = ""


@dataclass(frozen=True, slots=True)
class MachineImage:
    """One release of an EKS machine image with the driver that it runs on the nodes of a group."""

    ami_type: str
    release: str  # 20260714; 1.68.0 of Bottlerocket
    kubernetes: str  # 1.34
    driver: DriverVersion  # prints as the branch where a table has no more
    container_toolkit: str  # several where the release has several; empty: not known
    kernel_module: KernelModule
    has_device_plugin: bool
    has_persistence_daemon: bool | None  # None: not known
    chooses_branch_at_boot: bool  # Bottlerocket with two branches: user data decide
    release_version: str  # as EKS wants it, 1.34.9-20260714; empty: the patch version is in no table
    origin: Origin

    @property
    def branch(self) -> int:
        return self.driver.branch

    @property
    def is_bottlerocket(self) -> bool:
        return self.ami_type.startswith("BOTTLEROCKET")

    def __str__(self) -> str:
        return f"{self.ami_type} {self.release_version or self.release}"


@dataclass(frozen=True, slots=True)
class NoMachineImage:
    """Why there is none. `reason` is a sentence; `is_unknown` where a table lacks the fact rather than denies it."""

    reason: str
    fix: str
    nearest: MachineImage | None = None  # what the group can have instead
    is_unknown: bool = False


def choose(
    shape: GroupShape, kubernetes: str, wanted: WantedDriver = NEWEST, pin: Pin | None = None, *, today: dt.date
) -> MachineImage | NoMachineImage:
    """The newest machine image that the group's GPUs, its Kubernetes version, the wanted driver and the pin allow.

    Without a pin it is an image of Amazon Linux, which EKS takes by default.
    """
    pin = pin or Pin()
    if refused := (
        _by_version(kubernetes, today)
        or _by_type(shape, pin.ami_type)
        or _by_driver(shape, wanted)
        or _by_release(pin, kubernetes)
    ):
        return _with_nearest(refused, shape, kubernetes, pin, today)
    ami_type = pin.ami_type or shape.ami_types[0]
    number = number_of(pin.release)
    rows = [row for row in rows_until(ami_type, number) if serves(row, kubernetes)]
    if not rows:
        return _with_nearest(_without_rows(shape, ami_type, kubernetes, number), shape, kubernetes, pin, today)
    if number and (refused := _off_the_table(ami_type, rows[-1], kubernetes, number)):
        return _with_nearest(refused, shape, kubernetes, pin, today)
    found = [*_images(shape, rows[-1:] if number else rows, kubernetes, pin)]
    fitting = [each for each in found if wanted.takes(each.driver) and _fits(shape, each.driver)]
    if fitting:
        newest = max(fitting, key=lambda each: (release_order(each.release), each.driver))
        alike = [each for each in fitting if each.driver == newest.driver]
        # EKS takes a release by its whole name alone: one that can be named is better than a newer one that cannot.
        return max(alike, key=lambda each: (bool(each.release_version), release_order(each.release)))
    return _with_nearest(_no_such_driver(shape, found, wanted, pin), shape, kubernetes, pin, today, found)


# --- refused before any image is looked at


def _by_version(kubernetes: str, today: dt.date) -> NoMachineImage | None:
    known = known_versions()
    if not is_version(kubernetes):
        return NoMachineImage(f'"{kubernetes}" is not a Kubernetes version', 'write major and minor, such as "1.34"')
    if kubernetes not in known:
        reason = f"no table has Kubernetes {kubernetes} on EKS"
        return NoMachineImage(reason, nearest(kubernetes, supported_versions(today), what="version"), is_unknown=True)
    version = known[kubernetes]
    if version.has_ended(today):
        reason = f"EKS ended all support of Kubernetes {kubernetes} on {version.extended_until}"
        return NoMachineImage(reason, f"take one that it supports: {listing(supported_versions(today), most=9)}")
    return None


def _by_type(shape: GroupShape, ami_type: str) -> NoMachineImage | None:
    if not shape.ami_types:
        why = f", which takes no driver after branch {shape.max_branch}" if shape.max_branch else ""
        why = why or (f", which needs driver {shape.min_driver}" if shape.min_driver else "")
        return NoMachineImage(f"EKS publishes no machine image for {shape}{why}", "take another instance type")
    if ami_type and (reason := _why_not(shape, ami_type)):
        return NoMachineImage(reason, f"{shape} can have {listing(shape.ami_types)}")
    return None


def _why_not(shape: GroupShape, ami_type: str) -> str:
    """Why a group cannot have images of a type; empty where it can."""
    types = tables.by_first_column("ami_types")
    row = types.get(ami_type)
    if row is None:
        is_known = ami_type in facts.by_key("eks_ami", "ami_type")
        return f"{ami_type} carries no NVIDIA driver" if is_known else f"{ami_type} is not a type of EKS machine image"
    if row["ended"]:
        return f"EKS ended support of {ami_type} images on {row['ended']}"
    if row["architecture"] != shape.architecture:
        return f"{ami_type} is for {row['architecture']}; {shape} is {shape.architecture}"
    is_paired = ami_type.removesuffix("_FIPS") in shape.ami_types
    return "" if is_paired else f"EKS does not pair {ami_type} with {shape}"


def _by_driver(shape: GroupShape, wanted: WantedDriver) -> NoMachineImage | None:
    if wanted.branch is None:
        return None
    lowest, last = shape.min_driver, shape.max_branch
    too_old = lowest is not None and (wanted.driver or DriverVersion.end_of(wanted.branch)) < lowest
    if too_old:
        return NoMachineImage(
            f"{shape} needs driver {lowest} or newer; {wanted} is older", f"ask for {lowest} or newer"
        )
    if last is not None and wanted.branch > last:
        return NoMachineImage(f"the last driver branch for {shape} is {last}; {wanted} is newer", f"ask for R{last}")
    return None


def _by_release(pin: Pin, kubernetes: str) -> NoMachineImage | None:
    if not pin.release:
        return None
    number = number_of(pin.release)
    if not number:
        reason = f'"{pin.release}" is not a release of a machine image'
        return NoMachineImage(reason, "write the day of the release, such as 20260714, or 1.68.0 of Bottlerocket")
    version = kubernetes_of(pin.release)
    if version and version != kubernetes:
        reason = f"{pin.release} is for Kubernetes {version}; the cluster has {kubernetes}"
        return NoMachineImage(reason, f"pin the day alone, {number}, or a release for {kubernetes}")
    return None


# --- refused by the rows of the table


def _without_rows(shape: GroupShape, ami_type: str, kubernetes: str, number: str) -> NoMachineImage:
    rows = rows_until(ami_type, "")
    if not any(row["release"] for row in rows):
        fix = f"take {shape.ami_types[0]}"
        return NoMachineImage(f"no table has the releases of {ami_type}", fix, is_unknown=True)
    serving = [row for row in rows if serves(row, kubernetes)]
    if serving and number:
        reason = f"{ami_type} had no release for Kubernetes {kubernetes} by {number}"
        return NoMachineImage(reason, f"the first that the tables know is {serving[0]['release']}")
    reason = f"no table has a release of {ami_type} for Kubernetes {kubernetes}"
    versions = dict.fromkeys(name for row in rows[-1:] for name in row["k8s_versions"].split("|"))
    return NoMachineImage(reason, f"the newest ones are for {listing(tuple(versions), most=9)}; {REFRESH}", None, True)


def _off_the_table(ami_type: str, row: Row, kubernetes: str, number: str) -> NoMachineImage | None:
    """Is the pinned release one that the tables do not have, or not any more for this Kubernetes version?"""
    listed = listed_releases(ami_type)
    if release_order(number) > release_order(listed[-1]):
        reason = f"the tables end with release {listed[-1]} of {ami_type}; {number} is newer"
        return NoMachineImage(reason, f"pin a known release; {REFRESH}", is_unknown=True)
    if number not in listed:
        near = [each for each in listed if release_order(each) < release_order(number)][-1:]
        near += [each for each in listed if release_order(each) > release_order(number)][:1]
        reason = f"no table has a release {number} of {ami_type}"
        return NoMachineImage(reason, f"pin one that is known, such as {' or '.join(near)}; {REFRESH}", is_unknown=True)
    if age_in_days(rows_until(ami_type, number)[-1]) - age_in_days(row) > LEFT_AFTER:
        reason = f"{ami_type} {number} is not for Kubernetes {kubernetes}, whose last release is {row['release']}"
        return NoMachineImage(reason, "take a newer Kubernetes version, or an older release")
    return None


def _no_such_driver(shape: GroupShape, found: list[MachineImage], wanted: WantedDriver, pin: Pin) -> NoMachineImage:
    drivers = tuple(dict.fromkeys(str(each.driver) for each in reversed(found)))
    where = f"{found[-1].ami_type} {pin.release}".strip() + f" for Kubernetes {found[-1].kubernetes}"
    carried = f"{where} carries {listing(drivers, most=6)}"
    if not any(_fits(shape, each.driver) for each in found):
        needs = f"needs {shape.min_driver} or newer" if shape.min_driver else ""
        last = f"takes no branch after {shape.max_branch}" if shape.max_branch else ""
        reason = f"{carried}; {shape} {' and '.join(filter(None, (needs, last)))}"
        return NoMachineImage(reason, "take another release or another instance type")
    branches = {each.branch for each in found}
    fix = f"ask for R{wanted.branch}" if wanted.branch in branches else "ask for one of them, or newest"
    return NoMachineImage(f"no such image has driver {wanted}: {carried}", fix)


def _with_nearest(  # noqa: PLR0913, PLR0917 - what `choose` has in its hands
    refused: NoMachineImage,
    shape: GroupShape,
    kubernetes: str,
    pin: Pin,
    today: dt.date,
    found: list[MachineImage] | None = None,
) -> NoMachineImage:
    """With what the group can have: an image that has all but the driver, else one without the pin."""
    fitting = [each for each in found or () if _fits(shape, each.driver)]
    if fitting:
        return replace(refused, nearest=max(fitting, key=lambda each: release_order(each.release)))
    if _by_version(kubernetes, today) or _by_type(shape, ""):
        return refused
    for kind in dict.fromkeys((pin.ami_type, *shape.ami_types)):
        without = Pin(kind)
        if without != pin and not _by_type(shape, kind):
            other = choose(shape, kubernetes, NEWEST, without, today=today)
            if isinstance(other, MachineImage):
                return replace(refused, nearest=other)
    return refused


# --- from rows to images


def _fits(shape: GroupShape, driver: DriverVersion) -> bool:
    is_new_enough = shape.min_driver is None or driver >= shape.min_driver
    return is_new_enough and (shape.max_branch is None or driver.branch <= shape.max_branch)


def _images(shape: GroupShape, rows: list[Row], kubernetes: str, pin: Pin) -> Iterator[MachineImage]:
    for row in rows:
        drivers = drivers_in(row)
        release = number_of(pin.release) or number_of(row["release"])
        for driver in drivers:
            yield MachineImage(
                ami_type=row["ami_type"],
                release=release,
                kubernetes=kubernetes,
                driver=driver,
                container_toolkit=row["nvidia_container_toolkit"],
                kernel_module=kernel_module(shape, row["ami_type"]),
                has_device_plugin=tables.by_first_column("ami_types")[row["ami_type"]]["device_plugin"] == "yes",
                has_persistence_daemon={"yes": True, "no": False}.get(row["persistenced_enabled"]),
                chooses_branch_at_boot=len(drivers) > 1,
                release_version=release_version(kubernetes, release, pin.release),
                origin=Origin.of(row),
            )


def kernel_module(shape: GroupShape, ami_type: str) -> KernelModule:
    """The kernel module that the image loads on these nodes.

    AL2023 decides at boot: GRID for a part of an L4; proprietary for g4dn, g5 and g5g, where the GPU's own processor
    has to be off, which only that module can do; else open where the GPU has it.
    Source: https://github.com/awslabs/amazon-eks-ami/blob/main/templates/al2023/runtime/gpu/nvidia-kmod-load.sh
    """
    if shape.gpus < 1:
        return KernelModule.UNKNOWN if ami_type.startswith("BOTTLEROCKET") else KernelModule.GRID
    architecture = facts.architectures().get(shape.gpu.compute_capability)
    if architecture is None:
        return KernelModule.UNKNOWN
    is_closed = architecture.open_kernel_module.startswith("not supported")
    is_forced = any(each.family in {"g4dn", "g5", "g5g"} for each in shape.types)
    return KernelModule.PROPRIETARY if is_closed or is_forced else KernelModule.OPEN
