"""Pools whose region may lack their instance types, by a dated list."""

from __future__ import annotations

from platforms.aws.regions import region_problem
from settings.instance_pools import InstancePool
from settings.models import Stack


def unlisted(stack: Stack) -> dict[str, str]:
    """GPU pools not listed for the cluster's region: why, and what to do."""
    region = stack.cluster.region if stack.cluster else ""
    found = {
        pool.name: region_problem(pool.shape, region)
        for pool in stack.fleet.pools
        if isinstance(pool, InstancePool) and pool.gpu
    }
    return {name: f"{problem.reason}: {problem.fix}" for name, problem in found.items() if problem}
