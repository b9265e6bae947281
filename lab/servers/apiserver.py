"""The Kubernetes API server.

It listens on the node address, which `lab.machine.network` puts on the loopback device: the only address that both
processes of this machine and pods of the real node can reach without listening on a network card. The server itself
makes that address the endpoint of the Service `kubernetes`.
"""

from __future__ import annotations

from lab import certificates
from lab.cluster import answers
from lab.instance import Instance
from lab.processes import Server
from lab.servers import Tools, etcd


def server(instance: Instance, tools: Tools) -> Server:
    serving = certificates.pair(instance, "apiserver")
    to_etcd = certificates.pair(instance, "etcd")
    to_kubelet = certificates.pair(instance, "apiserver-kubelet-client")
    accounts = certificates.service_account_keys(instance)
    authority = certificates.authority(instance)
    networks = instance.networks
    return Server(
        "kube-apiserver",
        argv=[
            str(tools.path("kube-apiserver")),
            f"--bind-address={networks.node_address}",
            f"--advertise-address={networks.node_address}",
            f"--secure-port={instance.ports['apiserver']}",
            f"--etcd-servers={etcd.url(instance)}",
            f"--etcd-cafile={authority}",
            f"--etcd-certfile={to_etcd.certificate}",
            f"--etcd-keyfile={to_etcd.key}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={authority}",
            "--anonymous-auth=false",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",  # device plugin and persistence daemon need host paths
            f"--kubelet-certificate-authority={authority}",
            f"--kubelet-client-certificate={to_kubelet.certificate}",
            f"--kubelet-client-key={to_kubelet.key}",
            "--kubelet-preferred-address-types=InternalIP",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={accounts.certificate}",
            f"--service-account-signing-key-file={accounts.key}",
            f"--service-cluster-ip-range={networks.service_cidr}",
            # Lists by watch need progress notices; without them (Debian's etcd 3.4.23), clients retry forever.
            "--feature-gates=WatchList=false",
            "--shutdown-watch-termination-grace-period=1s",  # otherwise it waits a minute for its clients
            "--profiling=false",
        ],
        ready=answers(instance, f"{instance.apiserver_url}/readyz"),
        ready_within_s=60,
        env={"NO_PROXY": "*"},
        files=[authority],
    )
