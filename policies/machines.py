"""From a pool of a stack file to what its nodes can hold and how fast they are."""

from __future__ import annotations

from images.size.estimate import Rates
from policies.model import Machine
from settings.models import Pool


def machine_of(pool: Pool) -> Machine:
    """A node of the pool, and which of its figures nobody has measured."""
    return Machine(
        disk_gib=float(pool.root_disk_gib),
        is_disk_assumed="root_disk_gib" in pool.assumptions,
        rates=Rates(**pool.stated_rates),
        are_rates_planned=pool.are_rates_planned,
    )
