"""DockerHub: JupyterHub on one Docker host, with GPUs in user servers or in separate kernels."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_docker as docker

from components.argument_errors import explained
from components.on_docker.docker_hub_args import DockerHubArgs
from components.on_docker.hub_servers import HubServers, HubServersArgs
from platforms.docker import hub_containers as containers
from platforms.docker.engine_filter import render_filter
from platforms.docker.hub import checksum, hub_document, hub_text
from platforms.docker.hub_model import Hub, parse_hub
from platforms.docker.hub_names import Names
from workloads.hub_programs import hub_programs


class DockerHub(pulumi.ComponentResource):
    """A JupyterHub on one Docker host. Everything it creates there has the hub's name as prefix.

    Database, credentials and homes are volumes that survive `destroy`; the next `up` reuses them.
    """

    url: pulumi.Output[str]
    """Public URL."""
    network: pulumi.Output[str]
    """Network of proxy, hub and user servers."""
    container_name: pulumi.Output[str]
    """JupyterHub container; `docker logs NAME` reads its log."""

    def __init__(self, name: str, args: DockerHubArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        with explained():
            hub, names = parse_hub(name, args), Names(name)
        super().__init__("gpu-commons:index:DockerHub", name, {**args}, opts)
        self._name = name
        network = docker.Network(f"{name}-network", name=name, driver="bridge", opts=self._child())
        control = docker.Network(
            f"{name}-control", name=names.control, driver="bridge", internal=True, opts=self._child()
        )
        lasting = [self._volume(names.database, lasts=True)]
        passing = [
            self._volume(each, lasts=False)
            for each in (names.credentials, names.tls, names.program, names.engine, names.kernels)
        ]
        images = self._images(hub)
        volumes = [*lasting, *passing]

        ends: HubServersArgs = {"hub": name, "engine": hub.engine}
        if hub.certificates:
            ends["certificates"] = hub.certificates
        before = pulumi.ResourceOptions(parent=self, depends_on=[network, *passing])
        servers = HubServers(f"{name}-servers", ends, before)
        document = pulumi.Output.from_input(hub_document(name, hub))
        files = {
            "hub.json": document.apply(hub_text),
            **{f"hub_files/{file}": content for file, content in hub_programs("platforms.docker").items()},
        }
        engine = self._container(
            "engine",
            containers.filter_container(names, hub, document.apply(render_filter)),
            *volumes,
            images[hub.filter_image_name],
        )
        setup = self._container(
            "setup", containers.setup_container(names, hub, files), *volumes, images[hub.hub_image_name]
        )
        proxy = self._container(
            "proxy",
            containers.proxy_container(names, hub, network.name, control.name),
            *(setup, network, control, images[hub.proxy_image_name]),
        )
        inputs = containers.hub_container(names, hub, network.name, control.name)
        # A change of its files creates a new container; user servers keep running.
        inputs["labels"] = [*inputs["labels"], {"label": containers.CHECKSUM, "value": _checksum(files)}]
        # It depends on the server teardown, so it is removed first: it would start new servers.
        process = self._container("hub", inputs, setup, engine, proxy, servers, images[hub.hub_image_name])

        # The provider waits for a run to end but ignores its exit code.
        written = pulumi.Output.all(setup.exit_code, setup.container_logs).apply(lambda end: _written(names, *end))
        self.url = pulumi.Output.all(process.id, written).apply(lambda _: hub.url)
        self.network = network.name
        self.container_name = process.name
        self.register_outputs(
            {"url": self.url, "network": self.network, "container_name": self.container_name},
        )

    def _images(self, hub: Hub) -> dict[str, docker.RemoteImage]:
        """Images pulled before anything starts; profile images too, so that nobody waits for a pull."""
        wanted = {
            hub.hub_image_name: hub.hub_image,
            hub.proxy_image_name: hub.proxy_image,
            hub.filter_image_name: hub.filter_image,
            **({hub.gateway_image_name: hub.gateway_image} if hub.has_kernels else {}),
        }
        for profile in hub.profiles:
            wanted[profile.image_name] = profile.image
            wanted |= {kernel.image_name: kernel.image for kernel in profile.kernels}
        return {
            called: docker.RemoteImage(
                f"{self._name}-image-{called}", name=image, keep_locally=True, opts=self._child()
            )
            for called, image in wanted.items()
        }

    def _volume(self, called: str, *, lasts: bool) -> docker.Volume:
        """A lasting volume survives `destroy`; the engine returns it for the same name later."""
        opts = pulumi.ResourceOptions(parent=self, retain_on_delete=lasts)
        return docker.Volume(f"{called}-volume", name=called, opts=opts)

    def _container(self, part: str, args: Mapping[str, Any], *after: pulumi.Resource) -> docker.Container:
        # Containers cannot be changed in place, and two cannot share a name or port.
        opts = pulumi.ResourceOptions(parent=self, depends_on=list(after), delete_before_replace=True)
        return docker.Container(f"{self._name}-{part}", **args, opts=opts)

    def _child(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self)


def _written(names: Names, exit_code: int | None, log: str | None) -> None:
    """Raise with the setup's output if it failed."""
    if exit_code:
        raise pulumi.RunError(
            f"hub {names.hub}: container {names.setup} ended with exit code {exit_code}: {(log or '').strip()}; "
            f"correct it on the host, run docker start --attach {names.setup} there, then update with --refresh"
        )


def _checksum(files: Mapping[str, Any]) -> pulumi.Output[str]:
    return pulumi.Output.from_input(dict(files)).apply(checksum)
