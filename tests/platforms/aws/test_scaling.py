"""How many nodes a group has, and what an autoscaler knows of one without nodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fleet.labels import GPU_TAINT, Taint, pool_labels
from platforms.aws.instances import GroupShape
from platforms.aws.machine_images import MachineImage
from platforms.aws.scaling import (
    Scale,
    Updates,
    accelerator_labels,
    discovery_tags,
    group_taints,
    managed_template_tags,
    scaling_config,
    template_tags,
    update_config,
)

Group = Callable[..., GroupShape]


def test_sizes_and_updates_are_as_the_sdk_takes_them() -> None:
    assert scaling_config(Scale(0, 1, 4)) == {"min_size": 0, "desired_size": 1, "max_size": 4}
    assert update_config(Updates()) == {"max_unavailable": 1}
    assert update_config(Updates(25)) == {"max_unavailable": 25}
    assert str(Scale(0, 1, 4)) == "0–4"  # noqa: RUF001


def test_taints_have_the_effects_of_eks() -> None:
    assert group_taints([GPU_TAINT, Taint("team", "a", "PreferNoSchedule")]) == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "team", "value": "a", "effect": "PREFER_NO_SCHEDULE"},
    ]


def test_an_autoscaler_without_a_node_learns_what_one_would_be(
    group: Group, image: Callable[..., MachineImage], golden: Any
) -> None:
    chosen, shape = image(), group("g6.xlarge")
    labels = pool_labels("g6", chosen.driver, chosen.container_toolkit)
    tags = {**discovery_tags("eks-g6"), **template_tags(shape, chosen.driver, labels, [GPU_TAINT], 100)}
    golden("autoscaler-tags/g6.json").equals(json.dumps(tags, indent=2) + "\n")
    assert len(tags) <= 50  # of one auto-scaling group
    assert all(len(key) <= 128 for key in tags)


def test_what_an_autoscaler_knows_of_a_managed_group_itself_is_no_tag(
    group: Group, image: Callable[..., MachineImage]
) -> None:
    def tags_of(name: str) -> dict[str, str]:
        tags = managed_template_tags(group(name), image(name).driver, 100)
        return {key.partition("node-template/")[2]: value for key, value in tags.items()}

    assert tags_of("g6.xlarge") == {
        "label/nvidia.com/cuda.driver-version.major": "580",
        "label/nvidia.com/gpu.compute.major": "8",
        "label/nvidia.com/gpu.compute.minor": "9",
        "label/nvidia.com/gpu.count": "1",
        "label/nvidia.com/gpu.memory": "24576",
        "label/nvidia.com/gpu.present": "true",
        "label/nvidia.com/gpu.product": "NVIDIA-L4",
        "resources/ephemeral-storage": "100Gi",
    }
    assert tags_of("g6f.large")["resources/nvidia.com/gpu"] == "1"  # of a part of a GPU, EC2 reports none


def test_a_part_of_a_gpu_is_reported_to_the_autoscaler_as_one_device(
    group: Group, image: Callable[..., MachineImage]
) -> None:
    tags = template_tags(group("g6f.large"), image("g6f.large").driver, {}, [], 40)
    assert tags["k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"] == "1"
    assert not [key for key in tags if key.endswith("gpu.product")]  # the driver gives it the name of a vGPU


def test_a_group_is_marked_as_one_whose_gpus_come_later(group: Group) -> None:
    assert accelerator_labels(group("g6.xlarge")) == {"k8s.amazonaws.com/accelerator": "nvidia-l4"}
