"""`gpu-commons inspect` against the reference implementation of a registry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from imaging.inspection.image_locations import read_platform, registry_image
from imaging.inspection.reading import Inspected, inspect
from imaging.inspection.session import Session
from lab import processes
from lab.instance import Instance
from lab.servers import registry
from lab.toolchain import Toolchain

sys.path.insert(0, str(Path(__file__).parents[1] / "imaging/inspection"))
from made import OCI_INDEX, OCI_MANIFEST, Image, digest, image, index

Read = Callable[..., Inspected]


@pytest.fixture
def host(tmp_path: Path, new_instance: Callable[..., Instance]) -> Iterator[str]:
    instance = new_instance(tmp_path, "registry")
    processes.start(instance, registry.server(instance, Toolchain()))
    yield instance.registry_address
    processes.stop(instance, "registry")


@pytest.fixture
def read() -> Iterator[Read]:
    """`read(reference, deep=True)` as the command does it."""
    with Session(find_login=lambda _: None) as session:

        def call(text: str, *, platform: str = "linux/amd64", deep: bool = False) -> Inspected:
            source = registry_image(session, text)
            pinned = source.reference.digest or ""
            return inspect(source, wanted=read_platform(platform), deep=deep, pinned=pinned, store=None)

        yield call


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


@pytest.mark.lab
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
