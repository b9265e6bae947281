"""Looks up the regions of an instance type in a dated list of families; zones are not included.

AWS keeps adding types to regions; `aws ec2 describe-instance-type-offerings` shows today's.
"""

from dataclasses import dataclass
from functools import cache

from errors.problems import listing, nearest
from platforms.aws import tables
from platforms.aws.instances import GroupShape


@dataclass(frozen=True, slots=True)
class RegionProblem:
    """A missing entry. It means unknown, not denied: the list may be older than the offer."""

    reason: str
    fix: str


def region_problem(shape: GroupShape, region: str) -> RegionProblem | None:
    """Is any of the group's types missing from the region's list? None: no."""
    rows = tables.by_first_column("regions")
    row = rows.get(region)
    if row is None:
        return RegionProblem(f"no table has the region {region}", nearest(region, rows, what="region"))
    for each in shape.types:
        having = regions_with(each.family)
        if not having:
            reason = f"the list of {row['listed_on']} has {each.family} in no region"
            return RegionProblem(reason, f"see whether {region} has {each.name}")
        if region not in having:
            reason = f"the list of {row['listed_on']} has no {each.family} in {region}"
            fix = f"see whether it has {each.name} by now, or take a region of the list: {listing(having, most=8)}"
            return RegionProblem(reason, fix)
    return None


@cache
def regions_with(family: str) -> tuple[str, ...]:
    """Listed regions of a family, such as `g6e`; none if no region has it."""
    rows = tables.rows("regions")
    return tuple(row["region"] for row in rows if family in row["gpu_families"].split("|"))
