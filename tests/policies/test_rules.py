"""What each rule refuses, warns of, and cannot prove."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from rows import each_row

from fleet.nodes import Node
from fleet.unknown import UNKNOWN
from policies.evaluate import evaluate
from policies.finding import Finding, Level
from policies.model import Coverage, Rule, Site, Workload

DIGEST = "@sha256:" + "a" * 64
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}


PLUGIN = "registry.example.edu/plugin" + DIGEST


def node(name: str, pool: str, gpus: int) -> Node:
    amounts = {"cpu": Decimal(32), "memory": Decimal(64 * 1024**3), "nvidia.com/gpu": Decimal(gpus)}
    return Node(name, pool, {"gpu-commons.org/pool": pool, "nvidia.com/gpu.compute.major": "6"}, [TAINT], amounts)


SITE = Site(
    nodes=(node("n01", "gtx1080ti", 8), node("n10", "gtx1070ti", 7)),
    allowed_registries=("registry.example.edu", "127.0.0.1:5000"),
    runtime_daemons={PLUGIN: frozenset({"hub/web"})},
)


def pod(**changes: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.example.edu/ml" + DIGEST, **changes.pop("container", {})}
    return {"tolerations": [TOLERATION], "containers": [container], **changes}


def messages_of(spec: Any, *, level: Level, kind: str = "Deployment", site: Site = SITE) -> list[str]:
    inputs = {"metadata": {"namespace": "hub", "name": "web"}, "spec": {"template": {"spec": spec}}}
    return list(evaluate(f"kubernetes:apps/v1:{kind}", "web", inputs, site, frozenset({level})))


def refused(spec: Any, **options: Any) -> list[str]:
    return messages_of(spec, level=Level.REFUSE, **options)


def unproved(spec: Any, **options: Any) -> list[str]:
    return messages_of(spec, level=Level.UNPROVED, **options)


def gpus(limit: Any, request: Any = None) -> dict[str, Any]:
    requests = {"requests": {"nvidia.com/gpu": request}} if request is not None else {}
    return {"resources": {"limits": {"nvidia.com/gpu": limit}, **requests}}


def test_a_plain_workload_passes_every_rule() -> None:
    assert refused(pod(container=gpus("1"))) == []
    assert unproved(pod(container=gpus("1"))) == []


@each_row("variable", ["NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"])
@each_row("value", ["all", "0", "GPU-1234", "0,1"])
def test_a_visibility_variable_that_shows_gpus_is_refused(variable: str, value: str) -> None:
    (message,) = refused(pod(container={"env": [{"name": variable, "value": value}]}))
    assert message.startswith(f"P-GPU: Deployment hub/web: containers[0].env.{variable} selects GPUs")


@pytest.mark.parametrize("value", ["void", "none", ""])
def test_a_visibility_variable_that_hides_all_gpus_is_fine(value: str) -> None:
    assert refused(pod(container={"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}]})) == []


def test_a_visibility_variable_from_a_secret_is_refused_and_its_value_is_not_repeated() -> None:
    env = [{"name": "CUDA_VISIBLE_DEVICES", "valueFrom": {"secretKeyRef": {"name": "s", "key": "hunter2"}}}]
    (message,) = refused(pod(container={"env": env}))
    assert "hunter2" not in message


def test_an_unknown_variable_is_unproved_and_no_pass() -> None:
    assert refused(pod(container={"env": UNKNOWN})) == []
    assert "P-GPU" in unproved(pod(container={"env": UNKNOWN}))[0]


@pytest.mark.parametrize("path", ["/dev", "/", "/dev/nvidia0"])
def test_a_volume_that_reaches_the_devices_is_refused(path: str) -> None:
    (message,) = refused(pod(volumes=[{"name": "v", "hostPath": {"path": path}}]))
    assert f"hostPath {path} reaches every GPU" in message


def test_the_runtimes_own_daemons_may_see_every_gpu() -> None:
    container = {
        "image": PLUGIN,
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
    }
    spec = pod(container=container, volumes=[{"name": "host", "hostPath": {"path": "/"}}])
    assert refused(spec, kind="DaemonSet") == []
    assert refused(spec, kind="Deployment") != []


def test_what_runs_beside_one_of_the_runtimes_daemons_is_none() -> None:
    daemon = {"image": PLUGIN, "securityContext": {"privileged": True}}
    beside = {"image": "registry.example.edu/ml" + DIGEST, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
    volumes = [{"name": "host", "hostPath": {"path": "/"}}]
    spec = {"tolerations": [TOLERATION], "containers": [daemon, beside], "volumes": volumes}
    messages = refused(spec, kind="DaemonSet")
    assert ["containers[1].env" in messages[0], "volumes[0].hostPath /" in messages[1]] == [True, True]
    assert len(messages) == 2


@each_row("path", ["//dev", "/./", "/dev/./nvidia0", "/var/../dev", "dev"])
def test_a_path_to_the_devices_is_one_however_it_is_written(path: str) -> None:
    (message,) = refused(pod(volumes=[{"name": "v", "hostPath": {"path": path}}]))
    assert f"hostPath {path} reaches every GPU" in message


@pytest.mark.parametrize("path", ["/device", "/var/dev", "/data"])
def test_a_path_beside_the_devices_is_none(path: str) -> None:
    assert refused(pod(volumes=[{"name": "v", "hostPath": {"path": path}}])) == []


@each_row("volumes", [UNKNOWN, [UNKNOWN], [{"hostPath": UNKNOWN}], [{"hostPath": {"path": UNKNOWN}}]])
def test_a_volume_that_is_not_known_yet_is_unproved(volumes: Any) -> None:
    assert refused(pod(volumes=volumes)) == []
    (message,) = unproved(pod(volumes=volumes))
    assert message.startswith("P-GPU: Deployment hub/web: could not be proved: volumes")


@each_row(
    "container",
    [
        {"env": [{"name": UNKNOWN, "value": "all"}]},
        {"envFrom": [{"configMapRef": {"name": "settings"}}]},
        {"envFrom": UNKNOWN},
        {"securityContext": UNKNOWN},
        {"securityContext": {"privileged": UNKNOWN}},
    ],
)
def test_what_may_choose_gpus_and_is_not_known_yet_is_unproved(container: dict[str, Any]) -> None:
    assert refused(pod(container=container)) == []
    (message,) = unproved(pod(container=container))
    assert message.startswith("P-GPU: ")


def test_a_privileged_container_is_refused() -> None:
    (message,) = refused(pod(container={"securityContext": {"privileged": True}}))
    assert "containers[0] is privileged: it reaches every GPU" in message
    assert refused(pod(container={"securityContext": {"privileged": False}})) == []


def hidden(value: Any) -> dict[str, Any]:
    return {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}]}


def test_the_runtime_class_for_gpus_without_a_request_is_refused_unless_all_gpus_are_hidden() -> None:
    (message,) = refused(pod(runtimeClassName="nvidia"))
    assert message.startswith("P-GPU: Deployment hub/web: containers[0] asks for no GPU under the runtime class nvidia")
    for container in (gpus("1"), gpus(UNKNOWN), hidden("void"), hidden(UNKNOWN)):
        assert refused(pod(runtimeClassName="nvidia", container=container)) == []
    assert unproved(pod(runtimeClassName="nvidia", container=hidden("void"))) == []
    (message,) = (each for each in unproved(pod(runtimeClassName=UNKNOWN)) if each.startswith("P-GPU: "))
    assert "it is not known yet whether containers[0] asks for no GPU under the runtime class" in message
    assert refused(pod(runtimeClassName="runc")) == []


def test_a_runtime_class_is_known_by_its_handler() -> None:
    site = replace(SITE, runtime_classes={"gpus": {"handler": "nvidia"}})
    (message,) = refused(pod(runtimeClassName="gpus"), site=site)
    assert "asks for no GPU under the runtime class" in message


def test_requests_and_limits_of_gpus_must_be_equal() -> None:
    (message,) = refused(pod(container=gpus("2", "1")))
    assert "nvidia.com/gpu is 1 in requests and 2 in limits" in message


@pytest.mark.parametrize("name", ["nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"])
def test_slices_and_shared_gpus_need_a_limit_as_whole_ones_do(name: str) -> None:
    messages = refused(pod(container={"resources": {"requests": {name: 1}}}))
    (message,) = (each for each in messages if each.startswith("P-GPU: "))
    assert f"containers[0].resources.requests has {name} without a limit" in message


@each_row("amount", ["500m", 0.5, "-1", f"-{10**40}"])
def test_a_part_of_a_gpu_is_refused(amount: Any) -> None:
    (message,) = refused(pod(container=gpus(amount)))
    assert message.startswith(f"P-GPU: Deployment hub/web: containers[0].resources: nvidia.com/gpu is {amount}")


@pytest.mark.parametrize(("limit", "request_"), [("1", 1), ("1", "1.0"), ("2", "2000m")])
def test_equal_amounts_are_equal_however_they_are_written(limit: Any, request_: Any) -> None:
    assert refused(pod(container=gpus(limit, request_))) == []


@pytest.mark.parametrize("resources", [UNKNOWN, {"limits": UNKNOWN}, {"limits": {"nvidia.com/gpu": UNKNOWN}}])
def test_an_amount_that_is_not_known_yet_is_unproved(resources: Any) -> None:
    messages = unproved(pod(container={"resources": resources}))
    assert sum("the GPU request is not known yet" in message for message in messages) == 1


def test_a_claim_of_a_device_may_be_a_gpu_and_is_unproved() -> None:
    claims = {"resources": {"claims": [{"name": "gpu"}]}}
    spec = pod(container=claims, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}])
    site = replace(SITE, coverage=Coverage.WITH_GPUS)
    assert refused(spec, site=site) == []
    (message,) = unproved(spec, site=site)
    assert message.startswith("P-HOST: Deployment hub/web: could not be proved: which pools can host it depends on ")
    assert "resourceClaims" in message


def test_an_image_without_a_digest_is_refused() -> None:
    (message,) = refused(pod(container={"image": "registry.example.edu/ml:2024"}))
    assert message.startswith(
        "P-PIN: Deployment hub/web: containers[0].image registry.example.edu/ml:2024 has no digest"
    )


@pytest.mark.parametrize("image", ["busybox", "docker.io/library/busybox", "registry.example.edu.evil.org/ml"])
def test_an_image_from_another_registry_is_refused(image: str) -> None:
    (message,) = refused(pod(container={"image": image + DIGEST}))
    assert "is not from an allowed registry (registry.example.edu, 127.0.0.1:5000)" in message


def test_init_containers_are_held_to_the_same() -> None:
    messages = refused(pod(initContainers=[{"name": "init", "image": "busybox:latest"}]))
    assert all("initContainers[0].image" in message for message in messages)
    assert len(messages) == 2


def test_ephemeral_containers_are_held_to_the_same() -> None:
    debug = {"name": "d", "image": "busybox:1", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
    messages = refused(pod(ephemeralContainers=[debug]))
    assert len([message for message in messages if "ephemeralContainers[0].image busybox:1" in message]) == 2
    (message,) = (each for each in messages if each.startswith("P-GPU: "))
    assert "ephemeralContainers[0].env" in message


def test_what_is_no_image_reference_is_refused_without_repeating_it() -> None:
    (message,) = refused(pod(container={"image": "https://user:hunter2@registry.example.edu/ml"}))
    assert "containers[0].image is not an image reference" in message
    assert "hunter2" not in message


def test_docker_hubs_own_images_lie_in_library() -> None:
    site = Site(nodes=(), allowed_registries=("docker.io/library",))
    assert refused(pod(container={"image": "busybox" + DIGEST}), site=site) == []
    assert len(refused(pod(container={"image": "someone/busybox" + DIGEST}), site=site)) == 1


def test_an_image_that_this_update_builds_is_unproved() -> None:
    assert refused(pod(container={"image": UNKNOWN})) == []
    (message,) = unproved(pod(container={"image": UNKNOWN}))
    assert "P-PIN" in message
    assert "not known yet" in message


def test_a_workload_that_fits_one_pool_passes() -> None:
    assert refused(pod(container=gpus("8"))) == []


def test_a_workload_that_no_node_can_host_is_refused_with_the_reason_of_each_pool() -> None:
    (message,) = refused(pod(container=gpus("9")))
    assert "P-HOST: Deployment hub/web: no pool can host it" in message
    assert "gtx1070ti: it requests 9 nvidia.com/gpu, but a node of the pool has 7" in message
    assert "gtx1080ti: it requests 9 nvidia.com/gpu, but a node of the pool has 8" in message


def test_a_workload_without_the_toleration_is_refused() -> None:
    (message,) = refused(pod(tolerations=[]))
    assert "it does not tolerate the taint nvidia.com/gpu=present:NoSchedule" in message


def test_a_selector_that_matches_no_pool_is_refused() -> None:
    (message,) = refused(pod(nodeSelector={"gpu-commons.org/pool": "a100"}))
    assert "nodeSelector gpu-commons.org/pool=a100: the pool has gtx1080ti" in message


def test_an_unknown_selector_is_unproved() -> None:
    spec = pod(nodeSelector={"gpu-commons.org/pool": UNKNOWN})
    assert refused(spec) == []
    assert "depends on nodeSelector.gpu-commons.org/pool" in unproved(spec)[0]


def test_a_template_that_is_not_known_at_all_is_unproved() -> None:
    assert refused(UNKNOWN) == []
    assert unproved(UNKNOWN) != []


def test_a_hubs_profiles_are_workloads_too() -> None:
    hub = {
        "core_pool": "gtx1080ti",
        "profiles": [
            {"name": "cpu", "image": "registry.example.edu/base" + DIGEST, "cpu": 1, "memory_gib": 2},
            {"name": "big", "image": "registry.example.edu/ml:latest", "cpu": 1, "gpus": 8, "pool": "gtx1070ti"},
        ],
    }
    messages = list(evaluate("gpu-commons:index:NotebookHub", "datahub", hub, SITE, frozenset({Level.REFUSE})))
    assert len(messages) == 2
    assert all("profile big of hub datahub" in message for message in messages)
    assert "has no digest" in messages[0]
    assert "no pool can host it" in messages[1]


def test_a_rule_that_fails_inside_says_so_after_what_it_has_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(workload: Workload, site: Site) -> Iterator[Finding]:
        yield Finding(f"{workload.name} has {len(site.nodes)} nodes")
        raise KeyError(workload.name)

    monkeypatch.setattr("policies.evaluate.ALL_RULES", [Rule("P-ODD", "", "Mend it.", fails)])
    assert refused(pod()) == ["P-ODD: Deployment hub/web: Deployment hub/web has 2 nodes. Mend it."]
    assert unproved(pod()) == ["P-ODD: Deployment hub/web: could not be proved: the rule failed (KeyError)."]


def test_a_quantity_that_is_none_is_refused_with_its_text() -> None:
    spec = {"containers": [{"image": "registry.example.edu/ml" + DIGEST, "resources": {"limits": {"cpu": "many"}}}]}
    (message,) = refused(spec)
    assert message.startswith("P-HOST: Deployment hub/web: no pool can host it (")
    assert '"many" is not a Kubernetes quantity such as 500m or 2Gi' in message
    assert not [message for message in unproved(spec) if "P-HOST" in message]


def test_kinds_without_pods_are_passed_over() -> None:
    assert list(evaluate("kubernetes:core/v1:ConfigMap", "c", {"data": {}}, SITE, frozenset(Level))) == []


@each_row(
    ("image", "why"),
    [
        ("https://registry.example.edu/hub:1", "it is a URL"),
        ("registry.example.edu/hub: 1", "it has spaces"),
        ("registry.example.edu/Hub:1", "its repository has capital letters"),
        ("registry.example.edu/hub@sha256:12", "its digest is not sha256: and 64 hexadecimal digits"),
    ],
)
def test_what_is_no_image_reference_says_why(image: str, why: str) -> None:
    (message,) = refused(pod(container={"image": image}))
    assert f"hub@sha256:…: {why}. " in message
