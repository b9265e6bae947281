"""The small stack with a GPU framework that every registry-only machine can really build and read."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab import processes
from lab.instance import open_instance

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
TARGETS = ("gateway-client", "kernel", "batch")


def image_config(registry: str, repository: str, digest: str) -> dict[str, Any]:
    """Configuration of an image, read from the registry by digest."""
    with httpx.Client(base_url=f"http://{registry}/v2/{repository}/") as client:
        manifest = client.get(
            f"manifests/{digest}", headers={"Accept": "application/vnd.oci.image.manifest.v1+json"}
        ).json()
        return dict(client.get(f"blobs/{manifest['config']['digest']}", follow_redirects=True).json())


@pytest.fixture
def state_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with a short path, because the builder's socket lies below it."""
    with tempfile.TemporaryDirectory(prefix="gc-") as folder:
        monkeypatch.setenv("XDG_STATE_HOME", folder)
        yield


@pytest.mark.usefixtures("state_home")
def test_the_cupy_stack_builds_each_image_of_the_spec_and_says_what_is_in_it() -> None:
    lab = [sys.executable, "-m", "lab", "--instance", "cupy"]
    project = Path(__file__).parents[2]
    try:
        output = processes.run([*lab, "up", "--stack", "cupy"], cwd=project, timeout_s=800)
        assert "cupy is up." in output
        assert "checked: 2 servers run" in output, "images need a registry and a builder, and no cluster"
        pushed = dict(re.findall(r"gpu-commons/(cupy-notebook[a-z-]*)@(sha256:[0-9a-f]{64})", output))
        assert set(pushed) == {"cupy-notebook", *(f"cupy-notebook-{target}" for target in TARGETS)}
        for name, digest in pushed.items():
            config = image_config(open_instance("cupy").registry_address, f"gpu-commons/{name}", digest)["config"]
            labels = config["Labels"]
            target = name.removeprefix("cupy-notebook").lstrip("-")
            assert labels.get("org.gpu-commons.target", "") == target
            line = "" if target == "gateway-client" else "12.9"
            assert labels.get("org.gpu-commons.spec.cuda-line", "") == line
            assert config["User"] not in {"", "0", "root"}
    finally:
        processes.run([*lab, "clean"], cwd=project)
