"""Which nodes could host a pod: the scheduler's filters on an empty node."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.placement import UNKNOWN, Node, landing, obstacles, quantity, requests

N10 = Node(
    name="n10",
    pool="gtx1070ti",
    labels={"pool": "gtx1070ti", "memory": "8192"},
    taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
    allocatable={"cpu": Decimal(32), "memory": Decimal(1024**3), "nvidia.com/gpu": Decimal(7)},
)
TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    term = {"matchExpressions": list(expressions)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


@pytest.mark.parametrize(
    ("expression", "lands"),
    [
        ({"key": "pool", "operator": "In", "values": ["gtx1070ti", "a100"]}, True),
        ({"key": "pool", "operator": "In", "values": ["a100"]}, False),
        ({"key": "pool", "operator": "NotIn", "values": ["a100"]}, True),
        ({"key": "other", "operator": "NotIn", "values": ["a100"]}, True),
        ({"key": "pool", "operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "other", "operator": "DoesNotExist"}, True),
        ({"key": "memory", "operator": "Gt", "values": ["8000"]}, True),
        ({"key": "memory", "operator": "Gt", "values": ["11000"]}, False),
        ({"key": "memory", "operator": "Lt", "values": ["11000"]}, True),
        ({"key": "pool", "operator": "Gt", "values": ["1"]}, False),
    ],
)
def test_node_affinity(expression: dict[str, Any], lands: bool) -> None:
    assert (obstacles({"tolerations": TOLERATES, "affinity": affinity(expression)}, N10) == []) is lands


def test_an_empty_affinity_term_matches_nothing() -> None:
    assert obstacles({"tolerations": TOLERATES, "affinity": affinity()}, N10) != []


@pytest.mark.parametrize(
    ("toleration", "lands"),
    [
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}, True),
        ({"key": "nvidia.com/gpu", "value": "absent"}, False),
        ({"operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_tolerations(toleration: dict[str, Any], lands: bool) -> None:
    assert (obstacles({"tolerations": [toleration]}, N10) == []) is lands


def test_a_taint_that_only_prefers_keeps_nobody_away() -> None:
    soft = Node("n", "p", {}, [{"key": "k", "effect": "PreferNoSchedule"}], {})
    assert obstacles({}, soft) == []


def test_init_containers_count_by_the_biggest_and_sidecars_beside_all() -> None:
    def asks(cpu: str, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    pod = {
        "initContainers": [asks("1", restartPolicy="Always"), asks("6")],
        "containers": [asks("2"), asks("500m")],
    }
    assert requests(pod) == {"cpu": Decimal(7)}


def test_a_limit_without_a_request_is_the_request() -> None:
    assert requests({"containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]}) == {"nvidia.com/gpu": 2}


def test_a_landing_names_the_nearest_reason_of_every_pool_that_refuses() -> None:
    other = Node("n01", "gtx1080ti", {}, [], {"nvidia.com/gpu": Decimal(8)})
    pod = {"tolerations": TOLERATES, "containers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}]}
    found = landing(pod, [N10, other])
    assert [node.name for node in found.possible] == ["n01"]
    assert found.refused == {"gtx1070ti": "it asks for 8 nvidia.com/gpu, a node of the pool has 7"}
    assert found.undecided == ()


def test_unknown_values_are_named_and_refuse_nothing() -> None:
    pod = {
        "tolerations": TOLERATES,
        "nodeSelector": {"pool": UNKNOWN},
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": UNKNOWN}}}],
    }
    found = landing(pod, [N10])
    assert [node.name for node in found.possible] == ["n10"]
    assert found.undecided == ("containers[0].resources.limits.nvidia.com/gpu", "nodeSelector.pool")


@pytest.mark.parametrize(
    ("text", "number"),
    [("500m", "0.5"), ("2Gi", 2 * 1024**3), ("1G", 10**9), (8, 8), (0.5, "0.5"), ("100k", 100_000), ("1e3", 1000)],
)
def test_quantities_read_as_kubernetes_reads_them(text: object, number: object) -> None:
    assert quantity(text) == Decimal(str(number))


@pytest.mark.parametrize("text", ["", "many", "1Q", "Gi", "1 Gi Gi"])
def test_what_is_no_quantity_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity"):
        quantity(text)


@given(gpus=st.integers(0, 20), more=st.integers(0, 5))
def test_a_pod_that_asks_for_less_never_loses_a_node(gpus: int, more: int) -> None:
    def pod(count: int) -> dict[str, Any]:
        return {"tolerations": TOLERATES, "containers": [{"resources": {"limits": {"nvidia.com/gpu": count}}}]}

    assert len(landing(pod(gpus), [N10]).possible) >= len(landing(pod(gpus + more), [N10]).possible)
