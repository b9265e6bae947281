"""From a pool of a stack file to what its nodes can hold and how fast they are."""

from __future__ import annotations

from components.stack.models import Pool
from images.estimate import Rates
from policies.findings import Machine


def machine_of(pool: Pool) -> Machine:
    """A node of the pool, and which of its figures nobody has measured."""
    stated = {"pull_mb_per_s": pool.pull_mb_per_s, "disk_mb_per_s": pool.disk_mb_per_s}
    rates = {name: float(value) for name, value in stated.items() if value is not None}
    return Machine(
        disk_gib=float(pool.root_disk_gib),
        is_disk_assumed="root_disk_gib" in pool.assumptions,
        rates=Rates(**rates),
        are_rates_planned=not rates or bool(set(rates) & set(pool.assumptions)),
    )
