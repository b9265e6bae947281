"""kube-proxy of the real node, with iptables. Node ports are open only on 127.0.0.0/8."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from lab import certificates, files
from lab.processes import Server
from lab.servers.kubelet import answers

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools


def server(instance: Instance, tools: Tools, node_name: str) -> Server:
    """The proxy of that node; writes its configuration."""
    settings = yaml.safe_dump(configuration(instance, node_name), sort_keys=False)
    config = files.write(instance.config / "kube-proxy.yaml", settings)
    health = f"http://127.0.0.1:{instance.ports['kube_proxy_health']}/healthz"
    return Server(
        name="kube-proxy",
        argv=[str(tools.path("kube-proxy")), f"--config={config}"],
        ready=lambda: answers(health),
        ready_within_s=60,
        env={"NO_PROXY": "*"},
        files=[config],
    )


def configuration(instance: Instance, node_name: str) -> dict[str, object]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "hostnameOverride": node_name,
        "bindAddress": instance.networks.node_address,
        "clientConnection": {"kubeconfig": str(certificates.kubeconfig(instance, "kube-proxy"))},
        "clusterCIDR": instance.networks.pod_cidr,
        "nodePortAddresses": ["127.0.0.0/8"],
        "iptables": {"localhostNodePorts": True},
        "healthzBindAddress": f"127.0.0.1:{instance.ports['kube_proxy_health']}",
        "metricsBindAddress": f"127.0.0.1:{instance.ports['kube_proxy_metrics']}",
        # The machine's limits and times for tracked connections are the user's, not ours.
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "oomScoreAdj": 0,  # a lower value needs CAP_SYS_RESOURCE
    }
