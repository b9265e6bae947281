"""A real JupyterHub of the version in our hub image, with our configuration and pages, and without a cluster."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from components.on_kubernetes.notebook_hub import hub_files
from platforms.kubernetes import hub as objects
from platforms.kubernetes.hub_arguments import parse_hub
from platforms.kubernetes.hub_page import PAGE_FILE

sys.path.insert(0, str(Path(__file__).parent))  # for asking.py: folders of tests are no packages here
from asking import PASSWORD, Asker

STUB = Path(__file__).with_name("stub_config.py")
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
            folder = tmp_path_factory.mktemp("hub")
            files = folder / "hub_files"
            files.mkdir()
            one = parse_hub("datahub", args)
            data = objects.config_data(one, files=hub_files(), images=objects.image_table(one.images))
            for name, text in data.items():
                (files / name).write_text(text)
            page = json.loads((files / PAGE_FILE).read_text())
            (files / PAGE_FILE).write_text(json.dumps({**page, "availability_url": availability_url}))
            (folder / "kubeconfig").write_text(yaml.safe_dump(NO_CLUSTER))
            port = free_port()
            environment = {
                **os.environ,
                "DUMMY_PASSWORD": PASSWORD,
                "FILES": str(files),
                "KUBECONFIG": str(folder / "kubeconfig"),
                "PORT": str(port),
            }
            log = (folder / "log").open("w")
            ends.callback(log.close)
            argv = [sys.executable, "-m", "jupyterhub", "-f", str(STUB)]
            process = subprocess.Popen(argv, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
            ends.callback(process.wait, 20)
            ends.callback(process.terminate)
            asker = Asker(f"http://127.0.0.1:{port}", folder / "log")
            wait_for_answer(asker, process)
            return asker

        yield start


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
