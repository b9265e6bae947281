"""The stack file as pydantic models. Every key has a description, for the reference and the schema.

Keys shared with a component come from `workloads` and `platforms`; pools are in `pools`; consistency
checks (sums, names, limits) are in `checks`.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from errors.agreements import check, doubles, located
from errors.faults import FORM
from errors.problems import Fault, Loc
from imaging.spec.plan import Substitute as PlannedSubstitute
from platforms.aws.cluster import ClusterKeys
from platforms.docker.addresses import EngineAddress
from platforms.docker.container_model import ContainerKeys
from platforms.docker.hub_model import DEFAULT_KERNELS, HostPort, KernelKeys, WithKernels
from platforms.slurm.hub_model import LoginNodePort
from platforms.slurm.job_model import SlurmKeys
from platforms.slurm.site_model import SlurmAccess
from settings.host_pools import HostPool
from settings.pools import EveryRuntime, Fleet, Runtime
from settings.values import Assumptions, Day, RuleId
from workloads.addresses import Registry, Replaceable
from workloads.amounts import Count, Gigabytes, Share
from workloads.authenticator import DummyAuthenticator, Lti13Authenticator, OAuthAuthenticator
from workloads.exposure import ClusterIp, Gateway, Ingress, LoadBalancer, NodePort
from workloads.hub import ClusterHubKeys, CourseKeys
from workloads.names import Builder, FilePath, Line, Name, Namespace, Prose
from workloads.workload import JobKeys, JobName

# --- site


Authenticator = Annotated[
    DummyAuthenticator | OAuthAuthenticator | Lti13Authenticator,
    Field(discriminator="kind"),
]


class Substitute(BaseModel):
    """A replacement for something that cannot be pulled here."""

    model_config = FORM
    reference: Replaceable = Field(
        description="Image reference or package source (https://…) as the stack or an image spec writes it."
    )
    replacement: Replaceable = Field(alias="with", description="What is used instead.")
    reason: Prose = Field(description="Why; printed in the preview.")


class ImageLimits(BaseModel):
    """Image limits: compressed in GB (10⁹ bytes), unpacked as a share of a node's disk, its base."""

    model_config = FORM
    warn_compressed_gb: Gigabytes = Field(4, description="Compressed GB above which a preview warns.")
    refuse_compressed_gb: Gigabytes = Field(6, description="Compressed GB above which an image is refused.")
    unpacked_disk_share: Share = Field(
        0.25, description="Share of a node's root disk that one unpacked image may take."
    )
    refuse_unsupported_base: bool = Field(
        default=False, description="Refuse images whose Linux release no longer gets security updates; otherwise warn."
    )

    @check
    def _warns_first(self) -> Iterator[Fault]:
        warn, refuse = self.warn_compressed_gb, self.refuse_compressed_gb
        if warn > refuse:
            fix = f"write {refuse:g} or less: otherwise an image is refused before a preview warns about it"
            yield Fault(("warn_compressed_gb",), "is above refuse_compressed_gb", fix, warn)


AllowedRegistries = Annotated[
    tuple[Registry, ...],
    Field(min_length=1, description="Registries that workloads may pull from: host[:port], optionally with a folder."),
]
LimitsOfImages = Annotated[ImageLimits, Field(description="How big and how old an image may be.")]


class Site(BaseModel):
    """The stack's site. A site overlay (GPU_COMMONS_SITE) replaces these keys, and no others."""

    model_config = FORM
    kind: Literal["kubernetes", "eks", "docker", "slurm"] = Field(
        "kubernetes",
        description="What runs the workloads: an existing Kubernetes cluster, an EKS cluster, Docker engines, or a "
        "cluster with Slurm.",
    )
    name: Name | None = Field(None, description="Name of the site, for messages.")
    lab: bool = Field(default=False, description="This is the one-machine lab: the dummy login is allowed.")
    registry: Registry = Field(
        description="Registry and folder that our images are pushed to: registry.example.edu/gpu-commons."
    )
    allowed_registries: AllowedRegistries
    core_pool: Name | None = Field(
        None, description="Pool that carries the hub, the proxy and profiles that name no pool."
    )
    authenticator: Authenticator | None = Field(None, description="How people log in to the hubs.")
    builder: Builder | None = Field(None, description="buildx builder that builds our images; none: the default one.")
    ca_bundle: FilePath | None = Field(None, description="PEM file with the certificates that image builds must trust.")
    kubeconfig: FilePath | None = Field(None, description="Kubeconfig file; none: what KUBECONFIG names.")
    kube_context: Line | None = Field(None, description="Context of the kubeconfig; none: its current one.")
    engines: dict[Name, EngineAddress] = Field(
        default={},
        description="Addresses of Docker engines by pool, in place of those in the pools, if this machine reaches them "
        "in another way.",
    )
    slurm: SlurmAccess | None = Field(
        None, description="On a site of kind slurm: how its Slurm is reached, what starts images, where they are kept."
    )
    substitutes: tuple[Substitute, ...] = Field((), description="What replaces what cannot be pulled here.")
    image_limits: LimitsOfImages = ImageLimits()
    assumptions: Assumptions = ()

    @check
    def _login_of_the_lab(self) -> Iterator[Fault]:
        if isinstance(self.authenticator, DummyAuthenticator) and not self.lab:
            fix = "choose oauth or lti13: the dummy login lets anybody in and is only for the lab (site.lab: true)"
            yield Fault(("authenticator", "kind"), "is allowed in the lab only", fix, "dummy")

    @check
    def _own_registry(self) -> Iterator[Fault]:
        registry = self.registry
        if not any(f"{registry}/".startswith(f"{each}/") for each in self.allowed_registries):
            host = registry.partition("/")[0]
            fix = f"add {host} to site.allowed_registries: otherwise the images of this stack are refused"
            yield Fault(("registry",), "is in none of the allowed registries", fix, registry)

    @check
    def _substitutes_once(self) -> Iterator[Fault]:
        yield from doubles(self.substitutes, ("substitutes",), "reference")

    @property
    def planned_substitutes(self) -> tuple[PlannedSubstitute, ...]:
        """The substitutes for `imaging.spec.plan`."""
        return tuple(PlannedSubstitute(each.reference, each.replacement, each.reason) for each in self.substitutes)


class Cluster(ClusterKeys):
    """The EKS cluster of the instance pools: created by the stack, or existing."""

    assumptions: Assumptions = ()


# --- workloads


WaiverReason = Annotated[Prose, Field(description="Why; printed in every preview.")]


class ImageWaiver(BaseModel):
    """A higher limit for an image, with reason and end date."""

    model_config = FORM
    compressed_gb: Gigabytes = Field(description="Compressed GB that this image may have.")
    reason: WaiverReason
    until: Day = Field(description="Last day of this limit: 2027-06-30. After it the site's limit applies again.")


class Image(BaseModel):
    """An image built from the folder images/<name>/."""

    model_config = FORM
    name: Name = Field(description="Folder below images/, and the last part of the repository.")
    target: Name | None = Field(
        None,
        description="Which image of that folder: gateway-client, kernel or batch, called <name>-<target> by profiles, "
        "jobs and the registry; none: the server that its spec describes.",
    )
    limit: ImageWaiver | None = Field(None, description="A larger limit than the site's, with a reason and a last day.")

    @property
    def full_name(self) -> str:
        """Name in profiles, jobs and the registry."""
        return f"{self.name}-{self.target}" if self.target else self.name


OwnImage = Annotated[Name, Field(description="Image of this stack.")]


class Kernel(KernelKeys):
    """A kernel type with a container per kernel. A GPU is held only while a kernel lives."""

    image: Name = Field(description="Image of this stack with ipykernel, such as one of target kernel.")
    pool: Name | None = Field(None, description="Host it runs on: always that of its hub, so it can be left out.")

    @property
    def named_pools(self) -> tuple[str, ...]:
        """Its hub's host."""
        return tuple(filter(None, [self.pool]))


class Profile(WithKernels):
    """A profile for a hub's users."""

    image: OwnImage
    pool: Name | None = Field(
        None, description="Pool it runs on; none, and no pools: the host of its hub, or the site's core_pool."
    )
    time_min: Count | None = Field(
        None, description="On a site of kind slurm: minutes after which Slurm ends the server."
    )
    kernels: tuple[Kernel, ...] = Field(
        (), description="On a Docker host: kernels that the server starts in containers of their own, with their GPUs."
    )

    @property
    def most_gpus(self) -> int:
        """Maximum GPUs per user at a time: of the server, or of one kernel."""
        return max([self.gpus, *(kernel.gpus for kernel in self.kernels)])


Expose = Annotated[
    NodePort | LoadBalancer | Ingress | Gateway | ClusterIp | HostPort | LoginNodePort, Field(discriminator="kind")
]


class Hub(ClusterHubKeys):
    """One JupyterHub."""

    name: Namespace = Field(description="Name of the hub, and its namespace.")
    pool: Name | None = Field(None, description="On a site of kind docker: the host that it runs on.")
    expose: Expose = Field(
        description="How people reach the hub: host_port on a Docker host, login_node on a site with Slurm, one of the "
        "others on a cluster."
    )
    hub_image: Name = Field(description="Image of this stack that runs JupyterHub.")
    proxy_image: Name = Field(description="Image of this stack that runs configurable-http-proxy.")
    filter_image: Name | None = Field(
        None,
        description="On a Docker host: image of this stack that runs HAProxy, which passes only those calls to "
        "the engine that the hub needs.",
    )
    gateway_image: Name | None = Field(
        None,
        description="On a Docker host: image of this stack with jupyter_kernel_gateway, for profiles with kernels.",
    )
    kernels_per_user: Count = Field(
        DEFAULT_KERNELS, description="On a Docker host: kernels in containers that one user may have at a time."
    )
    pre_pull: bool = Field(
        default=False, description="Pull each profile's image to all nodes of its pool before anybody starts a server."
    )
    profiles: tuple[Profile, ...] = Field(min_length=1, description="What users can choose.")
    assumptions: Assumptions = ()

    @property
    def own_images(self) -> dict[str, str]:
        """Images of its parts."""
        parts = {"hub": self.hub_image, "proxy": self.proxy_image, "filter": self.filter_image}
        return {part: image for part, image in {**parts, "gateway": self.gateway_image}.items() if image}


class Job(JobKeys):
    """One batch job."""

    name: JobName
    namespace: Namespace = Field("batch", description="Namespace it runs in.")
    image: OwnImage
    pool: Name | None = Field(None, description="Pool it runs on; none, and no pools: any node that has room.")
    slurm: SlurmKeys | None = Field(None, description="On a site of kind slurm: keys for Slurm.")
    assumptions: Assumptions = ()


class Container(ContainerKeys):
    """A container on a Docker host: a long-running service, or a batch run."""

    name: Name = Field(description="Name of the container.")
    image: OwnImage
    pool: Name = Field(description="Host that it runs on.")
    assumptions: Assumptions = ()


class Course(CourseKeys):
    """A course in one term: its peak GPU demand and its guarantee."""

    hub: Line = Field(description="Hub that the course uses.")
    peak_share: Share = Field(description="Share of the seats that hold a server with GPUs at the busiest time: 0.25.")
    first_day: Day = Field(description='First day of the course, quoted: "2020-10-01".')
    last_day: Day = Field(description='Last day of the course, quoted: "2020-12-18".')
    assumptions: Assumptions = ()

    @check
    def _days_in_order(self) -> Iterator[Fault]:
        if self.first_day > self.last_day:
            fix = f"the course begins on {self.first_day}: write a day after that, or correct first_day"
            yield Fault(("last_day",), "is before first_day", fix, str(self.last_day))


# --- policies


class PolicyWaiver(BaseModel):
    """A waived refusal, with reason, owner and end date."""

    model_config = FORM
    rule: RuleId = Field(description="Id of the rule: P-START.")
    resource: Line = Field(description="What the message names: Job batch/gpu-smoke, image scipy-ml-notebook, stack.")
    reason: WaiverReason
    owner: Line = Field(description="Who is responsible for it: a person or a team.")
    until: Day = Field(description='Last day of the waiver, quoted: "2027-06-30". After it the rule refuses again.')


class Policies(BaseModel):
    """Policy strictness. No rule can be disabled."""

    model_config = FORM
    levels: dict[RuleId, Literal["refuse", "warn"]] = Field(
        default={}, description="Severity of a rule's findings, by the rule's id: warn lowers it, refuse raises it."
    )
    unproved: Literal["warn", "refuse"] | None = Field(
        None,
        description="What happens where something could not be proved; none: it warns, and in an update it refuses for "
        "images that this stack builds, because they can always be read.",
    )
    waivers: tuple[PolicyWaiver, ...] = Field((), description="Refusals that are let through.")


Strictness = Annotated[Policies, Field(description="How strict the policies are.")]


class Stack(BaseModel):
    """All settings of a stack. A stack that only builds images has no fleet."""

    model_config = FORM
    site: Site = Field(description="Where the stack runs.")
    cluster: Cluster | None = Field(None, description="The EKS cluster of a site of kind eks.")
    fleet: Fleet = Field(Fleet(total_gpus=0, pools=()), description="The node pools.")
    runtime: EveryRuntime | None = Field(None, description="Daemons on the GPU nodes; none: the site has its own.")
    images: tuple[Image, ...] = Field((), description="Images that this stack builds.")
    hubs: tuple[Hub, ...] = Field((), description="JupyterHubs of this stack.")
    containers: tuple[Container, ...] = Field((), description="Containers on the Docker hosts of this stack.")
    jobs: tuple[Job, ...] = Field((), description="Batch jobs of this stack.")
    courses: tuple[Course, ...] = Field((), description="Courses of the term that use the hubs.")
    policies: Strictness = Policies()

    def located_workloads(self) -> Iterator[tuple[Loc, Profile | Kernel | Container | Job]]:
        """All hubs' profiles and kernels, containers, and jobs, with their paths."""
        for at, hub in located(self, "hubs"):
            for loc, profile in located(hub, "profiles", at):
                yield loc, profile
                yield from located(profile, "kernels", loc)
        yield from located(self, "containers")
        yield from located(self, "jobs")

    @property
    def workloads(self) -> tuple[Profile | Kernel | Container | Job, ...]:
        """All hubs' profiles and kernels, containers, and jobs."""
        return tuple(each for _, each in self.located_workloads())

    @property
    def own_runtime(self) -> Runtime | None:
        """The runtime that this stack deploys."""
        return self.runtime if isinstance(self.runtime, Runtime) else None

    def engine(self, host: HostPool) -> str:
        """A host's engine address as seen from here."""
        return self.site.engines.get(host.name, host.engine)

    def profile_pools(self, profile: Profile) -> tuple[str, ...]:
        """Possible pools of a profile."""
        return profile.named_pools or tuple(filter(None, [self.site.core_pool]))

    def substitute(self, reference: str) -> tuple[str, str | None]:
        """What is pulled for `reference` here, and why; the reference itself and None if nothing replaces it."""
        for entry in self.site.substitutes:
            if entry.reference == reference:
                return entry.replacement, entry.reason
        return reference, None
