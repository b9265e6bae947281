"""Custom resources: their pod templates are judged, and what else may make pods is never passed over in silence."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rows import each_row
from shown import IMAGE, REFUSED, UNPROVED, shown, texts
from shown import UNKNOWN as NOT_SENT

from compat import Case, read_host
from fleet.nodes import Node
from fleet.pools import PoolGpus
from fleet.unknown import UNKNOWN
from policies.custom_resources import BUILT_IN
from policies.evaluate import evaluate
from policies.finding import Level
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


def messages(token: str, inputs: dict[str, Any], levels: frozenset[Level] = EVERYTHING) -> list[str]:
    return list(evaluate(f"kubernetes:{token}", "x", inputs, SITE, levels))


@each_row(
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
    found = messages(token, {"metadata": {"name": "train"}, "spec": spec})
    (message,) = [each for each in found if each.startswith("P-RUN: ")]
    assert message.startswith(f"P-RUN: spec.{path} of {kind} train: ")
    assert f"{CUDA_13} does not run on pool gtx" in message


@each_row(
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
    assert [each for each in messages("example.org/v1:Train", {"spec": spec}) if "could not be proved" in each]


def test_a_gpu_request_is_reported_beside_the_image_that_it_is_for() -> None:
    spec = {"trainer": {"image": "x/y:1", "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}}
    (message,) = [
        each for each in messages("trainer.kubeflow.org/v1alpha1:TrainJob", {"spec": spec}) if "P-READ" in each
    ]
    assert "spec.trainer.image names an image" in message
    assert "spec.trainer.resourcesPerNode asks for GPUs" in message


def test_each_template_of_a_custom_resource_is_a_workload() -> None:
    spec = {name: {"template": TEMPLATE} for name in ("Master", "Worker")}
    found = messages("kubeflow.org/v1:PyTorchJob", {"spec": {"pytorchReplicaSpecs": spec}}, frozenset({Level.REFUSE}))
    assert [message.partition(" of ")[0] for message in found] == [
        "P-RUN: spec.pytorchReplicaSpecs.Master.template",
        "P-RUN: spec.pytorchReplicaSpecs.Worker.template",
    ]


@pytest.mark.parametrize(
    "token", ["helm.sh/v3:Release", "helm.toolkit.fluxcd.io/v2:HelmRelease", "argoproj.io/v1alpha1:Application"]
)
def test_what_is_made_out_of_sight_could_not_be_proved(token: str) -> None:
    (message,) = messages(token, {"chart": "gpu-operator", "values": {"image": "x"}})
    kind = token.rpartition(":")[2]
    assert message.startswith(f"P-READ: {kind} x: could not be proved: what it creates is deployed outside Pulumi")


@each_row(
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
    assert messages(token, inputs) == []


def test_a_container_that_its_controller_completes_is_not_refused_for_its_missing_image() -> None:
    template = {"spec": {"containers": [{"name": "elasticsearch"}]}}
    inputs = {"spec": {"nodeSets": [{"podTemplate": template}]}}
    assert messages("elasticsearch.k8s.elastic.co/v1:Elasticsearch", inputs, frozenset({Level.REFUSE})) == []


PLAIN = Site(
    nodes=(Node("n01", "gtx", {}, [], {"nvidia.com/gpu": Decimal(8)}),), allowed_registries=("registry.example.edu",)
)
PRIVILEGED = {"spec": {"containers": [{"name": "c", "image": IMAGE, "securityContext": {"privileged": True}}]}}
GOOD = {"spec": {"containers": [{"name": "c", "image": IMAGE}]}}


def shown_of(token: str, spec: Any) -> list[tuple[str, str]]:
    return shown(PLAIN, f"kubernetes:{token}", {"metadata": {"name": "x"}, "spec": spec})


@pytest.mark.parametrize("kind", ["apps/v1:DeploymentList", "core/v1:PodList"])
def test_each_object_of_a_list_is_judged(kind: str) -> None:
    item = {"spec": {"template": PRIVILEGED}} if "Deployment" in kind else PRIVILEGED
    found = shown(PLAIN, f"kubernetes:{kind}", {"items": [{"spec": {}}, item]})
    (message,) = texts(found, REFUSED, "P-GPU")
    assert " x[1]: containers[0] is privileged" in message


def test_good_templates_of_operators_pass() -> None:
    assert shown_of("sparkoperator.k8s.io/v1beta2:SparkApplication", {"executor": {"template": GOOD}}) == []
    assert shown_of("flink.apache.org/v1beta1:FlinkDeployment", {"podTemplate": GOOD}) == []


def test_the_groups_that_count_as_kubernetes_own_are_those_of_the_sdk() -> None:
    import pulumi_kubernetes  # noqa: PLC0415 - for its folder alone

    folder = Path(pulumi_kubernetes.__file__).parent
    groups = {each.name for each in folder.iterdir() if each.is_dir() and (each / "v1").is_dir()}
    assert {"apps", "batch", "networking"} <= groups
    short = {each.partition(".")[0] for each in BUILT_IN}
    assert groups - short == set()


@pytest.mark.parametrize("image", ["${schema.spec.image}", "{{inputs.parameters.image}}", "$(params.image)"])
def test_a_placeholder_in_a_template_is_not_known_and_not_refused(image: str) -> None:
    limits = {"limits": {"cpu": "${schema.spec.cpu}"}}
    template = {"spec": {"containers": [{"name": "c", "image": image, "resources": limits}]}}
    found = shown_of("example.org/v1:Thing", {"template": template})
    assert texts(found, REFUSED) == []
    assert "containers[0].image is not known yet" in texts(found, UNPROVED, "P-PIN")[0]


def test_a_variable_of_a_shell_is_no_placeholder() -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "x:1", "args": ["${HOME}/run"]}]}}
    assert "x:1 has no digest" in "".join(
        texts(shown_of("example.org/v1:Thing", {"template": template}), REFUSED, "P-PIN")
    )


def test_an_image_that_a_controller_fills_in_is_reported_as_such() -> None:
    template = {"spec": {"containers": [{"name": "elasticsearch"}, {"name": "c", "image": NOT_SENT}]}}
    found = texts(shown_of("example.org/v1:Thing", {"template": template}), UNPROVED, "P-PIN")
    assert "containers[0].image is chosen by the controller" in found[0]
    assert "containers[1].image is not known yet" in found[1]


def test_a_way_to_gpus_is_reported_before_the_images() -> None:
    spec = {**{f"part{number}": {"image": "x:1"} for number in range(5)}, "volumes": [{"hostPath": {"path": "/dev"}}]}
    (message,) = texts(shown_of("example.org/v1:Db", spec), UNPROVED, "P-READ")
    assert "could not be proved: spec.volumes[0].hostPath mounts /dev of the node, spec.part" in message


def test_each_policy_of_a_list_is_looked_at() -> None:
    item = {"metadata": {"name": "x"}, "spec": {"mutations": [{"expression": "runtimeClassName"}]}}
    found = shown(PLAIN, "kubernetes:admissionregistration.k8s.io/v1:MutatingAdmissionPolicyList", {"items": [item]})
    assert "changes pods" in texts(found, UNPROVED)[0]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ["{{" * 20000, "${." * 10000, "${" + "." * 40000])
def test_a_long_text_of_half_placeholders_is_read_at_once(text: str) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": IMAGE, "args": [text]}]}}
    assert shown_of("example.org/v1:Thing", {"template": template}) == []
