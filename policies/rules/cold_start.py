"""P-START: a server on a node without its image answers before the hub gives up."""

from __future__ import annotations

from collections.abc import Iterator

from images.estimate import cold_start
from policies.findings import Finding, Level, Rule, Site, Workload
from policies.pod_images import different_images, possible_pools


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Pull, unpack and start on every pool it may land on against the hub's start time-out.

    An estimate refuses only where the stack file states the pool's rates; planning figures warn.
    """
    if workload.start_timeout_s is None or workload.is_pre_pulled:
        return
    for image in different_images(workload, site):
        if (size := image.size) is None:
            continue
        for pool in possible_pools(workload, site):
            machine = site.machines.get(pool)
            if machine is None:
                continue
            start = cold_start(size, machine.rates)
            if start.total_s <= workload.start_timeout_s:
                continue
            planned = "; the rates are planning figures" if machine.are_rates_planned else ""
            yield Finding(
                f"the first server on a node of {pool} takes about {start.total_s:.0f} s ({start.reason}{planned}), and"
                f" the hub gives up after {workload.start_timeout_s:g} s",
                Level.WARN if machine.are_rates_planned else Level.REFUSE,
            )


RULE = Rule(
    id="P-START",
    says="the first server on a node answers before the hub gives up, or its image is there already",
    remedy="Set pre_pull: true for the hub, raise start_timeout_s, or make the image smaller.",
    check=check,
)
