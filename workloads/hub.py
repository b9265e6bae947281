"""Model of a notebook hub: stack file keys, NotebookHub arguments, and derived values. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from errors.agreements import check, doubles
from errors.faults import FORM, MOVED, Misfit
from errors.problems import Fault, Loc
from fleet import labels
from imaging.spec.hub_description import Contents
from workloads.addresses import BaseUrl, Url
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
from workloads.arguments import IMAGE, IMAGE_NAME, Argument, ImageReference
from workloads.authenticator import SHARED_PASSWORD, Authenticator, Login, login
from workloads.exposure import REACHED, ClusterExposure
from workloads.names import Line, Name, Prose
from workloads.storage import Storage
from workloads.workload import Workload, at_most

CHOICES: Final = "What users can choose, in the order of the page; without `is_default` the first is chosen."
DEFAULT_IDLE_S: Final = 3600
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


class Cull(BaseModel):
    """When servers and kernels end; times in seconds."""

    model_config = FORM
    idle_s: IdleSeconds = Field(DEFAULT_IDLE_S, description="Seconds without activity after which a server is ended.")
    max_age_s: SecondsOrNever = Field(
        0, description="Seconds after which a server is ended even if it is used; 0: never."
    )
    every_s: SecondsBetween = Field(600, description="Seconds between two checks for idle servers.")
    kernel_idle_s: IdleSeconds | None = Field(
        None, description="Seconds after which an idle kernel is ended; none: idle_s."
    )

    @check
    def _age(self) -> Iterator[Fault]:
        if 0 < self.max_age_s < self.idle_s:
            fix = f"write {self.idle_s} or more, or 0 for no maximum age"
            yield Fault(("max_age_s",), f"is below idle_s, which is {self.idle_s}", fix, self.max_age_s)


class HubKeys(BaseModel):
    """Keys of every hub, on a cluster or a Docker host, shared by stack files and component arguments."""

    model_config = FORM
    public_url: BaseUrl | None = Field(
        None,
        description="Address that people open, if a proxy with that name and its certificate forwards to the hub.",
    )
    help_url: Url | None = Field(None, description="Where people get help: a link on the page that starts servers.")
    start_timeout_s: Seconds = Field(
        DEFAULT_START_TIMEOUT_S,
        description="Seconds that a server may take to start, image pull included.",
    )
    http_timeout_s: Seconds = Field(
        120, description="Seconds from the started pod, container or job to a server that answers."
    )
    cull: Cull = Field(Cull(), description="When idle and old servers are ended.")

    if TYPE_CHECKING:

        @property
        def profiles(self) -> Sequence[ProfileKeys]: ...

    @check
    def _profiles_differ(self) -> Iterator[Fault]:
        yield from doubles(self.profiles, ("profiles",))
        yield from titles(self.profiles, ("profiles",))

    @check
    def _one_default(self) -> Iterator[Fault]:
        defaults = [str(each.name) for each in self.profiles if getattr(each, "is_default", False)]
        if len(defaults) > 1:
            fix = f"keep is_default: true on one of {', '.join(defaults)}"
            yield Fault(("profiles",), f"have {len(defaults)} defaults", fix)


class ClusterHubKeys(HubKeys):
    """Cluster-only keys of a hub, shared by stack files and NotebookHub arguments."""

    model_config = ConfigDict(
        **FORM,
        json_schema_extra={
            MOVED: {
                "volume_gib": "storage.homes.size_gib",
                "database_gib": "storage.database.size_gib",
                "storage_class": "storage.homes.storage_class and storage.database.storage_class",
            }
        },
    )
    availability: bool = Field(
        default=True,
        description="Show on the pages how many servers of each profile fit now: a separate service counts nodes and "
        "pods of the whole cluster, with an account that may only list these. Who updates needs the right to create a "
        "ClusterRole.",
    )
    storage: Storage = Field(Storage(), description="Where homes and database are kept.")


class Titled(BaseModel):
    """Names of a profile or kernel."""

    model_config = FORM
    name: Name = Field(
        description="Short name, unique in its hub. Keep it: choices and notebooks are remembered by it."
    )
    title: Line = Field(description="What users read.")
    description: Prose | None = Field(None, description="Second line of the choice.")


def titles(items: Sequence[Titled], path: Loc) -> Iterator[Fault]:
    """Duplicate titles of the profiles or kernels at `path`."""
    seen: dict[str, str] = {}
    for index, each in enumerate(items):
        title, name = getattr(each, "title", None), getattr(each, "name", None)
        if title is not None and title in seen:
            one = str(path[-1]).removesuffix("s")
            fix = f"give each {one} its own title: users see nothing else"
            yield Fault((*path, index, "title"), f"is the title of {one} {seen[title]}", fix, title)
        elif title is not None:
            seen[title] = str(name)


class ProfileKeys(Workload, Titled):  # keys of the last base come first
    """Keys of a profile, shared by stack files and hub component arguments."""

    description: Prose | None = Field(None, description="Second line of the choice; none: GPUs, cores and memory.")
    is_default: bool = Field(default=False, description="Chosen when the user chooses nothing; one per hub.")

    @property
    def page_size(self) -> str:
        """A server's size on the page."""
        return self.size

    @property
    def note(self) -> str:
        """Text beside the size."""
        return "" if self.second_line == self.size else self.second_line

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
    key: Line | None = Field(None, description="Key of the taint; none, with operator Exists: every taint.")
    operator: Literal["Equal", "Exists"] = Field("Equal", description="Equal or Exists.")
    value: Line | None = Field(None, description="Value of the taint, with operator Equal.")
    effect: Literal["NoExecute", "NoSchedule", "PreferNoSchedule"] | None = Field(
        None, description="NoExecute, NoSchedule or PreferNoSchedule; none: every effect."
    )
    toleration_seconds: SecondsOrNever | None = Field(
        None, description="Seconds that a running pod stays on a node with such a taint, with NoExecute; none: forever."
    )

    @check
    def _value_of_equal(self) -> Iterator[Fault]:
        if self.operator == "Equal":
            for needed in ("key", "value"):
                if getattr(self, needed) is None:
                    yield Fault((needed,), "is missing", f"add {needed}, or write operator: Exists")
        elif self.value is not None:
            yield Fault(("value",), "is given beside operator Exists", "leave one of the two out")

    def manifest(self) -> dict[str, Any]:
        """Kubernetes form."""
        found = self.model_dump(exclude_none=True, exclude={"toleration_seconds"})
        return found | ({} if self.toleration_seconds is None else {"tolerationSeconds": self.toleration_seconds})


# All nodes of a GPU fleet have the taint, even those for the hub and notebooks without GPUs.
GPU_TOLERATIONS: Final = (Toleration(key=labels.GPU_TAINT.key, operator="Exists", effect=labels.GPU_TAINT.effect),)


class Course(CourseKeys):
    """A course on the hub: shows policies and reviewers who is affected by a change."""

    peak_share: Share | None = Field(
        None, description="Share of the seats that hold a server with GPUs at the busiest time: above 0, 1 at most."
    )
    first_day: IsoDay | None = Field(None, description="First day of the course, YYYY-MM-DD.")
    last_day: IsoDay | None = Field(
        None, description="Last day of the course, YYYY-MM-DD. Reviews leave out courses that are over."
    )

    @check
    def _days_in_order(self) -> Iterator[Fault]:
        if self.first_day and self.last_day and self.last_day < self.first_day:
            yield Fault(("last_day",), "is before first_day", "write a day that is not before it", self.last_day)


class MadeProfile(ProfileKeys):
    """Keys of a profile as component argument, on any platform."""

    image: ImageReference
    image_name: Name = Field(description=IMAGE_NAME)
    gpu: Line = Field("", description="GPU model, for the page: GeForce GTX 1080 Ti.")
    gpu_memory_gb: GibOrNone = Field(0, description="Memory of one such GPU in GB, for the page; default 0: not shown.")
    contents: Contents = Field(Contents(), description="What the image contains, for the page.")


NameOfImage = Annotated[Name, Field(description="Name of that image.")]


class MadeHub(HubKeys):
    """Keys of a hub as component arguments, on any platform."""

    hub_image: ImageReference
    proxy_image: ImageReference = Field(description=f"{IMAGE}, with configurable-http-proxy on its PATH")
    proxy_image_name: NameOfImage = "proxy"
    authenticator: Authenticator = Field(description="How people log in.")
    site_name: Line = Field("JupyterHub", description="Heading of the pages.")
    courses: tuple[Course, ...] = Field(
        (), description="Courses that use the hub. Recorded for policies and reviewers; the hub itself ignores them."
    )

    @field_validator("public_url")
    @classmethod
    def _without_slash(cls, url: str | None) -> str | None:
        return url.rstrip("/") if url else url

    @property
    def login(self) -> Login:
        """The authenticator in JupyterHub's form."""
        return login(self.authenticator)


class Profile(MadeProfile):
    """A profile on the spawn page. CPU in cores, memory in GiB; the guarantees are scheduler reservations."""

    cpu: Cores = Field(description="CPU cores at most.")
    cpu_guarantee: Cores | None = Field(
        None,
        description=f"CPU reservation in cores; default {DEFAULT_CPU_GUARANTEE}, because notebooks are mostly idle.",
    )
    memory_gib: Gib = Field(description="Memory in GiB at most.")
    memory_guarantee_gib: Gib | None = Field(
        None, description=f"Memory reservation in GiB; default {DEFAULT_MEMORY_GUARANTEE_GIB}."
    )
    gpus: Count = Field(0, description="Whole GPUs; 0 for none: the server then sees no GPU.")
    shm_gib: GibOrNone | None = Field(
        None,
        description="Shared memory at /dev/shm in GiB, part of the memory; default: a quarter of it in profiles with "
        "GPUs, else none.",
    )
    pool: Name | None = Field(None, description="Pool it runs on; none: the hub's core pool, else any node.")
    node_selector: dict[Line, str] = Field(default={}, description="Further labels that its nodes have.")
    tolerations: tuple[Toleration, ...] = Field(
        GPU_TOLERATIONS, description=f"Tolerations of its servers; default: the GPU taint {labels.GPU_TAINT.key}."
    )

    @check
    def _guarantees(self) -> Iterator[Fault]:
        yield from at_most(self, "memory_guarantee_gib", "memory_gib")
        yield from at_most(self, "cpu_guarantee", "cpu")

    @property
    def guaranteed(self) -> tuple[float, float]:
        """Reserved cores and GiB of memory."""
        return (
            self.cpu_guarantee or min(self.cpu, DEFAULT_CPU_GUARANTEE),
            self.memory_guarantee_gib or min(self.memory_gib, DEFAULT_MEMORY_GUARANTEE_GIB),
        )


class Hub(MadeHub, ClusterHubKeys):  # keys of the last base come first
    """A validated hub. Times in seconds, sizes in GiB."""

    namespace: Annotated[Name, Argument(is_required=False)] = Field(
        description="Namespace of the hub, and of no other hub; none: the component's name."
    )
    expose: ClusterExposure = Field(description=REACHED)
    hub_image: ImageReference = Field(
        description=f"{IMAGE}, with jupyterhub (5.3 or later) and python3 "
        "(3.11 or later) on its PATH, kubespawner 7, idle culler and authenticators"
    )
    hub_image_name: NameOfImage = "hub"
    profiles: tuple[Profile, ...] = Field(
        min_length=1,
        description=f"{CHOICES} Profiles that share image and nodes and differ only in size share one card.",
    )
    runtime_class: Line = Field("nvidia", description="Runtime class of profiles with GPUs.")
    core_pool: Name | None = Field(
        None, description="Pool of hub, proxy, and profiles that name no pool; none: any node."
    )
    core_node_selector: dict[Line, str] = Field(
        default={}, description="Further labels that nodes of hub and proxy have."
    )
    core_tolerations: tuple[Toleration, ...] = Field(
        GPU_TOLERATIONS, description=f"Tolerations of hub and proxy; default: the GPU taint {labels.GPU_TAINT.key}."
    )
    images_are_pre_pulled: bool = Field(
        default=False,
        description="The profiles' images are pulled to all nodes of their pools in advance, for example by a "
        "PrePuller: policies then warn about images with long pulls instead of refusing them.",
    )

    @property
    def address(self) -> str | None:
        """What people open, without the last slash; None where only the cluster knows."""
        return self.public_url or self.expose.address

    @property
    def in_clear(self) -> str:
        """A warning that logins cross the network in clear; empty with TLS, for a shared password, or if unknown."""
        is_open = self.expose.kind not in ("cluster_ip", "gateway") and self.expose.certificate is None
        is_before = (self.public_url or "").startswith("https:")
        if not is_open or self.login.class_name == SHARED_PASSWORD or is_before:
            return ""
        return (
            f"hub {self.namespace}: logins, cookies and notebooks cross the network in clear text, because its "
            f"{self.expose.kind} has no TLS: add expose.host and expose.certificate, or public_url if a proxy with TLS "
            "is in front of it"
        )

    @check
    def _one_image_for_each_name(self) -> Iterator[Fault]:
        images: dict[str, object] = {}
        for index, profile in enumerate(self.profiles):
            name, found = profile.image_name, profile.image
            # Outputs cannot be compared until known; two outputs of one name count as the same image.
            if isinstance(found, str) and images.setdefault(name, found) != found:
                fix = "give each image its own name"
                yield Fault(("profiles", index, "image_name"), "names two different images", fix, name)

    @check
    def _profiles_of_courses(self) -> Iterator[Fault]:
        names = [profile.name for profile in self.profiles]
        for number, course in enumerate(self.courses):
            for index, name in enumerate(course.profiles):
                if name not in names:
                    fix = f"choose from {', '.join(names)}"
                    yield Fault(("courses", number, "profiles", index), "is not a profile of this hub", fix, name)

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
