"""Custom resources: whatever may make pods is judged or told, and what only looks like it is passed over."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for shown.py: folders of tests are no packages here
from shown import IMAGE, REFUSED, UNPROVED, shown, texts

from fleet.nodes import Node
from policies.api_groups import BUILT_IN
from policies.model import Site

SITE = Site(
    nodes=(Node("n01", "gtx", {}, [], {"nvidia.com/gpu": Decimal(8), "cpu": Decimal(8)}),),
    allowed_registries=("registry.example.edu",),
)
BAD = {"containers": [{"name": "c", "image": IMAGE, "securityContext": {"privileged": True}}]}
TEMPLATE = {"spec": BAD}
GOOD = {"spec": {"containers": [{"name": "c", "image": IMAGE}]}}


def said(token: str, spec: Any) -> list[tuple[str, str]]:
    return shown(SITE, f"kubernetes:{token}", {"metadata": {"name": "x"}, "spec": spec})


@pytest.mark.parametrize(
    ("token", "spec", "path"),
    [
        (
            "sparkoperator.k8s.io/v1beta2:SparkApplication",
            {"image": IMAGE, "executor": {"template": TEMPLATE}},
            "spec.executor.template",
        ),
        ("flink.apache.org/v1beta1:FlinkDeployment", {"image": "flink", "podTemplate": TEMPLATE}, "spec.podTemplate"),
        ("metrics.k8s.io/v1:Thing", {"template": TEMPLATE}, "spec.template"),
        (
            "kubeflow.org/v1:MPIJob",
            {"launcher": {"image": IMAGE, "resources": {}, "template": TEMPLATE}},
            "spec.launcher.template",
        ),
        ("example.org/v1:Two", {"template": GOOD, "worker": {"template": TEMPLATE}}, "spec.worker.template"),
        ("example.org/v1:Nested", {"template": {**GOOD, "worker": {"template": TEMPLATE}}}, "spec.template.worker"),
        ("example.org/v1:Inside", {"template": {"spec": {**GOOD["spec"], "other": TEMPLATE}}}, "spec.template.spec"),
        ("serving.kserve.io/v1beta1:InferenceService", {"predictor": BAD}, "spec.predictor"),
        ("monitoring.coreos.com/v1:Prometheus", BAD, "spec"),
        ("work.open-cluster-management.io/v1:ManifestWork", {"workload": {"manifests": [TEMPLATE]}}, "spec.workload"),
        ("kyverno.io/v1:ClusterPolicy", {"rules": [{"generate": {"data": TEMPLATE}}]}, "spec.rules[0].generate"),
    ],
)
def test_every_pod_template_is_judged_not_only_the_first(token: str, spec: Any, path: str) -> None:
    (message,) = [each for each in texts(said(token, spec), REFUSED) if "is privileged" in each]
    assert message.startswith(f"P-GPU: {path}")


@pytest.mark.parametrize("kind", ["apps/v1:DeploymentList", "core/v1:PodList"])
def test_each_object_of_a_list_is_judged(kind: str) -> None:
    item = {"spec": {"template": TEMPLATE}} if "Deployment" in kind else TEMPLATE
    found = shown(SITE, f"kubernetes:{kind}", {"items": [{"spec": {}}, item]})
    (message,) = texts(found, REFUSED, "P-GPU")
    assert " x[1]: containers[0] is privileged" in message


@pytest.mark.parametrize(
    ("token", "spec", "place"),
    [
        ("sparkoperator.k8s.io/v1beta2:SparkApplication", {"image": "spark:3"}, "spec names an image or GPUs"),
        (
            "sparkoperator.k8s.io/v1beta2:SparkApplication",
            {"executor": {"gpu": {"name": "nvidia.com/gpu", "quantity": 1}}},
            "spec.executor.gpu names an image or GPUs",
        ),
        ("example.org/v1:Db", {"image": {"repository": "x/y", "tag": "1"}}, "spec names an image"),
        ("postgresql.cnpg.io/v1:Cluster", {"imageName": "ghcr.io/x/postgresql:16"}, "spec names an image"),
        ("example.org/v1:Db", {"sidecar": {"containerImage": "x"}}, "spec.sidecar names an image"),
        ("example.org/v1:Db", {"executorImage": "x"}, "spec names an image"),
        (
            "argoproj.io/v1alpha1:Workflow",
            {"templates": [{"container": {"command": ["sh"]}}]},
            "spec.templates[0].container is a container without an image",
        ),
        (
            "argoproj.io/v1alpha1:Workflow",
            {"workflowTemplateRef": {"name": "train"}},
            "spec.workflowTemplateRef refers to a template",
        ),
        (
            "argoproj.io/v1alpha1:Workflow",
            {"templates": [{"dag": {"tasks": [{"templateRef": {"name": "t", "template": "x"}}]}}]},
            "spec.templates[0].dag.tasks[0].templateRef refers",
        ),
        ("tekton.dev/v1:PipelineRun", {"pipelineRef": {"name": "p"}}, "spec.pipelineRef refers"),
        ("tekton.dev/v1:TaskRun", {"taskRef": {"name": "p"}}, "spec.taskRef refers"),
        ("trainer.kubeflow.org/v1alpha1:TrainJob", {"runtimeRef": {"name": "torch"}}, "spec.runtimeRef refers"),
        (
            "argoproj.io/v1alpha1:Workflow",
            {"podSpecPatch": "containers: [{name: main, securityContext: {privileged: true}}]"},
            "spec.podSpecPatch is a text",
        ),
        (
            "argoproj.io/v1alpha1:Workflow",
            {"templates": [{"resource": {"action": "create", "manifest": "kind: Pod"}}]},
            "spec.templates[0].resource.manifest is a text",
        ),
    ],
)
def test_what_makes_pods_in_another_shape_could_not_be_proved(token: str, spec: Any, place: str) -> None:
    found = said(token, spec)
    assert texts(found, REFUSED) == []
    (message,) = texts(found, UNPROVED, "P-READ")
    assert f"could not be proved: {place}" in message


ALL_GPUS = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
DEVICES = [{"name": "d", "hostPath": {"path": "/dev"}}]


@pytest.mark.parametrize(
    ("token", "spec", "place"),
    [
        ("postgresql.cnpg.io/v1:Cluster", {"env": ALL_GPUS}, "spec.env[0] sets NVIDIA_VISIBLE_DEVICES"),
        ("monitoring.coreos.com/v1:Prometheus", {"volumes": DEVICES}, "spec.volumes[0].hostPath mounts /dev"),
        (
            "beat.k8s.elastic.co/v1beta1:Beat",
            {"daemonSet": {"podTemplate": {"spec": {"volumes": DEVICES}}}},
            "spec.daemonSet.podTemplate.spec.volumes[0].hostPath mounts /dev",
        ),
        ("example.org/v1:Db", {"pod": {"runtimeClassName": "nvidia"}}, "has the runtime class nvidia"),
        ("example.org/v1:Db", {"pod": {"securityContext": {"privileged": True}}}, "is privileged"),
        (
            "kubevirt.io/v1:VirtualMachine",
            {"template": {"spec": {"domain": {"devices": {"gpus": [{"deviceName": "nvidia.com/GP102"}]}}}}},
            "names the device nvidia.com/GP102",
        ),
        ("kubevirt.io/v1:KubeVirt", {"pci": [{"pciVendorSelector": "10DE:1B06"}]}, "names the device 10DE:1B06"),
        (
            "spark.apache.org/v1:SparkApplication",
            {"sparkConf": {"spark.kubernetes.container.image": "apache/spark:4"}},
            "names an image",
        ),
        (
            "spark.apache.org/v1:SparkApplication",
            {"sparkConf": {"spark.executorEnv.NVIDIA_VISIBLE_DEVICES": "all"}},
            "sets NVIDIA_VISIBLE_DEVICES",
        ),
        (
            "spark.apache.org/v1:SparkApplication",
            {"sparkConf": {"spark.kubernetes.executor.volumes.hostPath.d.options.path": "/dev"}},
            "mounts /dev of the node",
        ),
        (
            "spark.apache.org/v1:SparkApplication",
            {"sparkConf": {"spark.kubernetes.executor.podTemplateFile": "s3://x/y"}},
            "is a text from which pods are made",
        ),
        (
            "flink.apache.org/v1beta1:FlinkDeployment",
            {"flinkConfiguration": {"kubernetes.container.image.ref": "flink:1.18"}},
            "names an image",
        ),
        ("run.ai/v2alpha1:TrainingWorkload", {"image": {"value": "x:1"}}, "names an image"),
        (
            "serving.kserve.io/v1beta1:InferenceService",
            {"predictor": {"model": {"storageUri": "hf://x"}}},
            "refers to a template that stands elsewhere",
        ),
        ("flow.volcano.sh/v1alpha1:JobFlow", {"flows": [{"name": "a"}]}, "refers to a template that stands elsewhere"),
    ],
)
def test_what_reaches_gpus_outside_a_pod_template_could_not_be_proved(token: str, spec: Any, place: str) -> None:
    (message,) = texts(said(token, spec), UNPROVED)
    assert message.startswith("P-READ: ")
    assert place in message


@pytest.mark.parametrize(
    ("token", "spec"),
    [
        ("admissionregistration.k8s.io/v1:MutatingAdmissionPolicy", {"mutations": [{"expression": "NVIDIA_VISIBLE"}]}),
        (
            "mutations.gatekeeper.sh/v1:Assign",
            {
                "location": "spec.containers[name:*].securityContext.privileged",
                "parameters": {"assign": {"value": True}},
            },
        ),
        (
            "kyverno.io/v1:ClusterPolicy",
            {"rules": [{"mutate": {"patchStrategicMerge": {"spec": {"runtimeClassName": "nvidia"}}}}]},
        ),
        ("kubeflow.org/v1alpha1:PodDefault", {"env": ALL_GPUS}),
        ("settings.k8s.io/v1alpha1:PodPreset", {"env": ALL_GPUS}),
        ("nfd.k8s-sigs.io/v1alpha1:NodeFeatureRule", {"rules": [{"labels": {"nvidia.com/gpu.present": "true"}}]}),
        ("policy.karmada.io/v1alpha1:OverridePolicy", {"overrideRules": [{"overriders": {"imageOverrider": [{}]}}]}),
    ],
)
def test_what_gives_gpus_to_pods_after_they_were_judged_could_not_be_proved(token: str, spec: Any) -> None:
    (message,) = texts(said(token, spec), UNPROVED)
    assert "changes pods after they were judged" in message


@pytest.mark.parametrize(
    ("token", "spec"),
    [
        ("admissionregistration.k8s.io/v1:MutatingAdmissionPolicy", {"mutations": [{"expression": "metadata.labels"}]}),
        ("mutations.gatekeeper.sh/v1:Assign", {"location": "spec.priorityClassName"}),
        ("kyverno.io/v1:ClusterPolicy", {"rules": [{"validate": {"pattern": {"runtimeClassName": "nvidia"}}}]}),
        ("postgresql.cnpg.io/v1:Cluster", {"env": [{"name": "TZ", "value": "UTC"}]}),
        ("postgresql.cnpg.io/v1:Cluster", {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]}),
        (
            "monitoring.coreos.com/v1:Prometheus",
            {"volumes": [{"emptyDir": {}}], "tolerations": [{"operator": "Exists"}]},
        ),
        ("spark.apache.org/v1:SparkApplication", {"sparkConf": {"spark.executor.memory": "4g", "spark.image.x": "y"}}),
        ("nfd.k8s-sigs.io/v1alpha1:NodeFeatureRule", {"rules": [{"labels": {"example.org/avx": "true"}}]}),
        ("policy.karmada.io/v1alpha1:OverridePolicy", {"overrideRules": [{"overriders": {"labelsOverrider": [{}]}}]}),
        ("karpenter.sh/v1:NodePool", {"template": {"spec": {"taints": [{"key": "nvidia.com/gpu"}]}}}),
        ("cert-manager.io/v1:Certificate", {"secretName": "tls", "privileged": False}),
    ],
)
def test_the_neighbours_of_those_pass(token: str, spec: Any) -> None:
    assert said(token, spec) == []


PATTERN = {"spec": {"containers": [{"name": "*", "image": "*:latest", "securityContext": {"privileged": "false"}}]}}


@pytest.mark.parametrize(
    ("token", "spec"),
    [
        (
            "kyverno.io/v1:ClusterPolicy",
            {"rules": [{"match": {"any": []}, "validate": {"pattern": PATTERN}, "verifyImages": [{"image": "x"}]}]},
        ),
        (
            "kyverno.io/v1:Policy",
            {"rules": [{"mutate": {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}}]},
        ),
        ("policies.kyverno.io/v1alpha1:ImageValidatingPolicy", {"matchImageReferences": [{"image": "x"}]}),
        ("constraints.gatekeeper.sh/v1beta1:K8sAllowedRepos", {"parameters": {"image": "x", "containers": [{}]}}),
        ("image.toolkit.fluxcd.io/v1:ImageRepository", {"image": "ghcr.io/x/y", "interval": "1m"}),
        (
            "monitoring.coreos.com/v1:PrometheusRule",
            {"groups": [{"rules": [{"labels": {"image": "x", "container": "c"}}]}]},
        ),
        ("keda.sh/v1alpha1:ScaledObject", {"scaleTargetRef": {"name": "web"}, "triggers": [{"type": "cpu"}]}),
        ("autoscaling.k8s.io/v1:VerticalPodAutoscaler", {"resourcePolicy": {"containerPolicies": [{}]}}),
        ("snapshot.storage.k8s.io/v1:VolumeSnapshot", {"source": {"persistentVolumeClaimName": "x"}}),
        ("kueue.x-k8s.io/v1beta1:ClusterQueue", {"resourceGroups": [{"coveredResources": ["nvidia.com/gpu"]}]}),
        ("example.org/v1:Thing", {"imagePullPolicy": "Always", "imagePullSecrets": [{"name": "x"}], "image": ""}),
        ("example.org/v1:Thing", {"containers": ["app", "sidecar"], "container": "app", "manifest": {"a": 1}}),
        ("networking.k8s.io/v1:Ingress", {"rules": [{"image": "x"}]}),
        ("rbac.authorization.k8s.io/v1:Role", {"image": "x"}),
    ],
)
def test_what_only_looks_like_pods_is_passed_over(token: str, spec: Any) -> None:
    assert said(token, spec) == []


def test_good_templates_of_operators_pass() -> None:
    assert said("sparkoperator.k8s.io/v1beta2:SparkApplication", {"executor": {"template": GOOD}}) == []
    assert said("flink.apache.org/v1beta1:FlinkDeployment", {"podTemplate": GOOD}) == []


def test_the_groups_that_count_as_kubernetes_own_are_those_of_the_sdk() -> None:
    import pulumi_kubernetes  # noqa: PLC0415 - for its folder alone

    folder = Path(pulumi_kubernetes.__file__).parent
    groups = {each.name for each in folder.iterdir() if each.is_dir() and (each / "v1").is_dir()}
    assert {"apps", "batch", "networking"} <= groups
    short = {each.partition(".")[0] for each in BUILT_IN}
    assert groups - short == set()
