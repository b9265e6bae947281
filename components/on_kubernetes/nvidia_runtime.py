"""NvidiaRuntime: the cluster components besides the driver that let pods request GPUs."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from components.on_kubernetes.kubernetes_object import KubernetesObject
from platforms.kubernetes import feature_discovery
from platforms.kubernetes import runtime as manifest


class DriverContainer(TypedDict):
    """A driver container for a pool whose nodes' OS has no driver."""

    pool: str
    """Pool that it is for."""
    image: pulumi.Input[str]
    """Image by digest, from a spec with `modules`."""
    kernel: str
    """Kernel release of its modules, as in its key: 6.12.102-flatcar."""


class NvidiaRuntimeArgs(TypedDict):
    """Arguments of NvidiaRuntime."""

    device_plugin_image: pulumi.Input[str]
    """Image of NVIDIA's device plugin, by digest."""
    persistence_daemon_image: NotRequired[pulumi.Input[str]]
    """Image with a shell and chroot, for a pod on each node that starts the driver's own persistence daemon where the
    node runs none. Default: the nodes start theirs, by a service or a machine image."""
    node_feature_discovery_image: NotRequired[pulumi.Input[str]]
    """Image of Node Feature Discovery, by digest, to label nodes with what GPU feature discovery finds; default:
    neither runs. Leave it out beside another Node Feature Discovery, such as that of the GPU operator."""
    driver_containers: NotRequired[Sequence[DriverContainer]]
    """Driver containers by pool, for nodes without a driver. They start the persistence daemon themselves."""
    pools: NotRequired[Sequence[str]]
    """Pools with GPUs, if the fleet also has others; default: every node of a GpuNodePool."""
    namespace: NotRequired[str]
    """Namespace for the daemons, created here; default `gpu-runtime`."""


class NvidiaRuntime(pulumi.ComponentResource):
    """RuntimeClass `nvidia` and daemons of GPU nodes: device plugin, persistence daemon, drivers, feature discovery.

    The container runtime's handler `nvidia` (NVIDIA container toolkit) must be configured when the nodes are
    installed.
    """

    runtime_class: pulumi.Output[str]
    """Name of the RuntimeClass for pods that use GPUs."""

    def __init__(self, name: str, args: NvidiaRuntimeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        pools = args.get("pools")
        if pools is not None and not pools:
            raise ValueError(f"{name}.pools is empty: name a pool with GPUs, or leave it out for all pools")
        if args.get("driver_containers") and pools is None:
            raise ValueError(f"{name}.pools is missing: beside driver_containers, name every pool with GPUs")
        super().__init__("gpu-commons:index:NvidiaRuntime", name, {**args}, opts)
        child = pulumi.ResourceOptions(parent=self)
        runtime_class = KubernetesObject(
            "RuntimeClass",
            f"{name}-class",
            {"metadata": {"name": manifest.RUNTIME_CLASS}, "handler": manifest.RUNTIME_CLASS},
            opts=child,
        )
        # Privileged pods run here and nowhere else.
        its_name = args.get("namespace") or manifest.NAMESPACE
        labels = {"pod-security.kubernetes.io/enforce": "privileged"}
        namespace = KubernetesObject(
            "Namespace", f"{name}-namespace", {"metadata": {"name": its_name, "labels": labels}}, child
        )

        def put(kind: str, component: str, spec: Mapping[str, Any], first: Sequence[pulumi.Resource]) -> None:
            metadata = {"name": component, "namespace": namespace.metadata["name"]}
            after = pulumi.ResourceOptions(parent=self, depends_on=first)
            KubernetesObject(kind, f"{name}-{component}", {"metadata": metadata, "spec": spec}, after)

        daemons = manifest.daemon_sets(args)
        discovery = daemons.pop(feature_discovery.DISCOVERY, None)
        for component, spec in daemons.items():
            put("DaemonSet", component, spec, [runtime_class])
        if discovery:
            kinds = [
                KubernetesObject("CustomResourceDefinition", f"{name}-{called}", definition, child)
                for called, definition in feature_discovery.definitions().items()
            ]
            in_namespace = pulumi.ResourceOptions(parent=self, depends_on=[namespace])
            rights = [
                KubernetesObject(kind, f"{name}-{account}", made, in_namespace)
                for kind, account, made in feature_discovery.access(its_name)
            ]
            for component, spec in manifest.deployments(args).items():
                put("Deployment", component, spec, [*kinds, *rights])
            put("DaemonSet", feature_discovery.DISCOVERY, discovery, [runtime_class, *kinds, *rights])
        self.runtime_class = pulumi.Output.from_input(manifest.RUNTIME_CLASS)
        self.register_outputs({"runtime_class": self.runtime_class})
