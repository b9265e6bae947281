"""P-DRIVER: the driver of each pool supports its GPUs, and NVIDIA still supports the driver."""

import datetime as dt
from collections.abc import Iterator
from typing import Final

from compat import Case, Host, Severity, check_on
from compat.facts import tables
from errors.problems import listing
from policies.finding import Finding, Level
from policies.model import Rule, Site
from policies.verdicts import cited

_ABOUT_POOLS: Final = frozenset({"R-DROP", "R-KMOD"})  # their findings hold for every image
_NO_IMAGE: Final = Case()
_SOON: Final = dt.timedelta(days=90)
_UPGRADE: Final = "Plan an upgrade to a supported branch; gpu-commons facts driver_branch lists the branches."


def check_stack(site: Site) -> Iterator[Finding]:
    """Each reason once, with all its pools."""
    refused: dict[str, list[str]] = {}
    ended: dict[str, list[str]] = {}
    for name, gpus in site.gpus.items():
        if gpus.host is None:
            yield Finding(f"{_pool_names([name])}: {gpus.unread}", Level.UNPROVED)
            continue
        for finding in check_on(_NO_IMAGE, gpus.host).findings:
            if finding.rule in _ABOUT_POOLS and finding.severity is Severity.REFUSE:
                refused.setdefault(f"{finding.message} [{finding.rule}; {cited(finding.fact.source)}]", []).append(name)
        for sentence in _support(gpus.host, site):
            ended.setdefault(sentence, []).append(name)
    for message, pools in refused.items():
        yield Finding(f"{_pool_names(pools)}: {message}")
    for message, pools in ended.items():
        yield Finding(f"{_pool_names(pools)}: {message}", Level.WARN, remedy=_UPGRADE)


def _support(host: Host, site: Site) -> Iterator[str]:
    """The end of life of the pool's driver branch, if past or near."""
    branches = {each.driver.branch for each in host.may_be if each.driver is not None and each.driver.given}
    for branch in (tables.driver_branches().get(number) for number in sorted(branches)):
        if branch is None or branch.end_of_life in {"", "n/a"}:
            continue
        when = branch.end_of_life
        source = f"{cited(branch.origin.source)}, read {branch.origin.collected}"
        if when == "eol" or when < str(site.today)[: len(when)]:
            over = "" if when == "eol" else f" in {when}"
            yield f"driver branch {branch.branch} reached its end of life{over} ({source})"
        elif when <= str(site.today + _SOON)[: len(when)]:
            yield f"driver branch {branch.branch} is supported until {when} ({source})"


def _pool_names(pools: list[str]) -> str:
    return f"{'pool' if len(pools) == 1 else 'pools'} {listing(pools, most=8)}"


RULE = Rule(
    id="P-DRIVER",
    says="each pool's driver supports its GPUs with the loaded kernel module, and NVIDIA still updates the driver",
    remedy="Give the pool a driver that supports its GPUs; gpu-commons check names suitable drivers.",
    check_stack=check_stack,
)
