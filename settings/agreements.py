"""Values that stand beside each other in one thing and must agree: each alone is fine. Pure."""

from collections.abc import Iterator

from messages.problems import Fault, Loc
from settings.raw import Raw, is_number, items, mapping


def check(raw: Raw) -> Iterator[Fault]:
    """Every pair that does not go together."""
    yield from _who_may_log_in(mapping(raw, "site"))
    for loc, pool in items(raw, "fleet", "pools"):
        yield from _taints(loc, pool)
    for loc, hub in items(raw, "hubs"):
        yield from _age(loc, mapping(hub, "cull"))
        yield from _titles(loc, hub)
        for where, profile in items(hub, "profiles", at=loc):
            yield from _shared_memory(where, profile)
    for loc, job in items(raw, "jobs"):
        yield from _shared_memory(loc, job)


def _who_may_log_in(site: Raw) -> Iterator[Fault]:
    given = mapping(site, "authenticator")
    everybody = given.get("allow_all", given.get("kind") == "lti13")
    if given.get("kind") in ("lti13", "oauth") and everybody is True and given.get("allowed_users"):
        fix = "write allow_all: false, or leave allowed_users out"
        yield Fault(("site", "authenticator", "allowed_users"), "is no limit: allow_all lets everybody in", fix)


def _taints(loc: Loc, pool: Raw) -> Iterator[Fault]:
    """Kubernetes takes one taint of a key and an effect."""
    seen: dict[tuple[str, str], int] = {}
    for where, taint in items(pool, "taints", at=loc):
        key, effect = taint.get("key"), taint.get("effect")
        if not isinstance(key, str) or not isinstance(effect, str):
            continue
        if (key, effect) in seen:
            reason = f"has the key and the effect of taints[{seen[key, effect]}]"
            yield Fault(where, reason, "keep one of the two: a node has one taint of a key and an effect")
        seen.setdefault((key, effect), int(where[-1]))


def _age(loc: Loc, cull: Raw) -> Iterator[Fault]:
    oldest, idle = cull.get("max_age_s"), cull.get("idle_s", 3600)
    if is_number(oldest) and is_number(idle) and 0 < oldest < idle:
        fix = f"write {idle:g} or more, or 0 for no maximum age"
        yield Fault((*loc, "cull", "max_age_s"), f"is below idle_s, which is {idle:g}", fix, oldest)


def _titles(loc: Loc, hub: Raw) -> Iterator[Fault]:
    """People choose by the title alone."""
    seen: dict[str, object] = {}
    for where, profile in items(hub, "profiles", at=loc):
        title = profile.get("title")
        if isinstance(title, str) and title in seen:
            fix = "give each a title of its own: people see nothing else"
            yield Fault((*where, "title"), f"is the title of profile {seen[title]}", fix, title)
        elif isinstance(title, str):
            seen[title] = profile.get("name")


def _shared_memory(loc: Loc, workload: Raw) -> Iterator[Fault]:
    shared, memory = workload.get("shm_gib"), workload.get("memory_gib")
    if is_number(shared) and is_number(memory) and shared > memory:
        fix = f"write at most {memory:g}: shared memory is part of the memory"
        yield Fault((*loc, "shm_gib"), f"is above memory_gib, which is {memory:g}", fix, shared)
