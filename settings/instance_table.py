"""The pools of instances as a table: what each is, what drives its GPUs, its price and what the account must allow."""

from __future__ import annotations

from collections.abc import Iterator

from aws.prices import price_of
from aws.quotas import Market, needed, quota_of
from settings.instance_pools import InstancePool
from settings.models import Stack

HEAD = ("pool", "instance", "nodes", "GPUs each", "driver", "machine image", "disk", "on demand", "quota at most")


def instance_pools(stack: Stack) -> tuple[InstancePool, ...]:
    """Pools whose instances this stack has started."""
    return tuple(each for each in stack.fleet.pools if isinstance(each, InstancePool))


def instance_rows(stack: Stack) -> list[tuple[str, ...]]:
    """A row for each pool of instances, without a head; empty where the stack has none."""
    return [_row(pool) for pool in instance_pools(stack)]


def remarks(stack: Stack) -> Iterator[str]:
    """What the table leaves out: which day its prices are of, and the quotas that all pools need together."""
    pools = instance_pools(stack)
    prices = [price for pool in pools if (price := price_of(pool.instance_types[0]))]
    if prices:
        yield f"prices: Linux, US East (N. Virginia), read on {min(each.priced_on for each in prices)}"
    # Those of instances without GPUs are large in every account.
    for quota in needed(quota_of(pool.shape, pool.max, Market(pool.capacity)) for pool in pools if pool.gpu):
        yield f"the account must allow {quota}"


def _row(pool: InstancePool) -> tuple[str, ...]:
    image, price = pool.node_image, price_of(pool.instance_types[0])
    quota = quota_of(pool.shape, pool.max, Market(pool.capacity)) if pool.gpu else None
    return (
        pool.name,
        " or ".join(pool.instance_types) + (" (spot)" if pool.capacity == "spot" else ""),
        f"{pool.scale}, {pool.scale.desired} at first",
        f"{pool.gpus_per_node} x {pool.gpu.name}" if pool.gpu else "none",
        str(image.driver or "none"),
        str(image),
        f"{pool.root_disk_gib:g} GiB",
        f"${price.usd_per_hour.normalize():f}/h" if price else "not known",
        f"{quota.vcpus} vCPUs" if quota else "",
    )
