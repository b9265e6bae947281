"""An instance group: keys shared by stack files and EksGpuNodeGroup, and values derived from them.

Instance types determine the hardware; the chosen machine image determines the GPU driver.
"""

import re
from functools import cached_property
from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    PositiveInt,
    WithJsonSchema,
)

from compat.values.versions import VersionError
from errors.clock import today
from errors.faults import FORM, Misfit, matching, quoted
from fleet import labels as names
from platforms.aws.driver_request import WantedDriver
from platforms.aws.flatcar.releases import release_of
from platforms.aws.flatcar_keys import FlatcarKeys
from platforms.aws.instances import GroupShape, InstanceError, find_instance, group_of
from platforms.aws.kubernetes_versions import VERSION
from platforms.aws.machine_images import MachineImage, Pin, choose
from platforms.aws.node_image import FlatcarImage, NodeImage, flatcar_image
from platforms.aws.scaling import MAX_UNAVAILABLE, Scale, accelerator_labels
from platforms.aws.user_data import NodeSettings, Pulls
from platforms.aws.volumes import MAX_THROUGHPUT, MIN_THROUGHPUT, PARALLEL_THROUGHPUT, Volume, iops_of
from platforms.node_keys import Labels, Taints
from workloads.amounts import Count, Gib
from workloads.arguments import Argument

_PLACEMENT: Final = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?", re.ASCII)
_RESERVATION: Final = re.compile(r"cr-[0-9a-f]{8,17}", re.ASCII)


def _instance_type(value: str) -> str:
    try:
        return find_instance(value).name
    except InstanceError as error:
        raise Misfit(error.reason, error.fix) from None


def _wanted(value: str) -> WantedDriver:
    try:
        return WantedDriver.parse(value)
    except VersionError as error:
        raise Misfit(error.reason, 'write newest, a branch or a driver, quoted: "580", "580.126.09"') from None


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
    BeforeValidator(quoted),
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
    max: PositiveInt = Field(description="Maximum number of instances.")
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

    @cached_property
    def shape(self) -> GroupShape:
        """Common properties of its instance types; checked to exist when the stack file is read."""
        return group_of([find_instance(each) for each in self.instance_types])

    @cached_property
    def machine_image(self) -> MachineImage:
        """The chosen or pinned one."""
        assert self.kubernetes is not None  # noqa: S101 - the reader fills in the cluster's version
        found = choose(self.shape, self.kubernetes, self.wanted_driver, self.pin, today=today())
        assert isinstance(found, MachineImage)  # noqa: S101 - `instance_agreements` reports anything else
        return found

    @cached_property
    def flatcar_image(self) -> FlatcarImage:
        """A Flatcar group's release with its driver."""
        keys = self.flatcar
        assert keys is not None  # noqa: S101 - callers know that the group is on Flatcar
        release = release_of(keys.release)
        found = flatcar_image(self.shape, release, self.wanted_driver, keys.driver_key, keys.container_toolkit)
        assert isinstance(found, FlatcarImage)  # noqa: S101 - `instance_agreements` reports anything else
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
