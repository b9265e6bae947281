"""Consistency checks of hubs on Docker hosts: their site, and where their parts run. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from errors.problems import Fault, Loc, nearest
from platforms.docker.hub_agreements import of_docker_hub, of_hub_name
from settings.slurm_hubs import of_no_slurm
from workloads.hub import ClusterHubKeys, HubKeys
from workloads.raw import Raw, is_count, items, mapping

# Keys unused on a host, and why.
_OF_A_CLUSTER: Final = {
    **dict.fromkeys(
        ("volume_gib", "database_gib"), "leave it out: volumes of an engine have no size but that of the host's disk"
    ),
    "storage_class": "leave it out: an engine has no storage classes",
    "availability": "leave it out: a host has one list of GPUs, and the hub says who holds them",
    "pre_pull": "leave it out: an update pulls every image of a hub to its host",
}
_OF_A_HOST: Final = ("pool", "filter_image", "gateway_image", "kernels_per_user")
_HOST_PORT: Final = "host_port"

if unlisted := ClusterHubKeys.model_fields.keys() - HubKeys.model_fields.keys() - _OF_A_CLUSTER.keys():
    raise AssertionError(unlisted)


def with_hosts_of_hubs(raw: Raw) -> dict[str, Any]:
    """Adds the host to profiles and kernels of a hub on a host: it is their only choice."""
    hubs = raw.get("hubs")
    if mapping(raw, "site").get("kind") != "docker" or not isinstance(hubs, list):
        return dict(raw)
    return {**raw, "hubs": [_placed(hub) if isinstance(hub, Mapping) else hub for hub in hubs]}


def _placed(hub: Raw) -> Raw:
    pool, profiles = hub.get("pool"), hub.get("profiles")
    if pool is None or not isinstance(profiles, list):
        return hub
    return {**hub, "profiles": [_on(pool, each, "kernels") if isinstance(each, Mapping) else each for each in profiles]}


def _on(pool: object, each: Raw, *parts: str) -> Raw:
    placed = {**each} if {"pool", "pools"} & each.keys() else {**each, "pool": pool}
    for part in parts:
        if isinstance(listed := each.get(part), list):
            placed[part] = [_on(pool, inner) if isinstance(inner, Mapping) else inner for inner in listed]
    return placed


def check_hubs(raw: Raw) -> Iterator[Fault]:
    """Hubs on a site of kind docker, and their keys on any other."""
    kind = mapping(raw, "site").get("kind")
    is_docker = kind == "docker"
    hosts = [pool for _, pool in items(raw, "fleet", "pools")]
    if is_docker:
        yield from _names_of_a_hub(raw)
    for loc, hub in items(raw, "hubs"):
        if is_docker:
            yield from of_docker_hub(loc, hub)
            yield from _of_a_host(loc, hub, {str(pool.get("name")): pool for pool in hosts})
        elif kind != "slurm":
            yield from _of_a_cluster(loc, hub)


def _names_of_a_hub(raw: Raw) -> Iterator[Fault]:
    """A container with a hub's name prefix is controlled by the hub, or one of its own."""
    for _, hub in items(raw, "hubs"):
        begins = f"{hub.get('name')}-"
        for section in ("containers", "jobs"):
            for loc, each in items(raw, section):
                name = each.get("name")
                if each.get("pool") == hub.get("pool") and isinstance(name, str) and name.startswith(begins):
                    fix = f"choose a name that does not begin with {begins}"
                    yield Fault((*loc, "name"), f"is among the names of hub {hub.get('name')} on its host", fix, name)


def _of_a_cluster(loc: Loc, hub: Raw) -> Iterator[Fault]:
    for key in _OF_A_HOST:
        if hub.get(key) is not None:
            yield Fault(
                (*loc, key), "is given on a site without Docker hosts", "write site.kind: docker, or leave it out"
            )
    if mapping(hub, "expose").get("kind") == _HOST_PORT:
        fix = "write node_port, load_balancer or cluster_ip"
        yield Fault((*loc, "expose", "kind"), "is for a hub on a Docker host", fix, _HOST_PORT)
    yield from of_no_slurm(loc, hub)
    for where, profile in items(hub, "profiles", at=loc):
        if profile.get("kernels"):
            fix = "leave them out: on a cluster a server has its GPUs itself"
            yield Fault((*where, "kernels"), "are given on a site without Docker hosts", fix)


def _of_a_host(loc: Loc, hub: Raw, hosts: Mapping[str, Raw]) -> Iterator[Fault]:
    pool, kind = hub.get("pool"), mapping(hub, "expose").get("kind")
    yield from _name_and_host(loc, hub.get("name"), pool, hosts)
    yield from of_no_slurm(loc, hub)
    if hub.get("filter_image") is None:
        fix = "name the image of HAProxy: without a filter the hub could do anything on its host"
        yield Fault((*loc, "filter_image"), "is missing for a hub on a Docker host", fix)
    if isinstance(kind, str) and kind not in {_HOST_PORT, "login_node"}:
        fix = "write { kind: host_port, port: 8000 }"
        yield Fault((*loc, "expose", "kind"), "is for a hub on a cluster", fix, kind)
    for key, fix in _OF_A_CLUSTER.items():
        if hub.get(key) is not None:
            yield Fault((*loc, key), "is given for a hub on a Docker host", fix)
    for where, each in (*items(hub, "profiles", at=loc), *_kernels(loc, hub)):
        yield from _elsewhere(where, each, pool)
    has = hosts[pool].get("gpus_per_node", 0) if isinstance(pool, str) and pool in hosts else None
    for where, each in _kernels(loc, hub):
        gpus = each.get("gpus")
        if is_count(has) and is_count(gpus) and gpus > has:
            fix = f"request at most {has}" if has else "request no GPU: gpus: 0"
            yield Fault((*where, "gpus"), f"is more than host {pool} has ({has})", fix, gpus)


def _name_and_host(loc: Loc, name: object, pool: object, hosts: Mapping[str, Raw]) -> Iterator[Fault]:
    if isinstance(name, str):
        yield from of_hub_name((*loc, "name"), name)
    if pool is None:
        yield Fault((*loc, "pool"), "is missing", f"name the host that it runs on: {nearest('', hosts, what='host')}")
    elif isinstance(pool, str) and pool not in hosts:
        yield Fault((*loc, "pool"), "is not a host of the fleet", nearest(pool, hosts, what="host"), pool)


def _elsewhere(loc: Loc, each: Raw, pool: object) -> Iterator[Fault]:
    fix = "leave it out: a hub, its servers and its kernels are on one host"
    if each.get("pools") is not None:
        yield Fault((*loc, "pools"), "is given for a hub on a Docker host", fix)
    elif pool is not None and each.get("pool") not in (None, pool):
        yield Fault((*loc, "pool"), f"is not the host of its hub, which is {pool}", fix, each.get("pool"))


def _kernels(loc: Loc, hub: Raw) -> Iterator[tuple[Loc, Raw]]:
    for where, profile in items(hub, "profiles", at=loc):
        yield from items(profile, "kernels", at=where)
