"""DockerGpuContainer: one container on a Docker host, with a runtime profile and its own GPUs."""

from typing import Any

import pulumi
import pulumi_docker as docker

from components.argument_errors import explained
from components.on_docker.docker_gpu_container_args import DockerGpuContainerArgs
from platforms.docker.container import container_args, parse_container


class DockerGpuContainer(pulumi.ComponentResource):
    """One container. Its runtime profile is complete: no limit is left to engine defaults."""

    container_name: pulumi.Output[str]
    """Name of the container; `docker logs NAME` reads its log."""
    log: pulumi.Output[str | None]
    """Output of a batch run; none for a service."""

    def __init__(self, name: str, args: DockerGpuContainerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        given = {key: value for key, value in args.items() if key != "network"}
        with explained():
            shape = parse_container(name, given)
        super().__init__("gpu-commons:index:DockerGpuContainer", name, {**args}, opts)
        image = docker.RemoteImage(
            f"{name}-image", name=shape.image, keep_locally=True, opts=pulumi.ResourceOptions(parent=self)
        )
        inputs: dict[str, Any] = container_args(name, shape, args["network"])
        container = docker.Container(
            f"{name}-container",
            **inputs,
            # Containers cannot be changed in place, and two cannot share a name or port.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[image], delete_before_replace=True),
        )
        self.container_name = container.name
        self.log = container.container_logs
        self.register_outputs({"container_name": self.container_name, "log": self.log})
