"""Where the pools of a stack are not what the cluster has."""

from __future__ import annotations

from typing import Any

from rows import each_row

from platforms.slurm.partition_model import PartitionKeys
from platforms.slurm.site_facts import (
    DeclaredPool,
    NodeFacts,
    PartitionFacts,
    SiteFacts,
    gpus_of,
    minutes,
    refusals,
    remarks,
)


def cluster(state: str = "idle", reason: str = "") -> SiteFacts:
    node = NodeFacts("gpu-k80-1", state, {"k80": 4}, reason)
    gpu = PartitionFacts("gpu", "UP", is_exclusive=True, max_time_min=2880, nodes=(node,))
    shared = PartitionFacts("gpu-shared", "UP", is_exclusive=False, max_time_min=None)
    return SiteFacts("22.05.8", {"gpu": gpu, "gpu-shared": shared})


def pool(nodes: int = 1, gpus_per_node: int = 4, **given: Any) -> DeclaredPool:
    keys = {"partition": "gpu", "gres": "k80", "exclusive": True, "max_time_min": 2880, **given}
    return DeclaredPool("gpu-k80", PartitionKeys.model_validate(keys), nodes, gpus_per_node)


@each_row(
    ("declared", "expected"),
    [
        (pool(partition="gpus"), "Slurm has no partition gpus; did you mean gpu? known partitions: gpu, gpu-shared"),
        (pool(gres="k8"), "partition gpu has no GPUs of type k8; did you mean k80? known types: k80"),
        (pool(gpus_per_node=8), "a node of partition gpu has 4 GPUs: write gpus_per_node: 4"),
        (pool(nodes=2), "partition gpu has 1 such nodes: write nodes: 1"),
        (pool(max_time_min=9999), "partition gpu ends a job after 2880 min: write max_time_min: 2880"),
        (pool(exclusive=False), "partition gpu gives whole nodes, with all their GPUs: write exclusive: true"),
    ],
)
def test_what_the_cluster_does_not_have_is_refused_with_what_to_write(declared: DeclaredPool, expected: str) -> None:
    (found,) = refusals(cluster(), [declared])
    assert found.startswith(f"pool gpu-k80: {expected}")


def test_a_pool_as_the_cluster_has_it_is_not_refused() -> None:
    assert not [*refusals(cluster(), [pool()])]
    assert not [*remarks(cluster(), [pool()])]


def test_a_drained_node_is_a_remark_and_a_whole_partition_of_them_is_refused() -> None:
    drained = cluster("drained", "bad fan")
    (found,) = refusals(drained, [pool()])
    assert found == (
        "pool gpu-k80: no node of partition gpu takes jobs (gpu-k80-1 drained: bad fan); ask its administrators"
    )
    assert [*remarks(drained, [pool()])] == ["pool gpu-k80: gpu-k80-1 is away (drained: bad fan)"]


@each_row(
    ("text", "counts"),
    [
        ("gpu:k80:4", {"k80": 4}),
        ("gpu:k80:4(S:0-1),gpu:p100:2(S:0)", {"k80": 4, "p100": 2}),
        ("gpu:2", {"": 2}),
        ("(null)", {}),
    ],
)
def test_gpus_are_counted_by_type(text: str, counts: dict[str, int]) -> None:
    assert gpus_of(text) == counts


@each_row(("text", "expected"), [("2-00:00:00", 2880), ("1:30:00", 90), ("30:00", 30), ("UNLIMITED", None), ("", None)])
def test_a_limit_is_read_in_minutes(text: str, expected: int | None) -> None:
    assert minutes(text) == expected


def test_facts_are_rows_for_people() -> None:
    assert dict(cluster().rows()) == {
        "Slurm": "22.05.8",
        "partition gpu": "1 nodes, 4 GPUs k80, whole nodes, at most 2880 min",
        "partition gpu-shared": "0 nodes, no limit of time",
    }
