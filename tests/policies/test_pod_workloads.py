"""Which resources are workloads, and which facts about their pods are known."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from rows import each_row

from compat import Case, read_host
from fleet.nodes import Node
from fleet.pools import PoolGpus
from fleet.unknown import UNKNOWN
from policies.evaluate import evaluate
from policies.finding import Level
from policies.model import Site
from policies.pod_workloads import holds_pods, workloads

HUB = "gpu-commons:index:NotebookHub"
PATCH = "kubernetes:apps/v1:DeploymentPatch"
DIGEST = "@sha256:" + "a" * 64
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
AMOUNTS = {"cpu": Decimal(32), "memory": Decimal(64 * 1024**3), "nvidia.com/gpu": Decimal(8)}
SITE = Site(
    nodes=(Node("n01", "gtx", {"gpu-commons.org/pool": "gtx"}, [TAINT], AMOUNTS),),
    allowed_registries=("docker.io",),
    gpus={"gtx": PoolGpus(read_host(Case(gpu="GeForce GTX 1080 Ti", driver="418.88", host="kubernetes")))},
)


def messages(token: str, inputs: dict[str, Any], level: Level) -> list[str]:
    return list(evaluate(token, "x", inputs, SITE, frozenset({level})))


def deployment(**pod: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": pod}}}


@each_row(
    ("token", "is_one"),
    [
        ("kubernetes:batch/v1:Job", True),
        ("kubernetes:batch/v1beta1:CronJob", True),
        ("kubernetes:core/v1:Pod", True),
        ("kubernetes:apps/v1:DaemonSetPatch", True),
        ("kubernetes:autoscaling/v1:Job", False),
        ("aws:batch/v1:Job", False),
        ("kubernetes:helm.sh/v4:Chart", False),  # what it makes is shown by itself
        ("kubernetes:yaml/v2:ConfigFile", False),
        ("kubernetes:rbac.authorization.k8s.io/v1:Role", False),
    ],
)
def test_a_kind_counts_in_a_group_of_kubernetes_alone(token: str, is_one: bool) -> None:
    assert holds_pods(token) is is_one
    assert bool(list(workloads(token, "x", {}))) is is_one


def test_a_patch_of_a_label_refuses_nothing_and_proves_nothing() -> None:
    labelled = {"metadata": {"labels": {"a": "b"}}}
    assert messages(PATCH, labelled, Level.REFUSE) == []
    assert len([each for each in messages(PATCH, labelled, Level.UNPROVED) if each.startswith("P-HOST: ")]) == 1


def test_a_patch_of_an_image_is_not_proved_to_run() -> None:
    image = "docker.io/nvidia/cuda:12.4.1-runtime-ubuntu22.04" + DIGEST
    patch = deployment(containers=[{"name": "c", "image": image}])
    assert messages(PATCH, patch, Level.REFUSE) == []
    (message,) = [each for each in messages(PATCH, patch, Level.UNPROVED) if each.startswith("P-RUN: ")]
    assert "does not run on pool gtx (driver 418.88)" in message


def test_what_a_patch_sets_counts() -> None:
    container = {"name": "c", "image": "docker.io/nvidia/cuda:latest", "resources": {"limits": {"nvidia.com/gpu": 9}}}
    rules = [each.partition(":")[0] for each in messages(PATCH, deployment(containers=[container]), Level.REFUSE)]
    assert sorted(rules) == ["P-HOST", "P-PIN"]


@each_row("resources", [UNKNOWN, None, "much", {"limits": UNKNOWN}, {"limits": "much"}, {"limits": None}])
def test_an_odd_patch_ends_nothing_and_refuses_nothing(resources: Any) -> None:
    patch = deployment(containers=[{"name": "c", "resources": resources}, UNKNOWN, 3], initContainers="none")
    assert messages(PATCH, patch, Level.REFUSE) == []


def test_a_patch_of_memory_or_of_the_runtime_class_may_have_its_gpu_elsewhere() -> None:
    container = {"name": "c", "resources": {"limits": {"memory": "1Gi"}}}
    patch = deployment(containers=[container], runtimeClassName="nvidia")
    assert messages(PATCH, patch, Level.REFUSE) == []
    assert [each for each in messages(PATCH, patch, Level.UNPROVED) if "P-GPU" in each]


@pytest.mark.parametrize(
    ("profiles", "name"), [(UNKNOWN, "profiles of hub x"), ([UNKNOWN], "profile 0 of hub x")], ids=["all", "one"]
)
def test_profiles_that_are_not_known_yet_are_unproved(profiles: Any, name: str) -> None:
    assert messages(HUB, {"profiles": profiles}, Level.REFUSE) == []
    found = [each for each in messages(HUB, {"profiles": profiles}, Level.UNPROVED) if each.startswith("P-PIN: ")]
    assert [each.startswith(f"P-PIN: {name}: ") for each in found] == [True]


@each_row(
    "odd",
    [
        {"node_selector": UNKNOWN},
        {"node_selector": "gpu"},
        {"gpus": "two"},
        {"gpus": 1.5},
        {"gpus": [1]},
        {"name": UNKNOWN},
        {"tolerations": UNKNOWN},
        {"cpu_guarantee": None},
        {"memory_guarantee_gib": "much"},
    ],
)
def test_an_odd_profile_is_a_workload_and_ends_nothing(odd: dict[str, Any]) -> None:
    profile = {"name": "p", "image": "docker.io/x" + DIGEST, "pool": "gtx", **odd}
    assert len(list(workloads(HUB, "x", {"profiles": [profile], "start_timeout_s": "soon"}))) == 1
    for level in Level:
        messages(HUB, {"profiles": [profile]}, level)


def test_a_profile_whose_selector_is_not_known_keeps_its_pool() -> None:
    profile = {"name": "p", "image": "docker.io/x" + DIGEST, "pool": "a100", "node_selector": UNKNOWN}
    (message,) = messages(HUB, {"profiles": [profile]}, Level.REFUSE)
    assert "no pool can host it (gtx: nodeSelector gpu-commons.org/pool=a100" in message


def test_a_profile_with_gpus_has_the_hubs_runtime_class_and_one_without_has_none() -> None:
    profiles = [{"name": "cpu"}, {"name": "gpu", "gpus": 1}]
    hub = {"profiles": profiles, "runtime_class": "fast"}
    assert [each.runtime for each in workloads(HUB, "x", hub)] == [None, "fast"]
    assert [each.runtime for each in workloads(HUB, "x", {"profiles": profiles})] == [
        None,
        "nvidia",
    ]
