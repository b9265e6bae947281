"""Addresses and routes of one lab: its ranges exist only on this machine.

`claim` gives every lab its node address, on the loopback device. `enclose` adds what a real node needs: blackhole
routes for the pod, service and simulated-pod ranges (the bridge's own subnet is more specific and works), a guard that
drops outside packets for them, and kernel settings. All of it is recorded first.
"""

from __future__ import annotations

import contextlib
import json
from ipaddress import IPv4Network, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab import processes
from lab.instance import LabError
from lab.machine import iptables, traces
from lab.machine.traces import Kind, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lab.instance import Instance, Networks
    from lab.servers import Tools

PROC_SYS = Path("/proc/sys")
RESOLV_CONF = Path("/etc/resolv.conf")

# Settings for routing between pods, then those that kubelet and kube-proxy make unasked.
# None: somebody else sets it, and only the earlier value is kept.
SETTINGS: dict[str, str | None] = {
    "net/ipv4/ip_forward": "1",
    "net/bridge/bridge-nf-call-iptables": "1",  # two pods of one bridge that talk through a Service
    "net/ipv4/conf/all/route_localnet": None,
    "vm/overcommit_memory": None,
    "vm/panic_on_oom": None,
    "kernel/panic": None,
    "kernel/panic_on_oops": None,
    "kernel/keys/root_maxkeys": None,
    "kernel/keys/root_maxbytes": None,
}


def pod_subnet(networks: Networks) -> IPv4Network:
    """The addresses of the real node's own pods: the first /24 of the pod range."""
    return next(IPv4Network(networks.pod_cidr).subnets(new_prefix=24))


def claim(instance: Instance) -> None:
    """Give the lab its node address. Safe to repeat.

    Raises LabError if a range of the lab is in use on this machine.
    """
    if clashes := find_clashes(instance.networks, used_networks(), resolv_conf()):
        raise LabError(
            f"the ranges of the lab are in use on this machine: {'; '.join(clashes)}.\n"
            f'Leave that network, or set "slot" in {instance.home / "instance.json"} to another number from 0 to 17 '
            "(after `make clean`: addresses are part of its data)"
        )
    address = f"{instance.networks.node_address}/32"
    # An address that is not in our record belongs to a lab with another state folder: it stays when we go.
    if address not in loopback_addresses():
        traces.record(instance, Trace(Kind.ADDRESS, address))
        processes.run([_ip(), "address", "add", address, "dev", "lo"])


def enclose(instance: Instance, tools: Tools) -> None:
    """Set up the rest of the network that a real node needs. Safe to repeat.

    Raises LabError if the machine is already a Kubernetes node: two kubelets cannot share its packet filter.
    """
    known = traces.traces(instance)
    if not any(trace.kind is Kind.CHAINS for trace in known):
        there = iptables.present(tools)
        if foreign := sorted(name for name in there if name.startswith(("KUBE-", "GPU-COMMONS-"))):
            raise LabError(
                f"this machine's packet filter has chains of another node ({', '.join(foreign[:3])} …): "
                "first stop that Kubernetes, or the other lab with a real node (`make down` there)"
            )
        traces.record(instance, Trace(Kind.CHAINS, "iptables", json.dumps(sorted(there))))
    networks = instance.networks
    for cidr in _enclosed(networks):
        traces.record(instance, Trace(Kind.ROUTE, cidr))
        processes.run([_ip(), "route", "replace", "blackhole", cidr])
    for setting, value in SETTINGS.items():
        path = PROC_SYS / setting
        if path.exists():
            traces.record(instance, Trace(Kind.SETTING, setting, path.read_text().strip()))
            if value is not None:
                path.write_text(value)
    traces.record(instance, Trace(Kind.LINK, networks.bridge))
    guard = guard_chain(instance)
    iptables.remove(tools, keep=iptables.present(tools) - {guard})
    iptables.restore(tools, render_guard(guard, networks))


def guard_chain(instance: Instance) -> str:
    return f"GPU-COMMONS-{instance.slot}"


def render_guard(name: str, networks: Networks) -> str:
    """A chain that drops packets for the lab's ranges unless this machine or a pod of it sent them.

    Otherwise addresses on the loopback device, forwarding and `route_localnet` would open them to neighbours that set a
    route. In the table `raw`, before any translation.
    """
    inside = [f"-A {name} -i {link} -j RETURN" for link in ("lo", networks.bridge)]
    dropped = [f"-A {name} -d {cidr} -j DROP" for cidr in (f"{networks.node_address}/32", *_enclosed(networks))]
    return "\n".join(["*raw", f":{name} - [0:0]", f"-I PREROUTING -j {name}", *inside, *dropped, "COMMIT"]) + "\n"


def restore(instance: Instance, tools: Tools) -> None:
    """Undo `enclose`, and the node's changes to links and chains. Safe to repeat."""
    ways: Mapping[Kind, Callable[[Trace], None]] = {
        Kind.ROUTE: _remove_route,
        Kind.SETTING: _restore_setting,
        Kind.LINK: lambda trace: remove_link(trace.value),
        Kind.CHAINS: lambda trace: iptables.remove(tools, json.loads(trace.before)),
    }
    traces.undo(instance, ways)


def release(instance: Instance) -> None:
    """Undo `claim`: the very last step, because every control plane server uses the address. Safe to repeat."""
    traces.undo(instance, {Kind.ADDRESS: _remove_address})


def find_clashes(networks: Networks, used: Iterable[tuple[str, str]], resolver: str) -> list[str]:
    """What this machine has within the lab's ranges: (network, where it was seen), and name servers of `resolver`.

    A wider route (10.0.0.0/8 through a VPN) does not clash: the lab's are more specific and win.
    """
    ours = [IPv4Network(cidr) for cidr in (f"{networks.node_address}/32", *_enclosed(networks))]
    servers = ((f"{server}/32", "name server") for server in name_servers(resolver) if ":" not in server)
    found = []
    for cidr, where in (*used, *servers):
        network = ip_network(cidr, strict=False)
        found += [f"{cidr} ({where})" for own in ours if isinstance(network, IPv4Network) and network.subnet_of(own)]
    return found


def resolv_conf() -> str:
    """The machine's own; empty if there is none."""
    try:
        return RESOLV_CONF.read_text()
    except FileNotFoundError:
        return ""


def name_servers(resolver: str) -> list[str]:
    """Addresses in the `nameserver` lines of a resolv.conf; others are left out."""
    rows = (line.split() for line in resolver.splitlines())
    servers = []
    for row in rows:
        if len(row) > 1 and row[0] == "nameserver":
            with contextlib.suppress(ValueError):
                servers.append(str(ip_address(row[1].partition("%")[0])))
    return servers


def used_networks() -> list[tuple[str, str]]:
    """Addresses and routes of this machine that are not a lab's: neither blackholes nor on a lab's bridge."""
    routes = [
        (str(route["dst"]), f"route through {route['dev']}")
        for route in ip_json("-4", "route", "show")
        if route["dst"] != "default" and "dev" in route and not route["dev"].startswith("gpuc")
    ]
    addresses = [
        (str(info["local"]), f"address of {link['ifname']}")
        for link in ip_json("-4", "address", "show")
        if link["ifname"] != "lo" and not link["ifname"].startswith("gpuc")
        for info in link["addr_info"]
    ]
    return routes + addresses


def _enclosed(networks: Networks) -> tuple[str, ...]:
    return (networks.pod_cidr, networks.service_cidr, networks.simulated_pod_cidr)


def loopback_addresses() -> set[str]:
    """Addresses of the loopback device, with their prefix length: labs put their node addresses there."""
    return {
        f"{info['local']}/{info['prefixlen']}"
        for link in ip_json("-4", "address", "show", "dev", "lo")
        for info in link.get("addr_info", [])
    }


def _remove_address(trace: Trace) -> None:
    if trace.value in loopback_addresses():
        processes.run([_ip(), "address", "delete", trace.value, "dev", "lo"])


def _remove_route(trace: Trace) -> None:
    routes = ip_json("-4", "route", "show", "type", "blackhole")
    if any(route["dst"] == trace.value for route in routes):
        processes.run([_ip(), "route", "delete", "blackhole", trace.value])


def _restore_setting(trace: Trace) -> None:
    path = PROC_SYS / trace.value
    if path.exists():
        path.write_text(trace.before)


def remove_link(name: str) -> None:
    """Remove a network device and the devices attached to it. Safe to repeat. Raises LabError if it stays."""
    if name not in {link["ifname"] for link in ip_json("link", "show")}:
        return
    plugged = [link["ifname"] for link in ip_json("link", "show", "master", name)]
    for each in (*plugged, name):
        # A pod's end disappears with its namespace, perhaps just now.
        with contextlib.suppress(LabError):
            processes.run([_ip(), "link", "delete", each])
    if name in {link["ifname"] for link in ip_json("link", "show")}:
        raise LabError(f"the network device {name} could not be removed: ip link delete {name}")


def ip_json(*argv: str) -> list[dict[str, Any]]:
    """What `ip -json` answers: one mapping per address, link or route."""
    answer = processes.run([_ip(), "-json", *argv]).strip()
    # Links that vanish during the listing leave empty objects.
    return [row for row in json.loads(answer or "[]") if row]


def _ip() -> str:
    return "/usr/sbin/ip" if Path("/usr/sbin/ip").exists() else "ip"
