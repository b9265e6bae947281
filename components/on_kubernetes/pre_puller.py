"""PrePuller: pulls images to the nodes of a pool before users need them."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

import pulumi

from components.on_kubernetes.kubernetes_object import KubernetesObject
from platforms.kubernetes import pre_puller as manifest


class PrePullerArgs(TypedDict):
    """Arguments of PrePuller."""

    namespace: pulumi.Input[str]
    """Existing namespace for the DaemonSet."""
    pool: str
    """Pool to pull the images to."""
    images: Mapping[str, pulumi.Input[str]]
    """Image references by name, such as the `ref` of a GpuImage; at least one."""
    wait: NotRequired[bool]
    """The update waits until every node of the pool has every image; default false: failures then show only in the
    DaemonSet's pods."""


class PrePuller(pulumi.ComponentResource):
    """One DaemonSet that pulls images to every node of a pool. Removing it leaves the images in place.

    It requests and holds no GPU.
    """

    daemon_set: pulumi.Output[str]
    """Name of the DaemonSet; `kubectl rollout status daemonset/NAME` shows its progress."""

    def __init__(self, name: str, args: PrePullerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        if not args["images"]:
            raise ValueError(f"{name}.images is empty: name at least one image, or leave the PrePuller out")
        if missing := [image for image, given in args["images"].items() if given is None]:
            raise ValueError(f'{name}.images["{missing[0]}"] is None; give an image, or leave it out')
        super().__init__("gpu-commons:index:PrePuller", name, {**args}, opts)
        metadata: Any = {"name": name, "namespace": args["namespace"]}
        if not args.get("wait"):
            metadata["annotations"] = {"pulumi.com/skipAwait": "true"}
        spec: Any = manifest.daemon_set_spec(name, args["pool"], args["images"])
        made = KubernetesObject(
            "DaemonSet", f"{name}-images", {"metadata": metadata, "spec": spec}, pulumi.ResourceOptions(parent=self)
        )
        self.daemon_set = made.metadata["name"]
        self.register_outputs({"daemon_set": self.daemon_set})
