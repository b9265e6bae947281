"""The scheduler, set to prefer the one node that really runs pods.

The preference is in the lab's configuration, so no stack file has to name a lab node.
"""

from __future__ import annotations

from typing import Any

import yaml

from lab import certificates, files
from lab.cluster import REAL_NODE, answers
from lab.instance import Instance
from lab.processes import Server
from lab.servers import Tools

# Above the sum of all other scores of a node (at most 100 times a weight of 1 to 3 each):
# a pod goes to the real node whenever it may land there, however full that node is.
PREFERENCE = 50


def configuration(instance: Instance) -> dict[str, Any]:
    """The lab's KubeSchedulerConfiguration."""
    key, value = REAL_NODE
    prefer_real_node = {
        "weight": 100,
        "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]},
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": str(certificates.kubeconfig(instance, "scheduler")),
            "qps": 200,
            "burst": 400,
        },
        "leaderElection": {"leaderElect": False},
        "enableProfiling": False,
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"score": {"enabled": [{"name": "NodeAffinity", "weight": PREFERENCE}]}},
                "pluginConfig": [
                    {
                        "name": "NodeAffinity",
                        "args": {
                            "addedAffinity": {
                                "preferredDuringSchedulingIgnoredDuringExecution": [prefer_real_node],
                            }
                        },
                    }
                ],
            }
        ],
    }


def server(instance: Instance, tools: Tools) -> Server:
    kubeconfig = certificates.kubeconfig(instance, "scheduler")
    serving = certificates.pair(instance, "loopback")
    authority = certificates.authority(instance)
    port = instance.ports["scheduler"]
    settings = files.write(instance.config / "scheduler.yaml", yaml.safe_dump(configuration(instance), sort_keys=False))
    return Server(
        "kube-scheduler",
        argv=[
            str(tools.path("kube-scheduler")),
            f"--config={settings}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--authentication-skip-lookup",
            f"--client-ca-file={authority}",
        ],
        ready=answers(instance, f"https://127.0.0.1:{port}/healthz"),
        ready_within_s=60,
        env={"NO_PROXY": "*"},
        files=[settings, authority],
    )
