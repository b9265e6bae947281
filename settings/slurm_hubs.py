"""Consistency checks of hubs at a Slurm site: the site and its partitions. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from errors.problems import Fault, Loc, listing
from platforms.slurm.hub_model import of_admins, of_slurm_hub
from workloads.hub import ClusterHubKeys, HubKeys
from workloads.raw import Raw, is_count, is_number, items, mapping

_LOGIN_NODE: Final = "login_node"
_UNUSED: Final = {
    **dict.fromkeys(("volume_gib", "database_gib"), "leave it out: homes are those of the cluster"),
    "storage_class": "leave it out: homes are those of the cluster",
    "availability": "leave it out: Slurm has a queue, and the hub shows what a job waits for",
    "pre_pull": "leave it out: an update makes the file of every image",
    "pool": "name the pools in the profiles: the hub itself is on the login node",
    "filter_image": "leave it out: the hub reaches Slurm by its agent alone",
    "gateway_image": "leave it out: a server has its GPUs itself",
    "kernels_per_user": "leave it out: a server has its GPUs itself",
}
_PORTS: Final = {"port": 8000, "hub_port": 8081, "proxy_api_port": 8001}

if unlisted := ClusterHubKeys.model_fields.keys() - HubKeys.model_fields.keys() - _UNUSED.keys():
    raise AssertionError(unlisted)


def check_slurm_hubs(raw: Raw, pools: Mapping[str, Raw]) -> Iterator[Fault]:
    """Hubs at a site of kind slurm, and the site's hub settings."""
    site = mapping(raw, "site")
    if site.get("kind") != "slurm":
        return
    hubs = items(raw, "hubs")
    yield from _site(mapping(site, "slurm"), has_hubs=bool(hubs))
    accounts = mapping(mapping(mapping(site, "slurm"), "hubs"), "accounts")
    if hubs:
        yield from of_admins(("site", "authenticator"), mapping(site, "authenticator"), accounts)
    taken: dict[object, str] = {}
    for loc, hub in hubs:
        yield from of_slurm_hub(loc, hub)
        yield from _unused(loc, hub)
        yield from of_admins((*loc, "authenticator"), mapping(hub, "authenticator"), accounts)
        yield from _ports(loc, hub, taken)
        for where, profile in items(hub, "profiles", at=loc):
            yield from _profile(where, profile, pools)


def of_no_slurm(loc: Loc, hub: Raw) -> Iterator[Fault]:
    """Keys specific to hubs at a Slurm site."""
    if mapping(hub, "expose").get("kind") == _LOGIN_NODE:
        fix = "write host_port on a Docker host, node_port, load_balancer or cluster_ip on a cluster"
        yield Fault((*loc, "expose", "kind"), "is for a hub on a site with Slurm", fix, _LOGIN_NODE)
    for where, profile in items(hub, "profiles", at=loc):
        if profile.get("time_min") is not None:
            fix = "leave it out: cull.max_age_s of the hub says how long a server may be used"
            yield Fault((*where, "time_min"), "is given on a site without Slurm", fix)


def _site(slurm: Raw, *, has_hubs: bool) -> Iterator[Fault]:
    here = slurm.get("hubs")
    if has_hubs and slurm and here is None:
        fix = "add access, inside, identity and accounts: who hubs run as, and which account each user has"
        yield Fault(("site", "slurm", "hubs"), "is missing for the hubs of this stack", fix)
    if not isinstance(here, Mapping):
        return
    own, of_stack = mapping(here, "access"), mapping(slurm, "access")
    if own and own == of_stack:
        fix = "name an account of their own: who runs hubs must not be able to change what their users' jobs are"
        yield Fault(("site", "slurm", "hubs", "access"), "is the access of the stack", fix)
    address = own.get("address")
    if isinstance(address, str) and address.partition("@")[0] == "root" and "@" in address:
        fix = "name an account of their own, without any right"
        yield Fault(("site", "slurm", "hubs", "access", "address"), "is root", fix, address)
    yield from _accounts(mapping(here, "accounts"), {_user_of(own): "hubs", _user_of(of_stack): "the stack"})


def _accounts(accounts: Raw, of_others: dict[str, str]) -> Iterator[Fault]:
    """Each user has an account of their own."""
    owners: dict[object, str] = {}
    for user, account in accounts.items():
        loc = ("site", "slurm", "hubs", "accounts", str(user))
        if account in owners:
            fix = "give each user an account of their own: otherwise one user could end the other's servers"
            yield Fault(loc, f"is that of {owners[account]} too", fix, account)
        elif account and account in of_others:
            fix = "give each user an account of their own: otherwise users could change what others run"
            yield Fault(loc, f"is the account of {of_others[account]}", fix, account)
        owners.setdefault(account, str(user))


def _user_of(access: Raw) -> str:
    """The account in user@host; empty without one."""
    user, at, _ = str(access.get("address", "")).partition("@")
    return user if at else ""


def _unused(loc: Loc, hub: Raw) -> Iterator[Fault]:
    kind = mapping(hub, "expose").get("kind")
    if isinstance(kind, str) and kind != _LOGIN_NODE:
        fix = "write { kind: login_node, port: 8000 }"
        yield Fault((*loc, "expose", "kind"), "is not for a hub on a site with Slurm", fix, kind)
    for key, fix in _UNUSED.items():
        if hub.get(key) is not None:
            yield Fault((*loc, key), "is given for a hub on a site with Slurm", fix)


def _ports(loc: Loc, hub: Raw, taken: dict[object, str]) -> Iterator[Fault]:
    """All hubs of a site share one login node."""
    expose = mapping(hub, "expose")
    for key, default in _PORTS.items():
        port = expose.get(key, default)
        if port in taken:
            fix = f"choose another: it is {taken[port]}"
            yield Fault((*loc, "expose", key), "is taken on the login node", fix, port)
        taken.setdefault(port, f"{key} of hub {hub.get('name')}")


def _profile(loc: Loc, profile: Raw, pools: Mapping[str, Raw]) -> Iterator[Fault]:
    pool, several, gpus, time = (profile.get(key) for key in ("pool", "pools", "gpus", "time_min"))
    if pool is None and several is None:
        fix = "name the pools that it may land on: Slurm would take its default partition, for which nothing is proved"
        yield Fault((*loc, "pool"), "is missing", fix)
    named = [str(each) for each in (several if isinstance(several, list) else [pool]) if each in pools]
    yield from of_types(loc, named, pools, has_gpus=is_count(gpus) and gpus > 0)
    if time is None:
        yield Fault((*loc, "time_min"), "is missing", "write how many minutes a server may run: 240")
    elif time == 0:
        yield Fault((*loc, "time_min"), "is not a time limit", "write how many minutes a server may run: 240", time)
    for name in named:
        longest = pools[name].get("max_time_min")
        if is_number(time) and is_number(longest) and time > longest:
            fix = f"write at most {longest:g}, or choose another pool: Slurm refuses it, or never starts it"
            yield Fault((*loc, "time_min"), f"is longer than pool {name} allows ({longest:g} min)", fix, time)
    if profile.get("shm_gib") is not None:
        fix = "leave it out: a server sees /dev/shm of its node, as part of its memory"
        yield Fault((*loc, "shm_gib"), "is given on a site of kind slurm", fix)
    if profile.get("kernels"):
        yield Fault(
            (*loc, "kernels"), "are given on a site of kind slurm", "leave them out: a server has its GPUs itself"
        )


def of_types(loc: Loc, named: list[str], pools: Mapping[str, Raw], *, has_gpus: bool) -> Iterator[Fault]:
    """All partitions of a job share one --gres: with several types it leaves the type open in each."""
    if not has_gpus or len({pools[name].get("gres") for name in named}) < 2:
        return
    partitions = {pools[name].get("partition") for name in named}
    also = [
        name
        for name, pool in pools.items()
        if name not in named and pool.get("partition") in partitions and pool.get("gpu") is not None
    ]
    if also:
        fix = f"name {listing(also)} as well, or pools of one type: Slurm takes one type for all of them, or any"
        yield Fault((*loc, "pools"), "have GPUs of several types, and one of their partitions has more", fix)
