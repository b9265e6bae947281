"""EC2 instance types as people write them, and which of them make one group."""

from __future__ import annotations

from fractions import Fraction

import pytest
from rows import each_row

from compat.facts import csv_files
from compat.values.versions import DriverVersion
from platforms.aws.instances import GroupShape, InstanceError, find_instance, group_of


def group(*names: str) -> GroupShape:
    return group_of([find_instance(name) for name in names])


def test_a_type_has_the_gpu_and_the_size_of_the_tables() -> None:
    found = find_instance(" G6.XLarge ")
    assert found.gpu is not None
    assert (found.name, found.gpu.name, found.gpus, found.vcpu, found.memory_gib) == (
        "g6.xlarge",
        "NVIDIA L4",
        1,
        4,
        16,
    )
    assert (found.architecture, found.local_nvme_gb, found.gpu_memory_mib) == ("amd64", 250, 22888)


def test_every_type_of_the_tables_is_found() -> None:
    found = [find_instance(row["instance_type"]) for row in csv_files.rows("ec2_gpu_instances")]
    assert len(found) > 80
    assert {each.name for each in found if each.gpu is None} == {each.name for each in found if each.family == "g4ad"}
    assert all(each.vcpu and each.memory_gib for each in found)


def test_a_part_of_a_gpu_stays_a_part_though_ec2_reports_none() -> None:
    found = group("g6f.large")
    assert found.gpus == Fraction(1, 8)
    assert found.types[0].reported_gpus == 0
    assert found.schedulable_gpus == 1


@each_row(
    ("name", "lowest", "last"),
    [
        ("g7.2xlarge", "595", None),  # the family's own floor is above that of the GPU
        ("g7e.2xlarge", "575.57.08", None),
        ("p6-b300.48xlarge", "580.65.06", None),
        ("g6.xlarge", "520.56.06", None),  # the first of Ada
        ("p3.2xlarge", "384.47", 580),
        ("g2.2xlarge", "295", 470),
    ],
)
def test_a_type_knows_which_drivers_it_can_have(name: str, lowest: str, last: int | None) -> None:
    found = find_instance(name)
    assert (str(found.min_driver), found.max_branch) == (lowest, last)


@each_row(
    ("text", "reason", "fix", "suggestions"),
    [
        ("g6.xlage", "is not a size of g6", "did you mean g6.xlarge", "g6.xlarge"),
        ("g6", "is a family", "name a size: g6.xlarge, g6.2xlarge", ""),
        ("g6x.xlarge", "is not an EC2 instance type", "did you mean g6.xlarge", "g6.xlarge"),
        ("i3.large", "is not an EC2 instance type", "families with NVIDIA GPUs: g2, ", ""),
        ("", "is not an EC2 instance type", "families with NVIDIA GPUs: g2, ", ""),
    ],
)
def test_an_unknown_type_is_refused_with_the_nearest(text: str, reason: str, fix: str, suggestions: str) -> None:
    with pytest.raises(InstanceError) as caught:
        find_instance(text)
    assert reason in caught.value.reason
    assert fix in caught.value.fix
    assert suggestions in (*caught.value.suggestions, "")


def test_a_group_of_several_sizes_counts_on_the_smallest() -> None:
    found = group("g6.4xlarge", "g6.xlarge")
    assert (found.vcpu, found.memory_gib, found.local_nvme_gb) == (4, 16, 250)
    assert found.names == ("g6.4xlarge", "g6.xlarge")


def test_a_group_takes_the_narrowest_limits_of_its_types() -> None:
    assert group("g4dn.xlarge", "g4dn.2xlarge").ami_types[0] == "AL2023_x86_64_NVIDIA"
    assert group("g7e.2xlarge").min_driver == DriverVersion.parse("575.57.08")


@each_row(
    ("names", "message"),
    [
        (["g5.xlarge", "g5g.xlarge"], "different processor architectures (amd64 and arm64); make them two pools"),
        (["g6.xlarge", "g6e.xlarge"], "different GPU models (NVIDIA L4 and NVIDIA L40S)"),
        (["g6.xlarge", "g6.12xlarge"], "different numbers of GPUs (1 and 4)"),
        (["g6.4xlarge", "g6f.4xlarge"], "different numbers of GPUs (1 and 1/2)"),
        (["g6.xlarge", "g4ad.xlarge"], "g4ad.xlarge has no NVIDIA GPU"),
        (["g6.xlarge", "g6.xlarge"], "is named twice"),
        ([], "has no instance type"),
    ],
)
def test_types_whose_nodes_would_differ_are_refused(names: list[str], message: str) -> None:
    with pytest.raises(InstanceError) as caught:
        group(*names)
    assert message in str(caught.value)


def test_types_without_gpus_make_a_group_of_their_own() -> None:
    found = group("m7i.large", "m7i.xlarge")
    assert (found.gpu, found.schedulable_gpus, found.vcpu) == (None, 0, 2)
    with pytest.raises(InstanceError, match="have different GPU models"):
        group("m7i.xlarge", "g6.xlarge")
