"""Images in volumes, images for another processor, daemons of the site, and infrastructure that is let through."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from image_facts import contents
from rows import each_row
from shown import ADVISED, DIGEST, IMAGE, REFUSED, UNKNOWN, UNPROVED, shown, texts

from fleet.nodes import Node
from imaging.inspection.store import Store, store_folder
from policies.from_settings import site_of
from policies.model import Site
from policies.rules.gpu_exemptions import WITHOUT_PRIVILEGES
from policies.stacks import DEFAULT_STACKS
from settings.reading import load_stack

GPU_NODE = Node("n01", "gtx", {"kubernetes.io/arch": "amd64"}, [], {"nvidia.com/gpu": Decimal(8), "cpu": Decimal(64)})
SITE = Site(nodes=(GPU_NODE,), allowed_registries=("registry.example.edu", "docker.io"))
DAEMON = f"registry.example.edu/dcgm@{DIGEST}"
PRIVILEGED = {"securityContext": {"privileged": True}}


def findings(kind: str = "Deployment", name: str = "x", site: Site = SITE, **pod: Any) -> list[tuple[str, str]]:
    container = {"name": "c", "image": IMAGE, **pod.pop("container", {})}
    inputs = {"metadata": {"name": name}, "spec": {"template": {"spec": {"containers": [container], **pod}}}}
    return shown(site, f"kubernetes:apps/v1:{kind}", inputs)


def volume(reference: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "image": {"reference": reference}}]}


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("registry.example.edu/data:1", "has no digest"),
        (f"quay.io/x/data@{DIGEST}", "is not from an allowed registry"),
        ("", "is missing"),
    ],
)
def test_the_image_of_a_volume_is_held_to_the_same(reference: str, why: str) -> None:
    (message,) = texts(findings(**volume(reference)), REFUSED, "P-PIN")
    assert f"volumes[0].image.reference {reference}".strip() in message
    assert why in message


def test_a_pinned_image_of_a_volume_passes_and_an_unknown_one_is_unproved() -> None:
    assert findings(**volume(IMAGE)) == []
    for odd in (volume(UNKNOWN), {"volumes": [{"name": "v", "image": UNKNOWN}]}):
        assert len(texts(findings(**odd), UNPROVED, "P-PIN")) == 1
    assert findings(volumes=[{"name": "v", "emptyDir": {}}, {"name": "w", "image": "odd"}]) == []


def test_the_image_of_a_volume_counts_for_the_limit_of_the_site() -> None:
    data = f"registry.example.edu/data@sha256:{'b' * 64}"
    site = replace(SITE, contents_of=lambda text: contents(9, 20) if text == data else None)
    (message,) = texts(findings(site=site, **volume(data)), REFUSED, "P-SIZE")
    assert "data" in message
    assert texts(findings(site=site, **volume(IMAGE)), REFUSED) == []


def test_an_image_that_is_known_to_be_for_another_processor_is_refused() -> None:
    arm = replace(contents(0.1, 0.2), platform="linux/arm64")
    site = replace(SITE, contents_of=lambda _: arm)
    (message,) = texts(findings(site=site), REFUSED)
    assert message.startswith("P-HOST: Deployment x: ")
    assert "is built for arm64, but the nodes of pool gtx are amd64" in message
    on_arm = replace(site, nodes=(replace(GPU_NODE, labels={"kubernetes.io/arch": "arm64"}),))
    assert texts(findings(site=on_arm), REFUSED) == []
    both = replace(
        site, nodes=(GPU_NODE, replace(GPU_NODE, name="n02", pool="arm", labels={"kubernetes.io/arch": "arm64"}))
    )
    assert texts(findings(site=both, nodeSelector={"kubernetes.io/arch": "arm64"}), REFUSED) == []
    amd = replace(SITE, contents_of=lambda _: contents(0.1, 0.2))
    assert texts(findings(site=amd), REFUSED) == []


def test_an_image_that_was_read_on_this_machine_for_another_processor_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    site = site_of(load_stack(DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml"))
    image = f"{site.allowed_registries[0]}/x@sha256:{{}}"
    for letter, platform in (("b", "linux/arm64"), ("c", "linux/amd64")):
        facts = replace(contents(0.1, 0.2), digest=f"sha256:{letter * 64}", platform=platform)
        Store(store_folder({"XDG_CACHE_HOME": str(tmp_path)})).keep(facts)
        pod = {"container": {"image": image.format(letter * 64)}, "tolerations": [{"operator": "Exists"}]}
        found = texts(findings(site=site, **pod), REFUSED)
        assert [" is built for arm64, but the nodes of pool" in text for text in found] == [True] * (letter == "b")


@each_row(
    ("image", "refused"),
    [
        (f"docker.io/arm64v8/debian:12@{DIGEST}", 1),
        (f"docker.io/x/tool:1.2-arm64@{DIGEST}", 1),
        (f"docker.io/x/tool-aarch64:1.2@{DIGEST}", 1),
        (f"quay.io/x/node-exporter:linux-arm64-v1.8.0@{DIGEST}", 1),
        (f"registry.example.edu/nvidia/pytorch:24.06-py3-igpu@{DIGEST}", 1),
        (f"registry.example.edu/nvidia/l4t-pytorch:r35@{DIGEST}", 1),
        (f"docker.io/golang:1.22-windowsservercore-ltsc2022@{DIGEST}", 1),
        (f"docker.io/x/windows-dashboards:1@{DIGEST}", 0),
        (f"docker.io/x/cross-arm64-toolchain:1@{DIGEST}", 0),
        (f"docker.io/x/tool:1.2-amd64@{DIGEST}", 0),
        (f"docker.io/x/charm64:1@{DIGEST}", 0),
        (f"docker.io/i386/debian:12@{DIGEST}", 0),
    ],
)
def test_a_name_that_says_the_processor_is_believed(image: str, refused: int) -> None:
    assert len(texts(findings(container={"image": image}), REFUSED, "P-HOST")) == refused


def test_a_pod_that_says_it_is_for_windows_is_refused() -> None:
    assert "spec.os.name is windows" in texts(findings(os={"name": "windows"}), REFUSED, "P-HOST")[0]
    assert findings(os={"name": "linux"}) == []


def test_a_runtime_class_that_nobody_here_has_seen_may_add_tolerations() -> None:
    tainted = replace(GPU_NODE, taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}])
    site = replace(SITE, nodes=(tainted,))
    assert len(texts(findings(site=site), REFUSED, "P-HOST")) == 1
    assert texts(findings(site=site, runtimeClassName="gvisor"), REFUSED) == []
    assert "the runtime class gvisor" in texts(findings(site=site, runtimeClassName="gvisor"), UNPROVED, "P-HOST")[0]
    assert len(texts(findings(site=site, runtimeClassName="nvidia"), REFUSED, "P-HOST")) == 1


def test_an_image_of_the_runtime_frees_the_daemon_that_it_was_meant_for_and_no_other() -> None:
    key = "site.runtime_daemons"
    site = replace(SITE, runtime_daemons={DAEMON: frozenset({"gpu/dcgm"})}, runtime_daemons_key=key)

    def judged(kind: str, image: str = DAEMON, **metadata: Any) -> list[tuple[str, str]]:
        pod = {"containers": [{"name": "c", "image": image, **PRIVILEGED}]}
        return shown(site, f"kubernetes:apps/v1:{kind}", {"metadata": metadata, "spec": {"template": {"spec": pod}}})

    assert judged("DaemonSet", namespace="gpu", name="dcgm") == []
    assert judged("DaemonSet", namespace=UNKNOWN, name="dcgm") == []
    for metadata in ({"namespace": "gpu", "name": "miner"}, {"namespace": "a", "name": "dcgm"}, {"name": "dcgm"}):
        (message,) = texts(judged("DaemonSet", **metadata), REFUSED)
        assert "is privileged" in message
        named = f"{metadata.get('namespace', 'default')}/{metadata['name']}"
        assert f"site.runtime_daemons: {{{named}: {DAEMON}}}" in message
    (message,) = texts(judged("Deployment", namespace="gpu", name="dcgm"), REFUSED)
    assert "runtime_daemons" not in message
    assert [kind for kind, _ in judged("DaemonSet", namespace="gpu", name=UNKNOWN)] == [UNPROVED]
    assert len(texts(judged("DaemonSet", IMAGE, namespace="gpu", name="dcgm"), REFUSED)) == 1


INFRASTRUCTURE = [
    ("registry.example.edu/kube-proxy", "kube-proxy"),
    ("registry.example.edu/cilium/cilium", "cilium"),
    ("docker.io/calico/node", "calico"),
    ("registry.example.edu/ebs-csi-driver/aws-ebs-csi-driver", "csi-driver"),
    ("registry.example.edu/prometheus/node-exporter", "node-exporter"),
    ("registry.example.edu/node-problem-detector/node-problem-detector", "node-problem-detector"),
]


@each_row(("image", "exemption"), INFRASTRUCTURE)
def test_infrastructure_is_let_through_by_an_exemption_that_the_message_names(image: str, exemption: str) -> None:
    pod = {"hostPID": True, "volumes": [{"name": "root", "hostPath": {"path": "/"}}]}
    privileged = {} if exemption in WITHOUT_PRIVILEGES else PRIVILEGED
    found = findings("DaemonSet", container={"image": f"{image}@{DIGEST}", **privileged}, **pod)
    assert texts(found, REFUSED) == []
    allowed = [text for text in texts(found, ADVISED) if f"(exemption {exemption})" in text]
    assert len(allowed) == 1 + bool(privileged)


@each_row(
    ("kind", "more"),
    [
        ("Deployment", {}),
        ("DaemonSet", {"image": f"registry.example.edu/evil/tool@{DIGEST}"}),
        ("DaemonSet", {"image": f"registry.example.edu/not-cilium-at-all@{DIGEST}"}),
        ("DaemonSet", {"image": f"registry.example.edu/my-csi@{DIGEST}"}),
        ("DaemonSet", {"image": "registry.example.edu/cilium/cilium:v1"}),
        ("DaemonSet", {"image": f"docker.io/fluent/fluent-bit@{DIGEST}"}),
        ("DaemonSet", {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}),
        ("DaemonSet", {"volumeMounts": [{"name": "v", "mountPath": "/var/run/nvidia-container-devices/all"}]}),
    ],
)
def test_an_exemption_is_for_its_daemons_and_not_for_gpus(kind: str, more: dict[str, Any]) -> None:
    container = {"image": f"registry.example.edu/cilium/cilium@{DIGEST}", **PRIVILEGED, **more}
    assert texts(findings(kind, container=container), REFUSED) != []


def test_who_stands_beside_infrastructure_and_mounts_nothing_of_the_node_does_not_end_its_exemption() -> None:
    def daemon(*mounting: str) -> list[tuple[str, str]]:
        images = {"falco": f"docker.io/falcosecurity/falco@{DIGEST}", "beside": f"docker.io/x/follow@{DIGEST}"}
        each = [
            {"name": name, "image": image, "volumeMounts": [{"name": "dev", "mountPath": "/x"}] * (name in mounting)}
            for name, image in images.items()
        ]
        pod = {"containers": each, "volumes": [{"name": "dev", "hostPath": {"path": "/dev"}}]}
        inputs = {"metadata": {"name": "falco"}, "spec": {"template": {"spec": pod}}}
        return shown(SITE, "kubernetes:apps/v1:DaemonSet", inputs)

    assert texts(daemon("falco"), REFUSED) == []
    for mounting in (("falco", "beside"), ("beside",), ()):
        assert len(texts(daemon(*mounting), REFUSED)) == 1


@pytest.mark.parametrize(
    "key", ["sidecar.istio.io/proxyImage", "dapr.io/sidecar-image", "vault.hashicorp.com/agent-image"]
)
def test_the_image_of_a_sidecar_that_an_annotation_names_is_held_to_the_same(key: str) -> None:
    def annotated(text: str, name: str = key) -> list[str]:
        template = {"metadata": {"annotations": {name: text}}, "spec": {"containers": [{"name": "c", "image": IMAGE}]}}
        found = shown(
            SITE, "kubernetes:apps/v1:Deployment", {"metadata": {"name": "x"}, "spec": {"template": template}}
        )
        return texts(found, REFUSED, "P-PIN")

    assert "has no digest" in annotated("docker.io/x/proxy:1")[0]
    assert annotated(IMAGE) == []
    assert annotated("docker.io/x/proxy:1", "example.org/imagePullPolicy") == []
    assert annotated("ml", "gpu-commons.org/image") == []


def test_a_device_file_of_nvidia_is_refused_beside_every_exemption() -> None:
    pod = {"volumes": [{"name": "gpu", "hostPath": {"path": "/dev/nvidia0"}}]}
    container = {"image": f"registry.example.edu/cilium/cilium@{DIGEST}"}
    assert len(texts(findings("DaemonSet", container=container, **pod), REFUSED)) == 1
