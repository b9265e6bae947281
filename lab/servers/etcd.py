"""The store of the control plane: Debian's etcd, one member, on loopback, with client certificates."""

from __future__ import annotations

from lab import certificates
from lab.cluster import answers
from lab.instance import Instance
from lab.processes import Server
from lab.servers import Tools


def url(instance: Instance) -> str:
    return f"https://127.0.0.1:{instance.ports['etcd']}"


def server(instance: Instance, tools: Tools) -> Server:
    files = certificates.pair(instance, "etcd")
    authority = certificates.authority(instance)
    peer_url = f"https://127.0.0.1:{instance.ports['etcd_peer']}"
    return Server(
        "etcd",
        argv=[
            str(tools.path("etcd")),
            "--name=lab",
            f"--data-dir={instance.data / 'etcd'}",
            f"--listen-client-urls={url(instance)}",
            f"--advertise-client-urls={url(instance)}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=lab={peer_url}",
            f"--cert-file={files.certificate}",
            f"--key-file={files.key}",
            f"--trusted-ca-file={authority}",
            "--client-cert-auth",
            f"--peer-cert-file={files.certificate}",
            f"--peer-key-file={files.key}",
            f"--peer-trusted-ca-file={authority}",
            "--peer-client-cert-auth",
            # A killed process loses nothing; only a power failure may: fine for a lab.
            "--unsafe-no-fsync",
            "--auto-compaction-mode=periodic",
            "--auto-compaction-retention=1h",
            "--quota-backend-bytes=1073741824",
            "--logger=zap",
            "--log-outputs=stderr",
            "--log-level=warn",
        ],
        ready=answers(instance, f"{url(instance)}/health", client="etcd"),
        ready_within_s=30,
        env={"NO_PROXY": "*"},
        files=[authority],
    )
