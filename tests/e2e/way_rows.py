"""Ways to a GPU past the scheduler, each with an innocent neighbour: the worst ones, for the real engine.

All of them are in tests/policies; here the engine writes the resources on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rule_rows import TOLERATES, Row, digest, pod

from cli.review.findings import Level

IMAGE: Final = f"docker.io/library/way@{digest('way')}"


@dataclass(frozen=True)
class Way:
    """What is refused, or with another level could not be proved, and the neighbour of which nothing is reported."""

    bad: Row
    good: Row
    says: str  # of the bad one
    level: Level = Level.REFUSED


def made(kind: str, version: str, name: str, **inputs: Any) -> Row:
    resource = {"type": f"kubernetes:{version}:{kind}", "name": name, "inputs": {"metadata": {"name": name}, **inputs}}
    return Row(f"{kind} {name}", resource)


def annotated(name: str, annotations: Mapping[str, str]) -> Row:
    spec = {"containers": [{"name": "c", "image": IMAGE}], "tolerations": TOLERATES}
    metadata = {"name": name, "annotations": annotations}
    return Row(
        f"Pod {name}", {"type": "kubernetes:core/v1:Pod", "name": name, "inputs": {"metadata": metadata, "spec": spec}}
    )


def mounted(name: str, path: str, *, read_only: bool = False) -> Row:
    mounts = [{"name": "v", "mountPath": "/x", "readOnly": read_only}]
    return pod(name, container={"volumeMounts": mounts}, volumes=[{"name": "v", "hostPath": {"path": path}}])


def at(name: str, place: str) -> Row:
    mounts = [{"name": "v", "mountPath": place}]
    return pod(name, container={"volumeMounts": mounts}, volumes=[{"name": "v", "emptyDir": {}}])


def data(name: str, reference: str) -> Row:
    return pod(name, volumes=[{"name": "v", "image": {"reference": reference}}])


def claim(name: str, *, admin: bool) -> Row:
    request = {"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com", "adminAccess": admin}}
    return made("ResourceClaim", "resource.k8s.io/v1", name, spec={"devices": {"requests": [request]}})


def volume(name: str, path: str) -> Row:
    return made("PersistentVolume", "core/v1", name, spec={"hostPath": {"path": path}})


def patch(name: str, node: str, *taints: Mapping[str, str]) -> Row:
    """Of a node of the user's fleet."""
    inputs = {"metadata": {"name": node}, "spec": {"taints": list(taints)}}
    return Row(f"NodePatch {node}", {"type": "kubernetes:core/v1:NodePatch", "name": name, "inputs": inputs})


def spark(name: str, **spec: Any) -> Row:
    return made("SparkApplication", "sparkoperator.k8s.io/v1beta2", name, spec=spec)


TAINT: Final = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
PRIVILEGED: Final = {"containers": [{"name": "c", "image": IMAGE, "securityContext": {"privileged": True}}]}
WAYS: Final[Mapping[str, Way]] = {
    "a CDI annotation with a prefix": Way(
        annotated("cdi-bad", {"nvidia.cdi.k8s.io/container.c": "nvidia.com/gpu=all"}),
        annotated("cdi-good", {"nvidia.cdi.k8s.io/container.c": "example.com/nic=0"}),
        "adds GPUs and bypasses the scheduler",
    ),
    "a volume on the devices": Way(volume("pv-bad", "/dev"), volume("pv-good", "/data"), "reaches every GPU"),
    "a place that names GPUs": Way(
        at("place-bad", "/var/run/nvidia-container-devices/all"), at("place-good", "/data"), "selects GPUs"
    ),
    "the files of a process": Way(
        mounted("process-bad", "/proc/1/fd"), mounted("process-good", "/proc/1/mounts"), "reaches into a process"
    ),
    "static pods": Way(
        mounted("static-bad", "/etc/kubernetes/manifests"),
        mounted("static-good", "/etc/kubernetes/manifests", read_only=True),
        "controls what root on the node does",
    ),
    "an image in a volume": Way(
        data("data-bad", "docker.io/library/data:1"), data("data-good", IMAGE), "has no digest"
    ),
    "a claim with adminAccess": Way(claim("admin-bad", admin=True), claim("admin-good", admin=False), "adminAccess"),
    "a node without its taint": Way(patch("taint-bad", "n01"), patch("taint-good", "n02", TAINT), "removes the taint"),
    "a pod template of Spark": Way(
        spark("template-bad", executor={"template": {"spec": {**PRIVILEGED, "tolerations": TOLERATES}}}),
        spark("template-good", sparkConf={"spark.executor.memory": "4g"}),
        "is privileged",
    ),
    "an image of Spark": Way(
        spark("spark-bad", image="quay.io/x/spark:3", executor={"gpu": {"name": "nvidia.com/gpu", "quantity": 1}}),
        spark("spark-good", executor={"cores": 1}),
        "names an image",
        Level.UNDECIDED,
    ),
    "a variable in a database": Way(
        made(
            "Cluster",
            "postgresql.cnpg.io/v1",
            "env-bad",
            spec={"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]},
        ),
        made("Cluster", "postgresql.cnpg.io/v1", "env-good", spec={"env": [{"name": "TZ", "value": "UTC"}]}),
        "sets NVIDIA_VISIBLE_DEVICES",
        Level.UNDECIDED,
    ),
}
