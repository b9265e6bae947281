"""Fields of pods anywhere in a custom resource: what could reach GPUs is told, what is beside it is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for shown.py: folders of tests are no packages here
from shown import IMAGE, REFUSED, UNKNOWN, UNPROVED, shown, texts

from fleet.nodes import Node
from fleet.quantities import quantity
from policies.model import Site

SITE = Site(
    nodes=(Node("n01", "gtx", {}, [], {"nvidia.com/gpu": quantity(8), "cpu": quantity(8)}),),  # type: ignore[dict-item]
    allowed_registries=("registry.example.edu",),
)
GOOD = {"containers": [{"name": "c", "image": IMAGE}]}
FROM = {"valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}
DB, FLINK, SPARK = (
    "example.org/v1:Db",
    "flink.apache.org/v1beta1:FlinkDeployment",
    "spark.apache.org/v1:SparkApplication",
)


def said(token: str, spec: Any) -> list[tuple[str, str]]:
    return shown(SITE, f"kubernetes:{token}", {"metadata": {"name": "x"}, "spec": spec})


@pytest.mark.parametrize(
    ("token", "spec", "place"),
    [
        (DB, {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", **FROM}]}, "spec.env[0] sets NVIDIA_VISIBLE_DEVICES"),
        (DB, {"env": [{"key": "NVIDIA_VISIBLE_DEVICES", "value": "0"}]}, "spec.env[0] sets NVIDIA_VISIBLE_DEVICES"),
        (DB, {"env": {"NVIDIA_VISIBLE_DEVICES": "all"}}, "spec.env.NVIDIA_VISIBLE_DEVICES sets"),
        (DB, {"args": ["-e", "NVIDIA_VISIBLE_DEVICES=all"]}, "spec.args[1] sets NVIDIA_VISIBLE_DEVICES in a text"),
        (DB, {"values": "env:\n  NVIDIA_VISIBLE_DEVICES: all\n"}, "spec.values sets NVIDIA_VISIBLE_DEVICES in a text"),
        (DB, {"envFrom": [{"configMapRef": {"name": "x"}}]}, "spec.envFrom takes variables from elsewhere"),
        (DB, {"env": UNKNOWN}, "spec.env is not known yet"),
        (DB, {"env": [UNKNOWN]}, "spec.env[0] is not known yet"),
        (DB, {"env": [{"name": UNKNOWN, "value": "all"}]}, "spec.env[0] is not known yet"),
        (DB, {"additionalVolumes": UNKNOWN}, "spec.additionalVolumes is not known yet"),
        (DB, {"volumes": [{"hostPath": {"path": UNKNOWN}}]}, "spec.volumes[0].hostPath is not known yet"),
        (DB, {"securityContext": {"privileged": UNKNOWN}}, "spec.securityContext.privileged is not known yet"),
        (DB, {"runtimeClassName": UNKNOWN}, "spec.runtimeClassName is not known yet"),
        (DB, {"runtimeClassName": "gpu-all"}, "spec.runtimeClassName has the runtime class gpu-all"),
        (DB, {"dataDirHostPath": "/dev"}, "spec.dataDirHostPath mounts /dev of the node"),
        (DB, {"devices": ["/dev/nvidia0:/dev/nvidia0"]}, "spec.devices[0] names the device"),
        (DB, {"podAnnotations": {"cdi.k8s.io/x": "nvidia.com/gpu=all"}}, "is an annotation that adds GPUs"),
        (DB, {"mounts": [{"mountPath": "/var/run/nvidia-container-devices/all"}]}, "chooses GPUs past the scheduler"),
        (DB, {"computeResources": {"limits": {"nvidia.com/gpu": 1}}}, "spec names an image or GPUs"),
        (DB, {"host_path": "/dev"}, "spec.host_path mounts /dev of the node"),
        (DB, {"hostPathVolume": {"path": "/dev"}}, "spec.hostPathVolume mounts /dev of the node"),
        (DB, {"runtime_class_name": "nvidia"}, "has the runtime class nvidia"),
        (DB, {"requests": [{"adminAccess": True}]}, "asks for adminAccess"),
        (DB, {"files": ["kind: Pod\nspec:\n  containers:\n  - image: x:1\n"]}, "is a text from which pods are made"),
        (DB, {"file": '{"spec": {"containers": [{"image": "x:1"}]}}'}, "is a text from which pods are made"),
        (
            DB,
            {"patches": [{"op": "add", "path": "/spec/runtimeClassName", "value": "x"}]},
            "changes /spec/runtimeClass",
        ),
        (DB, {"options": "--rm --gpus all"}, "asks for GPUs in a text"),
        (DB, {"images": {"worker": "docker.io/a/b:1"}}, "spec.images.worker names an image"),
        (DB, {"imageURL": "a/b:1"}, "spec names an image"),
        (DB, {"repository": "a/b", "tag": "1"}, "spec names an image"),
        ("tekton.dev/v1:Task", {"steps": [{"ref": {"name": "x"}}]}, "spec.steps[0].ref refers to a template"),
        ("kpack.io/v1alpha2:Image", {"tag": "x"}, "spec refers to a template"),
        (DB, {"gpus": 2}, "spec.gpus asks for GPUs"),
        (DB, {"gpu": {"value": "0.5"}}, "spec.gpu asks for GPUs"),
        (SPARK, {"sparkConf": {"spark.executor.resource.gpu.vendor": "nvidia.com"}}, "asks for GPUs"),
        (FLINK, {"flinkConfiguration": {"external-resource.gpu.kubernetes.config-key": "nvidia.com/gpu"}}, "asks for"),
        (FLINK, {"flinkConfiguration": {"kubernetes.pod-template-file.taskmanager": "s3://x"}}, "is a text from which"),
        (
            "serving.kserve.io/v1beta1:InferenceService",
            {"predictor": GOOD, "transformer": {"model": {"modelFormat": {"name": "x"}}}},
            "spec.transformer.model.modelFormat refers to a template",
        ),
        ("monitoring.coreos.com/v1:Prometheus", {**GOOD, "image": "prom/prometheus:v3"}, "spec names an image"),
        ("example.org/v1:Job", {"template": {"spec": {**GOOD, "sidecarImage": "x:1"}}}, "spec.template.spec names an"),
    ],
)
def test_what_may_reach_gpus_could_not_be_proved(token: str, spec: Any, place: str) -> None:
    found = said(token, spec)
    assert texts(found, REFUSED) == []
    (message,) = texts(found, UNPROVED, "P-READ")
    assert place in message


@pytest.mark.parametrize(
    "spec",
    [
        {"env": [{"name": "TZ", **FROM}], "envFrom": []},
        {"env": [{"name": "TZ", "value": UNKNOWN}]},
        {"env": {"NVIDIA_VISIBLE_DEVICES": "void"}},
        {"args": ["NVIDIA_VISIBLE_DEVICES=void"], "description": "it sets NVIDIA_VISIBLE_DEVICES for nobody"},
        {"runtimeClassName": "gvisor"},
        {"patches": [{"op": "add", "path": "/metadata/labels/x", "value": "y"}]},
        {"hostPathType": "Directory", "adminAccess": False, "ref": "main", "source": {"ref": {"branch": "main"}}},
        {"repository": "https://git.example.edu/a/b.git", "tag": "v1", "url": "https://docker.io/a/b:1"},
        {"config": "receivers:\n  filelog:\n    include: [/var/log/containers/*.log]\n", "options": "--gpu-memory=1"},
        {"issuer": "acme.example.edu", "path": "example.edu/a/b", "address": "db.example.edu:5432"},
        {"dataDirHostPath": "/var/lib/rook"},
        {"devices": ["/dev/sdb"], "devicePath": "/dev/sdb"},
        {"podAnnotations": {"prometheus.io/scrape": "true"}},
        {"mounts": [{"mountPath": "/data"}]},
        {"computeResources": {"limits": {"cpu": 1}}},
        {"gpus": 0, "gpu": {"quota": 8}, "gpuMemory": "16Gi", "isGpu": True, "gpu_count": "0"},
        {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
        {"nodeSelector": {"nvidia.com/gpu.present": "true"}},
        {"volumes": [{"emptyDir": {}}], "securityContext": {"privileged": False, "runAsUser": 1000}},
        {"sparkConf": {"spark.executor.resource.fpga.vendor": "xilinx.com", "spark.kubernetes.namespace": "x"}},
        {"metadata": {"name": UNKNOWN}, "replicas": UNKNOWN},
    ],
)
def test_what_is_beside_them_is_passed_over(spec: Any) -> None:
    assert said(DB, spec) == []


CHANGING = [
    ("kyverno.io/v1:ClusterPolicy", lambda patch: {"rules": [{"mutate": {"patchesJson6902": patch}}]}),
    ("policies.kyverno.io/v1alpha1:MutatingPolicy", lambda patch: {"mutations": [{"expression": patch}]}),
    ("admissionregistration.k8s.io/v1beta1:MutatingAdmissionPolicy", lambda patch: {"mutations": [{"expr": patch}]}),
    ("mutations.gatekeeper.sh/v1:Assign", lambda patch: {"location": patch}),
    ("policy.karmada.io/v1alpha1:OverridePolicy", lambda patch: {"overrideRules": [{"plaintext": [{"path": patch}]}]}),
]


@pytest.mark.parametrize(
    "patch",
    [
        "/spec/runtimeClassName",
        "/spec/containers/0/securityContext/privileged",
        "/spec/containers/0/image",
        "NVIDIA_VISIBLE_DEVICES",
        "/spec/volumes/0/hostPath",
    ],
)
@pytest.mark.parametrize(("token", "spec"), CHANGING)
def test_what_changes_how_pods_reach_gpus_could_not_be_proved(token: str, spec: Any, patch: str) -> None:
    (message,) = texts(said(token, spec(patch)), UNPROVED)
    assert "changes pods after they were judged" in message


@pytest.mark.parametrize("patch", ["/metadata/labels/team", "/spec/containers/0/imagePullPolicy", "/spec/dnsPolicy"])
@pytest.mark.parametrize(("token", "spec"), CHANGING)
def test_what_changes_something_else_of_pods_is_passed_over(token: str, spec: Any, patch: str) -> None:
    assert said(token, spec(patch)) == []


@pytest.mark.parametrize("image", ["${schema.spec.image}", "{{inputs.parameters.image}}", "$(params.image)"])
def test_a_placeholder_in_a_template_is_not_known_and_not_refused(image: str) -> None:
    limits = {"limits": {"cpu": "${schema.spec.cpu}"}}
    template = {"spec": {"containers": [{"name": "c", "image": image, "resources": limits}]}}
    found = said("example.org/v1:Thing", {"template": template})
    assert texts(found, REFUSED) == []
    assert "containers[0].image is not known yet" in texts(found, UNPROVED, "P-PIN")[0]


def test_a_variable_of_a_shell_is_no_placeholder() -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "x:1", "args": ["${HOME}/run"]}]}}
    assert "x:1 has no digest" in "".join(texts(said("example.org/v1:Thing", {"template": template}), REFUSED, "P-PIN"))


def test_an_image_that_a_controller_fills_in_is_told_as_such() -> None:
    template = {"spec": {"containers": [{"name": "elasticsearch"}, {"name": "c", "image": UNKNOWN}]}}
    found = texts(said("example.org/v1:Thing", {"template": template}), UNPROVED, "P-PIN")
    assert "containers[0].image is left to the controller" in found[0]
    assert "containers[1].image is not known yet" in found[1]


def test_what_reaches_gpus_is_told_before_the_images() -> None:
    spec = {**{f"part{number}": {"image": "x:1"} for number in range(5)}, "volumes": [{"hostPath": {"path": "/dev"}}]}
    (message,) = texts(said(DB, spec), UNPROVED, "P-READ")
    assert "could not be proved: spec.volumes[0].hostPath mounts /dev of the node, spec.part" in message


@pytest.mark.parametrize(("token", "spec"), CHANGING)
def test_a_change_of_pods_that_is_not_known_yet_could_not_be_proved(token: str, spec: Any) -> None:
    assert "changes pods after they were judged" in texts(said(token, spec(UNKNOWN)), UNPROVED)[0]


def test_each_policy_of_a_list_is_looked_at() -> None:
    item = {"metadata": {"name": "x"}, "spec": {"mutations": [{"expression": "runtimeClassName"}]}}
    found = shown(SITE, "kubernetes:admissionregistration.k8s.io/v1:MutatingAdmissionPolicyList", {"items": [item]})
    assert "changes pods" in texts(found, UNPROVED)[0]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ["{{" * 20000, "${." * 10000, "${" + "." * 40000])
def test_a_long_text_of_half_placeholders_is_read_at_once(text: str) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": IMAGE, "args": [text]}]}}
    assert said("example.org/v1:Thing", {"template": template}) == []
