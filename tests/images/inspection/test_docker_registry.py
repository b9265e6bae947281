"""The same against the reference implementation of a registry, where this machine has it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from images.inspection.reading import Inspected

sys.path.insert(0, str(Path(__file__).parent))
from made import OCI_INDEX, OCI_MANIFEST, Image, digest, image, index

Read = Callable[..., Inspected]
PROGRAM = shutil.which("docker-registry")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="docker-registry is not installed")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    """A registry of its own, with its files below the test's folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = tmp_path / "registry.yaml"
    storage = f"storage:\n  filesystem:\n    rootdirectory: {tmp_path / 'blobs'}\n"
    config.write_text(f"version: 0.1\nlog: {{level: error}}\n{storage}http: {{addr: '{address}'}}\n")
    with subprocess.Popen(
        [str(PROGRAM), "serve", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            for _ in range(100):
                try:
                    httpx.get(f"http://{address}/v2/")
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            yield address
        finally:
            server.terminate()


def push(host: str, images: dict[str, Image]) -> str:
    """Push as clients do: blobs, manifests, then the index."""
    base = f"http://{host}/v2/team/tiny"
    with httpx.Client(follow_redirects=True) as client:

        def put(reference: str, content: bytes, kind: str) -> None:
            answer = client.put(f"{base}/manifests/{reference}", content=content, headers={"Content-Type": kind})
            assert answer.status_code == 201, answer.text

        for made in images.values():
            for name, blob in made.all_blobs().items():
                where = client.post(f"{base}/blobs/uploads/").headers["location"]
                assert client.put(httpx.URL(where).copy_merge_params({"digest": name}), content=blob).status_code == 201
            put(digest(made.manifest), made.manifest, OCI_MANIFEST)
        put("1.0", index(images), OCI_INDEX)
    return f"{host}/team/tiny:1.0"


def test_an_image_is_read_back_from_the_reference_registry(host: str, read: Read) -> None:
    amd, arm = image({"etc/os-release": 'PRETTY_NAME="Debian 12"\n'}), image({"a": b"1"}, architecture="arm64")
    reference = push(host, {"linux/amd64": amd, "linux/arm64": arm})
    found = read(reference, deep=True)
    assert found.contents.digest == digest(amd.manifest)
    assert found.contents.deep is not None
    assert found.contents.deep.system == "Debian 12"
    assert read(reference, platform="linux/arm64").contents.digest == digest(arm.manifest)
    assert (
        read(f"{host}/team/tiny@{digest(index({'linux/amd64': amd, 'linux/arm64': arm}))}").contents
        == read(reference).contents
    )
