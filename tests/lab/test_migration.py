"""State that the docker-build stand-in of earlier versions wrote becomes what the plugin itself would have written."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from lab import migration

PROVIDER = "urn:pulumi:s::gpu-commons::pulumi:providers:docker-build::default_0_0_22"
IMAGE = "urn:pulumi:s::gpu-commons::gpu-commons:index:GpuImage$docker-build:index:Image::hub-build"
OTHER = "urn:pulumi:s::gpu-commons::docker-build:index:Image::other"
INPUTS = {"push": False, "tags": ["127.0.0.1:5000/hub:1"], "context": {"location": "images/hub"}}
BUILT = {"contextHash": "the stand-in's", "digest": "sha256:1", "ref": "127.0.0.1:5000/hub:1@sha256:1"}


class Plugin:
    """Answers as the plugin does: it adds defaults, and hashes a context in a way of its own."""

    def configure(self, urn: str) -> dict[str, Any]:
        assert urn == PROVIDER
        return {migration.MARK: True, "host": ""}

    def check(self, urn: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        if inputs["context"]["location"] == "gone":
            raise migration.RefusedError(f"{urn}: gone: not a valid directory")
        return {**inputs, "noCache": False}

    def context_hash(self, urn: str, inputs: Mapping[str, Any]) -> str:
        assert urn == IMAGE
        return f"of {inputs['context']['location']}"


def state(**image: Any) -> list[dict[str, Any]]:
    """A provider and an image as the stand-in left them."""
    found = {"urn": IMAGE, "type": migration.IMAGE, "provider": f"{PROVIDER}::id", "inputs": INPUTS, **image}
    return [
        {"urn": PROVIDER, "type": migration.PROVIDER, "id": "id", "inputs": {"version": "1"}, "outputs": {}},
        {**found, "outputs": {**found["inputs"], **BUILT}},
    ]


def test_an_image_keeps_its_digest_and_gets_the_defaults_and_the_hash_of_the_plugin() -> None:
    resources = state()
    assert migration.needs_adoption(resources)
    assert migration.rewrite(resources, Plugin()) == 1
    provider, image = resources
    assert provider["inputs"] == {"version": "1", migration.MARK: True, "host": ""}
    assert image["inputs"] == {**INPUTS, "noCache": False}
    assert image["outputs"] == {**INPUTS, **BUILT, "noCache": False, "contextHash": "of images/hub"}
    assert not migration.needs_adoption(resources)


@pytest.mark.parametrize(
    "image",
    [
        pytest.param({"urn": OTHER}, id="its tag says nothing of its content"),
        pytest.param({"inputs": {**INPUTS, "secrets": {"token": "x"}}}, id="its secrets are encrypted"),
        pytest.param({"inputs": {**INPUTS, "context": {"location": "gone"}}}, id="the plugin refuses it"),
    ],
)
def test_an_image_that_cannot_be_adopted_is_left_to_the_next_update(image: dict[str, Any]) -> None:
    resources = state(**image)
    before = copy.deepcopy(resources[1])
    assert migration.rewrite(resources, Plugin()) == 0
    assert resources[1] == before


def test_what_the_plugin_wrote_is_left_alone() -> None:
    resources = state()
    resources[0]["inputs"][migration.MARK] = True
    before = copy.deepcopy(resources)
    assert not migration.needs_adoption(resources)
    assert migration.rewrite(resources, Plugin()) == 0
    assert resources == before
    assert not migration.needs_adoption([])


def test_an_object_that_the_stand_in_for_kubernetes_wrote_has_its_inputs_where_the_plugin_looks_for_them() -> None:
    inputs = {"kind": "ConfigMap", "data": {"a": "1"}}
    written = {"type": "kubernetes:core/v1:ConfigMap", "inputs": inputs, "outputs": {**inputs, "status": {}}}
    component = {"type": "gpu-commons:index:NotebookHub", "inputs": {}}
    resources = [written, component, {"type": "pulumi:providers:kubernetes", "inputs": {}, "outputs": {}}]
    assert migration.give_inputs(resources) == 1
    assert written["outputs"] == {**inputs, "status": {}, "__inputs": inputs}
    assert migration.give_inputs(resources) == 0
