"""CoreDNS as a lab process on port 53 of the node address: `cluster.local` for pods, other names from outside.

Outside names go to the machine's own name servers. Without one that answers, the reply is "no such name" at once: a pod
must not wait for a time-out that was certain from the start.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import TYPE_CHECKING

from lab import files
from lab.accounts import Account
from lab.instance import LabError
from lab.machine import network
from lab.processes import Server, is_running
from lab.servers.kubelet import answers

if TYPE_CHECKING:
    from pathlib import Path

    from lab.instance import Instance
    from lab.servers import Tools

PORT = 53
ASK_WITHIN_S = 1.0
MAX_UPSTREAMS = 3  # the limit of resolv.conf(5)

# Source: coredns v1.13.1, plugin/kubernetes/README.md, without pods (`pods disabled`) and nodes.
ACCOUNT = Account(
    namespace="kube-system",
    name="coredns",
    rules=(
        {"apiGroups": [""], "resources": ["services", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ),
)


def server(instance: Instance, tools: Tools, kubeconfig: Path) -> Server:
    """The name server of `instance`, with the kubeconfig of ACCOUNT; writes its Corefile.

    Raises LabError if another program holds port 53 of the node address.
    """
    address = instance.networks.node_address
    if not is_running(instance, "coredns") and not _is_free(address):
        raise LabError(
            f"port {PORT} of {address} is taken, so pods could not resolve names: "
            "a name server of this machine listens on every address; configure it to listen on its own address only"
        )
    servers = [one for one in network.name_servers(network.resolv_conf()) if one != address]
    upstreams = [one for one in servers[:MAX_UPSTREAMS] if does_answer(one)]
    corefile = files.write(instance.config / "Corefile", render_corefile(instance, kubeconfig, upstreams))
    health = f"http://127.0.0.1:{instance.ports['coredns_health']}/ready"
    return Server(
        name="coredns",
        argv=[str(tools.path("coredns")), "-conf", str(corefile)],
        ready=lambda: answers(health),
        ready_within_s=30,
        env={"NO_PROXY": "*"},
        files=[corefile, kubeconfig],
    )


def render_corefile(instance: Instance, kubeconfig: Path, upstreams: list[str]) -> str:
    networks = instance.networks
    outside = (
        # A server that stops answering is retried every half second; queries in between fail at once.
        f"""\
    forward . {" ".join(upstreams)} {{
        max_fails 2
        failfast_all_unhealthy_upstreams
    }}"""
        if upstreams
        else """\
    # No name server of this machine answers: every other name is unknown, at once.
    template ANY ANY {
        rcode NXDOMAIN
    }"""
    )
    return f"""\
.:{PORT} {{
    bind {networks.node_address}
    errors
    ready 127.0.0.1:{instance.ports["coredns_health"]}
    kubernetes cluster.local {networks.service_cidr} {networks.pod_cidr} {{
        kubeconfig {kubeconfig}
    }}
    cache 30
{outside}
}}
"""


def does_answer(name_server: str) -> bool:
    """Whether that name server answers a query for the root's name servers in time, whatever the answer."""
    question = struct.pack(">6H", 1, 0x0100, 1, 0, 0, 0) + b"\0" + struct.pack(">2H", 2, 1)
    family = socket.AF_INET6 if ":" in name_server else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as client:
        client.settimeout(ASK_WITHIN_S)
        client.connect((name_server, PORT))
        for _ in range(2):  # UDP may lose one
            with contextlib.suppress(TimeoutError):
                client.send(question)
                client.recv(512)
                return True
    return False


def _is_free(address: str) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((address, PORT))
        return True
    return False
