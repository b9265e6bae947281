"""P-READ: all pods that a resource makes can be seen."""

from __future__ import annotations

from collections.abc import Iterator

from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload


def check(workload: Workload, _: Site) -> Iterator[Finding]:
    """Never a refusal by itself: what cannot be seen is not proved."""
    if workload.unread:
        yield Finding(workload.unread, Level.UNPROVED)


RULE = Rule(
    id="P-READ",
    says="the pack sees all pods that a resource creates",
    remedy="Declare the objects themselves, for example with a Chart instead of a Release.",
    check=check,
)
