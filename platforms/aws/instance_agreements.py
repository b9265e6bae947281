"""Consistency checks of an instance group: sizes, instance types, machine image. Pure.

Works on the raw mapping and skips malformed values, which the models report.
"""

from __future__ import annotations

from collections.abc import Iterator

from compat.values.versions import VersionError
from errors.clock import today
from errors.problems import Fault, Loc
from fleet.driver_key import DriverKey
from platforms.aws.driver_request import WantedDriver
from platforms.aws.flatcar.driver import NoDriver, Way
from platforms.aws.flatcar.releases import Release, UnknownRelease, newest, release_of
from platforms.aws.instances import GroupShape, InstanceError, find_instance, group_of
from platforms.aws.machine_image_errors import by_version
from platforms.aws.machine_images import MachineImage, NoMachineImage, Pin, choose
from platforms.aws.node_image import FlatcarImage, NodeImage, flatcar_image
from platforms.aws.user_data import NodeSettings, Pulls, settings_problems
from workloads.raw import Raw, is_count, mapping


def of_group(loc: Loc, group: Raw, version: object) -> Iterator[Fault]:
    """Inconsistencies of one group; `version` is the cluster's Kubernetes version."""
    yield from _sizes(loc, group)
    try:
        shape = _common(group)
    except InstanceError as error:
        yield Fault((*loc, "instance_types"), error.reason, error.fix, error.text)
        return
    if isinstance(version, str) and (refused := by_version(version, today())):
        if group.get("kubernetes") is not None:  # otherwise it is the cluster's and reported there
            yield Fault((*loc, "kubernetes"), f"cannot be used on EKS: {refused.reason}", refused.fix, version)
        return
    yield from _reserved(loc, group)
    if group.get("flatcar") is not None:
        yield from _on_flatcar(loc, group, shape)
        return
    found = _image(group, shape, version) if shape else None
    if isinstance(found, MachineImage) and not found.release_version:
        whole = f"{found.release}-COMMIT" if found.is_bottlerocket else f"{found.kubernetes}.PATCH-{found.release}"
        reason = f"needs {found}, but no table has its full name, {whole}, and EKS accepts no other"
        fix = f'write what the console of EKS shows: machine_image: {{ type: {found.ami_type}, release: "{whole}" }}'
        yield Fault((*loc, "machine_image"), reason, fix)
    if isinstance(found, MachineImage) and shape and group.get("parallel_pulls") is True:
        for reason, fix in settings_problems(found, shape, NodeSettings(Pulls.PARALLEL)):
            yield Fault((*loc, "parallel_pulls"), f"has no effect: {reason}", fix)
    if isinstance(found, NoMachineImage):
        given = [key for key in ("machine_image", "driver") if group.get(key) is not None]
        near = found.nearest
        instead = f"; available: {near}" + (f", driver {near.driver}" if near.driver else "") if near else ""
        key = given[0] if given else "instance_types"
        yield Fault((*loc, key), f"leaves no machine image: {found.reason}", f"{found.fix}{instead}")


def shape_of(group: Raw) -> GroupShape | None:
    """Common properties of its instance types; None if unreadable or not common."""
    try:
        return _common(group)
    except InstanceError:
        return None


def image_of(group: Raw, version: object) -> NodeImage | None:
    """Node image; None if nothing fits or the group is unreadable."""
    shape = shape_of(group)
    if shape is None:
        return None
    found = _flatcar(group, shape) if group.get("flatcar") is not None else _image(group, shape, version)
    return found if isinstance(found, MachineImage | FlatcarImage) else None


def _reserved(loc: Loc, group: Raw) -> Iterator[Fault]:
    if group.get("capacity_reservation") is not None and group.get("capacity") == "spot":
        reason = "is given for spot instances, which reservations do not cover"
        yield Fault((*loc, "capacity_reservation"), reason, "leave it out, or buy on_demand")


def _on_flatcar(loc: Loc, group: Raw, shape: GroupShape | None) -> Iterator[Fault]:
    keys = mapping(group, "flatcar")
    for key in ("volume_throughput", "parallel_pulls", "capacity_reservation"):
        if group.get(key) is not None:
            yield Fault((*loc, key), "is not supported on Flatcar nodes", "leave it out, or use an EKS image")
    if group.get("machine_image") is not None:
        reason = "is given beside flatcar: a node has one image"
        yield Fault((*loc, "machine_image"), reason, "keep one: machine_image for an image of EKS, or flatcar")
    if (release := _release(keys)) and today() > release.public_until:
        reason = f"can no longer be started: its machine image was public until {release.public_until}"
        yield Fault((*loc, "flatcar", "release"), reason, f"use a newer one: {newest().version}", release.version)
    found = _flatcar(group, shape) if shape else None
    if isinstance(found, NoDriver):
        reason = f"leaves no driver on Flatcar: {found.reason}"
        without = _flatcar({**group, "flatcar": {**keys, "driver_container": None}}, shape) if shape else None
        if keys.get("driver_container") is not None and found != without:  # otherwise the container is not at fault
            yield Fault((*loc, "flatcar", "driver_container"), reason, found.fix, keys["driver_container"])
        else:
            key = "driver" if group.get("driver") is not None else "instance_types"
            yield Fault((*loc, key), reason, found.fix, group[key])
    elif isinstance(found, FlatcarImage) and found.source.way is Way.CONTAINER and not keys.get("driver_container"):
        reason = f"is missing: no extension of Flatcar {found.release.version} has driver {found.driver}"
        fix = f"name the image of a driver container whose tag is {found.source.key}"
        yield Fault((*loc, "flatcar", "driver_container"), reason, fix)


def _release(keys: Raw) -> Release | None:
    try:
        return release_of(str(keys.get("release")))
    except UnknownRelease:
        return None  # reported by the models


def _flatcar(group: Raw, shape: GroupShape) -> FlatcarImage | NoDriver | None:
    keys = mapping(group, "flatcar")
    release, toolkit, container = _release(keys), str(keys.get("container_toolkit")), keys.get("driver_container")
    try:
        driver = WantedDriver.parse(str(group.get("driver") or "newest"))
        key = DriverKey.named(str(container)) if container is not None else None
    except ValueError:
        return None  # reported by the models
    return flatcar_image(shape, release, driver, key, toolkit) if release else None


def _sizes(loc: Loc, group: Raw) -> Iterator[Fault]:
    least, most = group.get("min", 0), group.get("max")
    desired = group.get("desired") if group.get("desired") is not None else least
    if not (is_count(least) and is_count(most) and is_count(desired)):
        return
    if least > most:
        yield Fault((*loc, "min"), f"is above max, {most}", f"write {most} or less, or a greater max", least)
    elif not least <= desired <= most:
        fix = f"write a number from {least} to {most}"
        yield Fault((*loc, "desired"), f"is not between min and max, {least} and {most}", fix, desired)


def _common(group: Raw) -> GroupShape | None:
    types = group.get("instance_types")
    if not isinstance(types, list | tuple) or not types or not all(isinstance(each, str) for each in types):
        return None
    try:
        found = [find_instance(each) for each in types]
    except InstanceError:
        return None  # reported by the models
    return group_of(found)


def _image(group: Raw, shape: GroupShape, version: object) -> MachineImage | NoMachineImage | None:
    wanted, pinned = group.get("driver") or "newest", mapping(group, "machine_image")
    kind, release = pinned.get("type", ""), pinned.get("release") or ""
    if not all(isinstance(each, str) for each in (version, wanted, kind, release)):
        return None
    try:
        driver = WantedDriver.parse(wanted)
    except VersionError:
        return None
    return choose(shape, str(version), driver, Pin(kind, release), today=today())
