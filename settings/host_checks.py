"""Consistency checks of a stack with Docker hosts: site, hosts, workloads. Pure."""

from collections.abc import Iterator

from errors.problems import Fault, Loc, nearest
from platforms.docker.addresses import needs_certificates
from platforms.docker.container import of_container
from platforms.docker.gpu_leases import CARD_NETWORK, subnet
from platforms.docker.hub_model import DEFAULT_PORT
from settings.host_hubs import check_hubs
from workloads.agreements import of_workload
from workloads.raw import Raw, is_count, items, mapping


def is_host(pool: Raw) -> bool:
    """Whether a pool is one machine with a Docker engine."""
    return "engine" in pool


def check_hosts(raw: Raw) -> Iterator[Fault]:
    """Inconsistencies of hosts and their workloads."""
    yield from _kind(raw)
    engines: dict[object, object] = {}
    for loc, pool in items(raw, "fleet", "pools"):
        if is_host(pool):
            yield from _host(loc, pool, engines)
    for loc, each in items(raw, "containers"):
        name = each.get("name")
        if isinstance(name, str) and len(name) == 1:
            yield Fault((*loc, "name"), "is too short for an engine", "write two characters or more", name)
        yield from of_workload(loc, each)
        yield from of_container(loc, each)
        if each.get("pools") is not None:
            yield Fault((*loc, "pools"), "is given for a container", "a container stays on one host: write pool")
    if mapping(raw, "site").get("kind") == "docker":
        for loc, job in items(raw, "jobs"):
            yield from _job(loc, job)
    yield from check_hubs(raw)
    yield from _ports(raw)
    hosts = [str(pool.get("name")) for _, pool in items(raw, "fleet", "pools") if is_host(pool)]
    for name in mapping(mapping(raw, "site"), "engines"):
        if name not in hosts:
            yield Fault(("site", "engines", name), "is not a host of the fleet", nearest(name, hosts, what="host"))


def _kind(raw: Raw) -> Iterator[Fault]:
    is_docker = mapping(raw, "site").get("kind") == "docker"
    for loc, pool in items(raw, "fleet", "pools"):
        if is_host(pool) and not is_docker:
            fix = "write site.kind: docker, or name the nodes of a cluster"
            yield Fault((*loc, "engine"), "is given on a site without Docker hosts", fix)
        if not is_host(pool) and is_docker and "partition" not in pool:
            fix = "name its engine: unix:///var/run/docker.sock; nodes of a cluster belong to another stack"
            yield Fault(loc, "has no engine on a site of kind docker", fix)
    if is_docker:
        if raw.get("runtime"):
            fix = "its daemons are pods; the host's own packages bring the container toolkit"
            yield Fault(("runtime",), "is given on a site of kind docker", fix)
    elif items(raw, "containers"):
        fix = "write site.kind: docker, or a job: containers run on Docker hosts"
        yield Fault(("containers",), "is given on a site without Docker hosts", fix)


def _host(loc: Loc, pool: Raw, engines: dict[object, object]) -> Iterator[Fault]:
    engine, name = pool.get("engine"), pool.get("name")
    if engine in engines:
        fix = "one pool is one machine: give it another engine, or drop it"
        yield Fault((*loc, "engine"), f"is the engine of pool {engines[engine]}", fix, engine)
    engines.setdefault(engine, name)
    if isinstance(engine, str):
        yield from _certificates(loc, pool, engine)
    yield from _cards(loc, pool)


def _certificates(loc: Loc, pool: Raw, engine: str) -> Iterator[Fault]:
    has_them, needs_them = pool.get("certificates") is not None, needs_certificates(engine)
    if needs_them and not has_them:
        fix = "name the folder with ca.pem, cert.pem and key.pem: whoever reaches an engine is root on its host"
        yield Fault((*loc, "certificates"), "is missing for an engine at tcp://", fix)
    if has_them and not needs_them:
        yield Fault((*loc, "certificates"), "is for an engine at tcp:// only", "leave it out")


def _cards(loc: Loc, pool: Raw) -> Iterator[Fault]:
    uuids, gpus = pool.get("gpu_uuids"), pool.get("gpus_per_node", 0)
    if isinstance(uuids, list) and uuids and is_count(gpus):
        if len(uuids) != gpus:
            fix = "list every GPU in the order of nvidia-smi -L, or none"
            yield Fault((*loc, "gpu_uuids"), f"has {len(uuids)} entries for {gpus} GPUs", fix)
        for index, uuid in enumerate(uuids):
            if uuid in uuids[:index]:
                yield Fault((*loc, "gpu_uuids", index), "is listed twice", "each GPU has a UUID of its own", uuid)
    network = pool.get("card_network", CARD_NETWORK)
    if isinstance(network, str) and is_count(gpus) and gpus > 0:
        try:
            subnet(network, gpus - 1)
        except ValueError:
            fix = f"write one with {4 * gpus} addresses or more, four for each GPU"
            yield Fault((*loc, "card_network"), f"is too small for {gpus} GPUs, or no network", fix, network)


def _job(loc: Loc, job: Raw) -> Iterator[Fault]:
    """Job settings chosen by a cluster must be explicit here."""
    if job.get("pool") is None:
        yield Fault((*loc, "pool"), "is missing", "name the host that it runs on: nothing schedules on a Docker host")
    if job.get("deadline_s") is not None:
        fix = "start the program with timeout: command: [timeout, 1h, …]"
        yield Fault((*loc, "deadline_s"), "is given on a Docker host, whose engine sets no deadlines", fix)
    if job.get("namespace") is not None:
        yield Fault((*loc, "namespace"), "is given on a Docker host, which has none", "leave it out")


def _ports(raw: Raw) -> Iterator[Fault]:
    """A host port belongs to one container or hub."""
    owners: dict[tuple[object, object], str] = {}
    for loc, pool, owner, number in _published(raw):
        first = owners.setdefault((pool, number), owner)
        if first != owner:
            fix = "a port of a host belongs to one container: choose another"
            yield Fault(loc, f"is the port of {first} on the same host", fix, number)


def _published(raw: Raw) -> Iterator[tuple[Loc, object, str, object]]:
    """Location, host, owner and port."""
    for loc, hub in items(raw, "hubs"):
        expose = mapping(hub, "expose")
        if expose.get("kind") == "host_port":
            yield (*loc, "expose", "port"), hub.get("pool"), f"hub {hub.get('name')}", expose.get("port", DEFAULT_PORT)
    for loc, each in items(raw, "containers"):
        for where, port in items(each, "ports", at=loc):
            yield (*where, "host"), each.get("pool"), f"container {each.get('name')}", port.get("host")
