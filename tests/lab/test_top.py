"""`gpu-commons top` on a real engine, and with the real kubectl."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lab.servers import docker
from lab.toolchain import Toolchain
from tests.lab import docker_engines as engines

pytestmark = pytest.mark.lab

PROJECT = Path(__file__).parents[2]


def top(stack: str, **variables: str) -> tuple[int, str, str]:
    argv = [sys.executable, "-m", "cli", "top", "--stack", stack, "--json"]
    done = subprocess.run(
        argv, cwd=PROJECT, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def test_a_container_holds_its_gpu_from_its_start_to_its_end(tmp_path: Path) -> None:
    archive = tmp_path / "busybox.tar"
    with tarfile.open(archive, "w") as file:
        file.add(Toolchain().path("busybox"), "bin/busybox")
    with engines.engine("top") as instance:
        engines.client(instance, "import", str(archive), "busybox")
        card = ("--subnet", "10.99.0.4/30", "--internal", "gpu-commons-card-1")
        engines.client(instance, "network", "create", *card)
        labels = [f"--label=gpu-commons.org/{key}" for key in ("pool=workstation", "hub=dcsg", "user=ada")]
        run = ("run", "--detach", "--init", "--network", "gpu-commons-card-1", "--name", "dcsg-kernel-ada-0", *labels)
        engines.client(instance, *run, "busybox", "/bin/busybox", "sleep", "600")
        overlay = tmp_path / "site.yaml"
        overlay.write_text(f"engines: {{ workstation: '{docker.address(instance)}' }}\n")
        held = gpus(top("perceptron", GPU_COMMONS_SITE=str(overlay)))
        assert [each["state"] for each in held] == ["free", "held"]
        assert (held[1]["holder"], held[1]["user"], held[1]["hub"]) == ("dcsg-kernel-ada-0", "ada", "dcsg")
        assert held[1]["since"].startswith(engines.inspect(instance, "dcsg-kernel-ada-0")["Created"][:16])
        engines.client(instance, "kill", "dcsg-kernel-ada-0")
        assert [each["state"] for each in gpus(top("perceptron", GPU_COMMONS_SITE=str(overlay)))] == ["free", "free"]


def gpus(ended: tuple[int, str, str]) -> list[dict[str, Any]]:
    code, output, errors = ended
    assert (code, errors) == (0, "")
    return list(json.loads(output)["gpus"])


@pytest.fixture
def api() -> Iterator[tuple[str, list[str]]]:
    """A server that answers as the API does, pods in two pages; its address, and the paths that were requested."""
    paths: list[str] = []
    pod = {
        "metadata": {"namespace": "batch", "name": "train", "creationTimestamp": "2026-11-20T08:00:00Z"},
        "spec": {"nodeName": "n01", "containers": [{"resources": {"limits": {"nvidia.com/gpu": "3"}}}]},
    }
    node = {"metadata": {"name": "n01"}, "status": {"allocatable": {"nvidia.com/gpu": "8"}}}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            items = [node] if "/nodes" in self.path else [pod] if "continue=" in self.path else []
            more = {"continue": "a/b="} if not items else {}
            body = json.dumps({"items": items, "metadata": more}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", paths
        server.shutdown()


def kubeconfig(folder: Path, server: str) -> str:
    path = folder / "kubeconfig"
    named = {"name": "c", "cluster": {"server": server}}
    context = {"name": "c", "context": {"cluster": "c", "user": ""}}
    path.write_text(json.dumps({"clusters": [named], "contexts": [context], "current-context": "c"}))
    return str(path)


def with_kubectl() -> str:
    return f"{Toolchain().path('kubectl').parent}:{os.environ['PATH']}"


def test_kubectl_reads_every_page_of_a_large_cluster(api: tuple[str, list[str]], tmp_path: Path) -> None:
    server, paths = api
    found = gpus(top("dsmlp-fall", KUBECONFIG=kubeconfig(tmp_path, server), PATH=with_kubectl(), GPU_COMMONS_SITE=""))
    assert [(each["state"], each["count"], each["holder"]) for each in found] == [
        ("held", 3, "batch/train"),
        ("free", 5, None),
    ]
    assert [path.partition("?")[0] for path in paths] == ["/api/v1/nodes", "/api/v1/pods", "/api/v1/pods"]
    assert "continue=a%2Fb%3D" in paths[-1]


def test_a_cluster_that_is_away_is_one_line_in_kubectls_words(tmp_path: Path) -> None:
    given = kubeconfig(tmp_path, "http://127.0.0.1:9")
    code, output, errors = top("dsmlp-fall", KUBECONFIG=given, PATH=with_kubectl(), GPU_COMMONS_SITE="")
    assert code == 2
    assert json.loads(output)["gpus"] == []
    assert errors.startswith(
        "error: cluster of stack dsmlp-fall: kubectl reported: The connection to the server 127.0.0.1"
    )
    assert errors.count("\n") == 1
