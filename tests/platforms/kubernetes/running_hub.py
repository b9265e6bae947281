"""A real JupyterHub with the files of a NotebookHub, on a recorded cluster and without a proxy."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from components.on_kubernetes.notebook_hub import hub_files as files_of_every_hub
from platforms.kubernetes import hub as objects
from workloads.hub import Hub

PASSWORD = "born-in-the-cluster"  # noqa: S105 - of nobody
STARTS_WITHIN_S = 60
# What the lab's hub has from its pod: a proxy, a service account, an address.
CHANGES = """
from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    should_start = False

    async def add_route(self, routespec, target, data):
        pass

    async def delete_route(self, routespec):
        pass

    async def get_all_routes(self):
        return {}


c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.hub_bind_url = "http://127.0.0.1:@PORT@"
c.JupyterHub.hub_connect_url = "http://127.0.0.1:@PORT@"
c.JupyterHub.db_url = "sqlite:///hub.sqlite"
c.JupyterHub.services = []
c.JupyterHub.load_roles = []
c.KubeSpawner.modify_pod_hook = None
c.KubeSpawner.namespace = "hub"
"""
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: recorded, cluster: {server: "@SERVER@"}}]
users: [{name: recorded, user: {}}]
contexts: [{name: recorded, context: {cluster: recorded, user: recorded}}]
current-context: recorded
"""


@dataclass(frozen=True)
class RunningHub:
    url: str
    clients: ExitStack

    def student(self, name: str) -> Student:
        """Somebody who has logged in."""
        client = self.clients.enter_context(httpx.Client(base_url=self.url, follow_redirects=True, timeout=30))
        page = client.get("/hub/login")
        (token,) = set(re.findall(r'name="_xsrf" value="([^"]+)"', page.text))
        answer = client.post("/hub/login?next=/hub/home", data={"username": name, "password": PASSWORD, "_xsrf": token})
        assert "/hub/home" in str(answer.url), answer.text
        return Student(client, name)


@dataclass(frozen=True)
class Student:
    client: httpx.Client
    name: str

    def start(self, profile: str) -> str:
        """Choose a profile on the spawn page; the page that comes then."""
        token = self.client.cookies.get("_xsrf", path="/hub/")
        return self.client.post(f"/hub/spawn/{self.name}", data={"profile": profile, "_xsrf": token}).text

    def events(self) -> Iterator[dict[str, Any]]:
        """What the waiting page gets, until it ends."""
        token = self.client.cookies.get("_xsrf", path="/hub/")
        url = f"/hub/api/users/{self.name}/server/progress"
        with self.client.stream("GET", url, params={"_xsrf": token}) as stream:
            assert stream.status_code == 200, stream.read()
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def page(self, path: str) -> httpx.Response:
        return self.client.get(path)


@contextmanager
def running_hub(hub: Hub, cluster: str, folder: Path, more: str = "") -> Iterator[RunningHub]:
    """The hub while it runs; `more` is added to its configuration."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inside = folder / "hub_files"
    inside.mkdir()
    files = files_of_every_hub()
    config = files[objects.CONFIG_FILE] + CHANGES.replace("@PORT@", str(port)) + more
    data = objects.config_data(
        hub, files={**files, objects.CONFIG_FILE: config}, images=objects.image_table(hub.images)
    )
    for name, text in data.items():
        (inside / name).write_text(text)
    (folder / "kubeconfig").write_text(KUBECONFIG.replace("@SERVER@", cluster))
    variables = {"DUMMY_PASSWORD": PASSWORD, "KUBECONFIG": str(folder / "kubeconfig"), "NO_PROXY": "*"}
    with (folder / "hub.log").open("w") as log:
        argv = [sys.executable, "-m", "jupyterhub", "--config", str(inside / objects.CONFIG_FILE)]
        process = subprocess.Popen(argv, cwd=folder, env={**os.environ, **variables}, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(f"{url}/hub/health", process, folder / "hub.log")
        with ExitStack() as clients:
            yield RunningHub(url, clients)
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError(log.read_text())
