"""Model of a notebook hub: stack file keys, NotebookHub arguments, and derived values. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, Field, field_validator

from errors.faults import FORM, Misfit
from fleet import labels
from imaging.spec.hub_description import Contents
from workloads.addresses import BaseUrl, Url
from workloads.agreements import DEFAULT_IDLE_S
from workloads.amounts import (
    Cores,
    Count,
    Gib,
    GibOrNone,
    IdleSeconds,
    Seats,
    Seconds,
    SecondsBetween,
    SecondsOrNever,
    Share,
)
from workloads.arguments import ImageReference
from workloads.authenticator import Authenticator, Login, login
from workloads.names import Line, Name, ObjectName, Prose
from workloads.workload import Workload

DEFAULT_START_TIMEOUT_S: Final = 600
DEFAULT_CPU_GUARANTEE: Final = 0.1  # notebooks are idle most of the time
DEFAULT_MEMORY_GUARANTEE_GIB: Final = 1


def _day(value: str) -> str:
    try:
        if dt.date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    raise Misfit("is not a day", 'write YYYY-MM-DD, quoted: "2020-10-01"')


IsoDay = Annotated[str, AfterValidator(_day)]


class NodePort(BaseModel):
    """A port on every node."""

    model_config = FORM
    kind: Literal["node_port"] = Field(description="A port of every node.")
    # Kubernetes' default range; API servers with another one report their own error.
    port: int = Field(ge=30000, le=32767, description="Node port, 30000 to 32767.")


class LoadBalancer(BaseModel):
    """An address from the cluster's load balancer."""

    model_config = FORM
    kind: Literal["load_balancer"] = Field(description="An address from the cluster's load balancer.")
    port: int = Field(80, ge=1, le=65535, description="Port of the service.")


class ClusterIp(BaseModel):
    """Reachable only inside the cluster; the site's own ingress leads to it."""

    model_config = FORM
    kind: Literal["cluster_ip"] = Field(description="Inside the cluster only.")
    port: int = Field(80, ge=1, le=65535, description="Port of the service.")


class Cull(BaseModel):
    """When servers with GPUs end."""

    model_config = FORM
    idle_s: IdleSeconds = Field(DEFAULT_IDLE_S, description="Seconds without activity after which a server is ended.")
    max_age_s: SecondsOrNever = Field(
        0, description="Seconds after which a server is ended even if it is used; 0: never."
    )
    every_s: SecondsBetween = Field(600, description="Seconds between two checks for idle servers.")
    kernel_idle_s: IdleSeconds | None = Field(
        None, description="Seconds after which an idle kernel is ended; none: idle_s."
    )


class HubKeys(BaseModel):
    """Keys of every hub, on a cluster or a Docker host, shared by stack files and component arguments."""

    model_config = FORM
    public_url: BaseUrl | None = Field(
        None, description="Address that people open, if a proxy of the site forwards to the hub."
    )
    help_url: Url | None = Field(None, description="Where people get help: a link on the page that starts servers.")
    start_timeout_s: Seconds = Field(
        DEFAULT_START_TIMEOUT_S, description="Seconds that a server may take to start, image pull included."
    )
    http_timeout_s: Seconds = Field(120, description="Seconds from the started pod to a server that answers.")
    cull: Cull = Field(Cull(), description="When idle and old servers are ended.")


class ClusterHubKeys(HubKeys):
    """Cluster-only keys of a hub, shared by stack files and NotebookHub arguments."""

    availability: bool = Field(
        default=True,
        description="Show on the pages how many servers of each profile fit now: a separate service counts nodes and "
        "pods of the whole cluster, with an account that may only list these.",
    )
    volume_gib: Gib = Field(10, description="Size of each user's volume in GiB.")
    database_gib: Gib = Field(1, description="Size of the hub's own volume in GiB.")
    storage_class: ObjectName | None = Field(
        None, description="Storage class of the volumes; none: the cluster's default."
    )


class Titled(BaseModel):
    """Names of a profile or kernel."""

    model_config = FORM
    name: Name = Field(description="Short name, unique in its hub.")
    title: Line = Field(description="What users read.")
    description: Prose | None = Field(None, description="Second line of the choice.")


class ProfileKeys(Workload, Titled):  # keys of the last base come first
    """Keys of a profile, shared by stack files and hub component arguments."""

    is_default: bool = Field(default=False, description="Chosen when the user chooses nothing; one per hub.")

    @property
    def size(self) -> str:
        """A server's size as shown to users: 1 GPU, 4 CPU cores, 16 GiB memory."""
        cards = "No GPU" if not self.gpus else f"{self.gpus} GPU{'s' if self.gpus > 1 else ''}"
        cores = f"{self.cpu:g} CPU core{'' if self.cpu == 1 else 's'}"
        return ", ".join([cards, cores, f"{self.memory_gib:g} GiB memory"])

    @property
    def second_line(self) -> str:
        """Text below the title."""
        return self.description or self.size


class CourseKeys(BaseModel):
    """Keys of a course, shared by stack files and hub component arguments."""

    model_config = FORM
    name: Name = Field(description="Short name of the course.")
    title: Line = Field(description="What people call it.")
    profiles: tuple[Name, ...] = Field(min_length=1, description="Profiles of that hub that the course may choose.")
    seats: Seats = Field(description="People in the course.")
    guaranteed_gpus: Count = Field(0, description="GPUs that the course always gets, whatever others use.")
    borrowable_gpus: Count | None = Field(
        None, description="GPUs beyond the guaranteed ones that it may take while they are free; none: any."
    )


class Toleration(BaseModel):
    """A toleration, as in Kubernetes."""

    model_config = FORM
    key: Line | None = None
    operator: Literal["Equal", "Exists"] = "Equal"
    value: Line | None = None
    effect: Literal["NoExecute", "NoSchedule", "PreferNoSchedule"] | None = None
    toleration_seconds: SecondsOrNever | None = None

    def manifest(self) -> dict[str, Any]:
        """Kubernetes form."""
        found = self.model_dump(exclude_none=True, exclude={"toleration_seconds"})
        return found | ({} if self.toleration_seconds is None else {"tolerationSeconds": self.toleration_seconds})


# All nodes of a GPU fleet have the taint, even those for the hub and notebooks without GPUs.
GPU_TOLERATIONS: Final = (Toleration(key=labels.GPU_TAINT.key, operator="Exists", effect=labels.GPU_TAINT.effect),)


class Profile(ProfileKeys):
    """A profile on the spawn page. CPU in cores, memory in GiB; the guarantees are scheduler reservations."""

    image: ImageReference = Field(description="image by digest, such as the `ref` of a GpuImage")
    image_name: Name = Field(description="Name of the image as people know it.")
    shm_gib: GibOrNone | None = None
    cpu_guarantee: Cores | None = None
    memory_guarantee_gib: Gib | None = None
    node_selector: dict[Line, str] = Field(default={})
    tolerations: tuple[Toleration, ...] = GPU_TOLERATIONS
    gpu: Line = ""
    gpu_memory_gb: GibOrNone = 0
    contents: Contents = Contents()

    @property
    def guaranteed(self) -> tuple[float, float]:
        """Reserved cores and GiB of memory."""
        return (
            self.cpu_guarantee or min(self.cpu, DEFAULT_CPU_GUARANTEE),
            self.memory_guarantee_gib or min(self.memory_gib, DEFAULT_MEMORY_GUARANTEE_GIB),
        )


class Course(CourseKeys):
    """A course on the hub, only for policies and reviewers."""

    peak_share: Share | None = None
    first_day: IsoDay | None = None
    last_day: IsoDay | None = None


class Hub(ClusterHubKeys):
    """A validated hub. Times in seconds, sizes in GiB."""

    namespace: Name
    expose: Annotated[NodePort | LoadBalancer | ClusterIp, Field(discriminator="kind")] = Field(
        description="How people reach the hub."
    )
    hub_image: ImageReference = Field(description="image by digest, such as the `ref` of a GpuImage")
    hub_image_name: Name = "hub"
    proxy_image: ImageReference = Field(description="image by digest, such as the `ref` of a GpuImage")
    proxy_image_name: Name = "proxy"
    profiles: tuple[Profile, ...] = Field(min_length=1, description="What users can choose.")
    authenticator: Authenticator = Field(description="How people log in.")
    runtime_class: Line = "nvidia"
    core_pool: Name | None = None
    core_node_selector: dict[Line, str] = Field(default={})
    core_tolerations: tuple[Toleration, ...] = GPU_TOLERATIONS
    site_name: Line = "JupyterHub"
    # Only for policies and reviewers.
    images_are_pre_pulled: bool = False
    courses: tuple[Course, ...] = ()

    @field_validator("public_url")
    @classmethod
    def _without_slash(cls, url: str | None) -> str | None:
        return url.rstrip("/") if url else url

    @property
    def login(self) -> Login:
        """The authenticator in JupyterHub's form."""
        return login(self.authenticator)

    @property
    def images(self) -> dict[str, Any]:
        """Images of the profiles by image name."""
        return {profile.image_name: profile.image for profile in self.profiles}

    @property
    def core_selector(self) -> dict[str, str]:
        """Node selector of hub and proxy."""
        return _selector(self.core_pool, self.core_node_selector)

    def pools_of(self, profile: Profile) -> tuple[str, ...]:
        """Pools of a profile: those it names, else the hub's core pool, else (none) any node."""
        return profile.named_pools or tuple(filter(None, [self.core_pool]))

    def selector_of(self, profile: Profile) -> dict[str, str]:
        """Node selector of a profile; several pools become an affinity instead."""
        pools = self.pools_of(profile)
        return _selector(pools[0] if len(pools) == 1 else None, profile.node_selector)


def _selector(pool: str | None, given: Mapping[str, str]) -> dict[str, str]:
    return {**({labels.POOL: pool} if pool else {}), **given}
