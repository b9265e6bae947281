"""Labels that the kubelet and discovery write, memory as NVML reports it, runtime classes and systems of elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rows import each_row
from shown import DIGEST, IMAGE, REFUSED, UNPROVED, shown, texts

from policies.from_settings import site_of
from policies.model import Site
from settings.reading import load_stack

FILE = Path(__file__).parents[1] / "stacks" / "Pulumi.mixed.yaml"
TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture(scope="module")
def own() -> Site:
    return site_of(load_stack(FILE))


@pytest.fixture(scope="module")
def managed() -> Site:
    stack = load_stack(FILE)
    fleet = stack.fleet.model_copy(update={"managed_by": "platform team"})
    return site_of(stack.model_copy(update={"fleet": fleet, "runtime": None}))


def findings(site: Site, gpus: int = 1, image: str = IMAGE, **pod: Any) -> list[tuple[str, str]]:
    container = {"name": "c", "image": image, "resources": {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}}
    spec = {"containers": [container], **({"tolerations": TOLERATES} if gpus else {}), **pod}
    return shown(site, "kubernetes:core/v1:Pod", {"metadata": {"name": "x"}, "spec": spec})


def hosts(found: list[tuple[str, str]]) -> str:
    """What P-HOST says: refused, unproved or nothing."""
    return next((kind for kind in (REFUSED, UNPROVED) if texts(found, kind, "P-HOST")), "")


@each_row(
    ("label", "value", "answer"),
    [
        ("beta.kubernetes.io/arch", "amd64", ""),
        ("beta.kubernetes.io/os", "linux", ""),
        ("beta.kubernetes.io/arch", "arm64", REFUSED),
        ("beta.kubernetes.io/os", "windows", REFUSED),
    ],
)
def test_the_old_names_of_the_kubelets_labels_are_known(own: Site, label: str, value: str, answer: str) -> None:
    assert hosts(findings(own, nodeSelector={label: value})) == answer


def memory(operator: str, *values: str) -> dict[str, Any]:
    expression = {"key": "nvidia.com/gpu.memory", "operator": operator, **({"values": list(values)} if values else {})}
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}}


@each_row(
    ("pod", "answer"),
    [
        ({"nodeSelector": {"nvidia.com/gpu.memory": "11178"}}, UNPROVED),  # of the 11264 of a GTX 1080 Ti
        ({"nodeSelector": {"nvidia.com/gpu.memory": "11264"}}, UNPROVED),
        ({"nodeSelector": {"nvidia.com/gpu.memory": "24576"}}, REFUSED),
        ({"nodeSelector": {"nvidia.com/gpu.memory": "11264MiB"}}, REFUSED),
        (memory("In", "11178", "24576"), UNPROVED),
        (memory("In", "24576"), REFUSED),
        (memory("Gt", "8000"), ""),
        (memory("Gt", "11200"), UNPROVED),
        (memory("Gt", "16000"), REFUSED),
        (memory("Lt", "16000"), ""),
        (memory("NotIn", "24576"), ""),
        (memory("NotIn", "11178"), UNPROVED),
        (memory("Exists"), ""),
        (memory("DoesNotExist"), REFUSED),
    ],
)
def test_the_memory_of_a_gpu_is_known_as_a_range(own: Site, pod: dict[str, Any], answer: str) -> None:
    assert hosts(findings(own, **pod)) == answer


DISCOVERED = [
    "nvidia.com/gpu.present",
    "nvidia.com/gpu.deploy.device-plugin",
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
]


@each_row("label", DISCOVERED)
def test_labels_of_discovery_may_be_on_nodes_that_another_team_manages(managed: Site, label: str) -> None:
    assert hosts(findings(managed, nodeSelector={label: "true"})) != REFUSED


@each_row("label", DISCOVERED)
def test_a_fleet_of_our_own_has_the_labels_that_it_is_given_and_no_others(own: Site, label: str) -> None:
    assert hosts(findings(own, nodeSelector={label: "true"})) == REFUSED


def test_a_label_that_no_daemon_writes_is_missing_wherever_it_is(managed: Site) -> None:
    assert hosts(findings(managed, nodeSelector={"example.edu/team": "vision"})) == REFUSED


def test_a_runtime_class_of_elsewhere_may_tolerate_the_taint(own: Site) -> None:
    found = findings(own, runtimeClassName="gvisor", tolerations=[])
    assert hosts(found) == UNPROVED
    assert "runtime class gvisor" in texts(found, UNPROVED, "P-HOST")[0]
    assert hosts(findings(own, runtimeClassName="nvidia", tolerations=[])) == REFUSED
    assert hosts(findings(own, tolerations=[])) == REFUSED


def test_a_runtime_class_of_elsewhere_decides_nothing_where_no_taint_keeps_the_pod_away(own: Site) -> None:
    assert hosts(findings(own, runtimeClassName="gvisor")) == ""
    assert hosts(findings(own, gpus=0, runtimeClassName="gvisor", nodeSelector={"gpu-commons.org/pool": "cpu"})) == ""


def test_a_runtime_class_of_elsewhere_may_bring_a_pod_with_devices_to_gpus(own: Site) -> None:
    devices = [{"name": "d", "hostPath": {"path": "/dev"}}]
    assert texts(findings(own, gpus=0, runtimeClassName="gvisor", volumes=devices), UNPROVED, "P-GPU")
    assert findings(own, gpus=0, volumes=devices) == []  # no toleration: it stays on nodes without GPUs


@pytest.mark.parametrize(("name", "answer"), [("windows", REFUSED), ("linux", "")])
def test_a_pod_for_another_system_is_refused(own: Site, name: str, answer: str) -> None:
    assert hosts(findings(own, os={"name": name})) == answer


@each_row(
    ("image", "wanted"),
    [
        ("nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3", "arm64"),
        ("nvcr.io/nvidia/pytorch:24.06-py3-igpu", "arm64"),
        ("quay.io/prometheus/node-exporter:linux-arm64-v1.8.0", "arm64"),
        ("docker.io/x/tool:arm64-1.2", "arm64"),
        ("docker.io/library/golang:1.22-windowsservercore-ltsc2022", "windows"),
        ("docker.io/library/golang:1.22-nanoserver", "windows"),
        ("docker.io/x/tool:1.2-windows-amd64", "windows"),
    ],
)
def test_a_tag_or_repository_that_says_processor_or_system_is_believed(own: Site, image: str, wanted: str) -> None:
    (message,) = texts(findings(own, gpus=0, image=f"{image}@{DIGEST}"), REFUSED, "P-HOST")
    assert f"is built for {wanted}, but the nodes of pool" in message


@each_row(
    "image",
    [
        "nvcr.io/nvidia/pytorch:24.06-py3",
        "docker.io/x/tool:amd64-arm64",
        "docker.io/x/tool:multiarch-arm64-1.2",
        "docker.io/x/toolchain:cross-arm64-1.2",
        "docker.io/x/charm64:1",
        "docker.io/grafana/windows-dashboards:1.0",
        "docker.io/x/exporter:windows-metrics-1.0",
    ],
)
def test_a_name_that_only_looks_like_it_is_not(own: Site, image: str) -> None:
    assert texts(findings(own, gpus=0, image=f"{image}@{DIGEST}"), REFUSED, "P-HOST") == []


def test_amounts_of_memory_are_reported_in_gibibytes(own: Site) -> None:
    resources = {"requests": {"memory": "512Gi"}}
    spec = {"containers": [{"name": "c", "image": IMAGE, "resources": resources}]}
    found = shown(own, "kubernetes:core/v1:Pod", {"spec": spec})
    assert "cpu: it requests 512Gi memory, but a node of the pool has 256Gi" in texts(found, REFUSED, "P-HOST")[0]
