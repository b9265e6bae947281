"""P-READ: all pods of a resource are visible."""

from collections.abc import Iterator

from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload


def check(workload: Workload, _: Site) -> Iterator[Finding]:
    """Never refuses by itself: invisible pods are unproved."""
    if workload.unread:
        yield Finding(workload.unread, Level.UNPROVED)


RULE = Rule(
    id="P-READ",
    says="the pack sees all pods that a resource creates",
    remedy="Declare the objects themselves, for example with a Chart instead of a Release.",
    check=check,
)
