"""Checks of a stack with Docker hosts: site, hosts, hubs, workloads. Pure."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Final

from errors.agreements import given, known_names, located, of_each, readable, refused
from errors.problems import Fault, Loc, nearest
from platforms.docker.hub_model import HostPort, of_gateway, of_hub_name
from platforms.slurm.hub_model import LoginNodePort
from settings.fleet_checks import gpus_each, located_pools
from settings.host_pools import HostPool
from settings.models import Container, Hub, Job, Kernel, Profile, Stack
from settings.partition_pools import PartitionPool
from workloads.hub import ClusterHubKeys, HubKeys

_NO_HOSTS: Final = "given on a site without Docker hosts"
_OF_A_CLUSTER: Final = {
    "storage": "leave it out: volumes of an engine are folders of the host's disk",
    "availability": "leave it out: a host has one list of GPUs, and the hub says who holds them",
    "pre_pull": "leave it out: an update pulls every image of a hub to its host",
}
_OF_A_HOST: Final = ("pool", "filter_image", "gateway_image", "kernels_per_user")
_unused_on_a_host = refused("is given for a hub on a Docker host", _OF_A_CLUSTER)
_unused_on_a_cluster = refused(f"is {_NO_HOSTS}", dict.fromkeys(_OF_A_HOST, "write site.kind: docker, or leave it out"))
_kernels = refused(f"are {_NO_HOSTS}", {"kernels": "leave them out: on a cluster a server has its GPUs itself"})
_time = refused(
    "is given on a site without Slurm",
    {"time_min": "leave it out: cull.max_age_s of the hub says how long a server may be used"},
)
_deadline = refused(
    "is given on a Docker host, whose engine sets no deadlines",
    {"deadline_s": "start the program with timeout: command: [timeout, 1h, …]"},
)
_namespace = refused("is given on a Docker host, which has none", {"namespace": "leave it out"})

if unlisted := ClusterHubKeys.model_fields.keys() - HubKeys.model_fields.keys() - _OF_A_CLUSTER.keys():
    raise AssertionError(unlisted)


def check_hosts(stack: Stack) -> Iterator[Fault]:
    """Disagreements of hosts and their workloads."""
    for each in (_kind, _engines, _hubs, _ports):
        yield from readable(each(stack))
    yield from of_each(located(stack, "containers"), _container)
    if getattr(getattr(stack, "site", None), "kind", "") == "docker":
        yield from of_each(located(stack, "jobs"), _host_of_job, _deadline, _namespace)


def _kind(stack: Stack) -> Iterator[Fault]:
    is_docker = stack.site.kind == "docker"
    for loc, pool in located_pools(stack.fleet):
        if isinstance(pool, HostPool) and not is_docker:
            fix = "write site.kind: docker, or name the nodes of a cluster"
            yield Fault((*loc, "engine"), f"is {_NO_HOSTS}", fix)
        if is_docker and not isinstance(pool, HostPool | PartitionPool):
            fix = "name its engine: unix:///var/run/docker.sock; nodes of a cluster belong to another stack"
            yield Fault(loc, "has no engine on a site of kind docker", fix)
    if is_docker and "runtime" in stack.model_fields_set and getattr(stack, "runtime", ()) is not None:
        fix = "its daemons are pods; the host's own packages bring the container toolkit"
        yield Fault(("runtime",), "is given on a site of kind docker", fix)
    if not is_docker and stack.containers:
        fix = "write site.kind: docker, or a job: containers run on Docker hosts"
        yield Fault(("containers",), f"is {_NO_HOSTS}", fix)


def _engines(stack: Stack) -> Iterator[Fault]:
    engines: dict[str, str] = {}
    hosts = [(loc, pool) for loc, pool in located_pools(stack.fleet) if isinstance(pool, HostPool)]
    for loc, pool in hosts:
        engine, name = getattr(pool, "engine", None), getattr(pool, "name", "")
        if engine in engines:
            fix = "one pool is one machine: give it another engine, or drop it"
            yield Fault((*loc, "engine"), f"is the engine of pool {engines[engine]}", fix, engine)
        elif engine:
            engines[engine] = name
    names = [pool.name for _, pool in hosts]
    for name in stack.site.engines:
        if name not in names:
            yield Fault(("site", "engines", name), "is not a host of the fleet", nearest(name, names, what="host"))


def _container(loc: Loc, each: Container) -> Iterator[Fault]:
    if len(each.name) == 1:
        yield Fault((*loc, "name"), "is too short for an engine", "write two characters or more", each.name)
    if each.pools is not None:
        yield Fault((*loc, "pools"), "is given for a container", "a container stays on one host: write pool")


def _host_of_job(loc: Loc, job: Job) -> Iterator[Fault]:
    if not given(job, "pool"):
        yield Fault((*loc, "pool"), "is missing", "name the host that it runs on: nothing schedules on a Docker host")


def _ports(stack: Stack) -> Iterator[Fault]:
    """A host port belongs to one container or hub."""
    owners: dict[tuple[str | None, int], str] = {}
    published = (of_each(located(stack, "hubs"), _of_hub), of_each(located(stack, "containers"), _of_container))
    for loc, pool, owner, number in chain(*published):
        first = owners.setdefault((pool, number), owner)
        if first != owner:
            fix = "a port of a host belongs to one container: choose another"
            yield Fault(loc, f"is the port of {first} on the same host", fix, number)


def _of_hub(loc: Loc, hub: Hub) -> Iterator[tuple[Loc, str | None, str, int]]:
    if isinstance(hub.expose, HostPort):
        yield (*loc, "expose", "port"), hub.pool, f"hub {hub.name}", hub.expose.port


def _of_container(loc: Loc, each: Container) -> Iterator[tuple[Loc, str | None, str, int]]:
    for where, port in located(each, "ports", loc):
        yield (*where, "host"), each.pool, f"container {each.name}", port.host


# --- hubs


def _hubs(stack: Stack) -> Iterator[Fault]:
    """Hubs on a site of kind docker, and their keys on any other."""
    if stack.site.kind == "docker":
        own = (_of_a_host, _unused_on_a_host, _gateway)
        yield from of_each(located(stack, "hubs"), partial(_names_of_a_hub, stack), *own, partial(_on_one_host, stack))
    elif stack.site.kind != "slurm":
        yield from of_each(located(stack, "hubs"), _unused_on_a_cluster, _of_a_cluster)
    if stack.site.kind != "slurm":
        yield from of_each(located(stack, "hubs"), _of_no_slurm)


def _names_of_a_hub(stack: Stack, _: Loc, hub: Hub) -> Iterator[Fault]:
    """A container with a hub's name prefix is controlled by the hub, or one of its own."""
    begins = f"{hub.name}-"
    for loc, each in (*located(stack, "containers"), *located(stack, "jobs")):
        name = getattr(each, "name", "")
        if getattr(each, "pool", None) == hub.pool and name.startswith(begins):
            fix = f"choose a name that does not begin with {begins}"
            yield Fault((*loc, "name"), f"is among the names of hub {hub.name} on its host", fix, name)


def _of_no_slurm(loc: Loc, hub: Hub) -> Iterator[Fault]:
    """Keys specific to hubs at a Slurm site."""
    if isinstance(getattr(hub, "expose", None), LoginNodePort):
        fix = "write host_port on a Docker host, node_port, load_balancer or cluster_ip on a cluster"
        yield Fault((*loc, "expose", "kind"), "is for a hub on a site with Slurm", fix, "login_node")
    yield from of_each(located(hub, "profiles", loc), _time)


def _of_a_cluster(loc: Loc, hub: Hub) -> Iterator[Fault]:
    if isinstance(getattr(hub, "expose", None), HostPort):
        fix = "write node_port, load_balancer or cluster_ip"
        yield Fault((*loc, "expose", "kind"), "is for a hub on a Docker host", fix, "host_port")
    yield from of_each(located(hub, "profiles", loc), _kernels)


def _of_a_host(loc: Loc, hub: Hub) -> Iterator[Fault]:
    if name := getattr(hub, "name", ""):
        yield from of_hub_name(name, (*loc, "name"))
    if not given(hub, "filter_image"):
        fix = "name the image of HAProxy: without a filter the hub could do anything on its host"
        yield Fault((*loc, "filter_image"), "is missing for a hub on a Docker host", fix)
    expose = getattr(hub, "expose", None)
    if expose is not None and not isinstance(expose, HostPort | LoginNodePort):
        fix = "write { kind: host_port, port: 8000 }"
        yield Fault((*loc, "expose", "kind"), "is for a hub on a cluster", fix, getattr(expose, "kind", None))


def _gateway(loc: Loc, hub: Hub) -> Iterator[Fault]:
    for fault in of_gateway(hub.profiles, hub.gateway_image):
        yield Fault((*loc, *fault.loc), fault.reason, fault.fix)


def _on_one_host(stack: Stack, loc: Loc, hub: Hub) -> Iterator[Fault]:
    pools = stack.fleet.pools
    hosts = {getattr(pool, "name", None): pool for pool in pools}
    if hub.pool is None:
        fix = f"name the host that it runs on: {nearest('', known_names(pools), what='host')}"
        yield Fault((*loc, "pool"), "is missing", fix)
    elif hub.pool not in hosts and None not in hosts:
        names = known_names(pools)
        yield Fault((*loc, "pool"), "is not a host of the fleet", nearest(hub.pool, names, what="host"), hub.pool)
    has = gpus_each(hosts[hub.pool]) if hub.pool in hosts else None
    for at, profile in located(hub, "profiles", loc):
        yield from readable(_elsewhere(hub.pool, at, profile))
        kernels = [*located(profile, "kernels", at)]
        yield from of_each(kernels, partial(_elsewhere, hub.pool), partial(_gpus_of_kernel, hub.pool, has))


def _gpus_of_kernel(host: str | None, has: int | None, loc: Loc, kernel: Kernel) -> Iterator[Fault]:
    if has is not None and kernel.gpus > has:
        fix = f"request at most {has}" if has else "request no GPU: gpus: 0"
        yield Fault((*loc, "gpus"), f"is more than host {host} has ({has})", fix, kernel.gpus)


def _elsewhere(pool: str | None, loc: Loc, each: Profile | Kernel) -> Iterator[Fault]:
    fix = "leave it out: a hub, its servers and its kernels are on one host"
    if isinstance(each, Profile) and each.pools is not None:
        yield Fault((*loc, "pools"), "is given for a hub on a Docker host", fix)
    elif pool is not None and each.pool not in {None, pool}:
        yield Fault((*loc, "pool"), f"is not the host of its hub, which is {pool}", fix, each.pool)
