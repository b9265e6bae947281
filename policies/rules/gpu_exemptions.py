"""Known infrastructure that needs the node but no GPU: network, storage and monitoring daemons.

Data and one question. An exemption allows a DaemonSet of a listed image privileges and host paths only:
not variables, annotations, runtime classes and device files that select GPUs, nor a missing digest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fleet.unknown import UNKNOWN
from imaging.references import ImageReference

# Exemption → repositories, without registry: mirrors keep the last segments of their names.
# Each project sets privileged, a path such as / or a runtime socket in its own manifests; see docs/policies.md.
EXEMPTIONS: Final[Mapping[str, str]] = {
    "kube-proxy": r"kube-proxy(?:-\w+)?|eks/kube-proxy|distroless-iptables",
    "cilium": r"cilium/(?:cilium|cilium-envoy|startup-script|tetragon)",
    "calico": r"calico/(?:node|cni|pod2daemon-flexvol|csi|node-driver-registrar)|tigera/\w[\w-]*",
    "cluster-network": r"(?:flannel|kube-router|weave-kube|weave-npc|antrea-agent-ubuntu|antrea-ubuntu|multus-cni"
    r"|multus-dynamic-networks-controller|ovn-kube-u?|kube-ovn|amazon-k8s-cni|amazon-k8s-cni-init"
    r"|aws-network-policy-agent|sriov-network-device-plugin|sriov-cni|whereabouts|install-cni|istio-cni|canal"
    r"|flannel-cni-plugin|k8s-dns-node-cache|speaker)",
    "csi-driver": r"(?:aws|azure|blob|gcp|gcs|vsphere|juicefs|hcloud|beegfs|seaweedfs|cert-manager|spiffe|democratic)"
    r"[\w-]*-csi(?:-driver)?|democratic-csi|(?:azuredisk|azurefile|blob)-csi|ebs-csi-driver|nfsplugin|smbplugin|cephcsi"
    r"|(?:cinder|manila|do)-csi-plugin|csi-node-driver-registrar|node-driver-registrar|livenessprobe"
    r"|csi-secrets-store/driver|csi/driver|longhorn-(?:manager|instance-manager|engine)|rook/ceph"
    r"|(?:zfs|lvm)-driver|piraeus-csi|trident|csi-(?:isilon|powermax|powerstore|unity|vxflexos)",
    "node-exporter": r"node-exporter",
    "node-problem-detector": r"node-problem-detector(?:/node-problem-detector)?",
    "node-feature-discovery": r"node-feature-discovery(?:-minimal)?",
    "log-collector": r"(?:fluent-bit|fluentd|fluentd-kubernetes-daemonset|promtail|alloy|vector|filebeat"
    r"|opentelemetry-collector(?:-contrib|-k8s)?)",
    "runtime-security": r"(?:falco|falco-no-driver|falco-driver-loader|tracee|kubearmor)",
    "node-maintenance": r"(?:kured|bottlerocket-update-operator|node-termination-handler|aws-node-termination-handler)",
    "node-monitor": r"cadvisor|netdata/netdata|grafana/beyla|(?:datadog|datadoghq|grafana)/agent",
}
# Exemptions without privileges: host files suffice.
WITHOUT_PRIVILEGES: Final = frozenset({"log-collector", "node-exporter", "node-feature-discovery"})
# Sidecars of such pods, not exempt by themselves.
_COMPANIONS: Final = re.compile(r"/(?:kube-rbac-proxy|prometheus-config-reloader|configmap-reload|pause|busybox)$")
_PATTERNS: Final = {name: re.compile(rf"(?:^|/)(?:{text})$") for name, text in EXEMPTIONS.items()}


def exemption(images: Iterable[Any]) -> str | None:
    """Their common exemption, companions aside; None if one has none or is not known yet."""
    found = [_of(image) for image in images]
    names = sorted({name for name in found if name})
    return ", ".join(names) if names and None not in found else None


def _of(image: Any) -> str | None:
    if image is UNKNOWN or not isinstance(image, str):
        return None
    try:
        reference = ImageReference.parse(image)
    except ValueError:
        return None
    name = reference.repository_in_full
    if _COMPANIONS.search(name):
        return ""
    return next((exempted for exempted, pattern in _PATTERNS.items() if pattern.search(name)), None)
