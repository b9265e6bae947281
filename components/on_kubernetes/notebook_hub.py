"""NotebookHub: JupyterHub on Kubernetes, with profiles that choose image, pool and GPUs."""

from collections.abc import Sequence
from importlib import resources
from typing import Any

import pulumi

from components.argument_errors import explained
from components.on_kubernetes.kubernetes_object import KubernetesObject
from components.on_kubernetes.notebook_hub_args import NotebookHubArgs
from platforms.kubernetes import home_export, hub_access, hub_availability, hub_core_pods, hub_entry, user_pods
from platforms.kubernetes import hub as objects
from platforms.kubernetes.hub import parse_hub
from workloads.certificate_files import Pair, read_pair
from workloads.exposure import Gateway, Ingress
from workloads.hub import Hub
from workloads.hub_programs import hub_programs


class NotebookHub(pulumi.ComponentResource):
    """A JupyterHub with a namespace of its own.

    Namespace, homes, database and credentials survive `destroy`, and the next `up` reuses them; `destroy` stops
    running servers. A separate command removes the rest by deleting the namespace.
    """

    url: pulumi.Output[str]
    """Public URL."""
    namespace: pulumi.Output[str]
    """Namespace of the hub."""
    credentials_secret: pulumi.Output[str]
    """Name of the Secret generated in the cluster. With the dummy authenticator its key dummy-password logs
    users in; administrators use the key admin-password of the Secret hub-admin next to it."""

    def __init__(self, name: str, args: NotebookHubArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        with explained():
            hub = parse_hub(name, args)
            pair = _files_of(hub)
        super().__init__("gpu-commons:index:NotebookHub", name, {**args}, opts)

        if hub.in_clear:
            pulumi.warn(hub.in_clear, resource=self)
        namespace = KubernetesObject("NamespacePatch", f"{name}-namespace", objects.namespace(hub), opts=self._child())
        inside = self._child(namespace)
        policies = [
            KubernetesObject("NetworkPolicy", f"{name}-{policy}", manifest, opts=inside)
            for policy, manifest in hub_access.network_policies(hub).items()
        ]
        account = KubernetesObject(
            "ServiceAccount",
            f"{name}-hub",
            hub_access.service_account(hub, objects.HUB, objects.HUB),
            # Servers belong to the account. So it goes first, and the claim of their homes then waits for no pod.
            opts=self._child(namespace, *self._home_export(name, hub, inside)),
        )
        role = KubernetesObject("Role", f"{name}-hub", hub_access.hub_role(hub), opts=inside)
        binding = KubernetesObject(
            "RoleBinding",
            f"{name}-hub",
            hub_access.role_binding(hub, objects.HUB, objects.HUB),
            opts=self._child(account, role),
        )
        credentials = self._credentials(name, hub, inside, policies)

        images = pulumi.Output.from_input(dict(hub.images)).apply(objects.image_table)
        data = objects.config_data(hub, files=hub_files(), images=images)
        config = KubernetesObject("ConfigMap", f"{name}-config", objects.config_map(hub, data), opts=inside)

        # Pods do not depend on services: an update waits for a service until pods answer behind it.
        KubernetesObject("Service", f"{name}-hub", objects.hub_service(hub), opts=inside)
        KubernetesObject("Service", f"{name}-proxy-api", objects.proxy_api_service(hub), opts=inside)
        public = KubernetesObject("Service", f"{name}-proxy-public", hub_entry.public_service(hub), opts=inside)
        certificate = self._certificate(name, hub, pair, inside)
        if isinstance(hub.expose, Ingress):
            KubernetesObject("Ingress", f"{name}-ingress", hub_entry.ingress(hub, hub.expose), opts=inside)
        if isinstance(hub.expose, Gateway):
            for route, manifest in hub_entry.routes(hub, hub.expose).items():
                KubernetesObject("HTTPRoute", f"{name}-route-{route}", manifest, opts=inside)
        proxy = KubernetesObject(
            "Deployment",
            f"{name}-proxy",
            hub_core_pods.proxy_deployment(hub),
            opts=self._child(credentials, *policies, *certificate),
        )
        KubernetesObject(
            "StatefulSet",
            f"{name}-hub",
            hub_core_pods.hub_stateful_set(hub, config_checksum=pulumi.Output.from_input(data).apply(objects.checksum)),
            # The hub exits if it finds no proxy at startup. A volume that is there keeps its class and size, and
            # Kubernetes refuses another template for it.
            opts=pulumi.ResourceOptions.merge(
                self._child(credentials, binding, config, proxy, *policies),
                pulumi.ResourceOptions(ignore_changes=["spec.volumeClaimTemplates"]),
            ),
        )

        if hub.availability:
            self._availability(name, hub, inside, config)

        self.url = _url(hub, public)
        self.namespace = namespace.metadata.apply(lambda _: hub.namespace)
        self.credentials_secret = credentials.metadata.apply(lambda _: objects.CREDENTIALS)
        self.register_outputs(
            {"url": self.url, "namespace": self.namespace, "credentials_secret": self.credentials_secret}
        )

    def _home_export(self, name: str, hub: Hub, inside: pulumi.ResourceOptions) -> list[pulumi.Resource]:
        if (export := hub.storage.homes.nfs) is None:
            return []
        # What an export holds is not in these two: `destroy` removes them, and it stays.
        volume = KubernetesObject(
            "PersistentVolume", f"{name}-homes", home_export.export_volume(hub, export), opts=self._child()
        )
        claim = KubernetesObject(
            "PersistentVolumeClaim",
            f"{name}-homes",
            home_export.export_claim(hub),
            opts=pulumi.ResourceOptions.merge(inside, self._child(volume)),
        )
        return [volume, claim]

    def _certificate(
        self, name: str, hub: Hub, pair: Pair | None, inside: pulumi.ResourceOptions
    ) -> list[pulumi.Resource]:
        """The Secret for TLS, or the request for one; nothing if somebody else keeps it, or there is none."""
        if requested := hub_entry.requested_certificate(hub):
            return [KubernetesObject("Certificate", f"{name}-tls", requested, opts=inside)]
        if pair is None:
            return []
        secret = hub_entry.tls_secret(hub, pair.certificate, pulumi.Output.secret(pair.key))
        return [KubernetesObject("Secret", f"{name}-tls", secret, opts=inside)]

    def _credentials(
        self, name: str, hub: Hub, inside: pulumi.ResourceOptions, policies: Sequence[pulumi.Resource]
    ) -> KubernetesObject:
        word = objects.CREDENTIALS
        account = KubernetesObject(
            "ServiceAccount", f"{name}-credentials", hub_access.service_account(hub, word, word), opts=inside
        )
        role = KubernetesObject("Role", f"{name}-credentials", hub_access.credentials_role(hub), opts=inside)
        binding = KubernetesObject(
            "RoleBinding",
            f"{name}-credentials",
            hub_access.role_binding(hub, word, word),
            opts=self._child(account, role),
        )
        return KubernetesObject(
            "Job",
            f"{name}-credentials",
            hub_core_pods.credentials_job(hub, script=_text("hub_credentials.py")),
            # Jobs cannot be changed in place. A new hub image creates a new Job of the same name, which finds the
            # Secret and ends.
            opts=pulumi.ResourceOptions.merge(
                self._child(binding, *policies), pulumi.ResourceOptions(delete_before_replace=True)
            ),
        )

    def _availability(self, name: str, hub: Hub, inside: pulumi.ResourceOptions, config: pulumi.Resource) -> None:
        """Nothing in the hub waits for it: without its answer the pages show no availability."""
        word = user_pods.AVAILABILITY
        name = f"{name}-{word}"
        account = KubernetesObject("ServiceAccount", name, hub_access.service_account(hub, word, word), opts=inside)
        role = KubernetesObject("ClusterRole", name, hub_availability.cluster_role(hub), opts=self._child())
        binding = KubernetesObject(
            "ClusterRoleBinding", name, hub_availability.cluster_role_binding(hub), opts=self._child(account, role)
        )
        policy = KubernetesObject("NetworkPolicy", name, hub_availability.network_policy(hub), opts=inside)
        KubernetesObject("Service", name, hub_availability.service(hub), opts=inside)
        KubernetesObject(
            "Deployment",
            name,
            hub_availability.deployment(hub, program=_text(f"hub_files/{hub_availability.PROGRAM}")),
            opts=self._child(binding, policy, config),
        )

    def _child(self, *after: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, depends_on=list(after))


def _files_of(hub: Hub) -> Pair | None:
    """The files of its certificate, if it has some."""
    certificate = hub.expose.certificate
    if certificate is None or certificate.files is None:
        return None
    return read_pair(certificate.files, str(getattr(hub.expose, "host", None)))


def _text(file: str) -> str:
    """A file for the cluster."""
    return resources.files("platforms.kubernetes").joinpath(file).read_text()


def hub_files() -> dict[str, str]:
    """Files of every hub, by name: its configuration and the hub_files for its Python and its pages."""
    return {objects.CONFIG_FILE: _text(objects.CONFIG_FILE), **hub_programs("platforms.kubernetes")}


def _url(hub: Hub, public: KubernetesObject) -> pulumi.Output[str]:
    if hub.expose.kind != "load_balancer" or hub.address:
        return public.metadata.apply(lambda _: hub_entry.url(hub))

    def reached(status: Any) -> str:
        ingress = ((status or {}).get("loadBalancer") or {}).get("ingress") or [{}]
        return hub_entry.url(hub, ingress[0].get("hostname") or ingress[0].get("ip"))

    return public.status.apply(reached)
