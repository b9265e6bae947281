"""Picks the subnets of a pool: those in zones where EC2 offers its instance types."""

from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi_aws import ec2

from platforms.aws.zones import NoZoneError, Offers, check_zones, subnets_in


class OfferedZones:
    """Instance types by zone, read once for all pools of a program. A pool without a zone fails the preview."""

    def __init__(self, region: str, types: Sequence[str], opts: pulumi.InvokeOptions | None = None) -> None:
        self._region = region
        found = ec2.get_instance_type_offerings_output(
            filters=[{"name": "instance-type", "values": sorted(set(types))}],
            location_type="availability-zone",
            region=region,
            opts=opts,
        )
        # An empty result is no answer: mocks in program tests return none.
        self._offers = pulumi.Output.all(found.instance_types, found.locations).apply(
            lambda lists: None if lists[0] is None else Offers(frozenset(zip(lists[0], lists[1], strict=True)))
        )

    def subnets_of(
        self,
        pool: str,
        types: Sequence[str],
        subnet_ids: pulumi.Input[Sequence[str]],
        zones: pulumi.Input[Sequence[str]],
    ) -> pulumi.Output[list[str]]:
        """Subnets of the pool; `zones` are those of the subnets, in their order."""
        region = self._region
        having = pulumi.Output.all(zones, self._offers).apply(lambda known: _checked(pool, types, region, known))
        known = pulumi.Output.all(having, subnet_ids, zones)
        return known.apply(lambda lists: subnets_in(lists[0], lists[1], lists[2]))


def zones_of(subnet_ids: Sequence[pulumi.Input[str]], opts: pulumi.InvokeOptions) -> pulumi.Output[list[str]]:
    """Zones of existing subnets."""
    found = [ec2.get_subnet_output(id=each, opts=opts).availability_zone for each in subnet_ids]
    return pulumi.Output.all(*found).apply(list)


def _checked(pool: str, types: Sequence[str], region: str, known: Sequence[Any]) -> list[str]:
    zones, offers = known
    if offers is None:
        return list(zones)
    try:
        return list(check_zones(pool, types, zones, region, offers))
    except NoZoneError as error:
        raise pulumi.RunError(str(error)) from None
