"""GpuNodePool declares labels and taints of named nodes and names the nodes that run another driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from rows import each_row

from components.on_kubernetes.gpu_node_pool import GpuNodePool, GpuNodePoolArgs

N10: GpuNodePoolArgs = {
    "pool": "gtx1070ti",
    "node_names": ["n10"],
    "gpu": "GeForce GTX 1070 Ti",
    "gpus_per_node": 7,
    "driver_version": "418.88",
    "container_toolkit_version": "1.7.0",
}


def node(name: str, driver: str | None) -> dict[str, Any]:
    labels = {"nvidia.com/cuda.driver-version.full": driver} if driver else {}
    return {"metadata": {"name": name, "labels": labels}, "status": {"capacity": {"cpu": "8"}}}


@pytest.fixture(params=[False, True], ids=["update", "preview"])
def preview(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_each_node_gets_the_pools_labels_and_the_gpu_taint(recorded: Callable[..., Any], preview: bool) -> None:
    def program() -> None:
        GpuNodePool("gtx1070ti", N10)

    run = recorded(program, preview=preview, existing={"n10": node("n10", "418.88")})
    patch = run.only("NodePatch")
    assert patch.name == "gtx1070ti-n10"
    assert patch.inputs["metadata"]["name"] == "n10"
    assert patch.inputs["metadata"]["labels"] == {
        "gpu-commons.org/pool": "gtx1070ti",
        "gpu-commons.org/driver": "418.88",
        "gpu-commons.org/container-toolkit": "1.7.0",
    }
    assert patch.inputs["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]


def test_a_site_adds_labels_and_taints_of_its_own(recorded: Callable[..., Any]) -> None:
    def program() -> None:
        taint = {"key": "example.edu/course", "value": "cse151", "effect": "NoSchedule"}
        GpuNodePool("p", {**N10, "labels": {"example.edu/room": "b210"}, "taints": [taint]})

    patch = recorded(program, existing={"n10": node("n10", "418.88")}).only("NodePatch")
    assert patch.inputs["metadata"]["labels"]["example.edu/room"] == "b210"
    assert [taint["key"] for taint in patch.inputs["spec"]["taints"]] == ["nvidia.com/gpu", "example.edu/course"]


@pytest.mark.parametrize("key", ["nvidia.com/gpu.product", "gpu-commons.org/pool"])
def test_a_label_with_another_owner_is_refused(recorded: Callable[..., Any], key: str) -> None:
    with pytest.raises(ValueError, match=f'label "{key}" has another owner'):
        recorded(lambda: GpuNodePool("p", {**N10, "labels": {key: "x"}}) and None)


def test_nodes_without_gpus_get_the_label_of_their_pool_and_no_taint(
    recorded: Callable[..., Any], preview: bool
) -> None:
    def program() -> dict[str, pulumi.Output[Any]]:
        pool = GpuNodePool("cpu", {"pool": "cpu", "node_names": ["c01"]})
        return {"gpus": pool.gpus, "drifted": pool.drifted_nodes}

    run = recorded(program, preview=preview, existing={"c01": node("c01", None)})
    patch = run.only("NodePatch")
    assert patch.inputs["metadata"]["labels"] == {"gpu-commons.org/pool": "cpu"}
    assert "spec" not in patch.inputs
    assert run.outputs == {"gpus": 0, "drifted": []}


def test_a_site_may_taint_its_nodes_without_gpus(recorded: Callable[..., Any]) -> None:
    taint = {"key": "example.edu/hubs", "value": "only", "effect": "NoSchedule"}
    args: GpuNodePoolArgs = {"pool": "cpu", "node_names": ["c01"], "taints": [taint]}
    patch = recorded(lambda: GpuNodePool("cpu", args) and None, existing={"c01": node("c01", None)}).only("NodePatch")
    assert patch.inputs["spec"]["taints"] == [taint]


@each_row("missing", ["gpu", "gpus_per_node", "driver_version", "container_toolkit_version"])
def test_a_pool_that_says_its_gpus_by_half_is_refused(recorded: Callable[..., Any], missing: str) -> None:
    args = {key: value for key, value in N10.items() if key != missing}
    with pytest.raises(ValueError, match=rf'pool "gtx1070ti": {missing} is missing beside'):
        recorded(lambda: GpuNodePool("p", args) and None)


PAIR: GpuNodePoolArgs = {**N10, "node_names": ["n10", "n11"], "node_drivers": {"n11": "580.95.05"}}


def test_a_node_with_a_driver_of_its_own_is_labelled_so_and_the_pool_records_it(
    recorded: Callable[..., Any], preview: bool
) -> None:
    args = {**PAIR, "node_container_toolkits": {"n11": "1.17.8"}}
    nodes = {"n10": node("n10", "418.88"), "n11": node("n11", "418.88")}
    run = recorded(lambda: GpuNodePool("p", args) and None, preview=preview, existing=nodes)
    found = {patch.inputs["metadata"]["name"]: patch.inputs["metadata"]["labels"] for patch in run.of_type("NodePatch")}
    assert [found["n10"][f"gpu-commons.org/{key}"] for key in ("driver", "container-toolkit")] == ["418.88", "1.7.0"]
    assert [found["n11"][f"gpu-commons.org/{key}"] for key in ("driver", "container-toolkit")] == [
        "580.95.05",
        "1.17.8",
    ]
    assert run.only("GpuNodePool").inputs["node_drivers"] == {"n11": "580.95.05"}


def test_each_node_is_compared_with_the_driver_that_it_is_supposed_to_run(
    recorded: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, **_: warnings.append(text))
    nodes = {"n10": node("n10", "418.88"), "n11": node("n11", "418.88")}
    run = recorded(lambda: {"drifted": GpuNodePool("p", PAIR).drifted_nodes}, existing=nodes, preview=True)
    assert run.outputs["drifted"] == ["n11"]
    assert warnings == ["driver 580.95.05 is declared, but n11 reports 418.88"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({**N10, "node_drivers": {"n11": "580.95.05"}}, "node_drivers names n11, which is not in node_names"),
        (
            {"pool": "cpu", "node_names": ["c1"], "node_drivers": {"c1": "580.95.05"}},
            "node_drivers is given for nodes without GPUs",
        ),
    ],
    ids=["no node of the pool", "no GPUs"],
)
def test_a_driver_of_a_node_that_has_none_is_refused(recorded: Callable[..., Any], args: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recorded(lambda: GpuNodePool("p", args) and None)


@pytest.mark.parametrize("key", ["labels", "node_drivers", "node_container_toolkits"])
def test_none_in_a_mapping_is_refused_with_its_place(recorded: Callable[..., Any], key: str) -> None:
    with pytest.raises(ValueError, match=rf'{key}\["n10"\] is None; give a text, or leave the key out'):
        recorded(lambda: GpuNodePool("p", {**N10, key: {"n10": None}}) and None)  # type: ignore[misc]


def test_a_taint_whose_value_is_none_has_none(recorded: Callable[..., Any]) -> None:
    taint: Any = {"key": "example.edu/course", "value": None, "effect": "NoSchedule"}
    args: Any = {**N10, "taints": [taint]}
    patch = recorded(lambda: GpuNodePool("p", args) and None, existing={"n10": node("n10", "418.88")}).only("NodePatch")
    assert patch.inputs["spec"]["taints"][1] == {"key": "example.edu/course", "effect": "NoSchedule"}


def test_a_pool_without_nodes_is_refused(recorded: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r'pool "gtx1070ti": node_names is empty'):
        recorded(lambda: GpuNodePool("p", {**N10, "node_names": []}) and None)


def test_the_driver_is_a_property_of_the_pool_itself(recorded: Callable[..., Any]) -> None:
    def program() -> None:
        GpuNodePool("gtx1070ti", N10)

    pool = recorded(program, existing={"n10": node("n10", "418.88")}).only("GpuNodePool")
    assert pool.inputs["driver_version"] == "418.88"
    assert pool.inputs["gpus_per_node"] == 7


@pytest.mark.slow
@pytest.mark.parametrize(("reported", "named"), [("418.88", []), ("418.67", ["n10"]), (None, [])])
def test_nodes_that_report_another_driver_are_named(
    recorded: Callable[..., Any], preview: bool, reported: str | None, named: list[str]
) -> None:
    def program() -> dict[str, pulumi.Output[Any]]:
        return {"drifted": GpuNodePool("gtx1070ti", N10).drifted_nodes}

    run = recorded(program, preview=preview, existing={"n10": node("n10", reported)})
    assert run.outputs["drifted"] == named


def test_nodes_that_report_the_same_driver_are_reported_together(
    recorded: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, **_: warnings.append(text))
    reported = {"n18": "418.67", "n21": "418.67", "n22": "418.88", "n24": "470.57.02"}
    args = {**N10, "node_names": list(reported)}
    nodes = {name: node(name, its) for name, its in reported.items()}
    recorded(lambda: GpuNodePool("p", args) and None, existing=nodes, preview=True)
    assert warnings == ["driver 418.88 is declared, but n18, n21 report 418.67; n24 reports 470.57.02"]


def test_a_pool_counts_its_gpus(recorded: Callable[..., Any]) -> None:
    def program() -> dict[str, pulumi.Output[Any]]:
        return {"gpus": GpuNodePool("p", {**N10, "node_names": ["n18", "n21"], "gpus_per_node": 8}).gpus}

    nodes = {name: node(name, "418.88") for name in ("n18", "n21")}
    assert recorded(program, existing=nodes).outputs["gpus"] == 16


def test_an_update_reads_no_node_and_so_leaves_nothing_that_a_refresh_could_find_changed(
    recorded: Callable[..., Any],
) -> None:
    run = recorded(lambda: GpuNodePool("p", N10) and None, existing={"n10": node("n10", "418.88")})
    assert run.reads == []
    run = recorded(lambda: GpuNodePool("p", N10) and None, existing={"n10": node("n10", "418.88")}, preview=True)
    assert run.reads == ["p-n10-found"]


def test_an_update_warns_of_no_driver_because_it_remembers_an_old_one(
    recorded: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, **_: warnings.append(text))
    program = lambda: {"drifted": GpuNodePool("p", N10).drifted_nodes}  # noqa: E731 - run twice
    assert recorded(program, existing={"n10": node("n10", "418.67")}).outputs["drifted"] == ["n10"]
    assert warnings == []
    recorded(program, existing={"n10": node("n10", "418.67")}, preview=True)
    assert warnings == ["driver 418.88 is declared, but n10 reports 418.67"]


def test_a_node_that_only_the_patch_has_made_is_an_error_of_the_update(recorded: Callable[..., Any]) -> None:
    args = {**N10, "node_names": ["n10", "n99"]}
    with pytest.raises(pulumi.RunError, match="n99: no kubelet has ever registered under this name") as caught:
        recorded(lambda: GpuNodePool("p", args) and None, existing={"n10": node("n10", "418.88")})
    assert "kubectl delete node n99, then name nodes that `kubectl get nodes` lists" in str(caught.value)
