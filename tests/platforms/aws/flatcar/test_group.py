"""The auto-scaling group of Flatcar nodes: what is requested of AWS."""

from __future__ import annotations

import json
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for flatcar_nodes.py: folders of tests are no packages here
import flatcar_nodes as nodes

from compat.values.versions import DriverVersion
from fleet.labels import GPU_TAINT
from platforms.aws.flatcar.group import access_entry, image_lookup, scaling_group, template
from platforms.aws.flatcar.ignition import render
from platforms.aws.instances import find_instance, group_of
from platforms.aws.scaling import Scale, Updates, template_tags
from platforms.aws.volumes import Volume

SCALE = Scale(0, 1, 4)
SHAPE = group_of([find_instance("g4dn.xlarge"), find_instance("g4dn.2xlarge")])


def made_template(**other: Any) -> dict[str, Any]:
    text = render(nodes.config(), keys={nodes.KEY: nodes.PUBLIC})
    values: dict[str, Any] = {
        "image_id": "ami-1",
        "instance_profile": "flatcar-node",
        "user_data": b64encode(text.encode()).decode(),
        "security_groups": ["sg-1"],
        "tags": {"team": "teaching"},
    }
    return template(Volume(60), **{**values, **other})


def made_group(scale: Scale = SCALE, updates: Updates | None = None, **other: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "subnets": ["subnet-a", "subnet-b"],
        "template_id": "lt-1",
        "template_version": "3",
        "is_spot": False,
        "tags": {"team": "teaching"},
        "node_template": template_tags(SHAPE, DriverVersion.parse("570.195.03"), {}, (GPU_TAINT,), 60),
    }
    return scaling_group(SHAPE, scale, "flatcar-ec2", updates=updates, **{**values, **other})


def test_a_group_is_what_the_golden_file_says(golden: Any) -> None:
    golden("flatcar-group.json").equals(json.dumps(made_group(updates=Updates()), indent=2, sort_keys=True) + "\n")


def test_the_template_has_image_profile_and_config_beside_what_every_node_has() -> None:
    made = made_template()
    assert made["image_id"] == "ami-1"
    assert made["iam_instance_profile"] == {"name": "flatcar-node"}
    assert json.loads(b64decode(made["user_data"]))["ignition"]["version"] == "3.4.0"
    assert made["metadata_options"]["http_tokens"] == "required"
    (disk,) = made["block_device_mappings"]
    assert (disk["device_name"], disk["ebs"]["encrypted"], disk["ebs"]["volume_size"]) == ("/dev/xvda", "true", 60)
    assert made["network_interfaces"][0]["associate_public_ip_address"] == "false"


@pytest.mark.parametrize(("architecture", "spelt"), [("amd64", "x86_64"), ("arm64", "arm64")])
def test_the_image_is_that_of_the_release_alone(architecture: str, spelt: str) -> None:
    made = image_lookup(nodes.RELEASE, architecture)
    assert made["owners"] == ["075585003325"]
    assert {each["name"]: each["values"] for each in made["filters"]} == {
        "name": ["Flatcar-stable-4593.2.5-*"],
        "architecture": [spelt],
    }


def test_on_demand_types_are_taken_in_their_order_and_spot_where_there_is_capacity() -> None:
    on_demand = made_group()["mixed_instances_policy"]
    assert on_demand["instances_distribution"]["on_demand_percentage_above_base_capacity"] == 100
    assert on_demand["instances_distribution"]["on_demand_allocation_strategy"] == "prioritized"
    assert on_demand["launch_template"]["overrides"] == [
        {"instance_type": "g4dn.xlarge"},
        {"instance_type": "g4dn.2xlarge"},
    ]
    spot = made_group(is_spot=True)["mixed_instances_policy"]["instances_distribution"]
    assert spot["on_demand_percentage_above_base_capacity"] == 0
    assert spot["spot_allocation_strategy"] == "price-capacity-optimized"
    assert "on_demand_allocation_strategy" not in spot


@pytest.mark.parametrize(
    ("most", "updates", "healthy"),
    [
        (4, Updates(1), 75),
        (3, Updates(1), 67),  # rounded up: no more than one
        (2, Updates(5), 0),
    ],
)
def test_no_more_nodes_go_at_a_time_than_updates_allow(most: int, updates: Updates, healthy: int) -> None:
    preferences = made_group(Scale(0, 1, most), updates)["instance_refresh"]["preferences"]
    assert preferences["min_healthy_percentage"] == healthy


def test_without_updates_running_nodes_stay_as_they_are() -> None:
    assert "instance_refresh" not in made_group()


def test_nodes_say_whose_they_are_and_only_the_group_says_what_a_node_would_be() -> None:
    by_key = {each["key"]: each for each in made_group()["tags"]}
    assert by_key["kubernetes.io/cluster/flatcar-ec2"] == {
        "key": "kubernetes.io/cluster/flatcar-ec2",
        "value": "owned",
        "propagate_at_launch": True,
    }
    passed_on = {key for key, each in by_key.items() if each["propagate_at_launch"]}
    assert passed_on == {"kubernetes.io/cluster/flatcar-ec2", "team"}
    assert by_key["k8s.io/cluster-autoscaler/flatcar-ec2"]["value"] == "owned"
    assert by_key["k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"]["value"] == "1"


def test_nodes_join_by_an_entry_without_groups_or_names_of_its_own() -> None:
    assert access_entry("c", "arn") == {"cluster_name": "c", "principal_arn": "arn", "type": "EC2_LINUX"}
