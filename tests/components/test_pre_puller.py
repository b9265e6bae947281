"""PrePuller brings images to the nodes of one pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from components.on_kubernetes.pre_puller import PrePuller, PrePullerArgs

CUDA = "registry.example.edu/scipy-ml-notebook@sha256:" + "1" * 64
PLAIN = "registry.example.edu/datahub-base-notebook@sha256:" + "2" * 64
ARGS: PrePullerArgs = {
    "namespace": "datahub",
    "pool": "gtx1080ti",
    "images": {"datahub-base-notebook": PLAIN, "scipy-ml-notebook": CUDA},
}


def made(recorded: Callable[..., Any], args: PrePullerArgs) -> dict[str, Any]:
    return dict(recorded(lambda: PrePuller("datahub-gtx1080ti", args) and None).only("apps/v1:DaemonSet").inputs)


def test_each_image_is_pulled_by_a_container_of_its_name(recorded: Callable[..., Any]) -> None:
    pod = made(recorded, ARGS)["spec"]["template"]["spec"]
    assert [(each["name"], each["image"]) for each in pod["initContainers"]] == [
        ("pull-datahub-base-notebook", PLAIN),
        ("pull-scipy-ml-notebook", CUDA),
    ]
    assert [each["image"] for each in pod["containers"]] == [CUDA]


def test_it_reaches_every_node_of_its_pool_and_no_other(recorded: Callable[..., Any]) -> None:
    pod = made(recorded, ARGS)["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"gpu-commons.org/pool": "gtx1080ti"}
    assert pod["tolerations"] == [{"operator": "Exists"}]


def test_it_holds_no_gpu_and_has_no_rights(recorded: Callable[..., Any]) -> None:
    pod = made(recorded, ARGS)["spec"]["template"]["spec"]
    for container in [*pod["initContainers"], *pod["containers"]]:
        assert "nvidia.com/gpu" not in container["resources"]["limits"]
        assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in container["env"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True


def test_an_update_only_waits_for_the_pulls_on_request(recorded: Callable[..., Any]) -> None:
    assert made(recorded, ARGS)["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    assert "annotations" not in made(recorded, {**ARGS, "wait": True})["metadata"]


def test_an_image_that_is_none_is_refused_with_its_name(recorded: Callable[..., Any]) -> None:
    args: Any = {**ARGS, "images": {"ml": None}}
    with pytest.raises(ValueError, match=r'datahub-gtx1080ti\.images\["ml"\] is None; give an image, or leave it out'):
        recorded(lambda: PrePuller("datahub-gtx1080ti", args) and None)


def test_a_pre_puller_without_images_is_refused(recorded: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"datahub-gtx1080ti\.images is empty"):
        recorded(lambda: PrePuller("datahub-gtx1080ti", {**ARGS, "images": {}}) and None)
