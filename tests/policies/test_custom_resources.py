"""Custom resources: their pod templates are judged, and what else may make pods is never passed over in silence."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from compat import Case, read_host
from fleet.nodes import Node
from fleet.pools import PoolGpus
from fleet.unknown import UNKNOWN
from policies.finding import Level
from policies.judging import evaluate
from policies.model import Site

CUDA_13 = "docker.io/nvidia/cuda:13.0.0-runtime-ubuntu24.04@sha256:" + "a" * 64  # no code for Pascal
SITE = Site(
    nodes=(Node("n01", "gtx", {}, [], {"nvidia.com/gpu": Decimal(8)}),),
    allowed_registries=("docker.io",),
    gpus={"gtx": PoolGpus(read_host(Case(gpu="GeForce GTX 1080 Ti", driver="580.95.05", host="kubernetes")))},
)
CONTAINER = {"image": CUDA_13, "resources": {"limits": {"nvidia.com/gpu": 1}}}
TEMPLATE = {"spec": {"containers": [CONTAINER]}}
EVERYTHING = frozenset(Level)


def said(token: str, inputs: dict[str, Any], levels: frozenset[Level] = EVERYTHING) -> list[str]:
    return list(evaluate(f"kubernetes:{token}", "x", inputs, SITE, levels))


@pytest.mark.parametrize(
    ("token", "spec", "path"),
    [
        (
            "kubeflow.org/v1:PyTorchJob",
            {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": TEMPLATE}}},
            "pytorchReplicaSpecs.Worker.template",
        ),
        ("batch.volcano.sh/v1alpha1:Job", {"tasks": [{"template": TEMPLATE}]}, "tasks[0].template"),
        ("ray.io/v1:RayCluster", {"headGroupSpec": {"template": TEMPLATE}}, "headGroupSpec.template"),
        ("ray.io/v1:RayClusterPatch", {"headGroupSpec": {"template": TEMPLATE}}, "headGroupSpec.template"),
        (
            "jobset.x-k8s.io/v1alpha2:JobSet",
            {"replicatedJobs": [{"template": {"spec": {"template": TEMPLATE}}}]},
            "replicatedJobs[0].template.spec.template",
        ),
        ("serving.knative.dev/v1:Service", {"template": TEMPLATE}, "template"),
    ],
)
def test_a_pod_template_in_a_custom_resource_is_judged(token: str, spec: dict[str, Any], path: str) -> None:
    kind = token.rpartition(":")[2].removesuffix("Patch")
    messages = said(token, {"metadata": {"name": "train"}, "spec": spec})
    (message,) = [each for each in messages if each.startswith("P-RUN: ")]
    assert message.startswith(f"P-RUN: spec.{path} of {kind} train: ")
    assert f"{CUDA_13} does not run on pool gtx" in message


@pytest.mark.parametrize(
    "spec",
    [
        {"pytorchReplicaSpecs": UNKNOWN},
        {"tasks": [UNKNOWN]},
        {"headGroupSpec": UNKNOWN},
        {"replicatedJobs": [{"template": UNKNOWN}]},
        {"template": {"spec": UNKNOWN}},
        {"template": {"spec": {"containers": UNKNOWN}}},
        {"replicatedJobs": UNKNOWN},
        UNKNOWN,
    ],
)
def test_where_a_template_may_stand_and_is_not_known_yet_nothing_is_proved(spec: Any) -> None:
    assert [each for each in said("example.org/v1:Train", {"spec": spec}) if "could not be proved" in each]


def test_each_template_of_a_custom_resource_is_a_workload() -> None:
    spec = {name: {"template": TEMPLATE} for name in ("Master", "Worker")}
    messages = said("kubeflow.org/v1:PyTorchJob", {"spec": {"pytorchReplicaSpecs": spec}}, frozenset({Level.REFUSE}))
    assert [message.partition(" of ")[0] for message in messages] == [
        "P-RUN: spec.pytorchReplicaSpecs.Master.template",
        "P-RUN: spec.pytorchReplicaSpecs.Worker.template",
    ]


@pytest.mark.parametrize(
    ("token", "spec", "place"),
    [
        ("argoproj.io/v1alpha1:Workflow", {"templates": [{"container": CONTAINER}]}, "spec.templates[0].container"),
        ("serving.kserve.io/v1beta1:InferenceService", {"predictor": {"model": CONTAINER}}, "spec.predictor.model"),
        (
            "trainer.kubeflow.org/v1alpha1:TrainJob",
            {"trainer": {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}},
            "spec.trainer",
        ),
        ("nvidia.com/v1:ClusterPolicy", {"driver": {"image": "driver", "version": "580.95.05"}}, "spec.driver"),
        ("example.org/v1:Thing", {"image": UNKNOWN}, "spec"),
    ],
)
def test_what_names_an_image_or_gpus_and_is_no_pod_template_could_not_be_proved(
    token: str, spec: dict[str, Any], place: str
) -> None:
    (message,) = said(token, {"spec": spec})
    kind = token.rpartition(":")[2]
    assert message.startswith(f"P-READ: {kind} x: could not be proved: {place} names an image or GPUs")


@pytest.mark.parametrize("spec", [UNKNOWN, {"template": UNKNOWN}, {"template": {"spec": UNKNOWN}}])
def test_a_template_that_is_not_known_yet_could_not_be_proved(spec: Any) -> None:
    (message,) = said("serving.knative.dev/v1:Service", {"spec": spec})
    assert message.startswith("P-READ: Service x: could not be proved: spec")
    assert "is not known yet" in message


@pytest.mark.parametrize(
    "token", ["helm.sh/v3:Release", "helm.toolkit.fluxcd.io/v2:HelmRelease", "argoproj.io/v1alpha1:Application"]
)
def test_what_is_made_out_of_sight_could_not_be_proved(token: str) -> None:
    (message,) = said(token, {"chart": "gpu-operator", "values": {"image": "x"}})
    kind = token.rpartition(":")[2]
    assert message.startswith(f"P-READ: {kind} x: could not be proved: what it makes does not pass through Pulumi")


@pytest.mark.parametrize(
    ("token", "inputs"),
    [
        ("cert-manager.io/v1:Certificate", {"spec": {"secretName": "tls", "dnsNames": [UNKNOWN]}}),
        ("kueue.x-k8s.io/v1beta1:ResourceFlavor", {"spec": {"nodeLabels": {"nvidia.com/gpu.product": "T4"}}}),
        ("karpenter.sh/v1:NodePool", {"spec": {"limits": {"nvidia.com/gpu": 8}}}),
        ("example.org/v1:Thing", {"metadata": {"annotations": {"image": "x"}}, "status": {"image": "x"}}),
        ("example.org/v1:Thing", {"spec": {"image": None, "resources": "many", "containers": [3]}}),
    ],
)
def test_a_custom_resource_without_pods_is_passed_over(token: str, inputs: dict[str, Any]) -> None:
    assert said(token, inputs) == []


def test_a_container_that_its_controller_completes_is_not_refused_for_its_missing_image() -> None:
    template = {"spec": {"containers": [{"name": "elasticsearch"}]}}
    inputs = {"spec": {"nodeSets": [{"podTemplate": template}]}}
    assert said("elasticsearch.k8s.elastic.co/v1:Elasticsearch", inputs, frozenset({Level.REFUSE})) == []
