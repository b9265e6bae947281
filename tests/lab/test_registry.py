from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from lab import processes
from lab.instance import Instance, LabError
from lab.servers import registry
from lab.toolchain import Toolchain

MEDIA_TYPE = "application/vnd.oci.image.manifest.v1+json"


@pytest.fixture
def running(tmp_path: Path, new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    instance = new_instance(tmp_path, "registry")
    processes.start(instance, registry.server(instance, Toolchain()))
    yield instance
    processes.stop(instance, "registry")


def push_empty_image(instance: Instance) -> str:
    """An image without layers, by hand; returns its digest."""
    url = f"http://{instance.registry_address}"
    config = b'{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}'
    config_digest = f"sha256:{hashlib.sha256(config).hexdigest()}"
    place = httpx.post(f"{url}/v2/one/blobs/uploads/").headers["location"]
    httpx.put(place, params={**httpx.URL(place).params, "digest": config_digest}, content=config).raise_for_status()
    described = {
        "mediaType": "application/vnd.oci.image.config.v1+json",
        "digest": config_digest,
        "size": len(config),
    }
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MEDIA_TYPE, "config": described, "layers": []})
    answer = httpx.put(f"{url}/v2/one/manifests/1", content=manifest, headers={"Content-Type": MEDIA_TYPE})
    answer.raise_for_status()
    return str(answer.headers["docker-content-digest"])


def test_it_listens_on_loopback_only_and_keeps_its_data_in_the_instance(tmp_path: Path) -> None:
    instance = Instance("x", 0, tmp_path, {"registry": 5001})
    configuration = registry.configuration(instance)
    assert configuration["http"] == {"addr": "127.0.0.1:5001"}
    assert configuration["storage"]["filesystem"] == {"rootdirectory": f"{tmp_path}/data/registry"}  # type: ignore[index]


@pytest.mark.lab
def test_a_pushed_manifest_can_be_deleted(running: Instance) -> None:
    digest = push_empty_image(running)
    manifest = f"http://{running.registry_address}/v2/one/manifests/{digest}"
    assert httpx.head(manifest, headers={"Accept": MEDIA_TYPE}).status_code == 200
    assert httpx.delete(manifest).status_code == 202
    assert httpx.head(manifest, headers={"Accept": MEDIA_TYPE}).status_code == 404


@pytest.mark.lab
def test_images_outlive_a_restart(running: Instance) -> None:
    digest = push_empty_image(running)
    processes.stop(running, "registry")
    processes.start(running, registry.server(running, Toolchain()))
    manifest = f"http://{running.registry_address}/v2/one/manifests/{digest}"
    assert httpx.head(manifest, headers={"Accept": MEDIA_TYPE}).status_code == 200


@pytest.mark.lab
def test_a_taken_port_is_an_error_that_shows_the_log(tmp_path: Path, new_instance: Callable[..., Instance]) -> None:
    instance = new_instance(tmp_path, "registry")
    with socket.socket() as other:
        other.bind(("127.0.0.1", instance.ports["registry"]))
        other.listen()
        with pytest.raises(LabError, match="address already in use"):
            processes.start(instance, registry.server(instance, Toolchain()))
