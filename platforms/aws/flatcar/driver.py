"""Chooses the driver source of a Flatcar node: an extension built with the release, else a driver container.

Modules fit exactly one kernel release, so both are tied to it: an extension by the release it is published
with, a container by its key.
"""

from dataclasses import dataclass
from enum import StrEnum

from compat.facts import tables
from compat.values.versions import DriverVersion
from errors.problems import listing
from fleet.driver_key import DriverKey
from platforms.aws.driver_request import NEWEST, WantedDriver
from platforms.aws.flatcar.releases import Channel, Release, releases
from platforms.aws.instances import GroupShape
from platforms.aws.machine_images import KernelModule, kernel_module


class Way(StrEnum):
    """How a driver is installed."""

    EXTENSION = "extension"  # a systemd-sysext of the release: its modules are signed, nothing is built
    CONTAINER = "container"  # a privileged container that brings modules built for this kernel


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver of a group's nodes. `driver` is None if only the branch is known."""

    way: Way
    key: DriverKey
    driver: DriverVersion | None
    module: KernelModule

    @property
    def extension(self) -> str:
        """Name of the extension in /etc/flatcar/enabled-sysext.conf; empty for a container."""
        if self.way is Way.CONTAINER:
            return ""
        return f"nvidia-drivers-{self.key.branch}" + ("-open" if self.module is KernelModule.OPEN else "")

    def __str__(self) -> str:
        return self.extension or str(self.key)


@dataclass(frozen=True, slots=True)
class NoDriver:
    """Why there is none. `is_unknown`: a table lacks the fact rather than denying it."""

    reason: str
    fix: str
    is_unknown: bool = False


def choose(
    shape: GroupShape, release: Release, wanted: WantedDriver = NEWEST, container: DriverKey | None = None
) -> Driver | NoDriver:
    """The newest extension allowed by the GPUs and the requested driver, else a container of the requested branch.

    An explicit `container` must match exactly this release.
    """
    module = kernel_module(shape)  # the module that EKS's own images load on these nodes
    if refused := _by_module(shape, module) or _by_gpu(shape, wanted):
        return refused
    if container is not None:
        return _pinned(shape, release, wanted, container, module)
    if shape.architecture == "amd64":  # no extensions exist for arm64
        if release.sysext_branches is None:
            reason = f"no table has the driver extensions of Flatcar {release.version}"
            return NoDriver(reason, "take a release whose extensions are known", is_unknown=True)
        if found := _extension(shape, release, wanted, module):
            return found
        if wanted.driver is not None and wanted.branch in release.sysext_branches:
            return _other_driver(release, wanted.driver)
    return _container(shape, release, wanted, module)


def _by_module(shape: GroupShape, module: KernelModule) -> NoDriver | None:
    if module is KernelModule.GRID:
        reason = f"{shape} has a part of an {shape.gpu}, which only NVIDIA's GRID module drives; Flatcar has none"
        return NoDriver(reason, "take a machine image of EKS, or a type with a whole GPU")
    if module is KernelModule.UNKNOWN:
        reason = f"it is not known which kernel module drives {shape.gpu}"
        return NoDriver(reason, "take another instance type", is_unknown=True)
    return None


def _by_gpu(shape: GroupShape, wanted: WantedDriver) -> NoDriver | None:
    if wanted.branch is None:
        return None
    lowest, last = shape.min_driver, shape.max_branch
    if lowest is not None and (wanted.driver or DriverVersion.end_of(wanted.branch)) < lowest:
        return NoDriver(f"{shape} needs driver {lowest} or newer; {wanted} is older", f"ask for {lowest} or newer")
    if last is not None and wanted.branch > last:
        return NoDriver(f"the last driver branch for {shape} ({shape.gpu}) is {last}; {wanted} is newer", _other_type())
    return None


def _extension(shape: GroupShape, release: Release, wanted: WantedDriver, module: KernelModule) -> Driver | None:
    drivers = {each.branch: each for each in release.sysext_drivers or ()}
    for branch in sorted(release.sysext_branches or (), reverse=True):
        driver = drivers.get(branch)
        # An extension's driver may be unknown: it then only matches a request for its branch.
        is_wanted = wanted.takes(driver) if driver else wanted.driver is None and wanted.branch in {None, branch}
        if is_wanted and shape.takes(driver or DriverVersion.end_of(branch)):
            key = DriverKey(branch, release.kernel_release, release.os)
            return Driver(Way.EXTENSION, key, driver, module)
    return None


def _other_driver(release: Release, wanted: DriverVersion) -> NoDriver:
    """The branch has an extension, but with another driver or one in no table."""
    name = f"extension nvidia-drivers-{wanted.branch} of Flatcar {release.version}"
    brought = [each for each in release.sysext_drivers or () if each.branch == wanted.branch]
    if not brought:
        return NoDriver(f"it is not known which driver the {name} brings", f"ask for R{wanted.branch}", is_unknown=True)
    having = [each.version for each in releases(Channel.STABLE) if wanted in (each.sysext_drivers or ())]
    fix = f"ask for R{wanted.branch}" + (f", or take Flatcar {having[-1]}, which brings it" if having else "")
    return NoDriver(f"the {name} brings driver {brought[0]}; {wanted} is wanted", fix)


def _container(shape: GroupShape, release: Release, wanted: WantedDriver, module: KernelModule) -> Driver | NoDriver:
    if wanted.branch is None:
        return _nothing_fits(shape, release)
    if refused := _by_end(shape, release, wanted.branch):
        return refused
    key = DriverKey(wanted.branch, release.kernel_release, release.os)
    return Driver(Way.CONTAINER, key, wanted.driver, module)


def _pinned(
    shape: GroupShape, release: Release, wanted: WantedDriver, container: DriverKey, module: KernelModule
) -> Driver | NoDriver:
    if misfit := container.misfit(release.kernel_release, release.os):
        key = DriverKey(container.branch, release.kernel_release, release.os)
        return NoDriver(f"driver container {misfit}", f"build {key}, or take the Flatcar release that it is for")
    if wanted.branch not in {None, container.branch}:
        reason = f"driver container {container} is of branch {container.branch}; the pool wants {wanted}"
        return NoDriver(reason, f"ask for R{container.branch}, or name a container of R{wanted.branch}")
    if refused := _by_gpu(shape, WantedDriver(container.branch)) or _by_end(shape, release, container.branch):
        return refused
    return Driver(Way.CONTAINER, container, wanted.driver, module)


def _by_end(shape: GroupShape, release: Release, branch: int) -> NoDriver | None:
    """Flatcar maintains extensions; a container of a branch that ended before the release would be ours."""
    known = tables.driver_branches()
    if branch not in known:
        return NoDriver(f"no table has driver branch {branch}", "ask for one that is known", is_unknown=True)
    end = known[branch].end_of_life
    if end != "eol" and (not end[:1].isdigit() or end >= release.published.isoformat()[: len(end)]):
        return None
    when = "" if end == "eol" else f" in {end}"
    reason = (
        f"NVIDIA ended driver branch {branch}{when}, before Flatcar {release.version}; {_extensions(shape, release)}"
    )
    takes_newer = shape.max_branch is None or shape.max_branch > branch
    return NoDriver(reason, "ask for a branch that is maintained" if takes_newer else _other_type())


def _nothing_fits(shape: GroupShape, release: Release) -> NoDriver:
    """The pool requests the newest, but no extension fits."""
    if shape.max_branch is not None and (ended := _by_end(shape, release, shape.max_branch)):
        reason = f"{shape} ({shape.gpu}) takes no driver branch after {shape.max_branch}; {ended.reason}"
        return NoDriver(reason, _other_type())
    needs = f", and {shape} needs driver {shape.min_driver} or newer" if release.sysext_branches else ""
    needs = needs if shape.min_driver and shape.architecture == "amd64" else ""
    reason = f"{_extensions(shape, release)}{needs}: its driver comes from a container, which is built for one branch"
    return NoDriver(reason, "name a branch, such as R580")


def _extensions(shape: GroupShape, release: Release) -> str:
    if shape.architecture != "amd64":
        return f"Flatcar has no driver extensions for {shape.architecture}"
    branches = tuple(map(str, sorted(release.sysext_branches or ())))
    if not branches:
        return f"Flatcar {release.version} has no driver extensions"
    return f"Flatcar {release.version} has driver extensions of branch {listing(branches)}"


def _other_type() -> str:
    return "take a newer instance type, such as g4dn or g6"
