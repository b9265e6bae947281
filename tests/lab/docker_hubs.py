"""A hub on a Docker engine of the tests: its containers, as the component makes them, and people who use it."""

from __future__ import annotations

import json
import re
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from hosts.cards import subnet
from lab.instance import Instance
from lab.servers import docker
from tests.lab import docker_engines as engines
from tests.lab.docker_hub_settings import CARDS, HUB, hub_json
from tests.lab.docker_people import PASSWORD, Person, logged_in, until

HUB_FILES: Final = Path(__file__).parents[2] / "hosts" / "hub_files"


@dataclass(frozen=True)
class DockerHub:
    """What runs, and how it is asked."""

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
        with relayed(work, Path(urlsplit(docker.address(instance)).path)), hub.clients:
            _make(hub)
            hub.ready()
            yield hub
    finally:
        remove(hub)


@contextmanager
def relayed(folder: Path, engine: Path) -> Iterator[list[str]]:
    """The two sockets in place of the filter: they hand everything on, and keep the first lines of requests."""
    asked: list[str] = []

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.socket(socket.AF_UNIX) as upstream:
                upstream.connect(str(engine))
                back = threading.Thread(target=_pump, args=(upstream, self.request, None), daemon=True)
                back.start()
                _pump(self.request, upstream, asked)
                back.join()

    with ExitStack() as stack:
        for name in ("hub.sock", "kernels.sock"):
            server = stack.enter_context(socketserver.ThreadingUnixStreamServer(str(folder / name), Relay))
            (folder / name).chmod(0o666)
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
        folder.chmod(0o755)
        yield asked


def _pump(source: socket.socket, target: socket.socket, asked: list[str] | None) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            if asked is not None and re.match(rb"[A-Z]+ /", data):
                asked.append(data.split(b"\r\n")[0].decode())
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def start_hub(hub: DockerHub) -> None:
    """The hub's own container. It reaches the engine through what stands in for the filter."""
    hub.docker(
        *("run", "-d", "--name", f"{HUB}-hub", "--network", HUB, "--user", "1000"),
        *("--env", "PYTHONPATH=/program"),
        *("--mount", f"type=volume,source={HUB}-program,target=/program,readonly"),
        *("--mount", f"type=volume,source={HUB}-credentials,target=/credentials,readonly"),
        *("--mount", f"type=volume,source={HUB}-database,target=/srv/jupyterhub"),
        *("--mount", f"type=bind,source={hub.work},target=/run/engine,readonly"),
        *("--workdir", "/srv/jupyterhub", hub.images["hub"]),
        *("jupyterhub", "--config", "/program/hub_files/jupyterhub_config.py"),
    )


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
    for index in range(CARDS):
        pool = ("--subnet", str(subnet(cards, index)), "--internal")
        hub.docker("network", "create", *pool, f"gpu-commons-card-{index}")
    (work / "hub.json").write_text(json.dumps(hub_json(hub.images)))
    for name, text in (("cookie-secret", "ab" * 32), ("proxy-token", "cd" * 32), ("login-password", PASSWORD)):
        (work / name).write_text(text)
    mounts = {"program": "/program", "credentials": "/credentials"}
    words = [f"--mount=type=volume,source={HUB}-{name},target={target}" for name, target in mounts.items()]
    hub.docker("create", "--name", f"{HUB}-setup", "--user", "0", *words, hub.images["hub"], "true")
    hub.docker("cp", str(HUB_FILES), f"{HUB}-setup:/program/hub_files")
    hub.docker("cp", str(work / "hub.json"), f"{HUB}-setup:/program/hub.json")
    for name in ("cookie-secret", "proxy-token", "login-password"):
        hub.docker("cp", str(work / name), f"{HUB}-setup:/credentials/{name}")
    hub.docker("start", "--attach", f"{HUB}-setup")
    hub.docker(
        *("volume", "create", "--driver", "local", "--opt", "type=none", "--opt", "o=bind"),
        *("--opt", f"device={work}", f"{HUB}-kernels"),
    )
    hub.docker(
        *("run", "-d", "--name", f"{HUB}-proxy", "--network", HUB, "--env", f"CONFIGPROXY_AUTH_TOKEN={'cd' * 32}"),
        *(hub.images["proxy"], "--ip=0.0.0.0", "--port=8000", "--api-ip=0.0.0.0", "--api-port=8001"),
        *(f"--default-target=http://{HUB}-hub:8081", f"--error-target=http://{HUB}-hub:8081/hub/error"),
    )
    start_hub(hub)
