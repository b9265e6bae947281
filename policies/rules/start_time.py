"""P-START: a server on a node without its image answers before the hub gives up."""

from collections.abc import Iterator, Mapping

from fleet.machines import Machine
from fleet.unknown import UNKNOWN
from imaging.size.estimate import cold_start
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.scheduling import NOT_CERTAIN, is_certain, possible_pools
from policies.workload_images import at_least, different_images


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Compares pull, unpack and start on every possible pool with the hub's start time-out.

    An estimate refuses only if the stack file states the pool's rates; planning figures warn. Nothing waits for a
    pre-puller, so with one it is a warning, not a refusal.
    """
    if workload.start_timeout_s is None:
        return
    if workload.start_timeout_s is UNKNOWN:
        yield Finding(
            "it is not known whether the first server starts in time: start_timeout_s is not known yet", Level.UNPROVED
        )
        return
    pools = {pool: site.machines[pool] for pool in possible_pools(workload, site) if pool in site.machines}
    node = workload.words.node
    yield from _slow(pools, node)
    for image in different_images(workload, site):
        if (size := image.size) is None:
            continue
        starts = {pool: cold_start(size, machine.rates) for pool, machine in pools.items()}
        late = {pool: start for pool, start in starts.items() if start.total_s > workload.start_timeout_s}
        for pool, start in late.items():
            machine = pools[pool]
            planned = "; the rates are planning figures" if machine.are_rates_planned else ""
            message = (
                f"the first server on a {node} of {pool} takes {at_least(size) or 'about '}{start.total_s:.0f} s"
                f" ({start.reason}{planned}), but the hub gives up after {workload.start_timeout_s:g} s"
            )
            if workload.is_pre_pulled:
                without = f"a {node} that joins later lacks the image for about {start.pull_s + start.unpack_s:.0f} s"
                yield Finding(
                    f"{message}; the pre-puller only helps on a {node} where it has finished, and {without}", Level.WARN
                )
            elif machine.are_rates_planned:
                yield Finding(message, Level.WARN)
            elif is_certain(late, workload, site):
                yield Finding(message)
            else:
                yield Finding(message + NOT_CERTAIN, Level.UNPROVED)


def _slow(pools: Mapping[str, Machine], node: str) -> Iterator[Finding]:
    for pool, machine in pools.items():
        if machine.slow_disk:
            yield Finding(f"the first server on a {node} of {pool} starts slowly: {machine.slow_disk}", Level.WARN)


RULE = Rule(
    id="P-START",
    says="the first server on a node answers before the hub gives up",
    remedy=lambda words: (
        f"Raise start_timeout_s or make the image smaller; pre_pull: true helps on long-lived {words.node}s."
    ),
    check=check,
)
