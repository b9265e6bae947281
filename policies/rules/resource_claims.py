"""P-CLAIM: a pool that serves GPUs by claims can satisfy each GPU claim."""

from collections.abc import Iterator, Mapping
from typing import Any

from errors.problems import listing
from fleet.dra_devices import DRIVER
from fleet.unknown import UNKNOWN
from policies.device_selectors import UnreadableError, selects
from policies.finding import Finding, Level
from policies.model import ClaimedGpus, Rule, Site
from policies.shapes import at, items


def check_claim(spec: Any, path: str, site: Site) -> Iterator[Finding]:
    """A claim's requests, each on its own; alternatives could not be proved."""
    requests = at(spec, "devices", "requests")
    if requests is UNKNOWN:
        yield Finding(f"{path}.devices.requests is not known yet", Level.UNPROVED)
        return
    for index, each in enumerate(items(requests)):
        where = f"{path}.devices.requests[{index}]"
        if isinstance(each, Mapping) and each.get("firstAvailable"):
            yield Finding(f"{where} has alternatives (firstAvailable)", Level.UNPROVED)
        elif isinstance(each, Mapping):
            request = each.get("exactly", each)
            if request is UNKNOWN or at(request, "deviceClassName") is UNKNOWN:
                yield Finding(f"it is not known yet what {where} requests", Level.UNPROVED)
            elif at(request, "deviceClassName") == DRIVER:
                yield from _met(request, where, site)


def _met(request: Mapping[str, Any], where: str, site: Site) -> Iterator[Finding]:
    """Refused if no pool can satisfy it for known reasons, listed by pool."""
    if not site.claimed:
        yield Finding(f"{where} requests a GPU, but no pool is known to give GPUs by claims", Level.UNPROVED)
        return
    reasons: dict[str, str] = {}
    doubts: dict[str, str] = {}
    for pool, gpus in site.claimed.items():
        answers = [*_answers(request, gpus)]
        if denied := [reason for reason, is_certain in answers if is_certain]:
            reasons[pool] = denied[0]
        elif answers:
            doubts[pool] = answers[0][0]
        else:
            return
    if doubts:
        yield Finding(f"{where}: {_by_reason(doubts)}", Level.UNPROVED)
    else:
        yield Finding(f"no GPU of this stack meets {where}: {_by_reason(reasons)}")


def _answers(request: Mapping[str, Any], gpus: ClaimedGpus) -> Iterator[tuple[str, bool]]:
    """Why a pool's node does not satisfy a request, or may not; empty if it does. True: certain."""
    count = request.get("count", 1)
    if count is UNKNOWN:
        yield "its count is not known yet", False
    elif request.get("allocationMode") != "All" and isinstance(count, int | float) and count > gpus.each:
        yield f"it requests {count:g} GPUs, but a node has {gpus.each}", True
    if request.get("selectors") is UNKNOWN:
        yield "its selectors are not known yet", False
        return
    for selector in items(request.get("selectors")):
        expression = at(selector, "cel", "expression")
        if not isinstance(expression, str):
            yield "a selector is not known yet", False
            continue
        try:
            answer = selects(expression, gpus.device)
        except UnreadableError as error:
            yield f"it is not known whether its GPUs match {expression} ({error})", False
            continue
        if answer is None:
            yield f"{expression} depends on how much memory a GPU reports", False
        elif not answer:
            device = gpus.device
            has = f"{device.product}, driver {device.driver_version}, CUDA {device.cuda_version}"
            memory = f"{device.memory_mib[0]} to {device.memory_mib[-1]} MiB"
            yield f"{expression} does not hold for {has}, {memory}", True


def _by_reason(by_pool: Mapping[str, str]) -> str:
    pools: dict[str, list[str]] = {}
    for pool, reason in by_pool.items():
        pools.setdefault(reason, []).append(pool)
    return "; ".join(f"pool {listing(names, most=8)}: {reason}" for reason, names in pools.items())


RULE = Rule(
    id="P-CLAIM",
    says="a pool that serves GPUs by claims (DRA) can satisfy every GPU claim",
    remedy="Change the selector or the count, or add a pool with such GPUs and gpus_by: claims.",
)
