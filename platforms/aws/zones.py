"""Finds the zones that offer instance types, as reported by EC2, and the matching subnets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from errors.problems import listing


class NoZoneError(ValueError):
    """No subnet of a group is in a zone with one of its instance types."""


@dataclass(frozen=True, slots=True)
class Offers:
    """Result of `ec2:DescribeInstanceTypeOfferings`: (instance type, zone)."""

    pairs: frozenset[tuple[str, str]]

    def zones_of(self, types: Iterable[str]) -> frozenset[str]:
        """Zones with at least one of the types."""
        wanted = frozenset(types)
        return frozenset(zone for name, zone in self.pairs if name in wanted)


def check_zones(pool: str, types: Sequence[str], zones: Sequence[str], region: str, offers: Offers) -> tuple[str, ...]:
    """The zones with one of the types; raises NoZoneError if none."""
    having = offers.zones_of(types)
    if found := tuple(zone for zone in zones if zone in having):
        return found
    what, where = listing(tuple(types)), listing(tuple(sorted(having)), most=8)
    if not having:
        raise NoZoneError(f"pool {pool}: {region} has no {what}: take another instance type or another region")
    reason = f"AWS has {what} in {where}, and in none of the pool's zones, {listing(tuple(dict.fromkeys(zones)))}"
    raise NoZoneError(f"pool {pool}: {reason}: add a subnet in one of them, or take another instance type")


def subnets_in(zones: Sequence[str], subnets: Sequence[str], of_subnets: Sequence[str]) -> list[str]:
    """The subnets in the zones, in order; `of_subnets` are the subnets' zones."""
    return [subnet for subnet, zone in zip(subnets, of_subnets, strict=True) if zone in zones]
