"""The launch template of a managed node group."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from typing import Any

from platforms.aws.launch_template import Capacity, launch_template
from platforms.aws.machine_images import MachineImage
from platforms.aws.volumes import Volume

TAGS = {"gpu-commons.org/pool": "g6"}
Image = Callable[..., MachineImage]


def template(image: MachineImage, **named: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"user_data": "", "security_groups": ["sg-1"], "tags": TAGS, **named}
    return launch_template(image, Volume(100, 600, kms_key=given.pop("kms_key", "")), **given)


def test_a_template_of_amazon_linux(image: Image, golden: Any) -> None:
    found = template(image("g6.2xlarge"), user_data="some text\n")
    golden("launch-template/al2023.json").equals(json.dumps(found, indent=2) + "\n")
    assert b64decode(found["user_data"]) == b"some text\n"


def test_a_template_of_bottlerocket_with_a_reservation(image: Image, golden: Any) -> None:
    bottlerocket = image(ami_type="BOTTLEROCKET_x86_64_NVIDIA")
    found = template(bottlerocket, kms_key="arn:key", capacity=Capacity("cr-1", "close"))
    golden("launch-template/bottlerocket.json").equals(json.dumps(found, indent=2) + "\n")


def test_what_the_group_says_is_not_in_its_template(image: Image) -> None:
    assert not {"instance_type", "image_id", "iam_instance_profile", "user_data"} & template(image()).keys()


def test_metadata_want_a_token_and_are_reached_from_containers(image: Image) -> None:
    options = template(image())["metadata_options"]
    assert (options["http_tokens"], options["http_put_response_hop_limit"]) == ("required", 2)


def test_instances_have_no_public_address_and_carry_the_tags_with_their_volumes(image: Image) -> None:
    found = template(image())
    assert [each["associate_public_ip_address"] for each in found["network_interfaces"]] == ["false"]
    assert {each["resource_type"]: each["tags"] for each in found["tag_specifications"]} == {
        "instance": TAGS,
        "volume": TAGS,
    }


def test_every_volume_is_encrypted_and_goes_with_its_node(image: Image) -> None:
    for each in (image(), image(ami_type="BOTTLEROCKET_x86_64_NVIDIA")):
        volumes = [device["ebs"] for device in template(each)["block_device_mappings"]]
        assert {volume["encrypted"] for volume in volumes} == {"true"}
        assert {volume["delete_on_termination"] for volume in volumes} == {"true"}
