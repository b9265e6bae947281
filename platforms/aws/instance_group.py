"""An instance group: keys shared by stack files and EksGpuNodeGroup, and values derived from them.

Instance types determine the hardware; the chosen machine image determines the GPU driver.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from compat.values.versions import VersionError
from errors.agreements import check
from errors.clock import today
from errors.faults import FORM, Misfit, matching, quoted
from errors.problems import Fault
from fleet import labels as names
from fleet.driver_key import DriverKey
from platforms.aws.driver_request import WantedDriver
from platforms.aws.flatcar.driver import NoDriver, Way
from platforms.aws.flatcar.releases import newest, release_of
from platforms.aws.flatcar_keys import FlatcarKeys
from platforms.aws.instances import GroupShape, InstanceError, find_instance, group_of
from platforms.aws.kubernetes_versions import VERSION
from platforms.aws.machine_image_errors import Refusal, by_version
from platforms.aws.machine_images import MachineImage, NoMachineImage, Pin, choose
from platforms.aws.node_image import FlatcarImage, NodeImage, flatcar_image
from platforms.aws.scaling import MAX_UNAVAILABLE, Scale, accelerator_labels
from platforms.aws.user_data import NodeSettings, Pulls, settings_problems
from platforms.aws.volumes import MAX_THROUGHPUT, MIN_THROUGHPUT, PARALLEL_THROUGHPUT, Volume, iops_of
from platforms.node_keys import Labels, Taints, doubled_taints
from workloads.amounts import Count, Gib
from workloads.arguments import Argument

_PLACEMENT: Final = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?", re.ASCII)
_RESERVATION: Final = re.compile(r"cr-[0-9a-f]{8,17}", re.ASCII)


def _instance_type(value: str) -> str:
    try:
        return find_instance(value).name
    except InstanceError as error:
        raise Misfit(error.reason, error.fix) from None


def _wanted(value: object) -> WantedDriver:
    fix = 'write newest, a branch or a driver, quoted: "580", "580.126.09"'
    if not isinstance(value, str):
        raise Misfit("is not text", fix)
    try:
        return WantedDriver.parse(value)
    except VersionError as error:
        raise Misfit(error.reason, fix) from None


KubernetesVersion = Annotated[
    str,
    BeforeValidator(quoted),
    matching(VERSION, "is not a version of Kubernetes on EKS", 'write major and minor, quoted: "1.34"'),
    WithJsonSchema({"type": "string", "pattern": f"^{VERSION.pattern}$"}),
]
InstanceType = Annotated[str, AfterValidator(_instance_type), WithJsonSchema({"type": "string"})]
MaxUnavailable = Annotated[int, Field(ge=1, le=MAX_UNAVAILABLE)]
Throughput = Annotated[int, Field(ge=MIN_THROUGHPUT, le=MAX_THROUGHPUT)]
Reservation = Annotated[
    str,
    matching(_RESERVATION, "is not the id of a capacity reservation", "write what EC2 shows: cr-0123456789abcdef0"),
    WithJsonSchema({"type": "string"}),
]
PlacementGroup = Annotated[
    str,
    matching(_PLACEMENT, "is not the name of a placement group", "write its name: up to 255 characters of ASCII"),
    WithJsonSchema({"type": "string"}),
]
Wanted = Annotated[
    WantedDriver,
    Argument("str"),
    PlainValidator(_wanted),
    PlainSerializer(str),
    WithJsonSchema({"type": "string"}),
]


class PinnedImage(BaseModel):
    """An EKS machine image chosen by hand."""

    model_config = FORM
    type: str = Field(description="AMI type as EKS calls it: AL2023_x86_64_NVIDIA.")
    release: str | None = Field(
        None, description='Release without the Kubernetes version, quoted: "20260714"; none: the newest that fits.'
    )


class InstanceGroupKeys(BaseModel):
    """Alike instances, between a minimum and a maximum number."""

    model_config = FORM
    instance_types: tuple[InstanceType, ...] = Field(
        min_length=1,
        description="EC2 instance types that may be started, the preferred one first: g6.xlarge. All have the same "
        "GPUs and processor architecture.",
    )
    min: Count = Field(0, description="Minimum number of instances.")
    desired: Count | None = Field(
        None, description="Initial number of instances, which an autoscaler may change; none: min."
    )
    max: int = Field(ge=1, le=10_000, description="Maximum number of instances.")
    kubernetes: KubernetesVersion | None = Field(
        None, description="Kubernetes version of the nodes, while they follow the cluster; none: the cluster's."
    )
    wanted_driver: Wanted = Field(
        WantedDriver(),
        alias="driver",
        description='NVIDIA driver, quoted: "580.126.09", a branch "580", or newest, the default: the newest that '
        "the instances can have. It determines the machine image, except on Flatcar.",
    )
    pinned_image: PinnedImage | None = Field(
        None, alias="machine_image", description="A machine image chosen by hand; none: the driver determines it."
    )
    flatcar: FlatcarKeys | None = Field(
        None, description="Nodes on Flatcar, in place of a machine image of EKS; none: EKS's images."
    )
    capacity: Literal["on_demand", "spot"] = Field(
        "on_demand", description="How the instances are bought: on_demand or spot."
    )
    max_unavailable: MaxUnavailable = Field(
        1, description="Instances that an update replaces at the same time, 100 at most."
    )
    root_disk_gib: Gib = Field(
        0,
        description="Encrypted gp3 volume of one node, in GiB, for images and containers; none: large enough for the "
        "images that may land there, each as large as image_limits allow.",
    )
    volume_throughput: Throughput | None = Field(
        None, description="MiB/s of that volume, 125 to 2000; none: 125, and 600 with parallel_pulls."
    )
    parallel_pulls: bool = Field(
        default=False, description="Pull and unpack the layers of an image in parallel, with SOCI."
    )
    capacity_reservation: Reservation | None = Field(
        None, description="Id of a capacity reservation that the instances are started in: cr-0123456789abcdef0."
    )
    placement_group: PlacementGroup | None = Field(
        None, description="Name of an existing placement group that the instances are started in."
    )
    labels: Labels = {}
    extra_taints: Taints = ()

    @check
    def _sizes(self) -> Iterator[Fault]:
        least, desired, most = self.min, self.scale.desired, self.max
        if least > most:
            yield Fault(("min",), f"is above max, {most}", f"write {most} or less, or a greater max", least)
        elif not least <= desired <= most:
            fix = f"write a number from {least} to {most}"
            yield Fault(("desired",), f"is not between min and max, {least} and {most}", fix, desired)

    @check
    def _alike(self) -> Iterator[Fault]:
        try:
            group_of([find_instance(each) for each in self.instance_types])
        except InstanceError as error:
            yield Fault(("instance_types",), error.reason, error.fix, error.text)

    @check
    def _offered(self) -> Iterator[Fault]:
        if refused := self._refused:
            yield Fault(("kubernetes",), f"cannot be used on EKS: {refused.reason}", refused.fix, self.kubernetes)

    @check
    def _keys_of_flatcar(self) -> Iterator[Fault]:
        if self.flatcar is None or self._refused:
            return
        for key in ("volume_throughput", "parallel_pulls", "capacity_reservation"):
            if key in self.model_fields_set:
                yield Fault((key,), "is not supported on Flatcar nodes", "leave it out, or use an EKS image")
        if self.pinned_image is not None:
            reason = "is given beside flatcar: a node has one image"
            yield Fault(("machine_image",), reason, "keep one: machine_image for an image of EKS, or flatcar")
        release = release_of(self.flatcar.release)
        if today() > release.public_until:
            reason = f"can no longer be started: its machine image was public until {release.public_until}"
            fix = f"use a newer one: {newest().version}"
            yield Fault(("flatcar", "release"), reason, fix, release.version)

    @check
    def _reserved(self) -> Iterator[Fault]:
        if self.capacity_reservation is not None and self.capacity == "spot" and not self._refused:
            reason = "is given for spot instances, which reservations do not cover"
            yield Fault(("capacity_reservation",), reason, "leave it out, or buy on_demand")

    @check
    def _has_image(self) -> Iterator[Fault]:
        if self._refused or (self.kubernetes is None and self.flatcar is None):
            return
        found, wants_driver = self.chosen, "wanted_driver" in self.model_fields_set
        if isinstance(found, NoDriver | FlatcarImage):
            yield from self._driver_on_flatcar(found, wants_driver=wants_driver)
        elif isinstance(found, NoMachineImage):
            near = found.nearest
            instead = f"; available: {near}" + (f", driver {near.driver}" if near.driver else "") if near else ""
            key = "machine_image" if self.pinned_image else "driver" if wants_driver else "instance_types"
            yield Fault((key,), f"leaves no machine image: {found.reason}", f"{found.fix}{instead}")
        else:
            yield from self._usable(found)

    def _usable(self, found: MachineImage) -> Iterator[Fault]:
        if not found.release_version:
            whole = f"{found.release}-COMMIT" if found.is_bottlerocket else f"{found.kubernetes}.PATCH-{found.release}"
            reason = f"needs {found}, but no table has its full name, {whole}, and EKS accepts no other"
            fix = (
                f'write what the console of EKS shows: machine_image: {{ type: {found.ami_type}, release: "{whole}" }}'
            )
            yield Fault(("machine_image",), reason, fix)
        for reason, fix in settings_problems(found, self.shape, self.node_settings) if self.parallel_pulls else ():
            yield Fault(("parallel_pulls",), f"has no effect: {reason}", fix)

    def _driver_on_flatcar(self, found: FlatcarImage | NoDriver, *, wants_driver: bool) -> Iterator[Fault]:
        container = self.flatcar.driver_container if self.flatcar else None
        if isinstance(found, NoDriver):
            reason = f"leaves no driver on Flatcar: {found.reason}"
            if container is not None and found != self._on_flatcar(None):  # otherwise the container is not at fault
                yield Fault(("flatcar", "driver_container"), reason, found.fix, container)
            elif wants_driver:
                yield Fault(("driver",), reason, found.fix, str(self.wanted_driver))
            else:
                yield Fault(("instance_types",), reason, found.fix, self.instance_types)
        elif found.source.way is Way.CONTAINER and not container:
            reason = f"is missing: no extension of Flatcar {found.release.version} has driver {found.driver}"
            fix = f"name the image of a driver container whose tag is {found.source.key}"
            yield Fault(("flatcar", "driver_container"), reason, fix)

    @check
    def _taints_once(self) -> Iterator[Fault]:
        yield from doubled_taints(self.extra_taints)

    @property
    def _refused(self) -> Refusal | None:
        """Why EKS no longer has this version of Kubernetes."""
        return by_version(self.kubernetes, today()) if self.kubernetes else None

    @cached_property
    def shape(self) -> GroupShape:
        """Common properties of its instance types; checked to exist when the stack file is read."""
        return group_of([find_instance(each) for each in self.instance_types])

    @property
    def chosen(self) -> MachineImage | NoMachineImage | FlatcarImage | NoDriver:
        """The node image, or why there is none."""
        if keys := self.flatcar:
            return self._on_flatcar(keys.driver_key)
        assert self.kubernetes is not None  # noqa: S101 - the reader fills in the cluster's version
        return choose(self.shape, self.kubernetes, self.wanted_driver, self.pin, today=today())

    def _on_flatcar(self, key: DriverKey | None) -> FlatcarImage | NoDriver:
        assert self.flatcar is not None  # noqa: S101 - callers know that the group is on Flatcar
        release = release_of(self.flatcar.release)
        return flatcar_image(self.shape, release, self.wanted_driver, key, self.flatcar.container_toolkit)

    @cached_property
    def machine_image(self) -> MachineImage:
        """The chosen or pinned one."""
        found = self.chosen
        assert isinstance(found, MachineImage)  # noqa: S101 - a check reports anything else
        return found

    @cached_property
    def flatcar_image(self) -> FlatcarImage:
        """A Flatcar group's release with its driver."""
        found = self.chosen
        assert isinstance(found, FlatcarImage)  # noqa: S101 - a check reports anything else
        return found

    @property
    def node_image(self) -> NodeImage:
        """The node image, from any publisher."""
        return self.flatcar_image if self.flatcar else self.machine_image

    def labels_of(self, pool: str) -> dict[str, str]:
        """Node labels in a pool of that name: ours, those for the autoscaler, the site's own."""
        image = self.node_image
        toolkit = image.container_toolkit or None if image.driver else None
        ours = names.pool_labels(pool, image.driver, toolkit)
        return {**ours, **accelerator_labels(self.shape), **self.labels}

    @property
    def node_taints(self) -> tuple[names.Taint, ...]:
        """The GPU taint of nodes with GPUs, then the site's own."""
        own = (names.Taint(taint.key, taint.value, taint.effect) for taint in self.extra_taints)
        return (*((names.GPU_TAINT,) if self.shape.gpu else ()), *own)

    @property
    def scale(self) -> Scale:
        """Group size."""
        return Scale(self.min, self.min if self.desired is None else self.desired, self.max)

    @property
    def volume(self) -> Volume:
        """A node's volume. Faster ones get the IOPS that EC2 requires."""
        usual = PARALLEL_THROUGHPUT if self.parallel_pulls else MIN_THROUGHPUT
        throughput = self.volume_throughput or usual
        return Volume(int(self.root_disk_gib), throughput, iops_of(throughput))

    @property
    def node_settings(self) -> NodeSettings:
        """Node settings at startup."""
        return NodeSettings(Pulls.PARALLEL if self.parallel_pulls else Pulls.SERIAL)

    @property
    def pin(self) -> Pin | None:
        """The hand-picked machine image."""
        return Pin(self.pinned_image.type, self.pinned_image.release or "") if self.pinned_image else None
