"""P-GPU: ways to a GPU that are no pod's request, each with its innocent neighbour."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from image_facts import contents
from rows import each_row
from shown import ADVISED, DIGEST, IMAGE, REFUSED, UNKNOWN, UNPROVED, shown, texts

from fleet.nodes import Node
from policies.from_settings import site_of
from policies.model import Coverage, Site
from policies.stacks import DEFAULT_STACKS
from settings.reading import load_stack

TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
AMOUNTS = {"nvidia.com/gpu": Decimal(8), "cpu": Decimal(8)}
SITE = Site(
    nodes=(Node("n01", "gtx", {}, [TAINT], AMOUNTS), Node("n02", "cpu", {}, [], {"cpu": Decimal(8)})),
    allowed_registries=("registry.example.edu", "docker.io", "nvcr.io"),
)
TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
GPU_POD = {"tolerations": TOLERATES}
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


def findings(site: Site = SITE, annotations: Any = None, **pod: Any) -> list[tuple[str, str]]:
    container = {"name": "c", "image": IMAGE, **pod.pop("container", {})}
    metadata = {"annotations": annotations} if annotations else {}
    template = {"metadata": metadata, "spec": {"tolerations": TOLERATES, "containers": [container], **pod}}
    return shown(site, DEPLOYMENT, {"metadata": {"name": "web"}, "spec": {"template": template}})


def host(path: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "hostPath": {"path": path}}]}


@pytest.mark.parametrize("path", ["/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry"])
def test_who_writes_where_device_plugins_register_is_refused_and_the_daemons_of_the_site_are_not(path: str) -> None:
    (message,) = texts(findings(**writes(path)), REFUSED)
    assert "a process that can write there can register a device plugin and allocate any GPU" in message
    assert "site.runtime_daemons" in message
    assert texts(findings(**writes(path, reads=True)), REFUSED) == []
    site = replace(SITE, runtime_daemons={IMAGE: frozenset({"gpu/plugin"})})
    pod = {"containers": [{"name": "c", "image": IMAGE, "volumeMounts": [{"name": "v", "mountPath": "/x"}]}]}
    inputs = {
        "metadata": {"namespace": "gpu", "name": "plugin"},
        "spec": {"template": {"spec": {**pod, **host(path), "tolerations": TOLERATES}}},
    }
    assert shown(site, "kubernetes:apps/v1:DaemonSet", inputs) == []


def writes(path: str, *, reads: bool = False) -> dict[str, Any]:
    mounts = [{"name": "v", "mountPath": "/x", "readOnly": reads}]
    return {**host(path), "container": {"volumeMounts": mounts}}


@pytest.mark.parametrize("name", ["ALL", "SYS_ADMIN", "SYS_PTRACE"])
def test_who_sees_the_processes_of_the_node_and_may_enter_them_is_refused(name: str) -> None:
    enters = {"securityContext": {"capabilities": {"add": [name]}}}
    for sees in ({"hostPID": True}, host("/proc")):
        (message,) = texts(findings(container=enters, **sees), REFUSED)
        assert "sees the processes of the node through" in message
        assert texts(findings(**sees), REFUSED) == []
    assert texts(findings(container=enters), REFUSED) == []
    net = {"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}}
    assert texts(findings(container=net, hostPID=True), REFUSED) == []


@pytest.mark.parametrize("name", ["NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES"])
def test_who_may_divide_the_gpus_of_the_node_is_refused(name: str) -> None:
    assert len(texts(findings(container={"env": [{"name": name, "value": "all"}]}), REFUSED)) == 1
    assert findings(container={"env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"}]}) == []


def test_a_device_plugin_that_gives_gpus_out_by_another_name_is_refused() -> None:
    plugins = host("/var/lib/kubelet/device-plugins")
    (message,) = texts(findings(container={"args": ["--device", "path: /dev/nvidia0"]}, **plugins), REFUSED)
    assert "is a device plugin that hands out /dev/nvidia* without nvidia.com/gpu" in message
    assert len(texts(findings(container={"args": ["--device", "path: /dev/nv*"]}, **plugins), REFUSED)) == 1
    assert texts(findings(container={"args": ["--device", "path: /dev/fuse"]}, **plugins), REFUSED) == []
    assert findings(container={"args": ["ls /dev/nvidia0"]}) == []


def test_a_part_of_a_gpu_that_another_scheduler_gives_is_refused() -> None:
    (message,) = texts(findings(annotations={"gpu-fraction": "0.5"}), REFUSED)
    assert "asks for part of a GPU without nvidia.com/gpu" in message
    assert findings(annotations={"example.org/gpu-fraction-of-budget": "0.5"}) == []


def test_a_pod_that_is_bound_to_its_node_is_reported_if_it_requests_gpus() -> None:
    asks = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    assert "nodeName n01 bypasses the scheduler" in texts(findings(container=asks, nodeName="n01"), ADVISED)[0]
    assert findings(nodeName="n01") == []


def test_a_taint_keeps_pods_away_only_where_the_scheduler_heeds_it() -> None:
    privileged = {"container": {"securityContext": {"privileged": True}}, "tolerations": []}
    assert findings(**privileged) == []
    assert [kind for kind, _ in findings(schedulerName="mine", **privileged)] == [UNPROVED]
    assert texts(findings(schedulerName="default-scheduler", **privileged), REFUSED) == []


def test_a_binding_to_a_node_with_gpus_is_refused() -> None:
    token = "kubernetes:core/v1:Binding"  # noqa: S105 - a resource type
    assert len(texts(shown(SITE, token, {"target": {"name": "n01"}}), REFUSED)) == 1
    assert shown(SITE, token, {"target": {"name": "n02"}}) == []
    assert [kind for kind, _ in shown(SITE, token, {"target": UNKNOWN})] == [UNPROVED]


@pytest.mark.parametrize("path", ["/var/run/nvidia-container-devices/all", "/var/run/nvidia-container-devices/cdi/x"])
def test_a_mount_whose_place_names_gpus_is_refused(path: str) -> None:
    mounts = {"volumeMounts": [{"name": "v", "mountPath": path}]}
    (message,) = texts(findings(container=mounts), REFUSED)
    assert message.startswith(f"P-GPU: Deployment web: containers[0].volumeMounts[0] {path} selects GPUs")


@each_row("path", ["/data", "/var/run/nvidia-container-devices-x", "/var/run/secrets", UNKNOWN])
def test_a_mount_at_another_place_is_not_refused(path: str) -> None:
    found = findings(container={"volumeMounts": [{"name": "v", "mountPath": path}]})
    assert [kind for kind, _ in found] == ([UNPROVED] if path == UNKNOWN else [])


@each_row("amount", ["0", "0.0", "00", "0m", "0Gi", "0e3", "+0", "-0"])
def test_a_zero_asks_for_nothing_however_it_is_written(amount: Any) -> None:
    container = {"resources": {"limits": {"nvidia.com/gpu": amount}}}
    (message,) = texts(findings(container=container, runtimeClassName="nvidia"), REFUSED)
    assert "asks for no GPU under the runtime class nvidia" in message
    assert findings(container={"resources": {"limits": {"nvidia.com/gpu": "1.0"}}}, runtimeClassName="nvidia") == []


@each_row("kind", ["hostPath", "local"])
@each_row("path", ["/dev", "/dev/nvidia0", "/", "/proc/1/root/dev"])
def test_a_persistent_volume_that_holds_the_devices_is_refused(kind: str, path: str) -> None:
    volume = {"metadata": {"name": "v"}, "spec": {kind: {"path": path}}}
    for token in ("PersistentVolume", "PersistentVolumePatch"):
        (message,) = texts(shown(SITE, f"kubernetes:core/v1:{token}", volume), REFUSED)
        assert message.startswith(f"P-GPU: PersistentVolume v: spec.{kind} {path} reaches every GPU")


@each_row(
    "spec",
    [
        {"local": {"path": "/mnt/disks/ssd1"}},
        {"local": {"path": "/dev/disk/by-id/nvme-1"}},
        {"hostPath": {"path": "/data"}},
        {"nfs": {"server": "nfs.example.edu", "path": "/dev"}},
        {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "/dev/nvidia0"}},
    ],
)
def test_a_persistent_volume_with_data_passes(spec: Any) -> None:
    assert shown(SITE, "kubernetes:core/v1:PersistentVolume", {"spec": spec}) == []


def test_each_of_a_list_of_volumes_or_claims_is_judged() -> None:
    volumes = {"items": [{"spec": {"nfs": {}}}, {"spec": {"hostPath": {"path": "/dev"}}}]}
    (message,) = texts(shown(SITE, "kubernetes:core/v1:PersistentVolumeList", volumes), REFUSED)
    assert message.startswith("P-GPU: PersistentVolume x: items[1] (without a name): spec.hostPath /dev reaches")
    claims = {"items": [{"spec": claim(admin=True)}]}
    assert len(texts(shown(SITE, "kubernetes:resource.k8s.io/v1:ResourceClaimList", claims), REFUSED)) == 1
    assert shown(SITE, "kubernetes:core/v1:PersistentVolumeList", {"items": volumes["items"][:1]}) == []


def test_a_persistent_volume_that_is_not_known_yet_is_unproved() -> None:
    for spec in (UNKNOWN, {"local": UNKNOWN}, {"hostPath": {"path": UNKNOWN}}):
        ((kind, _),) = shown(SITE, "kubernetes:core/v1:PersistentVolume", {"spec": spec})
        assert kind == UNPROVED


CLAIM, TEMPLATE = (
    "kubernetes:resource.k8s.io/v1:ResourceClaim",
    "kubernetes:resource.k8s.io/v1beta1:ResourceClaimTemplate",
)


def claim(admin: Any, of: str = "gpu.nvidia.com") -> dict[str, Any]:
    return {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": of, "adminAccess": admin}}]}}


def test_a_claim_with_admin_access_to_gpus_is_refused_and_others_are_not() -> None:
    (message,) = texts(shown(SITE, CLAIM, {"spec": claim(admin=True)}), REFUSED)
    assert "asks for adminAccess, which gives it every device of the class gpu.nvidia.com" in message
    older = {"devices": {"requests": [{"name": "g", "deviceClassName": "gpu.nvidia.com", "adminAccess": True}]}}
    assert len(texts(shown(SITE, TEMPLATE, {"spec": {"spec": older}}), REFUSED)) == 1
    met = shown(SITE, CLAIM, {"spec": claim(admin=False)})  # no pool of this fleet is known to give GPUs by claims
    assert [(kind, message[:8]) for kind, message in met] == [(UNPROVED, "P-CLAIM:")]
    for spec in (claim(admin=True, of="nic.example.com"), claim(admin=UNKNOWN), UNKNOWN):
        assert {kind for kind, _ in shown(SITE, CLAIM, {"spec": spec})} == {UNPROVED}


def node(taints: Any, name: str = "n01", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "spec": {} if taints is None else {"taints": taints}}


def patch(name: str, taints: Any) -> list[tuple[str, str]]:
    return shown(SITE, "kubernetes:core/v1:NodePatch", node(taints, name))


SOFT = {**TAINT, "effect": "PreferNoSchedule"}


OTHER_VALUE = {**TAINT, "value": "no"}


@each_row("taints", [[], [{"key": "example.org/x", "effect": "NoSchedule"}], [SOFT], [OTHER_VALUE]])
def test_a_patch_of_a_node_that_removes_the_taint_for_gpus_is_refused(taints: Any) -> None:
    (message,) = texts(patch("n01", taints), REFUSED)
    assert message.startswith("P-GPU: NodePatch n01: it removes the taint nvidia.com/gpu:NoSchedule")
    assert [kind for kind, _ in patch(UNKNOWN, taints)] == [UNPROVED]


def test_a_patch_of_a_node_that_keeps_the_taint_or_is_of_another_node_passes() -> None:
    assert patch("n01", [TAINT, {"key": "example.org/x", "effect": "NoSchedule"}]) == []
    assert patch("n01", None) == []
    assert patch("n02", []) == []
    assert [kind for kind, _ in patch("n01", UNKNOWN)] == [UNPROVED]


@each_row("kind", ["NodePatch", "Node", "NodeList", "NodePatchList"])
def test_whatever_writes_a_node_is_judged(kind: str) -> None:
    def written(*nodes: dict[str, Any]) -> list[tuple[str, str]]:
        inputs = {"items": list(nodes)} if kind.endswith("List") else nodes[-1]
        return shown(SITE, f"kubernetes:core/v1:{kind}", inputs)

    (message,) = texts(written(node([TAINT]), node([])), REFUSED)
    assert "it removes the taint nvidia.com/gpu:NoSchedule" in message
    assert written(node([TAINT]), node([TAINT])) == []
    assert written(node([], "n02"), node([], "n99")) == []


LABELLED = replace(SITE, nodes=(replace(SITE.nodes[0], labels={"nvidia.com/gpu.product": "A"}), SITE.nodes[1]))


@pytest.mark.parametrize(("value", "change"), [(None, "removes the label {}"), ("B", "sets the label {} to B")])
def test_a_patch_that_changes_the_labels_of_a_nodes_gpus_is_refused(value: Any, change: str) -> None:
    written = node(None, labels={"nvidia.com/gpu.product": value})
    (message,) = texts(shown(LABELLED, "kubernetes:core/v1:NodePatch", written), REFUSED)
    what = change.format("nvidia.com/gpu.product")
    assert f"it {what}, but the label describes the GPUs of the node, where its value is A" in message


@each_row(
    "labels",
    [{"nvidia.com/gpu.product": "A"}, {"nvidia.com/x": "y"}, {"example.org/x": None}, {}],
)
def test_a_patch_that_writes_other_labels_passes(labels: Any) -> None:
    assert shown(LABELLED, "kubernetes:core/v1:NodePatch", node(None, labels=labels)) == []
    assert shown(SITE, "kubernetes:core/v1:NodePatch", node(None, labels={"nvidia.com/gpu.product": "B"})) == []


@pytest.mark.parametrize("token", ["kubernetes:v1:Pod", "kubernetes:core/v1:PodTemplate"])
def test_a_pod_is_one_whatever_its_type_is_called(token: str) -> None:
    pod = {"containers": [{"name": "c", "image": IMAGE, "securityContext": {"privileged": True}}], **GPU_POD}
    inputs = {"template": {"spec": pod}} if "Template" in token else {"spec": pod}
    assert len(texts(shown(SITE, token, inputs), REFUSED)) == 1
    assert [kind for kind, _ in shown(SITE, "kubernetes:v1:List", {"items": [inputs]})] == [UNPROVED]


@each_row("kind", ["v1:RuntimeClass", "v1beta1:RuntimeClass", "v1:RuntimeClassList", "v1:RuntimeClassPatch"])
def test_a_class_of_the_stack_that_gives_gpus_is_known_however_it_is_made(kind: str) -> None:
    made = {"metadata": {"name": "fast"}, "handler": "nvidia"}
    before = f"kubernetes:node.k8s.io/{kind}", {"items": [made]} if kind.endswith("List") else made
    pod = {"containers": [{"name": "c", "image": IMAGE}], "runtimeClassName": "fast", **GPU_POD}
    (message,) = texts(shown(SITE, "kubernetes:core/v1:Pod", {"spec": pod}, before), REFUSED)
    assert "asks for no GPU under the runtime class fast" in message


@pytest.mark.parametrize("key", ["mig.config", "device-plugin.config", "gpu.deploy.device-plugin"])
def test_what_a_label_that_daemons_obey_does_could_not_be_proved(key: str) -> None:
    for name, kinds in (("n01", [UNPROVED]), ("n02", [])):
        written = node(None, name, labels={f"nvidia.com/{key}": "all"})
        assert [kind for kind, _ in shown(SITE, "kubernetes:core/v1:NodePatch", written)] == kinds


@each_row("value", [0, False, "None", "all"])
def test_only_what_the_runtime_takes_for_none_hides_gpus(value: Any) -> None:
    env = {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}]}
    assert len(texts(findings(container=env), REFUSED)) == 1
    assert findings(container={"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}]}) == []


def test_what_a_driver_makes_of_a_path_of_the_node_could_not_be_proved() -> None:
    for source in (
        {"csi": {"driver": "x", "volumeAttributes": {"path": "/dev"}}},
        {"flexVolume": {"options": {"p": "/dev"}}},
    ):
        assert [kind for kind, _ in findings(volumes=[{"name": "v", **source}])] == [UNPROVED]
    assert findings(volumes=[{"name": "v", "csi": {"driver": "x", "volumeAttributes": {"path": "/data"}}}]) == []


def test_gpus_of_a_pod_as_a_whole_are_refused() -> None:
    asks = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    assert "of the pod asks for GPUs" in texts(findings(**asks), REFUSED)[0]
    assert findings(resources={"limits": {"cpu": 1}}) == []


CUDA = f"docker.io/nvidia/cuda:12.4.1-runtime-ubuntu22.04@{DIGEST}"


def default(runtime: str | None, **more: Any) -> Site:
    return replace(SITE, default_runtimes={"gtx": runtime} if runtime else {}, **more)


@pytest.mark.parametrize("image", [CUDA, f"nvcr.io/nvidia/pytorch:24.01-py3@{DIGEST}"])
def test_a_cuda_image_without_a_request_is_judged_by_the_default_runtime_of_the_node(image: str) -> None:
    container, on = {"image": image}, {"nodeSelector": {}}
    gpus = replace(SITE.nodes[0], taints=())
    assert findings(default("runc"), container=container, **on) == []
    found = findings(default("nvidia"), container=container, **on)
    assert "sees all GPUs of pool gtx: the default runtime there is nvidia" in texts(found, REFUSED)[0]
    (message,) = texts(findings(default(None), container=container, **on), UNPROVED)
    assert "default_runtime of the pool does not say" in message
    hides = {"image": image, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]}
    asks = {"image": image, "resources": {"limits": {"nvidia.com/gpu": 1}}}
    for other in (hides, asks):
        assert findings(replace(default("nvidia"), nodes=(gpus,)), container=other) == []
    (message,) = texts(findings(default("nvidia"), container={"image": IMAGE}), UNPROVED)
    assert "its image has not been read" in message
    for runtime in ("runc", None):
        assert findings(default(runtime), container={"image": IMAGE}) == []
    assert findings(default("nvidia"), container=container, tolerations=[]) == []  # the taint keeps it off
    assert findings(default("nvidia"), container=container, runtimeClassName="runc") == []


def test_a_container_that_says_which_cuda_it_has_is_taken_for_an_old_image_of_the_family() -> None:
    legacy = {"env": [{"name": "CUDA_VERSION", "value": "12.4"}]}
    assert "sees all GPUs of pool gtx" in texts(findings(default("nvidia"), container=legacy), REFUSED)[0]
    newer = {"env": [*legacy["env"], {"name": "NVIDIA_REQUIRE_CUDA", "value": "cuda>=12"}]}
    hides = {"env": [*legacy["env"], {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]}
    for other in (newer, hides):
        assert texts(findings(default("nvidia"), container=other), REFUSED) == []
    assert findings(default("runc"), container=legacy) == []


def test_an_image_below_the_stacks_registry_without_a_spec_hides_nothing() -> None:
    own = f"registry.example.edu/gpu-commons/anything@{DIGEST}"
    site = replace(site_of(load_stack(DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml")), own_registry="registry.example.edu")
    site = replace(site, allowed_registries=("registry.example.edu",))
    found = findings(site, container={"image": own}, **host("/dev"))
    assert len(texts(found, REFUSED, "P-GPU")) == 1
    assert [
        text for text in texts(findings(site, container={"image": own}), UNPROVED) if "the rule failed" in text
    ] == []


@each_row(
    ("env", "kind"),
    [
        ((("NVIDIA_VISIBLE_DEVICES", "all"),), REFUSED),
        ((("CUDA_VERSION", "10.0"),), REFUSED),
        ((("NVIDIA_VISIBLE_DEVICES", "void"), ("CUDA_VERSION", "12.4")), None),
        ((("PATH", "/bin"),), None),
    ],
)
def test_what_was_read_of_the_image_says_whether_it_sees_gpus(env: Any, kind: str | None) -> None:
    found = contents(0.1, 0.2)
    facts = replace(found, settings=replace(found.settings, env=env))
    site = default("nvidia", contents_of=lambda _: facts, coverage=Coverage.WITH_GPUS)
    assert {each for each, text in findings(site) if text.startswith("P-GPU")} == ({kind} if kind else set())
