"""The control plane of one lab: certificates, then five servers in order. Nodes come after it."""

from __future__ import annotations

from lab import certificates, processes
from lab.cluster import Cluster
from lab.instance import Instance
from lab.servers import Tools, apiserver, controller_manager, etcd, kwok, scheduler

# In the order of starting.
SERVERS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


def start(instance: Instance, tools: Tools, *, real_node: str | None) -> None:
    """Start what does not run yet; ready on return. The node address must exist (`lab.machine.network.claim`)."""
    certificates.ensure(instance, real_node=real_node)
    processes.start(instance, etcd.server(instance, tools))
    before = processes.read_record(instance, "kube-apiserver")
    processes.start(instance, apiserver.server(instance, tools))
    if processes.read_record(instance, "kube-apiserver") != before:
        # Clients retry a server that was away after a pause that grows to a minute: once restarted, they ask at once.
        for name in ("kwok", "kube-scheduler", "kube-controller-manager"):
            processes.stop(instance, name)
    processes.start(instance, controller_manager.server(instance, tools))
    processes.start(instance, scheduler.server(instance, tools))
    _start_kwok(instance, tools)


def stop(instance: Instance) -> None:
    """End what runs, the store last. Keep data."""
    for name in reversed(SERVERS):
        processes.stop(instance, name)


def _start_kwok(instance: Instance, tools: Tools) -> None:
    server = kwok.server(instance, tools)
    record = processes.read_record(instance, server.name)
    with Cluster(instance) as cluster:
        kwok.prepare(cluster)
        if record is None or record.process() is None or record.pin != server.pin:
            processes.stop(instance, server.name)
            kwok.take_over(cluster)
    processes.start(instance, server)
