"""Consistency checks of one hub or job, in a stack file or component arguments. Pure.

Works on the raw mapping, not on the models: the models report malformed values, which hide nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from errors.problems import Fault, Loc
from workloads.raw import Raw, is_number, items, mapping

DEFAULT_IDLE_S: Final = 3600


def of_hub(loc: Loc, hub: Raw) -> Iterator[Fault]:
    """A hub's times and profiles."""
    yield from _age(loc, mapping(hub, "cull"))
    yield from doubles(hub, ("profiles",), at=loc)
    yield from titles(loc, hub, "profiles")
    profiles = items(hub, "profiles", at=loc)
    defaults = [str(profile.get("name")) for _, profile in profiles if profile.get("is_default") is True]
    if len(defaults) > 1:
        fix = f"keep is_default: true on one of {', '.join(defaults)}"
        yield Fault((*loc, "profiles"), f"have {len(defaults)} defaults", fix)
    for where, profile in profiles:
        yield from of_workload(where, profile)


def of_login(loc: Loc, holder: Raw) -> Iterator[Fault]:
    """Who may log in, by `authenticator` of a site or a hub: everybody or a list, but not nobody."""
    given = mapping(holder, "authenticator")
    kind, listed = given.get("kind"), given.get("allowed_users")
    everybody = given.get("allow_all", kind != "oauth")
    if kind not in ("dummy", "lti13", "oauth"):
        return
    if everybody is True and listed:
        fix = "write allow_all: false, or leave allowed_users out"
        yield Fault((*loc, "authenticator", "allowed_users"), "has no effect: allow_all lets everybody in", fix)
    # Only OAuth admits unlisted administrators: jupyterhub 5.5 adds them to an existing list.
    if everybody is False and not listed and not (kind == "oauth" and given.get("admins")):
        fix = "list allowed_users, or set allow_all: true"
        yield Fault((*loc, "authenticator"), "lets nobody log in", fix)


def of_workload(loc: Loc, workload: Raw) -> Iterator[Fault]:
    """Pools and guarantees of a profile or a job."""
    named = workload.get("pools") or ()
    if named and workload.get("pool") is not None:
        fix = "keep one of the two: pool for one pool, pools for several"
        yield Fault((*loc, "pools"), "is given beside pool", fix)
    for index, name in enumerate(listed := named if isinstance(named, list | tuple) else ()):
        if name in listed[:index]:
            yield Fault((*loc, "pools", index), "is listed twice", "name each pool once", name)
    yield from _at_most(loc, workload, "shm_gib", "memory_gib", ": shared memory is part of the memory")
    yield from _at_most(loc, workload, "memory_guarantee_gib", "memory_gib")
    yield from _at_most(loc, workload, "cpu_guarantee", "cpu")


def _at_most(loc: Loc, workload: Raw, part: str, whole: str, why: str = "") -> Iterator[Fault]:
    amount, limit = workload.get(part), workload.get(whole)
    if is_number(amount) and is_number(limit) and amount > limit:
        yield Fault((*loc, part), f"is above {whole}, which is {limit:g}", f"write at most {limit:g}{why}", amount)


def _age(loc: Loc, cull: Raw) -> Iterator[Fault]:
    oldest, idle = cull.get("max_age_s"), cull.get("idle_s", DEFAULT_IDLE_S)
    if is_number(oldest) and is_number(idle) and 0 < oldest < idle:
        fix = f"write {idle:g} or more, or 0 for no maximum age"
        yield Fault((*loc, "cull", "max_age_s"), f"is below idle_s, which is {idle:g}", fix, oldest)


def titles(loc: Loc, holder: Raw, key: str) -> Iterator[Fault]:
    """Duplicate titles of list items: people only see the title."""
    seen: dict[str, object] = {}
    for where, each in items(holder, key, at=loc):
        title = each.get("title")
        if isinstance(title, str) and title in seen:
            one = key.removesuffix("s")
            fix = f"give each {one} its own title: users see nothing else"
            yield Fault((*where, "title"), f"is the title of {one} {seen[title]}", fix, title)
        elif isinstance(title, str):
            seen[title] = each.get("name")


def doubles(
    raw: Raw,
    path: tuple[str, ...],
    *,
    at: Loc = (),
    label: str = "name",
    key: Callable[[Raw], object] = lambda item: item.get("name"),
) -> Iterator[Fault]:
    """List items with a duplicate name."""
    first: dict[object, Loc] = {}
    for loc, item in items(raw, *path, at=at):
        if not isinstance(item.get(label), str):
            continue
        found = key(item)
        if found in first:
            reason = f"is taken by {path[-1]}[{first[found][-1]}]"
            yield Fault((*loc, label), reason, f"give each of the {path[-1]} its own {label}", item[label])
        first.setdefault(found, loc)
