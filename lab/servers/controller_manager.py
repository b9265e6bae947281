"""The controllers of Kubernetes, each with the rights of its own service account."""

from __future__ import annotations

from lab import certificates
from lab.cluster import answers
from lab.instance import Instance
from lab.processes import Server
from lab.servers import Tools


def server(instance: Instance, tools: Tools) -> Server:
    kubeconfig = certificates.kubeconfig(instance, "controller-manager")
    serving = certificates.pair(instance, "loopback")
    authority = certificates.authority(instance)
    port = instance.ports["controller_manager"]
    return Server(
        "kube-controller-manager",
        argv=[
            str(tools.path("kube-controller-manager")),
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--authentication-skip-lookup",  # callers have certificates; there is no front proxy to look up
            f"--client-ca-file={authority}",
            f"--root-ca-file={authority}",
            f"--service-account-private-key-file={certificates.service_account_keys(instance).key}",
            "--use-service-account-credentials=true",
            "--allocate-node-cidrs=false",  # the real node's bridge and kwok have their own ranges
            "--leader-elect=false",
            "--feature-gates=WatchListClient=false",  # see the API server
            "--kube-api-qps=200",
            "--kube-api-burst=400",
            "--profiling=false",
        ],
        ready=answers(instance, f"https://127.0.0.1:{port}/healthz"),
        ready_within_s=60,
        env={"NO_PROXY": "*"},
        files=[authority],
    )
