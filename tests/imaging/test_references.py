"""Image references."""

from __future__ import annotations

import pytest
from rows import each_row

from compat.evidence.names.image_name import read_image
from imaging.references import ImageReference

DIGEST = "sha256:" + "0123456789abcdef" * 4


@each_row(
    ("text", "parts"),
    [
        ("nvcr.io/nvidia/driver:418.88", ("nvcr.io", "nvidia/driver", "418.88", None)),
        (f"127.0.0.1:5000/lab/device-plugin@{DIGEST}", ("127.0.0.1:5000", "lab/device-plugin", None, DIGEST)),
        (f"quay.io/a/b:1@{DIGEST}", ("quay.io", "a/b", "1", DIGEST)),
        ("jupyter/scipy-notebook", ("docker.io", "jupyter/scipy-notebook", None, None)),
        ("localhost/hub", ("localhost", "hub", None, None)),
        ("hub", ("docker.io", "hub", None, None)),
        ("index.docker.io/nvidia/cuda:1", ("docker.io", "nvidia/cuda", "1", None)),
        ("registry.hub.docker.com/library/debian", ("docker.io", "library/debian", None, None)),
    ],
)
def test_a_reference_falls_into_its_parts(text: str, parts: tuple[str | None, ...]) -> None:
    found = ImageReference.parse(text)
    assert (found.registry, found.repository, found.tag, found.digest) == parts
    assert ImageReference.parse(str(found)) == found


@each_row(
    ("text", "name"),
    [
        ("docker.io/library/debian:12", "debian"),
        ("registry-1.docker.io/nvidia/cuda", "nvidia/cuda"),
        ("nvcr.io/nvidia/pytorch:24.05-py3", "nvcr.io/nvidia/pytorch"),
        ("127.0.0.1:5000/library/debian", "127.0.0.1:5000/library/debian"),
    ],
)
def test_people_leave_out_docker_hub_and_its_library(text: str, name: str) -> None:
    assert ImageReference.parse(text).name == name
    if not text.startswith("127."):
        assert read_image(text).repository == name


@each_row(
    "text",
    [
        "",
        "Hub",
        "a:b:c",
        "http://x/y",
        "x y",
        "nvcr.io/",
        "/hub",
        "a//b",
        "hub@sha256:12",
        "hub:",
        "nv_cr.io/hub",
        "[::1]:5000/x",
        f"registry.example.edu/{'a' * 235}:1",
    ],
)
def test_text_that_is_not_a_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an image reference"):
        ImageReference.parse(text)
