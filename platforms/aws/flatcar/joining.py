"""Files and the unit that join a Flatcar node to an EKS cluster, as nodeadm writes them on Amazon Linux. Pure.

The node's role has an access entry of type EC2_LINUX, which names it `system:node:` plus its private DNS name; the
node's hostname must match (docs.aws.amazon.com/eks/latest/userguide/access-entries.html). The kubelet configuration
values are nodeadm's: github.com/awslabs/amazon-eks-ami, nodeadm/internal/kubelet/config.go.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fleet.labels import Taint
from platforms.aws.flatcar.ignition import Contents, File, Unit
from platforms.aws.flatcar.units import text_of

KUBELET: Final = "kubelet.service"
_CA: Final = "/etc/kubernetes/pki/ca.crt"
_CONFIG: Final = "/etc/kubernetes/kubelet/config.json"
_KUBECONFIG: Final = "/var/lib/kubelet/kubeconfig"
_CREDENTIALS: Final = "/etc/eks/image-credential-provider"
# Time for pods to end when EC2 shuts a node down, the node's own pods last: nodeadm's value since
# Kubernetes 1.34, because EC2 waits some minutes. Logind has to wait as long; Flatcar's default is 5 seconds.
# Source: github.com/awslabs/amazon-eks-ami pull request 2390; github.com/poseidon/typhoon pull request 1222 (Flatcar).
_SHUTDOWN_S: Final = 150
_SHUTDOWN_CRITICAL_S: Final = 30
_LOGIND: Final = "/etc/systemd/logind.conf.d/50-kubelet.conf"


@dataclass(frozen=True, slots=True)
class Program:
    """A program to download, with its publisher's checksum: the image has none of them."""

    url: str
    sha256: str  # 64 hex digits


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs missing from the image."""

    kubelet: Program  # dl.k8s.io, with .sha256 next to it
    authenticator: Program  # aws-iam-authenticator: its releases have a checksum list
    credential_provider: Program  # ecr-credential-provider of cloud-provider-aws, with .sha256 next to it
    toolkit: Program  # the extension nvidia-runtime of Flatcar's sysext bakery, for amd64 or arm64


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster to join. Raises ValueError for impossible values."""

    name: str
    region: str
    endpoint: str  # https://….eks.amazonaws.com
    certificate_authority: str  # base64 of PEM, as EKS gives it
    dns: str  # address of the cluster's DNS service

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}", self.name):
            raise ValueError(f'"{self.name}" is not the name of an EKS cluster')
        if not re.fullmatch(r"https://[0-9A-Za-z.:-]+", self.endpoint):
            raise ValueError(f'"{self.endpoint}" is not the endpoint of an EKS cluster')
        try:
            pem = base64.b64decode(self.certificate_authority, validate=True)
        except binascii.Error:
            pem = b""
        if not pem.startswith(b"-----BEGIN CERTIFICATE-----"):
            raise ValueError(f"the certificate authority of {self.name} is not base64 of a certificate")


@dataclass(frozen=True, slots=True)
class Joining:
    """Node properties declared at joining."""

    cluster: Cluster
    programs: Programs
    vcpu: int
    max_pods: int  # limited by addresses of its network interfaces
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Taint] = ()


def files(joining: Joining) -> tuple[File, ...]:
    """Programs, certificates and configurations."""
    programs = joining.programs
    return (
        _program("/opt/bin/kubelet", programs.kubelet),
        _program("/opt/bin/aws-iam-authenticator", programs.authenticator),
        _program(f"{_CREDENTIALS}/ecr-credential-provider", programs.credential_provider),
        File.of(f"{_CREDENTIALS}/config.json", _json("credential-provider.json")),
        File.of(_CA, base64.b64decode(joining.cluster.certificate_authority).decode()),
        File.of(_KUBECONFIG, _json("kubeconfig.json", ca=_CA, cluster=joining.cluster), mode=0o600),
        File.of(_CONFIG, _kubelet_config(joining)),
        File.of(_LOGIND, f"[Login]\nInhibitDelayMaxSec={_SHUTDOWN_S}\n"),
    )


def unit(joining: Joining, after: Sequence[str]) -> Unit:
    """The kubelet, once the units in `after` succeeded."""
    labels = ",".join(f"{key}={value}" for key, value in sorted(joining.labels.items()))
    values = {"after": " ".join(after), "labels": labels, "config": _CONFIG, "kubeconfig": _KUBECONFIG}
    return Unit(name=KUBELET, enabled=True, contents=text_of(KUBELET, **values, credentials=_CREDENTIALS))


def _program(path: str, program: Program) -> File:
    return File(path=path, contents=Contents.download(program.url, program.sha256), mode=0o755)


def _kubelet_config(joining: Joining) -> str:
    return _json(
        "kubelet.json",
        ca=_CA,
        dns=joining.cluster.dns,
        reserved=_kube_reserved(joining.vcpu, joining.max_pods),
        max_pods=joining.max_pods,
        taints=[{"key": each.key, "value": each.value, "effect": each.effect} for each in joining.taints],
        shutdown_s=_SHUTDOWN_S,
        shutdown_critical_s=_SHUTDOWN_CRITICAL_S,
    )


def _kube_reserved(vcpu: int, max_pods: int) -> dict[str, str]:
    """6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the others; memory by pods."""
    ranges = ((0, 1000, 600), (1000, 2000, 100), (2000, 4000, 50), (4000, vcpu * 1000, 25))  # from, to, 1/10000
    cpu = sum(max(0, min(vcpu * 1000, end) - start) * share // 10_000 for start, end, share in ranges)
    return {"cpu": f"{cpu}m", "memory": f"{255 + 11 * max_pods}Mi", "ephemeral-storage": "1Gi"}


def _json(name: str, **values: Any) -> str:
    return json.dumps(json.loads(text_of(name, **values)), sort_keys=True, separators=(",", ":")) + "\n"
