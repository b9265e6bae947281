"""Consistency checks of pools that serve GPUs by claims (DRA): cluster, size and users. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from errors.problems import Fault, Loc
from platforms.aws.instance_agreements import shape_of
from platforms.aws.kubernetes_versions import is_version, minor_of
from platforms.kubernetes.claims import FIRST_KUBERNETES
from workloads.raw import Raw, is_count, items, mapping

_ONE_WAY = "name pools that all give GPUs in the same way"


def check_claims(raw: Raw) -> Iterator[Fault]:
    """Inconsistencies."""
    pools = [(loc, pool) for loc, pool in items(raw, "fleet", "pools") if gives_by_claims(pool)]
    for loc, pool in pools:
        yield from _pool(loc, pool, pool.get("kubernetes") or mapping(raw, "cluster").get("kubernetes"))
    names = {pool.get("name") for _, pool in pools}
    if names:
        yield from _jobs(raw, names)
        yield from _hubs(raw, names)


def gives_by_claims(pool: Raw) -> bool:
    """Whether a pool does."""
    return pool.get("gpus_by") == "claims"


def _pool(loc: Loc, pool: Raw, version: object) -> Iterator[Fault]:
    where, shape = (*loc, "gpus_by"), shape_of(pool)
    if isinstance(version, str) and is_version(version) and minor_of(version) < FIRST_KUBERNETES:
        reason = f"needs Kubernetes 1.{FIRST_KUBERNETES}, from which claims are stable; the nodes have {version}"
        yield Fault(where, reason, "use a newer version, or device_plugin", "claims")
    if shape and shape.gpu is None:
        yield Fault(where, "is given for instances without GPUs", "leave it out", "claims")
    elif shape and shape.gpus < 1:
        reason = "is for whole GPUs: the driver offers no part of a GPU as a device"
        yield Fault(where, reason, "use device_plugin, or instances with whole GPUs", "claims")
    if pool.get("flatcar") is not None:
        yield Fault(
            where, "is not supported on Flatcar nodes, whose driver offers no CDI devices", "leave it out", "claims"
        )
    sizes = (pool.get("min", 0), pool.get("desired", pool.get("min", 0)), pool.get("max"))
    if all(map(is_count, sizes)) and len(set(sizes)) > 1:
        reason = "needs a fixed size: an autoscaler cannot know the devices of a node that does not exist yet"
        yield Fault(where, reason, f"write min: {sizes[2]}, and desired as well or not at all", "claims")


def _jobs(raw: Raw, names: set[object]) -> Iterator[Fault]:
    for loc, job in items(raw, "jobs"):
        if not job.get("gpus"):
            continue
        named = [job["pool"]] if isinstance(job.get("pool"), str) else job.get("pools")
        if not isinstance(named, list | tuple):
            reason = "is missing: a pool of this fleet gives its GPUs by claims, and others do not"
            others = [pool for _, pool in items(raw, "fleet", "pools") if not gives_by_claims(pool)]
            if any((shape := shape_of(pool)) and shape.gpu for pool in others):
                yield Fault((*loc, "pools"), reason, _ONE_WAY)
        elif len({name in names for name in named}) > 1:
            yield Fault((*loc, "pools"), "mixes pools that give GPUs by claims with others", _ONE_WAY)


def _hubs(raw: Raw, names: set[object]) -> Iterator[Fault]:
    """KubeSpawner 7 cannot add a claim to a container and keep its other requests."""
    for loc, hub in items(raw, "hubs"):
        for at, profile in items(hub, "profiles", at=loc):
            named = [profile.get("pool"), *(profile.get("pools") or ())]
            if profile.get("gpus") and names.intersection(each for each in named if isinstance(each, str)):
                reason = "names a pool that gives its GPUs by claims, which servers of a hub cannot create"
                fix = "name a pool with gpus_by: device_plugin"
                yield Fault((*at, "pools" if profile.get("pools") else "pool"), reason, fix)
