"""P-REGION: the cluster's region offers its pools' instance types."""

from collections.abc import Iterator

from policies.finding import Finding, Level
from policies.model import Rule, Site


def check_stack(site: Site) -> Iterator[Finding]:
    """A dated list proves no absence: AWS keeps adding types, and a preview asks EC2 itself."""
    for pool, why in site.unlisted.items():
        yield Finding(f"pool {pool}: {why}", Level.UNPROVED)


RULE = Rule(
    id="P-REGION",
    says="the region of an EKS cluster offers the instance types of its pools, according to a dated list from AWS",
    remedy="Choose a region from the list, or check whether yours offers the type by now.",
    check_stack=check_stack,
)
