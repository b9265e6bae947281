"""Checks of a Slurm stack: site, partitions, jobs, hubs. Pure."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from errors.agreements import given, located, of_each, readable, refused
from errors.problems import Fault, Loc, listing
from platforms.slurm.hub_model import LoginNodePort, of_admins
from settings.fleet_checks import located_pools
from settings.models import Hub, Job, Profile, Stack
from settings.partition_pools import PartitionPool
from workloads.hub import ClusterHubKeys, HubKeys

# Sections unused at a Slurm site, and why.
_OF_OTHERS: Final = {
    "runtime": "leave it out: its daemons are pods; on the nodes of a partition the site installs the driver",
    "containers": "write a job: containers run on Docker hosts",
}
_UNUSED: Final = {
    "storage": "leave it out: homes are those of the cluster",
    "availability": "leave it out: Slurm has a queue, and the hub shows what a job waits for",
    "pre_pull": "leave it out: an update makes the file of every image",
    "pool": "name the pools in the profiles: the hub itself is on the login node",
    "filter_image": "leave it out: the hub reaches Slurm by its agent alone",
    "gateway_image": "leave it out: a server has its GPUs itself",
    "kernels_per_user": "leave it out: a server has its GPUs itself",
}
_PORTS: Final = ("port", "hub_port", "proxy_api_port")
_NOWHERE: Final = (
    "name the pools that it may land on: Slurm would take its default partition, for which nothing is proved"
)

if unlisted := ClusterHubKeys.model_fields.keys() - HubKeys.model_fields.keys() - _UNUSED.keys():
    raise AssertionError(unlisted)

_unused_by_hubs = refused("is given for a hub on a site with Slurm", _UNUSED)
_slurm_keys = refused("is given on a site without Slurm", {"slurm": "write site.kind: slurm, or leave it out"})
_unused_by_jobs = refused(
    "is given on a site of kind slurm",
    {
        "namespace": "leave it out: Slurm has accounts, and slurm.account names one",
        "shm_gib": "leave it out: a job sees /dev/shm of its node, as part of its memory",
    },
)
_shared_memory = refused(
    "is given on a site of kind slurm",
    {"shm_gib": "leave it out: a server sees /dev/shm of its node, as part of its memory"},
)
_kernels = refused("are given on a site of kind slurm", {"kernels": "leave them out: a server has its GPUs itself"})

Pools = Mapping[str, PartitionPool]


def check_slurm(stack: Stack) -> Iterator[Fault]:
    """Disagreements of the site, its partitions and workloads."""
    for each in (_kind, _partitions, _jobs, _hubs):
        yield from readable(each(stack))


def _kind(stack: Stack) -> Iterator[Fault]:
    is_slurm, written = stack.site.kind == "slurm", given(stack.site, "slurm")
    if is_slurm and "slurm" not in stack.site.model_fields_set:
        yield Fault(("site", "slurm"), "is missing", "add it: access, program and image_store of the cluster")
    if not is_slurm and written:
        yield Fault(("site", "slurm"), "is given on a site without Slurm", "write site.kind: slurm, or leave it out")
    for loc, pool in located_pools(stack.fleet):
        if isinstance(pool, PartitionPool) and not is_slurm:
            fix = "write site.kind: slurm, or name the nodes of a cluster"
            yield Fault((*loc, "partition"), "is given on a site without Slurm", fix)
        if is_slurm and not isinstance(pool, PartitionPool):
            fix = "name its partition, as sinfo prints it, and write in nodes how many nodes it has"
            yield Fault((*loc, "partition"), "is missing on a site of kind slurm", fix)
    for section, fix in _OF_OTHERS.items():
        if is_slurm and getattr(stack, section, None):
            yield Fault((section,), "is given on a site of kind slurm", fix)


def _partitions(stack: Stack) -> Iterator[Fault]:
    owners: dict[tuple[str, str | None], PartitionPool] = {}
    models: dict[str, tuple[str, str]] = {}
    pools = [(loc, pool) for loc, pool in located_pools(stack.fleet) if isinstance(pool, PartitionPool)]
    yield from of_each(pools, partial(_counted_once, owners), partial(_one_model, models))


def _counted_once(
    owners: dict[tuple[str, str | None], PartitionPool], loc: Loc, pool: PartitionPool
) -> Iterator[Fault]:
    first = owners.setdefault((pool.partition, pool.gres if pool.gpu else None), pool)
    if first is not pool:
        fix = "a pool is the nodes of one partition with one type of GPU: give each its own gres, or count them once"
        yield Fault((*loc, "partition"), f"is that of pool {first.name}, with the same gres", fix, pool.partition)


def _one_model(models: dict[str, tuple[str, str]], loc: Loc, pool: PartitionPool) -> Iterator[Fault]:
    if pool.gres is not None and pool.gpu is not None:
        owner, model = models.setdefault(pool.gres, (pool.name, pool.gpu.name))
        if model != pool.gpu.name:
            fix = "a GPU type of Slurm is one model: correct gres or gpu by the line Gres of scontrol show node"
            yield Fault((*loc, "gres"), f"is {model} in pool {owner}", fix, pool.gres)


def _pools(stack: Stack) -> Pools:
    pools = [pool for _, pool in located_pools(stack.fleet) if isinstance(pool, PartitionPool)]
    return {pool.name: pool for pool in pools if hasattr(pool, "name")}


def _jobs(stack: Stack) -> Iterator[Fault]:
    jobs = located(stack, "jobs")
    if stack.site.kind == "slurm":
        pools = _pools(stack)
        yield from of_each(jobs, _unused_by_jobs, partial(_on_partitions, pools), partial(_job, pools))
    else:
        yield from of_each(jobs, _slurm_keys)


def _on_partitions(pools: Pools, loc: Loc, each: Job | Profile) -> Iterator[Fault]:
    """All partitions of a job share one --gres: with several types it leaves the type open in each."""
    if not each.named_pools:
        yield Fault((*loc, "pool"), "is missing", _NOWHERE)
    named = [name for name in each.named_pools if name in pools]
    if not each.gpus or len({pools[name].gres for name in named}) < 2:
        return
    partitions = {pools[name].partition for name in named}
    also = [
        name
        for name, pool in pools.items()
        if name not in named and pool.partition in partitions and pool.gpu is not None
    ]
    if also:
        fix = f"name {listing(also)} as well, or pools of one type: Slurm takes one type for all of them, or any"
        yield Fault((*loc, "pools"), "have GPUs of several types, and one of their partitions has more", fix)


def _job(pools: Pools, loc: Loc, job: Job) -> Iterator[Fault]:
    deadline, wanted = job.deadline_s, job.slurm.nodes if job.slurm else 1
    for pool in (pools[name] for name in job.named_pools if name in pools):
        longest, has = pool.max_time_min, pool.nodes
        if deadline is not None and longest is not None and deadline > 60 * longest:
            fix = f"write at most {60 * longest}, or choose another pool: Slurm refuses it, or never starts it"
            yield Fault((*loc, "deadline_s"), f"is longer than pool {pool.name} allows ({longest} min)", fix, deadline)
        if wanted > has:
            fix = f"write at most {has}"
            yield Fault((*loc, "slurm", "nodes"), f"is more than pool {pool.name} has ({has})", fix, wanted)


# --- hubs


def _hubs(stack: Stack) -> Iterator[Fault]:
    """Hubs at a site of kind slurm, and the site's hub settings."""
    if stack.site.kind != "slurm":
        return
    yield from readable(_accounts(stack))
    taken: dict[int, str] = {}
    yield from of_each(located(stack, "hubs"), _exposed, _unused_by_hubs, partial(_login_node, taken))
    for loc, hub in located(stack, "hubs"):
        of_profile = (_shared_memory, _kernels, partial(_on_partitions, _pools(stack)), partial(_time, _pools(stack)))
        yield from of_each(located(hub, "profiles", loc), *of_profile)


def _accounts(stack: Stack) -> Iterator[Fault]:
    slurm = stack.site.slurm
    if not stack.hubs or slurm is None:
        return
    if slurm.hubs is None:
        fix = "add access, inside, identity and accounts: who hubs run as, and which account each user has"
        yield Fault(("site", "slurm", "hubs"), "is missing for the hubs of this stack", fix)
    elif stack.site.authenticator:
        yield from of_admins(stack.site.authenticator.admins, slurm.hubs.accounts, ("site", "authenticator"))


def _exposed(loc: Loc, hub: Hub) -> Iterator[Fault]:
    expose = getattr(hub, "expose", None)
    if expose is not None and not isinstance(expose, LoginNodePort):
        fix = "write { kind: login_node, port: 8000 }"
        yield Fault(
            (*loc, "expose", "kind"), "is not for a hub on a site with Slurm", fix, getattr(expose, "kind", None)
        )


def _login_node(taken: dict[int, str], loc: Loc, hub: Hub) -> Iterator[Fault]:
    """All hubs of a site share one login node."""
    if not isinstance(hub.expose, LoginNodePort):
        return
    for key in _PORTS:
        port = getattr(hub.expose, key)
        if port in taken:
            yield Fault(
                (*loc, "expose", key), "is taken on the login node", f"choose another: it is {taken[port]}", port
            )
        taken.setdefault(port, f"{key} of hub {hub.name}")


def _time(pools: Pools, loc: Loc, profile: Profile) -> Iterator[Fault]:
    time, fix = profile.time_min, "write how many minutes a server may run: 240"
    if time is None:
        yield Fault((*loc, "time_min"), "is missing", fix)
    elif time == 0:
        yield Fault((*loc, "time_min"), "is not a time limit", fix, time)
    for pool in (pools[name] for name in profile.named_pools if name in pools):
        longest = pool.max_time_min
        if time is not None and longest is not None and time > longest:
            fix = f"write at most {longest}, or choose another pool: Slurm refuses it, or never starts it"
            yield Fault((*loc, "time_min"), f"is longer than pool {pool.name} allows ({longest} min)", fix, time)
