"""Arguments of NotebookHub, as Pulumi and type checkers read them; workloads.hub reads their values."""

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
    """What people read about an image before they choose it."""

    title: NotRequired[str]
    """What the image is."""
    cuda_lines: NotRequired[Sequence[str]]
    """CUDA lines in it: "10.1"."""
    frameworks: NotRequired[Sequence[str]]
    """With versions: TensorFlow 2.3.4."""
    packages: NotRequired[Sequence[str]]
    """With versions: NumPy 2.4.6."""
    stands_on: NotRequired[str]
    """Base image that brings programs of its own: jupyter/datascience-notebook."""
    missing: NotRequired[Sequence[str]]
    """What the image should contain and this site could not provide."""
    missing_reason: NotRequired[str]
    """Why it is missing."""


class HubProfile(TypedDict):
    """One choice on the spawn page. CPU in cores, memory in GiB."""

    name: str
    """Short and stable: the hub remembers a user's last choice by it."""
    title: str
    """What users see."""
    description: NotRequired[str]
    """Second line on the spawn page; default: GPUs, cores and memory."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies find its facts by it."""
    cpu: float
    """CPU limit in cores."""
    cpu_guarantee: NotRequired[float]
    """What the scheduler reserves; default 0.1, because notebooks are idle most of the time."""
    memory_gib: float
    """Memory limit in GiB."""
    memory_guarantee_gib: NotRequired[float]
    """What the scheduler reserves; default 1."""
    gpus: NotRequired[int]
    """Whole GPUs; default 0, and then none is visible."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm, part of the memory; default a quarter of it in profiles with GPUs, else none."""
    pool: NotRequired[str]
    """Pool it runs on; default: the hub's core pool, and without one any node."""
    pools: NotRequired[Sequence[str]]
    """Several pools, in place of `pool`: a server runs on a node of any of them."""
    node_selector: NotRequired[Mapping[str, str]]
    """Further labels that a node must have."""
    tolerations: NotRequired[Sequence[HubToleration]]
    """Default: the GPU taint nvidia.com/gpu."""
    is_default: NotRequired[bool]
    """Chosen when the user chooses nothing; one per hub; default false."""
    gpu: NotRequired[str]
    """GPU model, for the spawn page: GeForce GTX 1080 Ti."""
    gpu_memory_gb: NotRequired[float]
    """Memory of one such GPU, for the spawn page; default 0: not shown."""
    contents: NotRequired[HubContents]
    """What is in the image, for the spawn page."""


class HubExpose(TypedDict):
    """How people reach the proxy."""

    kind: str
    """node_port, load_balancer or cluster_ip."""
    port: NotRequired[int]
    """Port of the nodes (30000 to 32767) for node_port, else of the service; default 80."""


class HubSecretKey(TypedDict):
    """A key of a Kubernetes Secret in the hub's namespace. The Secret is yours; its value never reaches Pulumi."""

    secret: str
    """Name of the Secret."""
    key: str


class HubAuthenticator(TypedDict):
    """How people log in."""

    kind: str
    """oauth, lti13, or dummy: whoever knows one password can be any user but an administrator. For labs only."""
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
    """oauth: name on the button."""
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
    """Only they may log in. Without the list: everybody, but with oauth nobody."""
    allow_all: NotRequired[bool]
    """Everybody whom the authenticator knows may log in; default true, but false with oauth or a list of users."""
    admins: NotRequired[Sequence[str]]
    """They may log in, and see and stop everybody's servers. With dummy they have a password of their own."""


class HubCull(TypedDict):
    """When servers and kernels are stopped; times in seconds."""

    idle_s: NotRequired[int]
    """Seconds without activity after which a server is stopped; default 3600."""
    max_age_s: NotRequired[int]
    """Age at which a server is stopped even if it is in use; default 0: never."""
    every_s: NotRequired[int]
    """How often to look; default 600."""
    kernel_idle_s: NotRequired[int]
    """Seconds after which an idle kernel is stopped; default: idle_s."""


class HubCourse(TypedDict):
    """A course that uses the hub: who is affected by a change, for policies and reviewers."""

    name: str
    """Short name of the course."""
    title: str
    """What people call it."""
    seats: int
    """People in the course."""
    profiles: Sequence[str]
    """Profiles that the course may choose, by name."""
    peak_share: NotRequired[float]
    """Share of the seats that hold a server with GPUs at the busiest time: above 0, 1 at most."""
    guaranteed_gpus: NotRequired[int]
    """GPUs that the course always gets; default 0."""
    borrowable_gpus: NotRequired[int]
    """GPUs beyond these that it may use while they are free; default: any."""
    first_day: NotRequired[str]
    """YYYY-MM-DD."""
    last_day: NotRequired[str]
    """YYYY-MM-DD. A course that has ended is ignored in reviews."""


class NotebookHubArgs(TypedDict):
    """Arguments of NotebookHub. Times in seconds, sizes in GiB."""

    courses: NotRequired[Sequence[HubCourse]]
    """Courses that use the hub. Recorded for policies and reviewers; the hub itself ignores them."""

    images_are_pre_pulled: NotRequired[bool]
    """Something, such as a PrePuller, pulls the profiles' images to all nodes of their pools in advance: policies then
    warn about images that take long to pull, instead of refusing them. Default false."""
    namespace: NotRequired[str]
    """Default: the component's name. One hub fills one namespace."""
    hub_image: pulumi.Input[str]
    """Has on its PATH jupyterhub (5.3 or later) and python3 (3.11 or later) with kubespawner 7, the idle culler,
    the authenticators."""
    hub_image_name: NotRequired[str]
    """Default hub."""
    proxy_image: pulumi.Input[str]
    """Has on its PATH configurable-http-proxy."""
    proxy_image_name: NotRequired[str]
    """Default proxy."""
    profiles: Sequence[HubProfile]
    """In the order of the spawn page; without `is_default` the first is chosen. Those that share image and nodes, and
    differ only in their size, are one card there."""
    site_name: NotRequired[str]
    """Heads the spawn page; default JupyterHub."""
    help_url: NotRequired[str]
    """Where people get help; a link on the spawn page."""
    availability: NotRequired[bool]
    """Show how many servers of each profile fit now. A service of its own counts them; its account may list nodes and
    pods of the whole cluster, and nothing else. Default true; it needs the right to create a ClusterRole."""
    expose: HubExpose
    public_url: NotRequired[str]
    """Where people open the hub, when something in front of it has the name and the certificate."""
    authenticator: HubAuthenticator
    cull: NotRequired[HubCull]
    start_timeout_s: NotRequired[int]
    """From the choice on the spawn page to a running pod, image pull included; default 600."""
    http_timeout_s: NotRequired[int]
    """From there to a server that answers; default 120."""
    volume_gib: NotRequired[float]
    """Home of each user; default 10. Existing homes keep their size."""
    database_gib: NotRequired[float]
    """The hub's database; default 1. An existing one keeps its size."""
    storage_class: NotRequired[str]
    """Of homes and database; default: the cluster's."""
    runtime_class: NotRequired[str]
    """Of profiles with GPUs; default nvidia."""
    core_pool: NotRequired[str]
    """Pool that carries hub and proxy, and profiles without a pool; default: any node."""
    core_node_selector: NotRequired[Mapping[str, str]]
    """Further labels that a node must have for hub and proxy."""
    core_tolerations: NotRequired[Sequence[HubToleration]]
    """Of hub and proxy; default: the GPU taint nvidia.com/gpu."""
