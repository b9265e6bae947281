"""Arguments of NotebookHub, for Pulumi and type checkers; workloads.hub parses their values."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi


class HubToleration(TypedDict):
    """A toleration, as in Kubernetes."""

    key: NotRequired[str]
    operator: NotRequired[str]
    """Equal or Exists; default Equal."""
    value: NotRequired[str]
    effect: NotRequired[str]
    toleration_seconds: NotRequired[int]


class HubContents(TypedDict):
    """Image description for users who choose an image."""

    title: NotRequired[str]
    """Image title."""
    cuda_lines: NotRequired[Sequence[str]]
    """CUDA lines: "10.1"."""
    frameworks: NotRequired[Sequence[str]]
    """With versions: TensorFlow 2.3.4."""
    packages: NotRequired[Sequence[str]]
    """With versions: NumPy 2.4.6."""
    stands_on: NotRequired[str]
    """Base image with programs of its own: jupyter/datascience-notebook."""
    missing: NotRequired[Sequence[str]]
    """Intended content that this site could not provide."""
    missing_reason: NotRequired[str]
    """Why it is missing."""


class HubProfile(TypedDict):
    """One choice on the spawn page. CPU in cores, memory in GiB."""

    name: str
    """Short and stable: the hub remembers a user's last choice by it."""
    title: str
    """Shown to users."""
    description: NotRequired[str]
    """Second line on the spawn page; default: GPUs, cores and memory."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Image name; policies look up its facts by it."""
    cpu: float
    """CPU limit in cores."""
    cpu_guarantee: NotRequired[float]
    """CPU reservation; default 0.1, because notebooks are mostly idle."""
    memory_gib: float
    """Memory limit in GiB."""
    memory_guarantee_gib: NotRequired[float]
    """Memory reservation; default 1."""
    gpus: NotRequired[int]
    """Whole GPUs; default 0, with no GPU visible."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm, part of the memory; default a quarter of it in profiles with GPUs, else none."""
    pool: NotRequired[str]
    """Pool to run on; default: the hub's core pool, else any node."""
    pools: NotRequired[Sequence[str]]
    """Several pools instead of `pool`: a server runs on a node of one."""
    node_selector: NotRequired[Mapping[str, str]]
    """Additional node selector labels."""
    tolerations: NotRequired[Sequence[HubToleration]]
    """Default: the GPU taint nvidia.com/gpu."""
    is_default: NotRequired[bool]
    """Chosen when the user chooses nothing; one per hub; default false."""
    gpu: NotRequired[str]
    """GPU model, for the spawn page: GeForce GTX 1080 Ti."""
    gpu_memory_gb: NotRequired[float]
    """Memory of one such GPU, for the spawn page; default 0: not shown."""
    contents: NotRequired[HubContents]
    """Image content, for the spawn page."""


class HubExpose(TypedDict):
    """How users reach the proxy."""

    kind: str
    """node_port, load_balancer or cluster_ip."""
    port: NotRequired[int]
    """Node port (30000 to 32767) for node_port, else service port; default 80."""


class HubSecretKey(TypedDict):
    """A key of a Kubernetes Secret in the hub's namespace. You create the Secret; Pulumi never sees its value."""

    secret: str
    """Name of the Secret."""
    key: str


class HubAuthenticator(TypedDict):
    """Login method."""

    kind: str
    """oauth, lti13, or dummy: one password opens every account but administrators'. For labs only."""
    authorize_url: NotRequired[str]
    """oauth, lti13."""
    client_id: NotRequired[str]
    """oauth."""
    client_secret: NotRequired[HubSecretKey]
    """oauth."""
    token_url: NotRequired[str]
    """oauth."""
    userdata_url: NotRequired[str]
    """oauth."""
    callback_url: NotRequired[str]
    """oauth: https://<hub>/hub/oauth_callback."""
    username_claim: NotRequired[str]
    """oauth; default preferred_username."""
    scopes: NotRequired[Sequence[str]]
    """oauth; default openid."""
    login_service: NotRequired[str]
    """oauth: login button label."""
    ca_certificates: NotRequired[str]
    """oauth: PEM certificates of the authority that signed the provider's certificate; default: public ones."""
    client_ids: NotRequired[Sequence[str]]
    """lti13."""
    issuer: NotRequired[str]
    """lti13."""
    jwks_endpoint: NotRequired[str]
    """lti13."""
    username_key: NotRequired[str]
    """lti13; default email."""
    allowed_users: NotRequired[Sequence[str]]
    """Only these may log in. Default: everybody; with oauth, nobody."""
    allow_all: NotRequired[bool]
    """Every authenticated user may log in; default true, but false with oauth or a list of users."""
    admins: NotRequired[Sequence[str]]
    """They may log in, and see and stop all servers. With dummy they have a separate password."""


class HubCull(TypedDict):
    """When to stop servers and kernels; times in seconds."""

    idle_s: NotRequired[int]
    """Idle seconds until a server is stopped; default 3600."""
    max_age_s: NotRequired[int]
    """Maximum age of a server, even in use; default 0: unlimited."""
    every_s: NotRequired[int]
    """Check interval; default 600."""
    kernel_idle_s: NotRequired[int]
    """Idle seconds until a kernel is stopped; default: idle_s."""


class HubCourse(TypedDict):
    """A course on the hub: shows policies and reviewers who is affected by a change."""

    name: str
    """Short name of the course."""
    title: str
    """Course title."""
    seats: int
    """Course size."""
    profiles: Sequence[str]
    """Profiles available to the course, by name."""
    peak_share: NotRequired[float]
    """Share of seats with a GPU server at peak time: above 0, 1 at most."""
    guaranteed_gpus: NotRequired[int]
    """GPUs guaranteed to the course; default 0."""
    borrowable_gpus: NotRequired[int]
    """Additional GPUs that it may use while free; default: any."""
    first_day: NotRequired[str]
    """YYYY-MM-DD."""
    last_day: NotRequired[str]
    """YYYY-MM-DD. Reviews ignore past courses."""


class NotebookHubArgs(TypedDict):
    """Arguments of NotebookHub. Times in seconds, sizes in GiB."""

    courses: NotRequired[Sequence[HubCourse]]
    """Courses that use the hub. Recorded for policies and reviewers; the hub itself ignores them."""

    images_are_pre_pulled: NotRequired[bool]
    """The profiles' images are pulled to all nodes of their pools in advance, for example by a PrePuller: policies then
    warn about images with long pulls instead of refusing them. Default false."""
    namespace: NotRequired[str]
    """Default: the component's name. One hub per namespace."""
    hub_image: pulumi.Input[str]
    """Has jupyterhub (5.3 or later) and python3 (3.11 or later) on its PATH, with kubespawner 7, idle culler and
    authenticators."""
    hub_image_name: NotRequired[str]
    """Default hub."""
    proxy_image: pulumi.Input[str]
    """Has configurable-http-proxy on its PATH."""
    proxy_image_name: NotRequired[str]
    """Default proxy."""
    profiles: Sequence[HubProfile]
    """In spawn page order; without `is_default` the first is chosen. Profiles that share image and nodes and
    differ only in size share one card."""
    site_name: NotRequired[str]
    """Spawn page heading; default JupyterHub."""
    help_url: NotRequired[str]
    """Help page; linked from the spawn page."""
    availability: NotRequired[bool]
    """Show how many servers of each profile fit now. A separate service counts them; its account may list nodes and
    pods of the whole cluster, and nothing else. Default true; requires the right to create a ClusterRole."""
    expose: HubExpose
    public_url: NotRequired[str]
    """Public URL of the hub, if a proxy in front of it has the name and the certificate."""
    authenticator: HubAuthenticator
    cull: NotRequired[HubCull]
    start_timeout_s: NotRequired[int]
    """Timeout from profile choice to running pod, image pull included; default 600."""
    http_timeout_s: NotRequired[int]
    """From there until the server answers; default 120."""
    volume_gib: NotRequired[float]
    """Size of each home; default 10. Existing homes keep theirs."""
    database_gib: NotRequired[float]
    """Database size; default 1. An existing one keeps its size."""
    storage_class: NotRequired[str]
    """Of homes and database; default: the cluster's."""
    runtime_class: NotRequired[str]
    """Of profiles with GPUs; default nvidia."""
    core_pool: NotRequired[str]
    """Pool of hub, proxy, and profiles without a pool; default: any node."""
    core_node_selector: NotRequired[Mapping[str, str]]
    """Additional node selector labels of hub and proxy."""
    core_tolerations: NotRequired[Sequence[HubToleration]]
    """Of hub and proxy; default: the GPU taint nvidia.com/gpu."""
