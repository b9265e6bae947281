"""kwok simulates the nodes that this machine lacks: they are Ready, their pods run, nothing is executed.

It only manages nodes with its label. `kubectl logs` of a simulated pod says that it is one.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from lab import certificates, files
from lab.cluster import SIMULATED_NODE, Cluster, answers, name_of
from lab.instance import Instance
from lab.processes import Server
from lab.servers import Tools

STAGES = Path(__file__).with_name("kwok_stages.yaml")
ROLE = "gpu-commons-lab:kwok"
RULES = (
    ("", ("nodes",), ("get", "list", "watch")),
    ("", ("pods",), ("get", "list", "watch", "patch", "update", "delete")),
    ("", ("nodes/status", "pods/status"), ("patch", "update")),
    ("", ("events",), ("create", "get", "list", "watch", "patch", "update")),
    ("coordination.k8s.io", ("leases",), ("create", "get", "list", "watch", "patch", "update")),
)
# In the container runtime's format, which a kubelet reads.
SIMULATED_LOG = "2000-01-01T00:00:00.000000000Z stdout F This pod is simulated: no container was started for it.\n"


def prepare(cluster: Cluster) -> None:
    """Give kwok the rights it needs. Before its start, while the API server runs."""
    group = "rbac.authorization.k8s.io"
    cluster.apply(
        f"/apis/{group}/v1/clusterroles/{ROLE}",
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": ROLE},
            "rules": [
                {"apiGroups": [api], "resources": list(resources), "verbs": list(verbs)}
                for api, resources, verbs in RULES
            ],
        },
    )
    cluster.apply(
        f"/apis/{group}/v1/clusterrolebindings/{ROLE}",
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": ROLE},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": ROLE},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "kwok"}],
        },
    )


def take_over(cluster: Cluster) -> None:
    """Delete the leases of an ended kwok: a new one does not own them and would wait 40 s until they expire."""
    for node in cluster.nodes(labels=SIMULATED_NODE):
        cluster.delete(f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name_of(node)}")


def server(instance: Instance, tools: Tools) -> Server:
    serving = certificates.pair(instance, "kwok-serving")
    address, port = instance.networks.node_address, instance.ports["kwok"]
    log = files.write(instance.config / "simulated-pod.log", SIMULATED_LOG)
    settings = files.write(instance.config / "kwok.yaml", render_configuration(log))
    return Server(
        "kwok",
        argv=[
            str(tools.path("kwok")),
            f"--kubeconfig={certificates.kubeconfig(instance, 'kwok')}",
            f"--config={settings}",
            f"--manage-nodes-with-label-selector={'='.join(SIMULATED_NODE)}",
            f"--cidr={first_pod_address(instance)}",
            # Simulated nodes have this machine's address: nothing is ever sent elsewhere for them.
            f"--node-ip={address}",
            f"--node-port={port}",
            f"--server-address={address}:{port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            "--node-lease-duration-seconds=40",
        ],
        ready=answers(instance, f"https://{address}:{port}/healthz"),
        ready_within_s=30,
        env={"NO_PROXY": "*"},
        files=[settings, certificates.authority(instance)],
    )


def first_pod_address(instance: Instance) -> str:
    """The first address for kwok: the network's own address is no pod's."""
    network, _, bits = instance.networks.simulated_pod_cidr.partition("/")
    return f"{network.rsplit('.', 1)[0]}.1/{bits}"


def render_configuration(log: Path) -> str:
    """The stages, and a log that explains simulated pods."""
    logs = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": "simulated-pods"},
        "spec": {"logs": [{"logsFile": str(log), "follow": False}]},
    }
    return f"{STAGES.read_text()}---\n{yaml.safe_dump(logs, sort_keys=False)}"
