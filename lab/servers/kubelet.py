"""The kubelet of the real node. It owns /var/lib/kubelet while it runs, as on any node.

That folder is not the instance's, because the kubelet's device-plugin socket is there whatever `--root-dir` says, and
because DaemonSets for real nodes mount it by that name.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from lab import certificates, files
from lab.cluster import REAL_NODE
from lab.processes import Server
from lab.servers import containerd, nfs_exports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.instance import Instance
    from lab.servers import Tools
    from workloads.storage import NfsExport

ROOT = Path("/var/lib/kubelet")


def server(instance: Instance, tools: Tools, node_name: str, nfs: Sequence[NfsExport] = ()) -> Server:
    """The kubelet that joins as `node_name` and reaches the exports of `nfs`; writes its configuration."""
    config = files.write(instance.config / "kubelet.yaml", yaml.safe_dump(configuration(instance), sort_keys=False))
    # The machine's own may name a server that pods cannot reach, and its search domains do not belong here.
    files.write(resolv_conf(instance), f"nameserver {instance.networks.node_address}\n")
    health = f"http://127.0.0.1:{instance.ports['kubelet_health']}/healthz"
    return Server(
        name="kubelet",
        argv=[
            str(tools.path("kubelet")),
            f"--config={config}",
            f"--kubeconfig={certificates.kubeconfig(instance, certificates.NODE_CLIENT)}",
            f"--root-dir={ROOT}",
            f"--hostname-override={node_name}",
            f"--node-ip={instance.networks.node_address}",
            f"--node-labels={'='.join(REAL_NODE)}",
        ],
        ready=lambda: answers(health),
        ready_within_s=60,
        env={"NO_PROXY": "*"},
        files=[config, resolv_conf(instance), certificates.authority(instance)],
        programs=[nfs_exports.make(instance, nfs)],
    )


def resolv_conf(instance: Instance) -> Path:
    return instance.config / "resolv.conf"


def configuration(instance: Instance) -> dict[str, object]:
    """The KubeletConfiguration: no cgroups of its own, no listener off this machine, a laptop's disk thresholds."""
    serving = certificates.pair(instance, "kubelet-serving")
    networks = instance.networks
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": networks.node_address,
        "port": instance.ports["kubelet"],
        "readOnlyPort": 0,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": instance.ports["kubelet_health"],
        "tlsCertFile": str(serving.certificate),
        "tlsPrivateKeyFile": str(serving.key),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(certificates.authority(instance))},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{containerd.socket_path(instance)}",
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "failCgroupV1": False,
        "oomScoreAdj": 0,  # a lower value needs CAP_SYS_RESOURCE
        "clusterDomain": "cluster.local",
        "clusterDNS": [networks.node_address],
        "resolvConf": str(resolv_conf(instance)),
        "nodeStatusUpdateFrequency": "3s",  # how soon GPUs appear after the device plugin has registered
        "podLogsDir": str(instance.logs / "pods"),
        "volumePluginDir": str(ROOT / "volume-plugins"),  # its default is a folder in /usr
        "serializeImagePulls": False,
        # Absolute, not percent: rebuilding an image takes minutes, and a laptop's disk is often 90 % full.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"},
        "imageGCHighThresholdPercent": 97,
        "imageGCLowThresholdPercent": 95,
    }


def answers(url: str) -> bool:
    """Whether a plain http:// URL of this machine answers with success."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own http:// URL
            return bool(answer.status < 300)
    except urllib.error.HTTPError:
        return False
