"""Which nodes could host a pod: the scheduler's filters on an empty node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from fleet.nodes import Node
from fleet.quantities import quantity
from fleet.scheduling import Landing, landing, requests, shape
from fleet.scheduling_blockers import wording
from fleet.unknown import UNKNOWN

N10 = Node(
    name="n10",
    pool="gtx1070ti",
    labels={"pool": "gtx1070ti", "memory": "8192"},
    taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
    allocatable={"cpu": Decimal(32), "memory": Decimal(1024**3), "nvidia.com/gpu": Decimal(7)},
)
TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
KEPT_OFF = "it does not tolerate the taint nvidia.com/gpu=present:NoSchedule"
MORE_MEMORY = {"key": "memory", "operator": "Gt", "values": ["8000"]}


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    term = {"matchExpressions": list(expressions)}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}


def reasons(pod: Mapping[str, Any], node: Node) -> tuple[str, ...]:
    """Everything that keeps the pod off the node."""
    return why(landing(pod, [node])).get(node.pool, ())


def why(found: Landing) -> dict[str, tuple[str, ...]]:
    """What keeps a pod off each pool, in words."""
    return {pool: tuple(map(wording, obstacles)) for pool, obstacles in found.refused.items()}


@each_row(
    ("expression", "lands"),
    [
        ({"key": "pool", "operator": "In", "values": ["gtx1070ti", "a100"]}, True),
        ({"key": "pool", "operator": "In", "values": ["a100"]}, False),
        ({"key": "pool", "operator": "NotIn", "values": ["a100"]}, True),
        ({"key": "other", "operator": "NotIn", "values": ["a100"]}, True),
        ({"key": "pool", "operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "other", "operator": "DoesNotExist"}, True),
        (MORE_MEMORY, True),
        ({"key": "memory", "operator": "Gt", "values": ["11000"]}, False),
        ({"key": "memory", "operator": "Lt", "values": ["11000"]}, True),
        ({"key": "pool", "operator": "Gt", "values": ["1"]}, False),
    ],
)
def test_node_affinity(expression: dict[str, Any], lands: bool) -> None:
    written = " ".join([expression["key"], expression["operator"], *expression.get("values", [])])
    mismatch = f"its node affinity ({written}) does not match"
    pod = {"tolerations": TOLERATES, "affinity": affinity(expression)}
    assert reasons(pod, N10) == (() if lands else (mismatch,))


def test_an_empty_affinity_term_matches_nothing() -> None:
    mismatch = "its node affinity (an empty term) does not match"
    assert reasons({"tolerations": TOLERATES, "affinity": affinity()}, N10) == (mismatch,)


@each_row(
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
    assert reasons({"tolerations": [toleration]}, N10) == (() if lands else (KEPT_OFF,))


def test_a_taint_with_the_effect_prefer_no_schedule_keeps_no_pod_away() -> None:
    soft = Node("n", "p", {}, [{"key": "k", "effect": "PreferNoSchedule"}], {})
    assert reasons({}, soft) == ()


def test_the_biggest_init_container_counts_and_sidecars_are_added() -> None:
    def asks(cpu: str, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    pod = {
        "initContainers": [asks("1", restartPolicy="Always"), asks("6")],
        "containers": [asks("2"), asks("500m")],
    }
    assert requests(pod) == {"cpu": Decimal(7)}


def test_a_limit_without_a_request_is_the_request() -> None:
    assert requests({"containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]}) == {"nvidia.com/gpu": 2}


def test_while_requests_are_not_known_yet_only_limits_of_devices_tell_them() -> None:
    resources = {"limits": {"cpu": "500", "nvidia.com/gpu": 8}, "requests": UNKNOWN}
    expected = {"cpu": UNKNOWN, "nvidia.com/gpu": Decimal(8)}
    assert requests({"containers": [{"resources": resources}]}) == expected
    assert requests({"containers": [{}], "resources": resources}) == {"cpu": UNKNOWN}


def test_a_huge_request_is_refused_like_any_other() -> None:
    pod = {"tolerations": TOLERATES, "containers": [{"resources": {"limits": {"memory": "1e40"}}}]}
    assert reasons(pod, N10) == (f"it requests {10**40 // 2**30}Gi memory, but a node of the pool has 1Gi",)


@given(amount=st.integers(0, 20), less=st.integers(0, 20))
def test_a_pod_that_requests_less_never_loses_a_node(amount: int, less: int) -> None:
    def pod(gpus: int) -> dict[str, Any]:
        return {"tolerations": TOLERATES, "containers": [{"resources": {"limits": {"nvidia.com/gpu": gpus}}}]}

    nodes = [N10, replace(N10, name="n01", allocatable={"nvidia.com/gpu": Decimal(2)})]
    assert set(where(pod(min(amount, less)), nodes)) >= set(where(pod(amount), nodes))


def test_everything_that_keeps_a_pod_off_a_node_is_named() -> None:
    pod = {
        "nodeSelector": {"pool": "a100"},
        "affinity": affinity(MORE_MEMORY, {"key": "other", "operator": "Exists"}),
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": 8, "cpu": 33}}}],
    }
    assert reasons(pod, N10) == (
        "nodeSelector pool=a100: the pool has gtx1070ti",
        "its node affinity (memory Gt 8000 and other Exists) does not match",
        KEPT_OFF,
        "it requests 8 nvidia.com/gpu, but a node of the pool has 7",
        "it requests 33 cpu, but a node of the pool has 32",
    )


def test_a_landing_names_the_reasons_of_every_pool_that_refuses() -> None:
    other = Node("n01", "gtx1080ti", {}, [], {"nvidia.com/gpu": Decimal(8)})
    pod = {"tolerations": TOLERATES, "containers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}]}
    found = landing(pod, [N10, other])
    assert [node.name for node in found.possible] == ["n01"]
    assert why(found) == {"gtx1070ti": ("it requests 8 nvidia.com/gpu, but a node of the pool has 7",)}
    assert found.undecided == ()


def test_unknown_values_are_named_and_are_no_reason_to_refuse() -> None:
    pod = {
        "tolerations": TOLERATES,
        "nodeSelector": {"pool": UNKNOWN},
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": UNKNOWN}}}],
    }
    found = landing(pod, [N10])
    assert [node.name for node in found.possible] == ["n10"]
    assert found.undecided == ("containers[0].resources.limits.nvidia.com/gpu", "nodeSelector.pool")


@each_row(
    ("text", "number"),
    [("500m", "0.5"), ("2Gi", 2 * 1024**3), ("1G", 10**9), (8, 8), (0.5, "0.5"), ("100k", 100_000), ("1e3", 1000)],
)
def test_quantities_read_as_kubernetes_reads_them(text: object, number: object) -> None:
    assert quantity(text) == Decimal(str(number))


@each_row("text", ["", "many", "1Q", "Gi", "1 Gi Gi"])
def test_text_that_is_not_a_quantity_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity"):
        quantity(text)


def test_a_number_in_a_label_is_read_as_kubernetes_reads_it() -> None:
    node = replace(N10, labels={"memory": "8_192"})
    mismatch = "its node affinity (memory Gt 8000) does not match"
    assert reasons({"tolerations": TOLERATES, "affinity": affinity(MORE_MEMORY)}, node) == (mismatch,)


def test_a_cordoned_node_takes_daemons_and_pods_that_tolerate_the_cordon() -> None:
    cordoned = replace(N10, is_cordoned=True)
    assert reasons({"tolerations": TOLERATES}, cordoned) == ("it is cordoned",)
    assert reasons({"tolerations": [{"operator": "Exists"}]}, cordoned) == ()
    assert landing({"tolerations": TOLERATES}, [cordoned], is_daemon=True).possible == (cordoned,)


def test_a_pod_with_a_node_name_bypasses_the_scheduler() -> None:
    assert reasons({"nodeName": "n10"}, replace(N10, is_cordoned=True)) == ()
    strict = replace(N10, taints=[{"key": "k", "effect": "NoExecute"}])
    assert reasons({"nodeName": "n10"}, strict) == ("it does not tolerate the taint k:NoExecute",)
    elsewhere = reasons({"nodeName": "n11"}, strict)
    assert elsewhere == ("it is bound to node n11", "it does not tolerate the taint k:NoExecute")


def test_requests_of_the_pod_as_a_whole_replace_those_of_its_containers() -> None:
    containers = [{"resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": 1}}}]
    resources = {"requests": {"cpu": "3"}, "limits": {"cpu": "4", "memory": "1Gi"}}
    assert requests({"containers": containers, "resources": resources}) == {
        "cpu": 3,
        "memory": 1024**3,
        "nvidia.com/gpu": 1,
    }
    assert requests({"containers": containers, "resources": {"limits": {"cpu": "4"}}})["cpu"] == 1


CLASS = {
    "overhead": {"podFixed": {"cpu": "500m"}},
    "scheduling": {"nodeSelector": {"pool": "gtx1070ti"}, "tolerations": TOLERATES},
}


def test_a_runtime_class_adds_its_selector_its_tolerations_and_its_overhead() -> None:
    pod = {"runtimeClassName": "nvidia", "containers": [{"resources": {"requests": {"cpu": "31.5"}}}]}
    other = replace(N10, name="n01", pool="gtx1080ti", labels={})
    found = landing(pod, [N10, other], runtime_classes={"nvidia": CLASS})
    assert found.possible == (N10,)
    assert why(found) == {"gtx1080ti": ("nodeSelector pool=gtx1070ti: the pool has no such label",)}
    assert why(landing(pod, [N10], runtime_classes={"other": CLASS})) == {"gtx1070ti": (KEPT_OFF,)}
    more = {**pod, "containers": [{"resources": {"requests": {"cpu": "31.6"}}}]}
    too_much = "it requests 32.1 cpu, but a node of the pool has 32"
    assert why(landing(more, [N10], runtime_classes={"nvidia": CLASS})) == {"gtx1070ti": (too_much,)}


def test_tolerations_of_a_runtime_class_do_not_help_a_daemon() -> None:
    pod = {"runtimeClassName": "nvidia"}
    assert landing(pod, [N10], runtime_classes={"nvidia": CLASS}).possible == (N10,)
    daemon = landing(pod, [N10], runtime_classes={"nvidia": CLASS}, is_daemon=True)
    assert why(daemon) == {"gtx1070ti": (KEPT_OFF,)}


@each_row(
    ("pod", "named"),
    [
        ({"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}}, "affinity.podAffinity"),
        ({"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}}, "affinity.podAntiAffinity"),
        ({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}, "topologySpreadConstraints"),
        ({"schedulingGates": [{"name": "quota"}]}, "schedulingGates"),
        ({"resourceClaims": [{"name": "gpu"}]}, "resourceClaims"),
        ({"runtimeClassName": UNKNOWN}, "runtimeClassName"),
        ({"resources": {"requests": {"cpu": UNKNOWN}}}, "resources.requests.cpu"),
    ],
)
def test_what_other_pods_and_controllers_decide_is_undecided(pod: dict[str, Any], named: str) -> None:
    found = landing({**pod, "tolerations": TOLERATES}, [N10])
    assert (found.possible, found.undecided) == ((N10,), (named,))


def test_preferences_decide_nothing() -> None:
    spread = {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}
    likes = {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}}
    assert landing({**spread, **likes}, [N10]).undecided == ()


# --- laws, for pods and nodes of few words, so that they match and a single obstacle decides

KEYS, VALUES = st.sampled_from(["a", "b", "c"]), st.sampled_from(["", "1", "2"])
EFFECTS = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
TAINT = st.fixed_dictionaries({"key": KEYS, "value": VALUES, "effect": EFFECTS})
TOLERATION = st.one_of(
    st.fixed_dictionaries({"key": KEYS, "value": VALUES}, optional={"effect": EFFECTS}),
    st.fixed_dictionaries({"operator": st.just("Exists")}, optional={"key": KEYS, "effect": EFFECTS}),
)
EXPRESSION = st.one_of(
    st.fixed_dictionaries({"key": KEYS, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
    st.fixed_dictionaries(
        {"key": KEYS, "operator": st.sampled_from(["In", "NotIn"]), "values": st.lists(VALUES, min_size=1)}
    ),
    st.fixed_dictionaries(
        {"key": KEYS, "operator": st.sampled_from(["Gt", "Lt"]), "values": st.lists(VALUES, min_size=1, max_size=1)}
    ),
)
TERM = st.fixed_dictionaries({"matchExpressions": st.lists(EXPRESSION, min_size=1, max_size=2)})
ASKED = st.dictionaries(st.sampled_from(["cpu", "nvidia.com/gpu"]), st.integers(0, 2), max_size=1)
HAS = st.fixed_dictionaries({"cpu": st.integers(1, 3), "nvidia.com/gpu": st.integers(1, 3)})


def made(terms: list[dict[str, Any]], amounts: dict[str, int], **more: Any) -> dict[str, Any]:
    required = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}} if terms else {}
    return {**more, **required, "containers": [{"resources": {"requests": amounts}}]}


PODS = st.builds(
    made,
    st.lists(TERM, max_size=2),
    ASKED,
    nodeSelector=st.one_of(st.just({}), st.dictionaries(KEYS, VALUES, max_size=1)),
    tolerations=st.lists(TOLERATION, max_size=2),
)
NODES = st.lists(
    st.builds(
        Node,
        name=st.sampled_from(["n1", "n2"]),
        pool=st.just("pool"),
        labels=st.fixed_dictionaries({"a": VALUES}, optional={"b": VALUES, "c": VALUES}),
        taints=st.one_of(st.just([]), st.lists(TAINT, max_size=2)),
        allocatable=HAS.map(lambda amounts: {name: Decimal(amount) for name, amount in amounts.items()}),
        is_cordoned=st.sampled_from([False, False, False, True]),
    ),
    min_size=1,
    max_size=6,
)


def where(pod: Mapping[str, Any], nodes: list[Node]) -> set[int]:
    """Positions of the nodes that could host the pod."""
    return {place for place, node in enumerate(nodes) if not reasons(pod, node)}


def terms_of(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    required = pod.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {})
    return list(required.get("nodeSelectorTerms", []))


def with_terms(pod: Mapping[str, Any], terms: list[dict[str, Any]]) -> dict[str, Any]:
    return {**pod, "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


@pytest.mark.slow
@given(pod=PODS, nodes=NODES, toleration=TOLERATION)
def test_one_more_toleration_never_loses_a_node(pod: dict[str, Any], nodes: list[Node], toleration: Any) -> None:
    assert where({**pod, "tolerations": [*pod["tolerations"], toleration]}, nodes) >= where(pod, nodes)


@pytest.mark.slow
@given(pod=PODS, nodes=NODES, key=KEYS, value=VALUES)
def test_one_more_selector_never_gains_a_node(pod: dict[str, Any], nodes: list[Node], key: str, value: str) -> None:
    assert where({**pod, "nodeSelector": {key: value, **pod["nodeSelector"]}}, nodes) <= where(pod, nodes)


@pytest.mark.slow
@given(pod=PODS, nodes=NODES, term=TERM)
def test_one_more_term_never_loses_a_node_and_the_first_never_gains_one(
    pod: dict[str, Any], nodes: list[Node], term: dict[str, Any]
) -> None:
    before, after = where(pod, nodes), where(with_terms(pod, [*terms_of(pod), term]), nodes)
    assert after >= before if terms_of(pod) else after <= before


@pytest.mark.slow
@given(pod=PODS, nodes=NODES, expression=EXPRESSION)
def test_one_more_expression_in_every_term_never_gains_a_node(
    pod: dict[str, Any], nodes: list[Node], expression: dict[str, Any]
) -> None:
    narrower = [{"matchExpressions": [*term["matchExpressions"], expression]} for term in terms_of(pod)]
    assert where(with_terms(pod, narrower), nodes) <= where(pod, nodes)


@pytest.mark.slow
@given(pod=PODS, nodes=NODES, taint=TAINT)
def test_a_taint_or_a_cordon_never_gains_a_pod(pod: dict[str, Any], nodes: list[Node], taint: dict[str, str]) -> None:
    tainted = [replace(node, taints=[*node.taints, taint]) for node in nodes]
    assert where(pod, tainted) <= where(pod, nodes)
    assert where(pod, [replace(node, is_cordoned=True) for node in nodes]) <= where(pod, nodes)


@pytest.mark.slow
@given(pod=PODS, nodes=NODES, more=HAS)
def test_a_bigger_node_never_loses_a_pod(pod: dict[str, Any], nodes: list[Node], more: dict[str, int]) -> None:
    def grown(node: Node) -> Node:
        names = {*node.allocatable, *more}
        return replace(node, allocatable={n: node.allocatable.get(n, Decimal(0)) + more.get(n, 0) for n in names})

    assert where(pod, [grown(node) for node in nodes]) >= where(pod, nodes)


@pytest.mark.slow
@given(pod=PODS, nodes=NODES, data=st.data())
def test_an_unknown_value_never_refuses_and_is_named_where_it_decides(
    pod: dict[str, Any], nodes: list[Node], data: Any
) -> None:
    path = data.draw(st.sampled_from(list(paths(pod))))
    found, known = landing(hidden(pod, path), nodes), {id(nodes[place]) for place in where(pod, nodes)}
    assert {id(node) for node in found.possible} >= known
    assert {id(node) for node in found.certain} <= known, "nothing unknown keeps it off these"
    assert found.undecided or {id(node) for node in found.possible} == known


MORE = st.sampled_from(
    [
        {}, {"volumes": [{"name": "v"}]}, {"nodeName": "n1"}, {"nodeName": UNKNOWN}, {"hostNetwork": True},
        {"containers": UNKNOWN}, {"overhead": {"cpu": "1"}}, {"resources": {"requests": {"cpu": "2"}}},
        {"schedulingGates": [{"name": "g"}]}, {"resourceClaims": [{"name": "c"}]}, {"runtimeClassName": "r"},
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}, {"tolerations": UNKNOWN},
        {"initContainers": [{"resources": {"requests": {"cpu": 2}}}]},
        {"initContainers": [{"resources": {"requests": {"cpu": 2}}, "restartPolicy": "Always"}]},
    ]
)  # fmt: skip


@pytest.mark.slow
@given(pod=PODS, nodes=NODES, one=MORE, other=MORE)
def test_pods_of_the_same_shape_land_alike(pod: dict[str, Any], nodes: list[Node], one: Any, other: Any) -> None:
    classes = {"r": {"scheduling": {"nodeSelector": {"b": "1"}}}}
    first, second = {**pod, **one}, {**pod, **other}
    if shape(first) == shape(second):
        assert landing(first, nodes, runtime_classes=classes) == landing(second, nodes, runtime_classes=classes)
    else:
        assert one != other


def test_fields_that_the_scheduler_ignores_are_not_in_the_shape_of_a_pod() -> None:
    pod = {"containers": [{"name": "a", "image": "x", "resources": {"limits": {"cpu": "1"}}}]}
    other = {"containers": [{"name": "b", "env": [], "resources": {"limits": {"cpu": "1"}}}], "volumes": []}
    assert shape(pod) == shape(other)


@pytest.mark.slow
@given(pod=PODS, nodes=NODES)
def test_a_daemon_lands_wherever_its_template_would_as_a_pod(pod: dict[str, Any], nodes: list[Node]) -> None:
    daemon = landing(pod, nodes, is_daemon=True)
    assert {id(node) for node in daemon.possible} >= {id(nodes[place]) for place in where(pod, nodes)}


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place inside a pod that could be unknown, a container's name and the like left out."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*at, key)
        yield from paths(inner, (*at, key))


def hidden(value: Any, path: tuple[Any, ...]) -> Any:
    """The same with UNKNOWN at `path`."""
    if not path:
        return UNKNOWN
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = hidden(value[path[0]], path[1:])
    return copy
