"""A real JupyterHub of the version in our hub image, with our configuration and pages, and without a cluster."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from components.on_kubernetes.notebook_hub import hub_files
from platforms.kubernetes import hub as objects
from platforms.kubernetes.hub import parse_hub
from workloads.hub_programs import PACKAGE, hub_programs

sys.path.insert(0, str(Path(__file__).parent))  # for asking.py: folders of tests are no packages here
from asking import PASSWORD, Asker

NO_CLUSTER = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "none",
    "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
    "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:9"}}],
    "users": [{"name": "none", "user": {}}],
}


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Asker]]:
    """Starts hubs with these arguments of NotebookHub; they end with the module."""
    with ExitStack() as ends:

        def start(args: dict[str, Any], availability_url: str | None = None) -> Asker:
            one = parse_hub("datahub", args)
            data = objects.config_data(one, files=hub_files(), images=objects.image_table(one.images))
            page = {**json.loads(data[objects.PAGE_FILE]), "availability_url": availability_url}
            files = {f"{PACKAGE}/{name}": text for name, text in {**data, objects.PAGE_FILE: json.dumps(page)}.items()}
            return running(tmp_path_factory, ends, "stub_config.py", files | {"kubeconfig": yaml.safe_dump(NO_CLUSTER)})

        yield start


@pytest.fixture(scope="module")
def serve_below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Asker]]:
    """Starts hubs of a platform whose files are below a hub.json; they end with the module."""
    with ExitStack() as ends:

        def start(platform: str, document: Mapping[str, Any]) -> Asker:
            secrets = {"cookie-secret": "ab" * 32, "proxy-token": "cd" * 32, "login-password": PASSWORD}
            files = {f"{PACKAGE}/{name}": text for name, text in hub_programs(f"platforms.{platform}").items()}
            files |= {f"credentials/{name}": text for name, text in secrets.items()}
            return running(tmp_path_factory, ends, f"stub_{platform}.py", files | {"hub.json": json.dumps(document)})

        yield start


def running(tmp_path_factory: pytest.TempPathFactory, ends: ExitStack, stub: str, files: Mapping[str, str]) -> Asker:
    """A hub with these files, by path below its folder, and a configuration from here."""
    folder = tmp_path_factory.mktemp("hub")
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    port = free_port()
    environment = {
        **os.environ,
        "DUMMY_PASSWORD": PASSWORD,
        "FILES": str(folder / PACKAGE),
        "KUBECONFIG": str(folder / "kubeconfig"),
        "PORT": str(port),
    }
    log = (folder / "log").open("w")
    ends.callback(log.close)
    argv = [sys.executable, "-m", "jupyterhub", "-f", str(Path(__file__).with_name(stub))]
    process = subprocess.Popen(argv, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    ends.callback(process.wait, 20)
    ends.callback(process.terminate)
    asker = Asker(f"http://127.0.0.1:{port}", folder / "log")
    wait_for_answer(asker, process)
    return asker


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def wait_for_answer(asker: Asker, process: subprocess.Popen[bytes]) -> None:
    for _ in range(120):
        try:
            if httpx.get(f"{asker.url}/hub/health", timeout=2).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.25)
        if process.poll() is not None:
            break
    pytest.fail(f"the hub does not answer:\n{asker.log.read_text()[-4000:]}", pytrace=False)
