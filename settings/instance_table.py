"""Table of the instance pools: types, GPU drivers, prices and required account quotas."""

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from typing import Final

from compat.evidence.machine_images import rows_until
from errors.clock import today
from errors.problems import listing
from platforms.aws.image_releases import listed_releases
from platforms.aws.kubernetes_versions import known_versions
from platforms.aws.prices import Price, price_of, term_usd
from platforms.aws.quotas import Market, needed, quota_of
from settings.instance_pools import InstancePool
from settings.models import Stack

_SOON: Final = dt.timedelta(days=90)
HEAD = ("pool", "instance", "nodes", "GPUs each", "driver", "machine image", "disk", "on demand", "quota at most")


def instance_pools(stack: Stack) -> tuple[InstancePool, ...]:
    """Pools whose instances this stack starts."""
    return tuple(each for each in stack.fleet.pools if isinstance(each, InstancePool))


def instance_rows(stack: Stack) -> list[tuple[str, ...]]:
    """One row per instance pool, without a header; empty without pools."""
    return [_row(pool) for pool in instance_pools(stack)]


def quota_lines(stack: Stack) -> tuple[str, ...]:
    """Required quotas for all pools at maximum. Those without GPUs are large in every account."""
    pools = instance_pools(stack)
    needs = needed(quota_of(pool.shape, pool.max, Market(pool.capacity)) for pool in pools if pool.gpu)
    return tuple(f"the account must allow {quota}" for quota in needs)


def remarks(stack: Stack) -> Iterator[str]:
    """Notes below the table: dates of its facts, total cost, and required quotas."""
    pools = instance_pools(stack)
    prices = {pool.name: price for pool in pools if (price := price_of(pool.instance_types[0]))}
    if prices:
        days = sorted({str(price.priced_on) for price in prices.values()})
        yield f"prices: Linux, US East (N. Virginia), on demand, of {listing(days)}"
        yield _costs(stack, pools, prices)
    yield from quota_lines(stack)
    yield from _ages(stack, pools)


def _costs(stack: Stack, pools: tuple[InstancePool, ...], prices: Mapping[str, Price]) -> str:
    """At initial and maximum size: for the term of current courses, else for a week."""
    courses = [each for each in stack.courses if each.last_day >= today()]
    first, last = (
        min((each.first_day for each in courses), default=None),
        max((each.last_day for each in courses), default=None),
    )
    weeks = math.ceil(((last - first).days + 1) / 7) if first and last else 1
    period = f"the term from {first} to {last} ({weeks} weeks)" if first and last else "a week"
    counts = [(prices[pool.name], pool.scale) for pool in pools if pool.name in prices]
    low = sum(term_usd(price, scale.desired, weeks) for price, scale in counts)
    high = sum(term_usd(price, scale.most, weeks) for price, scale in counts)
    without = [pool.name for pool in pools if pool.name not in prices]
    left_out = f", without {listing(without)}, whose price is not known" if without else ""
    return f"{period} costs ${low:,} with the initial instances, ${high:,} with the maximum{left_out}"


def _ages(stack: Stack, pools: tuple[InstancePool, ...]) -> Iterator[str]:
    """Age of the machine image data, and when EKS upgrades the cluster."""
    kinds = dict.fromkeys(pool.machine_image.ami_type for pool in pools if pool.gpu and not pool.flatcar)
    for kind in kinds:
        newest = listed_releases(kind)[-1]
        collected = dt.date.fromisoformat(rows_until(kind, "")[-1]["collected"])
        since = dt.date.fromisoformat(newest) if "." not in newest else collected
        days = (today() - since).days
        age = f"the newest release in the tables is {newest}, {days} days old"
        yield f"{kind}: {age}; python -m tools.eks_images adds newer ones"
    version = known_versions().get(stack.cluster.kubernetes) if stack.cluster and not stack.cluster.existing else None
    if version and version.standard_until and version.standard_until - today() < _SOON:
        when = "has ended" if version.is_extended(today()) else "ends"
        yield (
            f"Kubernetes {version.name}: its standard support {when} on {version.standard_until}, "
            "after which EKS updates a cluster without extended support by itself"
        )


def table_lines(stack: Stack) -> list[str]:
    """The table with header and notes as text lines; empty without such pools."""
    rows = instance_rows(stack)
    if not rows:
        return []
    wide = [max(map(len, column)) for column in zip(HEAD, *rows, strict=True)]
    table = ["  ".join(map(str.ljust, row, wide)).rstrip() for row in (HEAD, *rows)]
    return [*table, *remarks(stack)]


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
