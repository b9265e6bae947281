"""Arguments of NotebookHub, for Pulumi and type checkers.

Written by `make docs` from the models in imaging.spec.hub_description, workloads.authenticator, workloads.exposure,
workloads.hub, workloads.storage: edit those, or tools/component_arguments.py, not this file.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi


class HubToleration(TypedDict):
    """A toleration, as in Kubernetes."""

    key: NotRequired[str]
    """Key of the taint; none, with operator Exists: every taint."""
    operator: NotRequired[str]
    """Equal or Exists. Default: Equal."""
    value: NotRequired[str]
    """Value of the taint, with operator Equal."""
    effect: NotRequired[str]
    """NoExecute, NoSchedule or PreferNoSchedule; default: every effect."""
    toleration_seconds: NotRequired[int]
    """Seconds that a running pod stays on a node with such a taint, with NoExecute; default: forever."""


class HubContents(TypedDict):
    """Content of an image as built here, for users who choose one. Texts are empty if nothing was stated."""

    title: NotRequired[str]
    """Title of the image."""
    cuda_lines: NotRequired[Sequence[str]]
    """CUDA lines of the environments that were built, lowest first: "10.1"."""
    frameworks: NotRequired[Sequence[str]]
    """Frameworks with their versions: TensorFlow 2.3.4."""
    packages: NotRequired[Sequence[str]]
    """Packages of the image's spec and its parents', its own first, with versions: NumPy 2.4.6."""
    stands_on: NotRequired[str]
    """Base image with programs of its own: jupyter/datascience-notebook; default: a plain one."""
    missing: NotRequired[Sequence[str]]
    """Parts of the spec that this site cannot get: frameworks first, then other packages."""
    missing_reason: NotRequired[str]
    """Why they are missing, as the site's substitutes word it."""


class HubProfile(TypedDict):
    """A profile on the spawn page. CPU in cores, memory in GiB; the guarantees are scheduler reservations."""

    name: str
    """Short name, unique in its hub. Keep it: choices and notebooks are remembered by it."""
    title: str
    """What users read."""
    description: NotRequired[str]
    """Second line of the choice; default: GPUs, cores and memory."""
    pool: NotRequired[str]
    """Pool it runs on; default: the hub's core pool, else any node."""
    pools: NotRequired[Sequence[str]]
    """Several pools in place of pool: it runs on a node of any of them."""
    gpus: NotRequired[int]
    """Whole GPUs; 0 for none: the server then sees no GPU. Default: 0."""
    cpu: float
    """CPU cores at most."""
    memory_gib: float
    """Memory in GiB at most."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm in GiB, part of the memory; default: a quarter of it in profiles with GPUs, else
    none."""
    is_default: NotRequired[bool]
    """Chosen when the user chooses nothing; one per hub. Default: false."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies look up its facts by it."""
    gpu: NotRequired[str]
    """GPU model, for the page: GeForce GTX 1080 Ti."""
    gpu_memory_gb: NotRequired[float]
    """Memory of one such GPU in GB, for the page; default 0: not shown."""
    contents: NotRequired[HubContents]
    """What the image contains, for the page."""
    cpu_guarantee: NotRequired[float]
    """CPU reservation in cores; default 0.1, because notebooks are mostly idle."""
    memory_guarantee_gib: NotRequired[float]
    """Memory reservation in GiB; default 1."""
    node_selector: NotRequired[Mapping[str, str]]
    """Further labels that its nodes have."""
    tolerations: NotRequired[Sequence[HubToleration]]
    """Tolerations of its servers; default: the GPU taint nvidia.com/gpu."""


class HubCertificateFiles(TypedDict):
    """PEM files beside the program; the key gets into the stack's state, encrypted."""

    certificate: str
    """PEM file with the certificate and its chain."""
    key: str
    """PEM file with the private key; keep it out of the version history."""


class HubCertificate(TypedDict):
    """Where the certificate of the host name comes from: one of these."""

    secret: NotRequired[str]
    """Secret of the type kubernetes.io/tls in the hub's namespace, which you keep up to date."""
    issuer: NotRequired[str]
    """Issuer of cert-manager in the hub's namespace."""
    cluster_issuer: NotRequired[str]
    """ClusterIssuer of cert-manager."""
    files: NotRequired[HubCertificateFiles]
    """PEM files, of which the stack makes a Secret."""


class HubExpose(TypedDict):
    """How users reach the proxy."""

    kind: str
    """node_port: A port of every node. load_balancer: An address from the cluster's load balancer. ingress: The
    cluster's ingress controller. gateway: A Gateway that the cluster has, of the Gateway API. cluster_ip: Inside the
    cluster only."""
    host: NotRequired[str]
    """node_port, load_balancer, ingress, gateway: Host name that people open: hub.example.edu."""
    certificate: NotRequired[HubCertificate]
    """node_port, load_balancer, ingress: Where the certificate of `host` comes from; default: people reach the hub by
    plain http."""
    port: NotRequired[int]
    """node_port: Node port, 30000 to 32767. load_balancer: Port of the service; with a certificate usually 443, and
    port 80 then leads to it. Default: 80. cluster_ip: Port of the service. Default: 80."""
    ingress_class: NotRequired[str]
    """ingress: Ingress class; default: the cluster's default."""
    annotations: NotRequired[Mapping[str, str]]
    """ingress: Annotations for the controller, such as a redirect from http; ours set nginx's."""
    gateway: NotRequired[str]
    """gateway: Name of the Gateway; a listener of it speaks https for the host."""
    gateway_namespace: NotRequired[str]
    """gateway: Its namespace; default: the hub's."""
    listener: NotRequired[str]
    """gateway: Its listener for https; default: all that admit the host."""
    http_listener: NotRequired[str]
    """gateway: Its listener for http, whose requests are led to https; needs `listener`."""


class HubSecretKey(TypedDict):
    """A key of a Kubernetes Secret in the hub's namespace. You create the Secret; Pulumi never sees its value."""

    secret: str
    """Name of a Kubernetes Secret in the hub's namespace; on a Docker host a folder below /etc/gpu-commons/secrets."""
    key: str
    """Key inside that Secret; on a Docker host a file in that folder."""


class HubAuthenticator(TypedDict):
    """Login method."""

    kind: str
    """oauth: Log in at an OAuth provider. lti13: Users come from a learning platform by LTI 1.3. dummy: Everybody who
    knows the hub's one password gets in, to every account but administrators'; only for the lab."""
    allow_all: NotRequired[bool]
    """Every authenticated user may log in; default true, but false with oauth or a list of users."""
    allowed_users: NotRequired[Sequence[str]]
    """Only these may log in. Default: everybody; with oauth, nobody."""
    admins: NotRequired[Sequence[str]]
    """oauth, lti13: Administrators: they may log in, and see and stop all servers. dummy: Administrators, who see and
    stop all servers; they have a password of their own."""
    client_id: NotRequired[str]
    """oauth: Client id that the provider gave to this hub."""
    client_secret: NotRequired[HubSecretKey]
    """oauth: Where the client secret is kept, {secret: a Kubernetes Secret, key: its key}; never the value."""
    callback_url: NotRequired[str]
    """oauth: The hub's callback: https://hub.example.edu/hub/oauth_callback."""
    authorize_url: NotRequired[str]
    """oauth: The provider's authorization endpoint. lti13: The platform's authorization endpoint."""
    token_url: NotRequired[str]
    """oauth: The provider's token endpoint."""
    userdata_url: NotRequired[str]
    """oauth: The provider's user information endpoint."""
    username_claim: NotRequired[str]
    """oauth: Field of the response that becomes the user name. Default: preferred_username."""
    scopes: NotRequired[Sequence[str]]
    """oauth: Scopes to ask for. Default: openid."""
    login_service: NotRequired[str]
    """oauth: Name on the login button."""
    ca_certificates: NotRequired[str]
    """oauth: PEM certificates of the authority that signed the provider's certificate; default: public ones."""
    issuer: NotRequired[str]
    """lti13: The platform's issuer identifier, an https address."""
    jwks_endpoint: NotRequired[str]
    """lti13: Where the platform publishes its keys (JWKS)."""
    client_ids: NotRequired[Sequence[str]]
    """lti13: Client ids of this hub at the platform."""
    username_key: NotRequired[str]
    """lti13: Claim that becomes the user name; custom_… for custom claims. Default: email."""


class HubCull(TypedDict):
    """When servers and kernels end; times in seconds."""

    idle_s: NotRequired[int]
    """Seconds without activity after which a server is ended. Default: 3600."""
    max_age_s: NotRequired[int]
    """Seconds after which a server is ended even if it is used; 0: never. Default: 0."""
    every_s: NotRequired[int]
    """Seconds between two checks for idle servers. Default: 600."""
    kernel_idle_s: NotRequired[int]
    """Seconds after which an idle kernel is ended; default: idle_s."""


class HubNfsExport(TypedDict):
    """An export of an NFS server, with a folder for each user that the user's first start makes."""

    server: str
    """Host name or address of the NFS server, as the nodes reach it."""
    path: str
    """Path of the export, writable for user 1000: /export/homes."""
    options: NotRequired[Sequence[str]]
    """Options of the mount: [nfsvers=4.1, hard]."""


class HubHomes(TypedDict):
    """Homes of a hub's users: a volume for each, or folders of one NFS export."""

    storage_class: NotRequired[str]
    """Their storage class; default: the cluster's default."""
    size_gib: NotRequired[float]
    """Size of each user's volume in GiB; an existing one keeps its size. Default: 10."""
    access: NotRequired[str]
    """Access mode of a volume: ReadWriteOnce, ReadWriteOncePod, or ReadWriteMany where the class can. Default:
    ReadWriteOnce."""
    nfs: NotRequired[HubNfsExport]
    """One export for all homes, in place of volumes."""


class HubDatabase(TypedDict):
    """The volume of the hub's database, one file of SQLite: block storage suits it, NFS does not."""

    storage_class: NotRequired[str]
    """Their storage class; default: the cluster's default."""
    size_gib: NotRequired[float]
    """Size of the hub's own volume in GiB; an existing one keeps its size. Default: 1."""


class HubStorage(TypedDict):
    """Where homes and database are kept. Both outlive the stack."""

    homes: NotRequired[HubHomes]
    """Homes of the users."""
    database: NotRequired[HubDatabase]
    """The hub's own volume."""


class HubCourse(TypedDict):
    """A course on the hub: shows policies and reviewers who is affected by a change."""

    name: str
    """Short name of the course."""
    title: str
    """What people call it."""
    profiles: Sequence[str]
    """Profiles of that hub that the course may choose."""
    seats: int
    """People in the course."""
    guaranteed_gpus: NotRequired[int]
    """GPUs that the course always gets, whatever others use. Default: 0."""
    borrowable_gpus: NotRequired[int]
    """GPUs beyond the guaranteed ones that it may take while they are free; default: any."""
    peak_share: NotRequired[float]
    """Share of the seats that hold a server with GPUs at the busiest time: above 0, 1 at most."""
    first_day: NotRequired[str]
    """First day of the course, YYYY-MM-DD."""
    last_day: NotRequired[str]
    """Last day of the course, YYYY-MM-DD. Reviews leave out courses that are over."""


class NotebookHubArgs(TypedDict):
    """Arguments of NotebookHub. Times in seconds, sizes in GiB."""

    public_url: NotRequired[str]
    """Address that people open, if a proxy with that name and its certificate forwards to the hub."""
    help_url: NotRequired[str]
    """Where people get help: a link on the page that starts servers."""
    start_timeout_s: NotRequired[int]
    """Seconds that a server may take to start, image pull included. Default: 600."""
    http_timeout_s: NotRequired[int]
    """Seconds from the started pod, container or job to a server that answers. Default: 120."""
    cull: NotRequired[HubCull]
    """When idle and old servers are ended."""
    availability: NotRequired[bool]
    """Show on the pages how many servers of each profile fit now: a separate service counts nodes and pods of the whole
    cluster, with an account that may only list these. Who updates needs the right to create a ClusterRole. Default:
    true."""
    storage: NotRequired[HubStorage]
    """Where homes and database are kept."""
    hub_image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage, with jupyterhub (5.3 or later) and python3 (3.11 or later) on
    its PATH, kubespawner 7, idle culler and authenticators."""
    proxy_image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage, with configurable-http-proxy on its PATH."""
    proxy_image_name: NotRequired[str]
    """Name of that image. Default: proxy."""
    authenticator: HubAuthenticator
    """How people log in."""
    site_name: NotRequired[str]
    """Heading of the pages. Default: JupyterHub."""
    courses: NotRequired[Sequence[HubCourse]]
    """Courses that use the hub. Recorded for policies and reviewers; the hub itself ignores them."""
    namespace: NotRequired[str]
    """Namespace of the hub, and of no other hub; default: the component's name."""
    expose: HubExpose
    """How people reach the hub."""
    hub_image_name: NotRequired[str]
    """Name of that image. Default: hub."""
    profiles: Sequence[HubProfile]
    """What users can choose, in the order of the page; without `is_default` the first is chosen. Profiles that share
    image and nodes and differ only in size share one card."""
    runtime_class: NotRequired[str]
    """Runtime class of profiles with GPUs. Default: nvidia."""
    core_pool: NotRequired[str]
    """Pool of hub, proxy, and profiles that name no pool; default: any node."""
    core_node_selector: NotRequired[Mapping[str, str]]
    """Further labels that nodes of hub and proxy have."""
    core_tolerations: NotRequired[Sequence[HubToleration]]
    """Tolerations of hub and proxy; default: the GPU taint nvidia.com/gpu."""
    images_are_pre_pulled: NotRequired[bool]
    """The profiles' images are pulled to all nodes of their pools in advance, for example by a PrePuller: policies then
    warn about images with long pulls instead of refusing them. Default: false."""
