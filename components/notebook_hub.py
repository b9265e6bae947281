"""NotebookHub: JupyterHub on Kubernetes, with profiles that choose image, pool and GPUs."""

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment, StatefulSet
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import ConfigMap, NamespacePatch, Service, ServiceAccount
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding

from kube import hub as objects
from kube import hub_access, hub_availability, hub_pods, user_servers
from kube.hub_arguments import parse_hub
from kube.hub_model import Hub
from messages.problems import SettingsError


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
    """A base that brings programs of its own: jupyter/datascience-notebook."""
    missing: NotRequired[Sequence[str]]
    """What should be in it and could not be had at this site."""
    missing_reason: NotRequired[str]
    """Why."""


class HubProfile(TypedDict):
    """One choice on the spawn page. CPU in cores, memory in GiB."""

    name: str
    """Short and steady: it is remembered with a user's last choice."""
    title: str
    """What people read."""
    description: NotRequired[str]
    """Second line on the spawn page; default: GPUs, cores and memory."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies find its facts by it."""
    cpu: float
    """Limit."""
    cpu_guarantee: NotRequired[float]
    """What the scheduler sets aside; default 0.1, because notebooks are idle most of the time."""
    memory_gib: float
    """Limit."""
    memory_guarantee_gib: NotRequired[float]
    """What the scheduler sets aside; default 1."""
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
    """Who says who somebody is."""

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
    """oauth: PEM certificates of the authority that signed the provider's; default: the public ones."""
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
    """When servers and kernels end by themselves, in seconds."""

    idle_s: NotRequired[int]
    """Default 3600."""
    max_age_s: NotRequired[int]
    """Ends servers in use too; default 0: none."""
    every_s: NotRequired[int]
    """How often to look; default 600."""
    kernel_idle_s: NotRequired[int]
    """Default: idle_s."""


class HubCourse(TypedDict):
    """A course that uses the hub: who is affected by a change, for policies and reviewers."""

    name: str
    title: str
    seats: int
    profiles: Sequence[str]
    """Profiles that the course may choose, by name."""
    peak_share: NotRequired[float]
    """Share of the seats that hold a server with GPUs at the busiest time: above 0, 1 at most."""
    guaranteed_gpus: NotRequired[int]
    """GPUs that the course always gets; default 0."""
    borrowable_gpus: NotRequired[int]
    """GPUs beyond them that it may take while they are free; default: any."""
    first_day: NotRequired[str]
    """YYYY-MM-DD."""
    last_day: NotRequired[str]
    """YYYY-MM-DD. A course whose last day is over counts for nothing in a review."""


class NotebookHubArgs(TypedDict):
    """Arguments of NotebookHub. Times in seconds, sizes in GiB."""

    courses: NotRequired[Sequence[HubCourse]]
    """Who uses it. Recorded, and without effect on the hub itself."""

    images_are_pre_pulled: NotRequired[bool]
    """Something brings the profiles' images to all nodes of their pools, a PrePuller or another: policies then warn of
    images that take long to pull, and do not refuse. Default false."""
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
    """Tell how many servers of each profile fit now. A service of its own counts them; its account may list nodes and
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


class NotebookHub(pulumi.ComponentResource):
    """A JupyterHub that fills one namespace.

    Namespace, homes, database and credentials outlive `destroy` and are taken up by the next `up`; running servers end
    with `destroy`. Removing what is left is a command of its own: it deletes the namespace.
    """

    url: pulumi.Output[str]
    """Where people open it."""
    namespace: pulumi.Output[str]
    credentials_secret: pulumi.Output[str]
    """Name of the Secret that was born in the cluster. With the dummy authenticator its key dummy-password logs users
    in; administrators have the key admin-password of the Secret hub-admin beside it."""

    def __init__(self, name: str, args: NotebookHubArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        hub = _parsed(name, args)
        super().__init__("gpu-commons:index:NotebookHub", name, {**args}, opts)

        namespace = NamespacePatch(f"{name}-namespace", **objects.namespace(hub), opts=self._child())
        inside = self._child(namespace)
        policies = [
            NetworkPolicy(f"{name}-{policy}", **manifest, opts=inside)
            for policy, manifest in hub_access.network_policies(hub).items()
        ]
        account = ServiceAccount(
            f"{name}-hub",
            **_python(hub_access.service_account(hub, objects.HUB, objects.HUB)),
            opts=inside,
        )
        role = Role(f"{name}-hub", **hub_access.hub_role(hub), opts=inside)
        binding = RoleBinding(
            f"{name}-hub",
            **_python(hub_access.role_binding(hub, objects.HUB, objects.HUB)),
            opts=self._child(account, role),
        )
        credentials = self._credentials(name, hub, inside, policies)

        images = pulumi.Output.from_input(dict(hub.images)).apply(objects.image_table)
        data = objects.config_data(hub, files=hub_files(), images=images)
        config = ConfigMap(f"{name}-config", **objects.config_map(hub, data), opts=inside)

        # Services are not among the dependencies of pods: an update waits for a service until pods answer behind it.
        Service(f"{name}-hub", **objects.hub_service(hub), opts=inside)
        Service(f"{name}-proxy-api", **objects.proxy_api_service(hub), opts=inside)
        public = Service(f"{name}-proxy-public", **objects.proxy_public_service(hub), opts=inside)
        proxy = Deployment(f"{name}-proxy", **hub_pods.proxy_deployment(hub), opts=self._child(credentials, *policies))
        StatefulSet(
            f"{name}-hub",
            **hub_pods.hub_stateful_set(hub, config_checksum=pulumi.Output.from_input(data).apply(objects.checksum)),
            # The hub ends itself when it starts and finds no proxy.
            opts=self._child(credentials, binding, config, proxy, *policies),
        )

        if hub.availability:
            self._availability(name, hub, inside, config)

        self.url = _url(hub, public)
        self.namespace = namespace.metadata.apply(lambda _: hub.namespace)
        self.credentials_secret = credentials.metadata.apply(lambda _: objects.CREDENTIALS)
        self.register_outputs(
            {"url": self.url, "namespace": self.namespace, "credentials_secret": self.credentials_secret}
        )

    def _credentials(
        self, name: str, hub: Hub, inside: pulumi.ResourceOptions, policies: Sequence[pulumi.Resource]
    ) -> Job:
        word = objects.CREDENTIALS
        account = ServiceAccount(
            f"{name}-credentials", **_python(hub_access.service_account(hub, word, word)), opts=inside
        )
        role = Role(f"{name}-credentials", **hub_access.credentials_role(hub), opts=inside)
        binding = RoleBinding(
            f"{name}-credentials",
            **_python(hub_access.role_binding(hub, word, word)),
            opts=self._child(account, role),
        )
        return Job(
            f"{name}-credentials",
            **hub_pods.credentials_job(hub, script=_text("hub_credentials.py")),
            # A Job cannot be changed in place. A new hub image makes a new Job of the same name, which finds the
            # Secret and ends.
            opts=pulumi.ResourceOptions.merge(
                self._child(binding, *policies), pulumi.ResourceOptions(delete_before_replace=True)
            ),
        )

    def _availability(self, name: str, hub: Hub, inside: pulumi.ResourceOptions, config: ConfigMap) -> None:
        """Nothing of the hub waits for it: without its answer the pages say nothing of what is free."""
        word = user_servers.AVAILABILITY
        name = f"{name}-{word}"
        account = ServiceAccount(name, **_python(hub_access.service_account(hub, word, word)), opts=inside)
        role = ClusterRole(name, **hub_availability.cluster_role(hub), opts=self._child())
        binding = ClusterRoleBinding(
            name, **_python(hub_availability.cluster_role_binding(hub)), opts=self._child(account, role)
        )
        policy = NetworkPolicy(name, **hub_availability.network_policy(hub), opts=inside)
        Service(name, **hub_availability.service(hub), opts=inside)
        Deployment(
            name,
            **hub_availability.deployment(hub, program=_text(f"hub_files/{hub_availability.PROGRAM}")),
            opts=self._child(binding, policy, config),
        )

    def _child(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, depends_on=list(after))


def _parsed(name: str, args: NotebookHubArgs) -> Hub:
    try:
        return parse_hub(name, args)
    except SettingsError as error:
        raise pulumi.RunError(str(error)) from None


def _text(file: str) -> str:
    """A file that runs in the cluster."""
    return resources.files("kube").joinpath(file).read_text()


def hub_files() -> dict[str, str]:
    """Files of every hub by name: its configuration, and what lies in hub_files for its Python and its pages."""
    folder = resources.files("kube").joinpath("hub_files")
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith((".py", ".html")))
    return {objects.CONFIG_FILE: _text(objects.CONFIG_FILE), **{name: _text(f"hub_files/{name}") for name in names}}


def _python(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Top-level keys as the Python SDK spells its parameters; everything below stays as Kubernetes writes it."""
    spelling = {"automountServiceAccountToken": "automount_service_account_token", "roleRef": "role_ref"}
    return {spelling.get(key, key): value for key, value in manifest.items()}


def _url(hub: Hub, public: Service) -> pulumi.Output[str]:
    if hub.expose.kind != "load_balancer" or hub.public_url:
        return public.metadata.apply(lambda _: objects.url(hub))

    def reached(status: Any) -> str:
        ingress = (status and status.load_balancer and status.load_balancer.ingress) or []
        return objects.url(hub, (ingress[0].hostname or ingress[0].ip) if ingress else None)

    return public.status.apply(reached)
