"""What is free: counted from nodes and pods, answered without names, and put into words."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from platforms.kubernetes.hub_files.availability import Count, Counts, count, quantity, requests, server
from workloads.hub_files.free_words import free_words, waiting_words

GIB = 2**30
GPU = "nvidia.com/gpu"
TAINT = {"key": GPU, "effect": "NoSchedule"}
TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
PROFILE: dict[str, Any] = {
    "nodeSelector": {"pool": "a"},
    "requests": {"cpu": 1, "memory": GIB, GPU: 1},
    "tolerations": [TOLERATION],
}
TWO = {**PROFILE, "requests": {**PROFILE["requests"], GPU: 2}}
CPU = {**PROFILE, "requests": {"cpu": 0.1, "memory": GIB, GPU: 0}}


def node(
    name: str = "n1", *, gpus: int = 8, cpu: str = "32", memory: str = "64Gi", pods: int = 110, **changes: Any
) -> Any:
    return {
        "metadata": {"name": name, "labels": {"pool": "a", **changes.get("labels", {})}},
        "spec": {"taints": [TAINT, *changes.get("taints", ())], "unschedulable": changes.get("cordoned", False)},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": str(pods), **({GPU: str(gpus)} if gpus else {})},
            "conditions": [{"type": "Ready", "status": changes.get("ready", "True")}],
        },
    }


def asks(gpus: int = 0, cpu: str = "100m", memory: str = "1Gi", **more: Any) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory, **({GPU: str(gpus)} if gpus else {})}
    return {"resources": {"requests": amounts}, **more}


def pod(*containers: dict[str, Any], on: str | None = "n1", phase: str = "Running", **spec: Any) -> Any:
    return {
        "metadata": {"name": "jupyter-ada", "labels": {"hub.jupyter.org/username": "ada"}},
        "spec": {
            "containers": list(containers or [asks(gpus=1)]),
            "tolerations": [TOLERATION],
            "nodeSelector": {"pool": "a"},
            **({"nodeName": on} if on else {}),
            **spec,
        },
        "status": {"phase": phase},
    }


WAITS = {"on": None, "phase": "Pending"}


@each_row(
    ("profile", "nodes", "pods", "expected"),
    [
        pytest.param(PROFILE, [node()], [], {"gpus": 8, "free_gpus": 8, "servers": 8, "lack": ""}, id="empty"),
        pytest.param(
            PROFILE, [node()], [pod()] * 3, {"busy_gpus": 3, "free_gpus": 5, "servers": 5}, id="three of eight"
        ),
        pytest.param(PROFILE, [node()], [pod()] * 8, {"servers": 0, "lack": "gpus", "free_gpus": 0}, id="full"),
        pytest.param(
            PROFILE,
            [node(), node("n2", cordoned=True)],
            [],
            {"nodes": 2, "usable_nodes": 1, "gpus": 16, "free_gpus": 8, "servers": 8},
            id="cordoned",
        ),
        pytest.param(PROFILE, [node(ready="False")], [], {"servers": 0, "lack": "nodes", "gpus": 8}, id="not ready"),
        pytest.param(PROFILE, [node(ready="Unknown")], [], {"servers": 0, "lack": "nodes"}, id="not heard of"),
        pytest.param(
            PROFILE,
            [node(taints=[{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}])],
            [],
            {"nodes": 1, "usable_nodes": 0, "lack": "nodes"},
            id="disk full",
        ),
        pytest.param(PROFILE, [node(taints=[{"key": "exam", "effect": "NoSchedule"}])], [], {"nodes": 0}, id="taint"),
        pytest.param(
            {**PROFILE, "tolerations": [{"operator": "Exists"}]},
            [node(taints=[{"key": "exam", "value": "1", "effect": "NoExecute"}])],
            [],
            {"servers": 8},
            id="tolerates all",
        ),
        pytest.param(
            PROFILE, [node(taints=[{"key": "x", "effect": "PreferNoSchedule"}])], [], {"servers": 8}, id="soft taint"
        ),
        pytest.param(PROFILE, [node(labels={"pool": "b"})], [], {"nodes": 0, "lack": "nodes"}, id="other pool"),
        pytest.param(
            PROFILE,
            [node()],
            [pod(phase="Succeeded"), pod(phase="Failed"), pod()],
            {"busy_gpus": 1, "servers": 7},
            id="ended pods hold nothing",
        ),
        pytest.param(
            PROFILE,
            [node()],
            [pod(asks(), initContainers=[asks(gpus=2), asks(gpus=4)])],
            {"busy_gpus": 4, "servers": 4},
            id="init containers run one after the other",
        ),
        pytest.param(
            PROFILE,
            [node()],
            [pod(asks(gpus=1), initContainers=[asks(gpus=1, restartPolicy="Always"), asks(gpus=1)])],
            {"busy_gpus": 2, "servers": 6},
            id="a sidecar stays",
        ),
        pytest.param(
            PROFILE,
            [node()],
            [pod(asks(gpus=1), initContainers=[asks(gpus=1, restartPolicy="Always"), asks(gpus=3)])],
            {"busy_gpus": 4, "servers": 4},
            id="a sidecar is there beside those that start after it",
        ),
        pytest.param(PROFILE, [node()], [pod(asks(1), asks(1))], {"busy_gpus": 2}, id="containers side by side"),
        pytest.param(
            PROFILE, [node()], [pod({"resources": {"limits": {GPU: "3"}}})], {"busy_gpus": 3}, id="a limit asks"
        ),
        pytest.param(
            TWO,
            [node(gpus=7), node("n2", gpus=3)],
            [],
            {"free_gpus": 10, "servers": 4},
            id="several GPUs come from one node",
        ),
        pytest.param(
            TWO,
            [node(gpus=1), node("n2", gpus=1)],
            [],
            {"free_gpus": 2, "servers": 0, "lack": "gpus"},
            id="no node has both",
        ),
        pytest.param(PROFILE, [node(cpu="2500m")], [], {"free_gpus": 8, "servers": 2}, id="CPU is the limit"),
        pytest.param(PROFILE, [node(cpu="500m")], [], {"servers": 0, "lack": "cpu"}, id="no CPU"),
        pytest.param(PROFILE, [node(memory="3Gi")], [], {"servers": 3}, id="memory is the limit"),
        pytest.param(PROFILE, [node()], [pod(asks(memory="64Gi"))], {"servers": 0, "lack": "memory"}, id="no memory"),
        pytest.param(PROFILE, [node(pods=2)], [pod(asks())], {"servers": 1}, id="pods are the limit"),
        pytest.param(PROFILE, [node(pods=1)], [pod(asks())], {"servers": 0, "lack": "pods"}, id="no more pods"),
        pytest.param(
            PROFILE,
            [node(gpus=0), node("n2", cpu="100m")],
            [],
            {"servers": 0, "lack": "room"},
            id="each is somewhere and nowhere all",
        ),
        pytest.param(CPU, [node(gpus=0, cpu="1")], [], {"gpus": 0, "servers": 10}, id="without GPUs"),
        pytest.param(PROFILE, [node()], [pod(**WAITS)] * 2, {"waiting": 2, "busy_gpus": 0}, id="those that wait"),
        pytest.param(CPU, [node()], [pod(**WAITS)], {"waiting": 0}, id="GPU work does not wait for CPU profiles"),
        pytest.param(
            PROFILE, [node()], [pod(**WAITS, nodeSelector={"pool": "b"})], {"waiting": 0}, id="waits for others"
        ),
        pytest.param(
            PROFILE, [node()], [pod(on="gone")], {"busy_gpus": 0, "servers": 8}, id="pod of a node that is gone"
        ),
        pytest.param(PROFILE, [], [], {"nodes": 0, "servers": 0, "lack": "nodes"}, id="no nodes"),
        pytest.param(PROFILE, [node()], [pod()] * 9, {"busy_gpus": 9, "free_gpus": 0}, id="more than there is"),
    ],
)
def test_what_fits_is_counted(profile: Any, nodes: list[Any], pods: list[Any], expected: dict[str, Any]) -> None:
    found = count({"p": profile}, nodes, pods)["p"]
    assert {key: getattr(found, key) for key in expected} == expected


@each_row(
    ("expression", "is_there"),
    [
        ({"key": "pool", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "pool", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "rack", "operator": "Exists"}, False),
        ({"key": "rack", "operator": "DoesNotExist"}, True),
        ({"key": "memory", "operator": "Gt", "values": ["10"]}, True),
        ({"key": "memory", "operator": "Lt", "values": ["10"]}, False),
    ],
)
def test_a_profile_may_choose_its_nodes_by_affinity(expression: dict[str, Any], *, is_there: bool) -> None:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    found = count({"p": {**PROFILE, "affinity": affinity}}, [node(labels={"memory": "11"})], [])["p"]
    assert bool(found.servers) is is_there


@each_row(
    ("text", "number"),
    [("100m", 0.1), ("2", 2), ("1Gi", GIB), ("16G", 16e9), ("1e3", 1000), ("1.5Ki", 1536), ("", 0), ("many", 0)],
)
def test_quantities_are_read_as_kubernetes_writes_them(text: str, number: float) -> None:
    assert quantity(text) == pytest.approx(number)


def test_a_pod_may_ask_as_a_whole_and_its_runtime_asks_too() -> None:
    requesting = pod(asks(cpu="1"), resources={"requests": {"cpu": "3"}}, overhead={"memory": "1Gi"})
    assert requests(requesting) == {"cpu": 3, "memory": 2 * GIB, GPU: 0, "pods": 1}


@pytest.mark.slow
@given(busy=st.lists(st.integers(0, 3), max_size=8), size=st.integers(1, 4), gpus=st.integers(0, 8))
def test_as_many_servers_fit_as_the_count_says_and_no_more(busy: list[int], size: int, gpus: int) -> None:
    profile = {**PROFILE, "requests": {"cpu": 0.1, "memory": GIB, GPU: size}}
    nodes, pods = [node(gpus=gpus), node("n2", gpus=gpus)], [pod(asks(gpus=each)) for each in busy]
    started = 0
    while left := count({"p": profile}, nodes, pods)["p"].servers:
        pods.append(pod(asks(gpus=size), on=next(n for n in ("n1", "n2") if _fits(profile, nodes, pods, n))))
        started += 1
        assert count({"p": profile}, nodes, pods)["p"].servers == left - 1
    assert started == sum(max(0, gpus - taken) // size for taken in (sum(busy), 0))


def _fits(profile: Any, nodes: list[Any], pods: list[Any], name: str) -> bool:
    return count({"p": profile}, [each for each in nodes if each["metadata"]["name"] == name], pods)["p"].servers > 0


# --- the service


@contextmanager
def served(counts: Counts) -> Iterator[str]:
    running = server(counts, 0, "127.0.0.1")
    thread = threading.Thread(target=running.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}"
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


def cluster(path: str) -> list[Any]:
    return [node()] if path.startswith("/api/v1/nodes") else [pod(), pod(**WAITS)]


@pytest.mark.slow
def test_it_answers_with_numbers_and_no_names() -> None:
    with served(Counts({"gtx": PROFILE}, cluster)) as url:
        answer = httpx.get(f"{url}/counts")
        assert (httpx.get(f"{url}/health").status_code, httpx.get(f"{url}/pods").status_code) == (200, 404)
    assert answer.json() == {
        "profiles": {
            "gtx": {
                "busy_gpus": 1,
                "free_gpus": 7,
                "gpus": 8,
                "lack": "",
                "nodes": 1,
                "servers": 7,
                "usable_nodes": 1,
                "waiting": 1,
            }
        }
    }
    assert not [name for name in ("n1", "jupyter-ada", "ada") if f'"{name}"' in answer.text]


def test_many_who_ask_at_once_cost_the_api_server_one_look() -> None:
    paths: list[str] = []
    now = [0.0]

    def ask(path: str) -> list[Any]:
        paths.append(path)
        return cluster(path)

    counts = Counts({"gtx": PROFILE}, ask, clock=lambda: now[0])
    for _ in range(50):
        counts.now()
    assert len(paths) == 2
    now[0] += 4
    counts.now()
    assert len(paths) == 4


@pytest.mark.slow
def test_an_api_server_that_does_not_answer_is_no_count_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def ask(_: str) -> list[Any]:
        raise OSError("no route to host")

    with caplog.at_level(logging.WARNING), served(Counts({"gtx": PROFILE}, ask)) as url:
        assert httpx.get(f"{url}/counts").status_code == 503
        assert httpx.get(f"{url}/health").status_code == 200
    assert "no route to host" in caplog.text


# --- in words


def numbers(**changes: Any) -> dict[str, Any]:
    plain = {"nodes": 10, "usable_nodes": 10, "gpus": 80, "busy_gpus": 80, "free_gpus": 0, "servers": 0, "lack": "gpus"}
    return {**plain, "waiting": 0, **changes}


ONE_CARD = {"name": "gtx", "title": "One GTX 1080 Ti", "gpus": 1, "gpu": "GeForce GTX 1080 Ti"}
TWO_CARDS = {"name": "gtx2", "title": "Two GTX 1080 Ti", "gpus": 2, "gpu": "GeForce GTX 1080 Ti"}
RTX = {"name": "rtx", "title": "One RTX 2080 Ti", "gpus": 1, "gpu": "GeForce RTX 2080 Ti"}
NO_CARD = {"name": "cpu", "title": "CPU only", "gpus": 0, "gpu": ""}
PAGE = {"cards": [{"choices": [NO_CARD]}, {"choices": [ONE_CARD, TWO_CARDS]}, {"choices": [RTX]}]}


def test_the_numbers_of_these_tests_are_those_of_the_service() -> None:
    assert set(numbers()) == set(Count.__dataclass_fields__)


@each_row(
    ("choice", "count", "words"),
    [
        (ONE_CARD, numbers(servers=12), "12 free now"),
        (NO_CARD, numbers(servers=312), "More than 50 free now"),
        (ONE_CARD, numbers(servers=72), "72 free now"),
        (ONE_CARD, numbers(), "None free now: all 80 GeForce GTX 1080 Ti GPUs are in use"),
        (ONE_CARD, numbers(waiting=1), "None free now: all 80 GeForce GTX 1080 Ti GPUs are in use; 1 server waits"),
        (
            TWO_CARDS,
            numbers(busy_gpus=78, free_gpus=2, waiting=3),
            "None free now: 78 of 80 GeForce GTX 1080 Ti GPUs are in use, and no machine has 2 free; 3 servers wait",
        ),
        (ONE_CARD, numbers(busy_gpus=70), "None free now: all GeForce GTX 1080 Ti GPUs that work are in use"),
        (ONE_CARD, numbers(lack="nodes"), "None free now: no machine for it is ready"),
        (NO_CARD, numbers(lack="memory"), "None free now: its machines have no memory left"),
        (NO_CARD, numbers(lack="cpu"), "None free now: its machines have no CPU cores left"),
        (NO_CARD, numbers(lack="room"), "None free now: its machines have no room left"),
    ],
)
def test_a_choice_says_how_many_are_free_or_why_none_is(choice: Any, count: Any, words: str) -> None:
    assert free_words(choice, count) == words


def test_somebody_who_waits_reads_what_is_busy_who_else_waits_and_what_is_free() -> None:
    counts = {"gtx": numbers(waiting=3), "gtx2": numbers(), "rtx": numbers(servers=4), "cpu": numbers(servers=90)}
    assert list(waiting_words(PAGE, counts, "gtx")) == [
        "All 80 GeForce GTX 1080 Ti GPUs are in use.",
        "2 others wait for the same.",
        "You can cancel and choose “One RTX 2080 Ti” (4 free now) or “CPU only” (more than 50 free now).",
    ]


def test_other_gpus_are_offered_before_no_gpu() -> None:
    counts = {"gtx": numbers(), "gtx2": numbers(servers=1), "cpu": numbers(servers=90)}
    words = list(waiting_words(PAGE, counts, "gtx"))[-1]
    assert words.index("Two GTX 1080 Ti") < words.index("CPU only")


def test_somebody_who_waits_alone_while_all_is_full_reads_that() -> None:
    counts = {name: numbers(waiting=1) for name in ("gtx", "gtx2", "rtx", "cpu")}
    assert list(waiting_words(PAGE, counts, "gtx")) == [
        "All 80 GeForce GTX 1080 Ti GPUs are in use.",
        "Nothing else is free either.",
    ]


@pytest.mark.parametrize("counts", [{}, {"rtx": numbers(servers=1)}, {"gtx": numbers(servers=1)}])
def test_without_numbers_or_with_free_room_the_page_is_silent(counts: Any) -> None:
    assert list(waiting_words(PAGE, counts, "gtx")) == []


def test_an_answer_is_json_that_a_page_can_read_back() -> None:
    text = Counts({"gtx": PROFILE}, cluster).now()
    assert text
    assert free_words(ONE_CARD, json.loads(text)["profiles"]["gtx"]) == "7 free now"
