"""A hub on a Docker engine of the tests: its containers, as the component makes them, and people who use it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from lab.instance import Instance
from lab.servers import docker
from platforms.docker.engine_filter import COMMAND, render_filter
from platforms.docker.gpu_leases import subnet
from platforms.docker.hub import PROXY_API
from tests.lab import docker_engines as engines
from tests.lab.docker_hub_settings import CARDS, HUB, hub_json
from tests.lab.docker_people import PASSWORD, Person, logged_in, until
from workloads.hub_programs import PACKAGE, hub_programs


@dataclass(frozen=True)
class DockerHub:
    """What runs, and how it is reached."""

    instance: Instance
    images: dict[str, str]
    work: Path
    clients: ExitStack = field(default_factory=ExitStack)

    def docker(self, *words: str) -> str:
        """What Docker's client prints."""
        return engines.client(self.instance, *words)

    def inspect(self, name: str) -> dict[str, Any]:
        return engines.inspect(self.instance, name)

    def containers(self, part: str) -> list[str]:
        """Names of what the hub made for people and runs: `server`, `gateway`, `kernel`."""
        found = self.docker("ps", "--filter", f"name=^{HUB}-{part}-", "--format", "{{.Names}}")
        return sorted(found.split())

    def holders(self) -> dict[int, str]:
        """Who is attached to the network of which card."""
        found = {}
        for index in range(CARDS):
            text = self.docker("network", "inspect", f"gpu-commons-card-{index}", "--format", "{{json .Containers}}")
            for each in json.loads(text).values():
                found[index] = each["Name"]
        return found

    @property
    def url(self) -> str:
        """The proxy, from the machine."""
        return f"http://{self._address('proxy')}:8000"

    def _address(self, part: str) -> str:
        return str(self.inspect(f"{HUB}-{part}")["NetworkSettings"]["Networks"][HUB]["IPAddress"])

    def logs(self) -> str:
        """Of the hub, for a test that fails."""
        return self.docker("logs", f"{HUB}-hub")

    def ready(self) -> None:
        """Wait for the hub behind its proxy."""
        is_up = lambda: httpx.get(f"{self.url}/hub/health", timeout=5).is_success  # noqa: E731
        try:
            until(is_up, "the hub", 60)
        except AssertionError as error:
            raise AssertionError(self.logs()) from error

    def person(self, name: str) -> Person:
        """Somebody who has logged in."""
        return logged_in(self.url, name, self.clients)


@contextmanager
def running_hub(instance: Instance, images: dict[str, str], work: Path) -> Iterator[DockerHub]:
    """Networks, volumes and the containers of a hub; all of it is removed afterwards."""
    hub = DockerHub(instance, images, work)
    try:
        with hub.clients:
            _make(hub)
            hub.ready()
            yield hub
    finally:
        remove(hub)


def start_hub(hub: DockerHub) -> None:
    """The hub's own container, beside its filter and its proxy."""
    hub.docker(
        *("create", "--name", f"{HUB}-hub", "--network", HUB, "--user", "1000"),
        *("--env", "PYTHONPATH=/program"),
        *("--mount", f"type=volume,source={HUB}-program,target=/program,readonly"),
        *("--mount", f"type=volume,source={HUB}-credentials,target=/credentials,readonly"),
        *("--mount", f"type=volume,source={HUB}-database,target=/srv/jupyterhub"),
        *("--mount", f"type=volume,source={HUB}-engine,target=/run/engine,readonly"),
        *("--workdir", "/srv/jupyterhub", hub.images["hub"]),
        *("jupyterhub", "--config", "/program/hub_files/jupyterhub_config.py"),
    )
    hub.docker("network", "connect", f"{HUB}-control", f"{HUB}-hub")
    hub.docker("start", f"{HUB}-hub")


def remove(hub: DockerHub) -> None:
    """Everything of the hub, and what people have there."""
    names = hub.docker("ps", "--all", "--format", "{{.Names}}").split()
    if ours := [name for name in names if name.startswith(f"{HUB}-")]:
        hub.docker("rm", "--force", *ours)
    networks = hub.docker("network", "ls", "--format", "{{.Name}}").split()
    if ours := [each for each in networks if each == HUB or each.startswith((f"{HUB}-", "gpu-commons-card-"))]:
        hub.docker("network", "rm", *ours)
    if ours := [each for each in hub.docker("volume", "ls", "--quiet").split() if each.startswith(f"{HUB}-")]:
        hub.docker("volume", "rm", *ours)


def _make(hub: DockerHub) -> None:
    work = hub.work
    cidr = hub.instance.networks.docker_cidr
    cards = cidr.replace(".0.0/16", ".250.0/24")
    hub.docker("network", "create", HUB)
    hub.docker("network", "create", "--internal", f"{HUB}-control")
    for index in range(CARDS):
        pool = ("--subnet", str(subnet(cards, index)), "--internal")
        hub.docker("network", "create", *pool, f"gpu-commons-card-{index}")
    (work / "hub.json").write_text(json.dumps(hub_json(hub.images)))
    for name, text in (("cookie-secret", "ab" * 32), ("proxy-token", "cd" * 32), ("login-password", PASSWORD)):
        (work / name).write_text(text)
    mounts = {"program": "/program", "credentials": "/credentials"}
    words = [f"--mount=type=volume,source={HUB}-{name},target={target}" for name, target in mounts.items()]
    hub.docker("create", "--name", f"{HUB}-setup", "--user", "0", *words, hub.images["hub"], "true")
    programs = work / PACKAGE
    programs.mkdir()
    for name, text in hub_programs("platforms.docker").items():
        (programs / name).write_text(text)
    hub.docker("cp", str(programs), f"{HUB}-setup:/program/{PACKAGE}")
    hub.docker("cp", str(work / "hub.json"), f"{HUB}-setup:/program/hub.json")
    for name in ("cookie-secret", "proxy-token", "login-password"):
        hub.docker("cp", str(work / name), f"{HUB}-setup:/credentials/{name}")
    hub.docker("start", "--attach", f"{HUB}-setup")
    _start_filter(hub)
    proxy = f"{HUB}-proxy"
    hub.docker(
        *("create", "--name", proxy, "--network", HUB, "--env", f"CONFIGPROXY_AUTH_TOKEN={'cd' * 32}"),
        *(hub.images["proxy"], "--ip=0.0.0.0", "--port=8000", f"--api-ip={PROXY_API}", "--api-port=8001"),
        *(f"--default-target=http://{HUB}-hub:8081", f"--error-target=http://{HUB}-hub:8081/hub/error"),
    )
    hub.docker("network", "connect", "--alias", PROXY_API, f"{HUB}-control", proxy)
    hub.docker("start", proxy)
    start_hub(hub)


def _start_filter(hub: DockerHub) -> None:
    name, folder = f"{HUB}-engine", "/etc/gpu-commons"
    (hub.work / "engine_filter.cfg").write_text(render_filter(hub_json(hub.images)))
    hub.docker(
        *("create", "--name", name, "--user", "0:0", "--network", "none", "--cap-drop", "ALL"),
        *("--mount", f"type=bind,source={urlsplit(docker.address(hub.instance)).path},target=/run/docker.sock"),
        *("--mount", f"type=volume,source={HUB}-engine,target=/run/hub"),
        *("--mount", f"type=volume,source={HUB}-kernels,target=/run/kernels"),
        *(hub.images["filter"], *COMMAND, f"{folder}/engine_filter.cfg"),
    )
    hub.docker("cp", str(hub.work / "engine_filter.cfg"), f"{name}:{folder}/engine_filter.cfg")
    hub.docker("start", name)
