"""The second lab as a whole: killed, ended, started again; and the user's lab, which none of this may touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bystander import Bystander, kept_files, running_servers
from convergence import RESOURCES

from lab.machine import network

pytestmark = pytest.mark.lab

if TYPE_CHECKING:
    from second_lab import Lab

SERVERS = {
    *("registry", "buildkitd", "etcd"),
    *("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"),
}


def test_after_kill_9_of_every_server_up_finds_everything_again(deployed: Lab) -> None:
    before, nodes = deployed.resources(), deployed.nodes()
    killed = deployed.running()
    assert set(killed) == SERVERS
    deployed.kill(*SERVERS)
    text = deployed.python_m_lab("up", "--simulated", "--stack", "small").succeeded()
    assert f"{RESOURCES} unchanged" in text
    assert "15 nodes, 119 GPUs" in text
    assert set(deployed.running()) == SERVERS
    assert not set(deployed.running().values()) & set(killed.values())
    assert deployed.nodes() == nodes
    assert deployed.resources() == before


def test_down_leaves_no_process_no_address_and_no_route_and_keeps_the_data(deployed: Lab) -> None:
    address = deployed.instance.networks.node_address
    assert f"{address}/32" in network.loopback_addresses()
    assert deployed.processes() != []
    deployed.python_m_lab("down").succeeded()
    assert deployed.processes() == []
    assert deployed.running() == {}
    assert f"{address}/32" not in network.loopback_addresses()
    networks = deployed.instance.networks
    ranges = {networks.pod_cidr, networks.service_cidr, networks.simulated_pod_cidr}
    assert ranges.isdisjoint(route["dst"] for route in network.ip_json("-4", "route", "show", "type", "blackhole"))
    assert networks.bridge not in {link["ifname"] for link in network.ip_json("link", "show")}

    deployed.start()
    assert f"{RESOURCES} unchanged" in deployed.pulumi("preview", "--expect-no-changes").succeeded()


def test_the_users_lab_has_other_ranges_and_ports_and_is_as_it_was(deployed: Lab, bystander: Bystander) -> None:
    theirs, ours = bystander.instance, deployed.instance
    assert theirs.home != ours.home
    assert theirs.slot != ours.slot
    assert set(theirs.ports.values()).isdisjoint(ours.ports.values())
    after = kept_files(theirs)
    assert [str(path) for path in bystander.files.keys() ^ after.keys()] == []
    assert [str(path) for path in after if after[path] != bystander.files[path]] == []
    assert running_servers(theirs) == bystander.servers
