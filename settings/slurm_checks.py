"""Consistency checks of a Slurm stack: site, partitions, jobs. Pure."""

from collections.abc import Iterator
from typing import Final

from errors.problems import Fault, Loc
from platforms.slurm.site_model import OF_ONE_NODE, is_inside
from settings.slurm_hubs import check_slurm_hubs, of_types
from workloads.raw import Raw, is_count, is_number, items, mapping

# Sections unused at a Slurm site, and why.
_OF_OTHERS: Final = {
    "runtime": "leave it out: its daemons are pods; on the nodes of a partition the site installs the driver",
    "containers": "write a job: containers run on Docker hosts",
}


def is_partition(pool: Raw) -> bool:
    """Whether a pool has Slurm partition nodes."""
    return "partition" in pool


def nodes_of(pool: Raw) -> tuple[str, ...] | None:
    """Node names for a partition, as far as it is readable."""
    nodes, name = pool.get("nodes"), pool.get("name")
    return tuple(f"{name}-{each}" for each in range(1, nodes + 1)) if is_count(nodes) and 0 < nodes <= 10_000 else None


def check_slurm(raw: Raw) -> Iterator[Fault]:
    """Inconsistencies of the site, its partitions and workloads."""
    is_slurm = mapping(raw, "site").get("kind") == "slurm"
    pools = items(raw, "fleet", "pools")
    yield from _kind(raw, pools, is_slurm=is_slurm)
    yield from _store(mapping(mapping(raw, "site"), "slurm"))
    yield from _rest(mapping(mapping(mapping(raw, "site"), "slurm"), "rest"))
    yield from _partitions(pools)
    yield from check_slurm_hubs(raw, {str(pool.get("name")): pool for _, pool in pools})
    for loc, job in items(raw, "jobs"):
        if is_slurm:
            yield from _job(loc, job, {str(pool.get("name")): pool for _, pool in pools})
        elif job.get("slurm") is not None:
            yield Fault((*loc, "slurm"), "is given on a site without Slurm", "write site.kind: slurm, or leave it out")


def _kind(raw: Raw, pools: list[tuple[Loc, Raw]], *, is_slurm: bool) -> Iterator[Fault]:
    site = mapping(raw, "site")
    if is_slurm and site.get("slurm") is None:
        yield Fault(("site", "slurm"), "is missing", "add it: access, program and image_store of the cluster")
    if not is_slurm and site.get("slurm") is not None:
        yield Fault(("site", "slurm"), "is given on a site without Slurm", "write site.kind: slurm, or leave it out")
    for loc, pool in pools:
        if is_partition(pool) and not is_slurm:
            fix = "write site.kind: slurm, or name the nodes of a cluster"
            yield Fault((*loc, "partition"), "is given on a site without Slurm", fix)
        if is_slurm and not is_partition(pool):
            fix = "name its partition, as sinfo prints it, and write in nodes how many nodes it has"
            yield Fault((*loc, "partition"), "is missing on a site of kind slurm", fix)
    if is_slurm:
        for section, fix in _OF_OTHERS.items():
            if raw.get(section):
                yield Fault((section,), "is given on a site of kind slurm", fix)


def _store(slurm: Raw) -> Iterator[Fault]:
    store, scratch = slurm.get("image_store"), slurm.get("scratch")
    if not isinstance(store, str):
        return
    for folder in (each for each in (scratch if isinstance(scratch, list) else ()) if isinstance(each, str)):
        if is_inside(store, folder):
            fix = "choose a folder that nobody purges: jobs fail on the day when their image is gone"
            yield Fault(("site", "slurm", "image_store"), f"is in {folder}, which is scratch", fix, store)
            return
    if folder := next((each for each in OF_ONE_NODE if is_inside(store, each)), ""):
        fix = "choose a folder that login and compute nodes share, such as /projects/gpu-commons/images"
        yield Fault(("site", "slurm", "image_store"), f"is in {folder}, which each node has for itself", fix, store)


def _rest(rest: Raw) -> Iterator[Fault]:
    url = rest.get("url")
    if isinstance(url, str) and url.startswith("http"):
        for key, what in (("user", "the user that the token is for"), ("token_file", "a file with its token")):
            if rest.get(key) is None:
                yield Fault(("site", "slurm", "rest", key), "is missing for slurmrestd at a port", f"add {key}: {what}")


def _partitions(pools: list[tuple[Loc, Raw]]) -> Iterator[Fault]:
    owners: dict[tuple[object, object], object] = {}
    models: dict[object, tuple[object, object]] = {}
    for loc, pool in pools:
        if not is_partition(pool):
            continue
        name, gres, gpu = pool.get("name"), pool.get("gres"), pool.get("gpu")
        key = pool.get("partition"), gres if gpu is not None else None
        first = owners.setdefault(key, name)
        if first is not name:
            fix = (
                "a pool is the nodes of one partition with one type of GPU: give each its own gres, or count them once"
            )
            yield Fault((*loc, "partition"), f"is that of pool {first}, with the same gres", fix, key[0])
        if pool.get("container_toolkit") is not None:
            fix = "leave it out: Apptainer and SingularityCE bind the driver's files themselves"
            yield Fault((*loc, "container_toolkit"), "is given for a partition of Slurm", fix)
        if gres is not None and gpu is None:
            yield Fault((*loc, "gres"), "is given for a pool without gpu", "add gpu and gpus_per_node, or leave it out")
        if gres is not None and isinstance(gpu, str):
            owner, model = models.setdefault(gres, (name, gpu))
            if model != gpu:
                fix = "a GPU type of Slurm is one model: correct gres or gpu by the line Gres of scontrol show node"
                yield Fault((*loc, "gres"), f"is {model} in pool {owner}", fix, gres)


def _job(loc: Loc, job: Raw, pools: dict[str, Raw]) -> Iterator[Fault]:
    pool, several, gpus = job.get("pool"), job.get("pools"), job.get("gpus", 0)
    if pool is None and several is None:
        fix = "name the pools that it may land on: Slurm would take its default partition, for which nothing is proved"
        yield Fault((*loc, "pool"), "is missing", fix)
    named = [each for each in (several if isinstance(several, list) else [pool]) if each in pools]
    yield from of_types(loc, named, pools, has_gpus=is_count(gpus) and gpus > 0)
    for key, fix in (
        ("namespace", "leave it out: Slurm has accounts, and slurm.account names one"),
        ("shm_gib", "leave it out: a job sees /dev/shm of its node, as part of its memory"),
    ):
        if job.get(key) is not None:
            yield Fault((*loc, key), "is given on a site of kind slurm", fix)
    deadline, wanted = job.get("deadline_s"), mapping(job, "slurm").get("nodes", 1)
    for name in named:
        longest, has = pools[name].get("max_time_min"), pools[name].get("nodes")
        if is_number(deadline) and is_number(longest) and deadline > 60 * longest:
            fix = f"write at most {60 * longest:g}, or choose another pool: Slurm refuses it, or never starts it"
            yield Fault((*loc, "deadline_s"), f"is longer than pool {name} allows ({longest:g} min)", fix, deadline)
        if is_count(wanted) and is_count(has) and wanted > has:
            fix = f"write at most {has}"
            yield Fault((*loc, "slurm", "nodes"), f"is more than pool {name} has ({has})", fix, wanted)
