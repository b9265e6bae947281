"""GpuJob makes one Kubernetes Job with an explicit GPU request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from components.on_kubernetes.gpu_job import GpuJob
from components.on_kubernetes.gpu_job_args import GpuJobArgs

SMOKE: GpuJobArgs = {
    "namespace": "batch",
    "image": "registry.example.edu/ml@sha256:" + "0" * 64,
    "image_name": "scipy-ml-notebook",
    "command": ["python", "-c", "print('hello')"],
    "gpus": 1,
    "cpu": 1,
    "memory_gib": 2,
    "pool": "gtx1080ti",
}


def pod_of(recorded: Callable[..., Any], args: GpuJobArgs) -> dict[str, Any]:
    job = recorded(lambda: GpuJob("smoke", args) and None).only("batch/v1:Job")
    return dict(job.inputs["spec"]["template"]["spec"])


def test_a_gpu_job_asks_for_its_gpus_and_lands_on_its_pool(recorded: Callable[..., Any]) -> None:
    pod = pod_of(recorded, SMOKE)
    (container,) = pod["containers"]
    assert container["resources"]["limits"] == {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "1"}
    assert pod["nodeSelector"] == {"gpu-commons.org/pool": "gtx1080ti"}
    assert pod["runtimeClassName"] == "nvidia"
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert "env" not in container


def test_a_job_of_several_pools_lands_on_a_node_of_any_of_them(recorded: Callable[..., Any]) -> None:
    args = {key: value for key, value in SMOKE.items() if key != "pool"}
    pod = pod_of(recorded, {**args, "pools": ["gtx1080ti", "rtx2080ti"]})
    assert "nodeSelector" not in pod
    required = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    term = {"key": "gpu-commons.org/pool", "operator": "In", "values": ["gtx1080ti", "rtx2080ti"]}
    assert required == {"nodeSelectorTerms": [{"matchExpressions": [term]}]}


def test_a_job_that_claims_its_gpus_has_a_template_and_no_count(recorded: Callable[..., Any]) -> None:
    args: GpuJobArgs = {**SMOKE, "gpus": 2, "claimed_products": ["NVIDIA-L4", "NVIDIA-L40S"]}
    run = recorded(lambda: GpuJob("smoke", args) and None)
    template = run.only("resource.k8s.io/v1:ResourceClaimTemplate").inputs
    assert template["metadata"] == {"name": "smoke-gpus", "namespace": "batch"}
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    product = 'device.attributes["gpu.nvidia.com"].productName.replace(" ", "-")'
    assert request["exactly"]["deviceClassName"] == "gpu.nvidia.com"
    assert request["exactly"]["count"] == 2
    assert request["exactly"]["selectors"] == [
        {"cel": {"expression": f'{product} == "NVIDIA-L4" || {product} == "NVIDIA-L40S"'}}
    ]
    pod = run.only("batch/v1:Job").inputs["spec"]["template"]["spec"]
    assert pod["resourceClaims"] == [{"name": "gpus", "resourceClaimTemplateName": "smoke-gpus"}]
    assert pod["containers"][0]["resources"]["claims"] == [{"name": "gpus"}]
    assert "nvidia.com/gpu" not in pod["containers"][0]["resources"]["limits"]
    assert "runtimeClassName" not in pod


def test_a_job_without_gpus_sees_none(recorded: Callable[..., Any]) -> None:
    pod = pod_of(recorded, {**SMOKE, "gpus": 0})
    (container,) = pod["containers"]
    assert "nvidia.com/gpu" not in container["resources"]["limits"]
    assert container["env"] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
    assert "runtimeClassName" not in pod


def test_shared_memory_is_a_memory_volume(recorded: Callable[..., Any]) -> None:
    pod = pod_of(recorded, {**SMOKE, "shm_gib": 1})
    assert pod["volumes"] == [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}]
    assert pod["containers"][0]["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]


def test_a_job_runs_without_rights_it_does_not_need(recorded: Callable[..., Any]) -> None:
    pod = pod_of(recorded, SMOKE)
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"] is False


def test_a_queued_job_waits_for_its_turn_and_the_update_does_not(recorded: Callable[..., Any]) -> None:
    job = recorded(lambda: GpuJob("smoke", {**SMOKE, "queue": "cse151"}) and None).only("batch/v1:Job")
    assert job.inputs["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "cse151"}
    assert job.inputs["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    assert job.inputs["spec"]["suspend"] is True


def test_all_mistakes_are_named_at_once(recorded: Callable[..., Any]) -> None:
    wrong = {**SMOKE, "command": [], "cpu": 0, "retries": 21, "pools": ["a"], "env": {"NVIDIA_VISIBLE_DEVICES": "all"}}
    with pytest.raises(pulumi.RunError, match=r"smoke\.command: a list of 0 is empty") as caught:
        recorded(lambda: GpuJob("smoke", wrong) and None)
    assert "smoke.cpu: 0 is out of range: 0.001 or more" in str(caught.value)
    assert "smoke.retries: 21 is out of range: at most 20" in str(caught.value)
    assert "smoke.pools: is given beside pool\n    keep one of the two" in str(caught.value)
    assert "smoke.env.NVIDIA_VISIBLE_DEVICES: is set by the device plugin" in str(caught.value)
