"""DockerHub: JupyterHub on one Docker host, with GPUs in users' servers or in kernels of their own."""

from collections.abc import Mapping
from importlib import resources
from typing import Any

import pulumi
import pulumi_docker as docker

from components.on_docker.docker_hub_args import DockerHubArgs
from components.on_docker.hub_servers import HubServers, HubServersArgs
from errors.problems import SettingsError
from platforms.docker import hub_containers as containers
from platforms.docker.engine_filter import render_filter
from platforms.docker.hub import checksum, hub_document, hub_text
from platforms.docker.hub_arguments import parse_hub
from platforms.docker.hub_model import Hub
from platforms.docker.hub_names import Names


class DockerHub(pulumi.ComponentResource):
    """A JupyterHub on one Docker host. All that it makes on the host has a name that begins with the hub's.

    Database, credentials and homes are volumes that survive `destroy` and are used again by the next `up`.
    """

    url: pulumi.Output[str]
    """Address that people open."""
    network: pulumi.Output[str]
    """Network of the proxy, the hub and the users' servers."""
    container_name: pulumi.Output[str]
    """Container of JupyterHub itself; `docker logs NAME` reads its log."""

    def __init__(self, name: str, args: DockerHubArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        hub, names = _parsed(name, args), Names(name)
        super().__init__("gpu-commons:index:DockerHub", name, {**args}, opts)
        self._name = name
        network = docker.Network(f"{name}-network", name=name, driver="bridge", opts=self._child())
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
            **{f"hub_files/{file}": content for file, content in hub_files().items()},
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
            "proxy", containers.proxy_container(names, hub, network.name), setup, network, images[hub.proxy_image_name]
        )
        inputs = containers.hub_container(names, hub, network.name)
        # A change of what it runs makes a new container; servers go on.
        inputs["labels"] = [*inputs["labels"], {"label": containers.CHECKSUM, "value": _checksum(files)}]
        # It depends on the end of servers, which so comes after its own: it would start new ones.
        process = self._container("hub", inputs, setup, engine, proxy, servers, images[hub.hub_image_name])

        # The provider waits for the end of a run and does not mind how it ended.
        written = pulumi.Output.all(setup.exit_code, setup.container_logs).apply(lambda end: _written(names, *end))
        self.url = pulumi.Output.all(process.id, written).apply(lambda _: hub.url)
        self.network = network.name
        self.container_name = process.name
        self.register_outputs(
            {"url": self.url, "network": self.network, "container_name": self.container_name},
        )

    def _images(self, hub: Hub) -> dict[str, docker.RemoteImage]:
        """On the host before anything starts; those of profiles as well, so that nobody waits for a pull."""
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
        """One that lasts is left by `destroy`, and an engine gives it to whoever asks for its name again."""
        opts = pulumi.ResourceOptions(parent=self, retain_on_delete=lasts)
        return docker.Volume(f"{called}-volume", name=called, opts=opts)

    def _container(self, part: str, args: Mapping[str, Any], *after: pulumi.Resource) -> docker.Container:
        # A container cannot be changed in place, and two of one name or one port cannot be there.
        opts = pulumi.ResourceOptions(parent=self, depends_on=list(after), delete_before_replace=True)
        return docker.Container(f"{self._name}-{part}", **args, opts=opts)

    def _child(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self)


def _parsed(name: str, args: DockerHubArgs) -> Hub:
    try:
        return parse_hub(name, args)
    except SettingsError as error:
        raise pulumi.RunError(str(error)) from None


def _written(names: Names, exit_code: int | None, log: str | None) -> None:
    """Raises where the setup has failed, with its words."""
    if exit_code:
        raise pulumi.RunError(
            f"hub {names.hub}: container {names.setup} ended with exit code {exit_code}: {(log or '').strip()}; "
            f"correct it on the host, run docker start --attach {names.setup} there, then update with --refresh"
        )


def _checksum(files: Mapping[str, Any]) -> pulumi.Output[str]:
    return pulumi.Output.from_input(dict(files)).apply(checksum)


def hub_files() -> dict[str, str]:
    """Programs of every hub by name: they run in the hub, in kernel gateways, and before both."""
    folder = resources.files("platforms.docker").joinpath("hub_files")
    return {
        each.name: each.read_text()
        for each in sorted(folder.iterdir(), key=str)
        if each.name.endswith((".py", ".html"))
    }
