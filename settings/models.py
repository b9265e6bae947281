"""What a stack file can say, as pydantic models. Every key has a description: they make the reference and the schema.

What keys must agree on among themselves (sums, names, limits) is in `checks`.
"""

from dataclasses import replace
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from fleet.defaults import DEFAULT_START_TIMEOUT_S
from fleet.labels import Taint as NodeTaint
from fleet.node_names import expand_all
from fleet.pools import NodeGpus, Variant, alike
from settings.addresses import BaseUrl, Endpoint, Reference, Registry, Replaceable, Url
from settings.amounts import (
    Cores,
    Count,
    Gib,
    Gigabytes,
    IdleSeconds,
    MegabytesPerSecond,
    Retries,
    Seats,
    Seconds,
    SecondsBetween,
    SecondsOrNever,
    Share,
)
from settings.names import (
    Builder,
    Command,
    DataKey,
    FilePath,
    LabelValue,
    Line,
    Name,
    Namespace,
    ObjectName,
    Prose,
    Scope,
    SiteKey,
    UserName,
)
from settings.values import Assumptions, Certificates, Day, Driver, Gpu, Nodes, RuleId, ToolkitVersion

_FORM: Final = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


# --- site


class SecretKey(BaseModel):
    """One key of a Kubernetes Secret. The value never passes through here."""

    model_config = _FORM
    secret: ObjectName = Field(description="Name of a Kubernetes Secret in the hub's namespace.")
    key: DataKey = Field(description="Key inside that Secret.")


class DummyAuthenticator(BaseModel):
    """Everybody gets in who knows the hub's one password (SharedPasswordAuthenticator). For the lab alone."""

    model_config = _FORM
    kind: Literal["dummy"] = Field(description="Lets everybody in who knows the hub's one password; lab only.")
    admins: tuple[UserName, ...] = Field((), description="Administrators of the hub, who have a password of their own.")


class OAuthAuthenticator(BaseModel):
    """Log in at an OAuth or OpenID Connect provider (GenericOAuthenticator of oauthenticator)."""

    model_config = _FORM
    kind: Literal["oauth"] = Field(description="Log in at an OAuth provider.")
    client_id: Line = Field(description="Client id that the provider gave to this hub; quoted.")
    client_secret: SecretKey = Field(
        description="Where the client secret lies, {secret: a Kubernetes Secret, key: its key}; never the value."
    )
    callback_url: Endpoint = Field(description="The hub's callback: https://hub.example.edu/hub/oauth_callback.")
    authorize_url: Endpoint = Field(description="The provider's authorization endpoint.")
    token_url: Endpoint = Field(description="The provider's token endpoint.")
    userdata_url: Endpoint = Field(description="The provider's user information endpoint.")
    username_claim: Line = Field("preferred_username", description="Field of the answer that becomes the user name.")
    scopes: tuple[Scope, ...] = Field(("openid",), min_length=1, description="Scopes to ask for.")
    login_service: Line | None = Field(None, description="Name on the login button.")
    ca_certificates: Certificates | None = Field(
        None, description="PEM certificates of the authority that signed the provider's; none: the public ones."
    )
    allow_all: bool = Field(default=False, description="Everybody with an account at the provider may log in.")
    allowed_users: tuple[UserName, ...] = Field((), description="Who may log in, if not everybody.")
    admins: tuple[UserName, ...] = Field((), description="Administrators of the hub.")


class Lti13Authenticator(BaseModel):
    """Users come from a learning platform by LTI 1.3 (LTI13Authenticator of ltiauthenticator)."""

    model_config = _FORM
    kind: Literal["lti13"] = Field(description="Users come from a learning platform by LTI 1.3.")
    issuer: BaseUrl = Field(description="The platform's issuer identifier, an https address.")
    authorize_url: Endpoint = Field(description="The platform's authorization endpoint.")
    jwks_endpoint: Endpoint = Field(description="Where the platform publishes its keys (JWKS).")
    client_ids: tuple[Line, ...] = Field(min_length=1, description="Client ids of this hub at the platform; quoted.")
    username_key: Line = Field("email", description="Claim that becomes the user name; custom_… for custom claims.")
    allow_all: bool = Field(default=True, description="Whoever the platform sends may log in.")
    allowed_users: tuple[UserName, ...] = Field((), description="Who may log in, if not everybody.")
    admins: tuple[UserName, ...] = Field((), description="Administrators of the hub.")


Authenticator = Annotated[
    DummyAuthenticator | OAuthAuthenticator | Lti13Authenticator,
    Field(discriminator="kind"),
]


class Substitute(BaseModel):
    """What is used in place of something that cannot be pulled here."""

    model_config = _FORM
    reference: Replaceable = Field(
        description="Image reference or package source (https://…) as the stack or an image spec writes it."
    )
    replacement: Replaceable = Field(alias="with", description="What is used instead.")
    reason: Prose = Field(description="Why; printed in the preview.")


class ImageLimits(BaseModel):
    """What an image may be: compressed in GB (10⁹ bytes), unpacked as a share of a node's disk, its base."""

    model_config = _FORM
    warn_compressed_gb: Gigabytes = Field(4, description="Compressed GB above which a preview warns.")
    refuse_compressed_gb: Gigabytes = Field(6, description="Compressed GB above which an image is refused.")
    unpacked_disk_share: Share = Field(
        0.25, description="Share of a node's root disk that one unpacked image may take."
    )
    refuse_unsupported_base: bool = Field(
        default=False, description="Refuse images whose Linux release gets no security updates any more; else warn."
    )


class Site(BaseModel):
    """Where the stack runs. A site overlay (GPU_COMMONS_SITE) replaces these keys, and no others."""

    model_config = _FORM
    name: Name | None = Field(None, description="Name of the site, for messages.")
    lab: bool = Field(default=False, description="This is the one-machine lab: the dummy login is allowed.")
    registry: Registry = Field(
        description="Registry and folder that our images are pushed to: registry.example.edu/gpu-commons."
    )
    allowed_registries: tuple[Registry, ...] = Field(
        min_length=1, description="Registries that workloads may pull from: host[:port], or with a folder."
    )
    core_pool: Name | None = Field(
        None, description="Pool that carries the hub, the proxy and profiles that name no pool."
    )
    authenticator: Authenticator | None = Field(None, description="How people log in to the hubs.")
    builder: Builder | None = Field(None, description="buildx builder that builds our images; none: the default one.")
    ca_bundle: FilePath | None = Field(None, description="PEM file with the certificates that image builds must trust.")
    kubeconfig: FilePath | None = Field(None, description="Kubeconfig file; none: what KUBECONFIG names.")
    kube_context: Line | None = Field(None, description="Context of the kubeconfig; none: its current one.")
    substitutes: tuple[Substitute, ...] = Field((), description="What replaces what cannot be pulled here.")
    image_limits: ImageLimits = Field(ImageLimits(), description="How big and how old an image may be.")
    assumptions: Assumptions = ()


# --- fleet


class Taint(BaseModel):
    """A taint of the site's own, beside the one for GPUs that every node with GPUs gets."""

    model_config = _FORM
    key: SiteKey = Field(description="Taint key, such as example.edu/course.")
    value: LabelValue = Field("", description="Taint value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(description="What it does to pods.")


class NodeOverride(BaseModel):
    """What some nodes of a pool have in place of what the pool says, while a driver is changed node by node."""

    model_config = _FORM
    nodes: Nodes = Field(min_length=1, description="Nodes of this pool: names and ranges such as n01-n02.")
    driver: Driver | None = Field(None, description="NVIDIA driver on these nodes; none: the pool's.")
    container_toolkit: ToolkitVersion | None = Field(
        None, description="NVIDIA container toolkit on these nodes; none: the pool's."
    )


class Pool(BaseModel):
    """Nodes that are alike, with GPUs or without."""

    model_config = _FORM
    name: Name = Field(description="Name of the pool; becomes the label gpu-commons.org/pool.")
    gpu: Gpu | None = Field(
        None,
        description="GPU model, as people write it: GeForce GTX 1080 Ti; none: these nodes have no GPU, and need "
        "neither driver nor container_toolkit.",
    )
    gpus_per_node: int = Field(0, ge=0, le=64, description="GPUs on each node of this pool; 0 without gpu.")
    nodes: Nodes = Field(description="Node names and ranges such as n01-n12.")
    nodes_except: Nodes = Field((), description="Names in the ranges that do not belong to this pool.")
    driver: Driver | None = Field(
        None, description='NVIDIA driver on these nodes, quoted: "418.88"; needed with gpu, refused without.'
    )
    container_toolkit: ToolkitVersion | None = Field(
        None, description='NVIDIA container toolkit on these nodes, quoted: "1.17.8"; needed with gpu, refused without.'
    )
    node_overrides: tuple[NodeOverride, ...] = Field(
        (), description="Nodes of this pool that have another driver or container toolkit than the others."
    )
    default_runtime: Literal["nvidia", "runc"] | None = Field(
        None,
        description="Runtime that a pod without a runtime class gets on these nodes: under nvidia an image of the CUDA "
        "family sees all GPUs without asking for one; none: nobody has looked.",
    )
    cpu: Cores = Field(description="CPU cores of one node.")
    memory_gib: Gib = Field(description="Memory of one node in GiB.")
    root_disk_gib: Gib = Field(description="Disk of one node that holds images and containers, in GiB.")
    pull_mb_per_s: MegabytesPerSecond | None = Field(
        None, description="MB that one node pulls from the registry in a second; none: a planning figure, 50."
    )
    disk_mb_per_s: MegabytesPerSecond | None = Field(
        None, description="MB that a node's disk writes in a second; none: a planning figure, 400."
    )
    labels: dict[SiteKey, LabelValue] = Field(default={}, description="Further labels for these nodes.")
    extra_taints: tuple[Taint, ...] = Field((), alias="taints", description="Further taints for these nodes.")
    assumptions: Assumptions = ()

    @property
    def node_names(self) -> tuple[str, ...]:
        """Names in the order of the file: ranges expanded, exceptions taken out."""
        excepted = set(expand_all(self.nodes_except))
        return tuple(name for name in expand_all(self.nodes) if name not in excepted)

    def variants(self) -> tuple[Variant, ...]:
        """Groups of nodes with the same facts: those that have what the pool says, then the others."""
        own = self.gpus_of_node
        if own is None or not self.node_overrides:
            return (Variant(self.name, self.name, self.node_names, own),)
        overridden = {
            name: replace(
                own,
                driver=each.driver or own.driver,
                container_toolkit=str(each.container_toolkit or own.container_toolkit),
            )
            for each in self.node_overrides
            for name in expand_all(each.nodes)
        }
        found = alike(self.name, own, self.node_names, lambda name: overridden.get(name, own))
        return tuple(Variant(name, self.name, nodes, gpus) for name, nodes, gpus in found if nodes)

    @property
    def gpus_of_node(self) -> NodeGpus | None:
        """What the pool says of the GPUs of each of its nodes; None where they have none."""
        if self.gpu is None or self.driver is None or self.container_toolkit is None:
            return None  # all three or none: the checks of a stack file see to it
        return NodeGpus(self.gpu, self.gpus_per_node, self.driver, str(self.container_toolkit))

    @property
    def taints(self) -> tuple[NodeTaint, ...]:
        """Taints beside the one for GPUs."""
        return tuple(NodeTaint(taint.key, taint.value, taint.effect) for taint in self.extra_taints)

    @property
    def stated_rates(self) -> dict[str, float]:
        """What a node does in a second, as far as the stack file says it: arguments of `images.size.estimate.Rates`."""
        rates = {"pull_mb_per_s": self.pull_mb_per_s, "disk_mb_per_s": self.disk_mb_per_s}
        return {name: float(value) for name, value in rates.items() if value is not None}

    @property
    def are_rates_planned(self) -> bool:
        """Nobody has measured them here: none is stated, or one is an assumption."""
        return not self.stated_rates or bool(self.stated_rates.keys() & set(self.assumptions))

    @property
    def gpus(self) -> int:
        """GPUs of all nodes together."""
        return len(self.node_names) * self.gpus_per_node


class Fleet(BaseModel):
    """All node pools of the stack."""

    model_config = _FORM
    total_gpus: Count = Field(description="GPUs of the whole fleet; must be the sum of the pools.")
    pools: tuple[Pool, ...] = Field(description="The node pools.")
    managed_by: Line | None = Field(
        None,
        description="Who labels these nodes and runs the NVIDIA runtime on them: another stack, a team. "
        "This stack then places workloads on the pools and changes nothing about them; none: this stack manages them.",
    )

    @property
    def node_names(self) -> tuple[str, ...]:
        """Names of all nodes, pool by pool."""
        return tuple(name for pool in self.pools for name in pool.node_names)

    def pool(self, name: str) -> Pool:
        """The pool of that name; KeyError if there is none (settings that were read name only pools that exist)."""
        return {pool.name: pool for pool in self.pools}[name]


class Runtime(BaseModel):
    """What makes GPUs usable on the nodes: the images of the runtime's own daemons."""

    model_config = _FORM
    device_plugin: Reference = Field(description="Image of NVIDIA's Kubernetes device plugin.")
    persistence_daemon: Reference = Field(
        description="Image with a shell and chroot; the daemon comes from the host's driver."
    )
    assumptions: Assumptions = ()


# --- workloads

Pools = Annotated[tuple[Name, ...], Field(min_length=1)]


class ImageWaiver(BaseModel):
    """A bigger limit for one image, for a reason and for a time."""

    model_config = _FORM
    compressed_gb: Gigabytes = Field(description="Compressed GB that this image may have.")
    reason: Prose = Field(description="Why; printed in every preview.")
    until: Day = Field(description="Last day of this limit: 2027-06-30. After it the site's limit holds again.")


class Image(BaseModel):
    """One image of ours, built from the folder images/<name>/."""

    model_config = _FORM
    name: Name = Field(description="Folder below images/, and the last part of the repository.")
    target: Name | None = Field(
        None,
        description="Which image of that folder: gateway-client, kernel or batch, called <name>-<target> by profiles, "
        "jobs and the registry; none: the server that its spec describes.",
    )
    limit: ImageWaiver | None = Field(None, description="A bigger limit than the site's, for a reason and for a time.")

    @property
    def full_name(self) -> str:
        """What profiles, jobs and the registry call it."""
        return f"{self.name}-{self.target}" if self.target else self.name


class NodePort(BaseModel):
    """The hub answers on a port of every node."""

    model_config = _FORM
    kind: Literal["node_port"] = Field(description="A port of every node.")
    port: int = Field(ge=30000, le=32767, description="Node port, 30000 to 32767.")


class LoadBalancer(BaseModel):
    """The hub gets an address from the cluster's load balancer."""

    model_config = _FORM
    kind: Literal["load_balancer"] = Field(description="An address from the cluster's load balancer.")
    port: int = Field(80, ge=1, le=65535, description="Port of the service.")


class ClusterIp(BaseModel):
    """The hub is reachable inside the cluster only; an ingress of the site's own leads to it."""

    model_config = _FORM
    kind: Literal["cluster_ip"] = Field(description="Inside the cluster only.")
    port: int = Field(80, ge=1, le=65535, description="Port of the service.")


class Cull(BaseModel):
    """When servers that hold a GPU are ended."""

    model_config = _FORM
    idle_s: IdleSeconds = Field(3600, description="Seconds without activity after which a server is ended.")
    max_age_s: SecondsOrNever = Field(
        0, description="Seconds after which a server is ended even if it is used; 0: never."
    )
    every_s: SecondsBetween = Field(600, description="Seconds between two looks.")
    kernel_idle_s: IdleSeconds | None = Field(
        None, description="Seconds after which an idle kernel is ended; none: idle_s."
    )


class Profile(BaseModel):
    """One choice of a hub's users."""

    model_config = _FORM
    name: Name = Field(description="Short name, unique in its hub.")
    title: Line = Field(description="What users read.")
    description: Prose | None = Field(None, description="Second line of the choice.")
    image: Name = Field(description="Image of this stack.")
    pool: Name | None = Field(None, description="Pool it runs on; none, and no pools: the site's core_pool.")
    pools: Pools | None = Field(None, description="Several pools in place of pool: it runs on a node of any of them.")
    gpus: Count = Field(0, description="GPUs of one server.")
    cpu: Cores = Field(description="CPU cores of one server.")
    memory_gib: Gib = Field(description="Memory of one server in GiB.")
    shm_gib: Gib | None = Field(None, description="Shared memory at /dev/shm in GiB, part of the memory.")
    is_default: bool = Field(default=False, description="Chosen when the user chooses nothing; one per hub.")

    @property
    def named_pools(self) -> tuple[str, ...]:
        """Pools that it names, by pool or by pools."""
        return self.pools or tuple(filter(None, [self.pool]))


class Hub(BaseModel):
    """One JupyterHub."""

    model_config = _FORM
    name: Namespace = Field(description="Name of the hub, and its namespace.")
    hub_image: Name = Field(description="Image of this stack that runs JupyterHub.")
    proxy_image: Name = Field(description="Image of this stack that runs configurable-http-proxy.")
    expose: Annotated[NodePort | LoadBalancer | ClusterIp, Field(discriminator="kind")] = Field(
        description="How people reach the hub."
    )
    public_url: BaseUrl | None = Field(
        None, description="Address that people open, if a proxy of the site's leads here."
    )
    help_url: Url | None = Field(None, description="Where people get help: a link on the page that starts servers.")
    availability: bool = Field(
        default=True,
        description="Tell on the pages how many servers of each profile fit now: a service of its own counts nodes and "
        "pods of the whole cluster, with an account that may list these and nothing else.",
    )
    pre_pull: bool = Field(
        default=False, description="Bring each profile's image to all nodes of its pool before anybody starts a server."
    )
    start_timeout_s: Seconds = Field(
        DEFAULT_START_TIMEOUT_S, description="Seconds that a server may take to start, image pull included."
    )
    http_timeout_s: Seconds = Field(120, description="Seconds from the started pod to a server that answers.")
    cull: Cull = Field(Cull(), description="When idle and old servers are ended.")
    volume_gib: Gib = Field(10, description="Size of each user's volume in GiB.")
    database_gib: Gib = Field(1, description="Size of the hub's own volume in GiB.")
    storage_class: ObjectName | None = Field(
        None, description="Storage class of the volumes; none: the cluster's default."
    )
    profiles: tuple[Profile, ...] = Field(min_length=1, description="What users can choose.")
    assumptions: Assumptions = ()


class Job(BaseModel):
    """One batch job."""

    model_config = _FORM
    name: Name = Field(description="Name of the job.")
    namespace: Namespace = Field("batch", description="Namespace it runs in.")
    image: Name = Field(description="Image of this stack.")
    pool: Name | None = Field(None, description="Pool it runs on; none, and no pools: any node that has room.")
    pools: Pools | None = Field(None, description="Several pools in place of pool: it runs on a node of any of them.")
    gpus: Count = Field(0, description="GPUs of the job.")
    cpu: Cores = Field(description="CPU cores of the job.")
    memory_gib: Gib = Field(description="Memory of the job in GiB.")
    command: Command = Field(description="Program and its arguments, one list item each.")
    shm_gib: Gib | None = Field(None, description="Shared memory at /dev/shm in GiB, part of the memory.")
    retries: Retries = Field(0, description="How often a failed run is repeated.")
    deadline_s: Seconds | None = Field(None, description="Seconds after which the job is ended; none: never.")
    assumptions: Assumptions = ()

    @property
    def named_pools(self) -> tuple[str, ...]:
        """Pools that it names, by pool or by pools."""
        return self.pools or tuple(filter(None, [self.pool]))


class Course(BaseModel):
    """A course in one term: who may need GPUs at the same time, and how many of them are promised to it."""

    model_config = _FORM
    name: Name = Field(description="Short name of the course.")
    title: Line = Field(description="What people call it.")
    hub: Line = Field(description="Hub that the course uses.")
    profiles: tuple[Name, ...] = Field(min_length=1, description="Profiles of that hub that the course may choose.")
    seats: Seats = Field(description="People in the course.")
    peak_share: Share = Field(description="Share of the seats that hold a server with GPUs at the busiest time: 0.25.")
    guaranteed_gpus: Count = Field(0, description="GPUs that the course always gets, whoever else is there.")
    borrowable_gpus: Count | None = Field(
        None, description="GPUs beyond the guaranteed ones that it may take while they are free; none: any."
    )
    first_day: Day = Field(description='First day of the course, quoted: "2020-10-01".')
    last_day: Day = Field(description='Last day of the course, quoted: "2020-12-18".')
    assumptions: Assumptions = ()


# --- policies


class PolicyWaiver(BaseModel):
    """One refusal that is let through, for a reason, by somebody, for a time."""

    model_config = _FORM
    rule: RuleId = Field(description="Id of the rule: P-START.")
    resource: Line = Field(description="Whom the message names: Job batch/gpu-smoke, image scipy-ml-notebook, stack.")
    reason: Prose = Field(description="Why; printed in every preview.")
    owner: Line = Field(description="Who answers for it: a person or a team.")
    until: Day = Field(description='Last day of the waiver, quoted: "2027-06-30". After it the rule refuses again.')


class Policies(BaseModel):
    """How strict the policies are. No rule can be switched off."""

    model_config = _FORM
    levels: dict[RuleId, Literal["refuse", "warn"]] = Field(
        default={}, description="What a finding of a rule does at most or at least, by the rule's id."
    )
    unproved: Literal["warn", "refuse"] | None = Field(
        None,
        description="What happens where something could not be proved; none: it warns, and in an update it refuses for "
        "images that this stack builds, because they can always be read.",
    )
    waivers: tuple[PolicyWaiver, ...] = Field((), description="Refusals that are let through.")


class Stack(BaseModel):
    """Everything a stack is made from. A stack that only builds images has no fleet."""

    model_config = _FORM
    site: Site = Field(description="Where the stack runs.")
    fleet: Fleet = Field(Fleet(total_gpus=0, pools=()), description="The node pools.")
    runtime: Runtime | None = Field(None, description="Daemons on the GPU nodes; none: the site has its own.")
    images: tuple[Image, ...] = Field((), description="Images that this stack builds.")
    hubs: tuple[Hub, ...] = Field((), description="JupyterHubs of this stack.")
    jobs: tuple[Job, ...] = Field((), description="Batch jobs of this stack.")
    courses: tuple[Course, ...] = Field((), description="Courses of the term that use the hubs.")
    policies: Policies = Field(Policies(), description="How strict the policies are.")

    @property
    def workloads(self) -> tuple[Profile | Job, ...]:
        """Profiles of all hubs, and jobs."""
        return (*(profile for hub in self.hubs for profile in hub.profiles), *self.jobs)

    def profile_pools(self, profile: Profile) -> tuple[str, ...]:
        """Pools that a profile may land on."""
        return profile.named_pools or tuple(filter(None, [self.site.core_pool]))

    def substitute(self, reference: str) -> tuple[str, str | None]:
        """What is pulled for `reference` here, and why; the reference itself and None where nothing replaces it."""
        for entry in self.site.substitutes:
            if entry.reference == reference:
                return entry.replacement, entry.reason
        return reference, None
