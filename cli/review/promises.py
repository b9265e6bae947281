"""Changes to what people decide: courses, pools, limits, policies, as hubs and the StackRecord record them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from cli.review.details import Change, Detail, details, value_text, word
from cli.review.recorded import GROUPS, HUBS, POOL, RECORD, is_over, pool_name
from cli.review.stream import Stream
from cli.review.values import items, known_text, mapping, names_of, texts, whole
from cli.words import counted

Inputs = Mapping[str, Any]
_PROMISED: Final = ("peak_share", "guaranteed_gpus", "borrowable_gpus", "first_day", "last_day")


def promises(stream: Stream, today: dt.date) -> Iterator[Change]:
    """One change for each course, pool and image, for the site and for its policies."""
    yield from _courses(stream, today)
    old, new = _record(stream)
    if old is None or new is None:
        return
    before, after = mapping(old.get("site")), mapping(new.get("site"))
    name = known_text(after.get("name")) or known_text(before.get("name")) or stream.stack
    fleets = mapping(old.get("fleet")), mapping(new.get("fleet"))
    rest, now = ({key: value for key, value in each.items() if key != "pools"} for each in fleets)
    yield from _changed("site", name, (*details(before, after), *details(rest, now)))
    yield from _pools(stream, *fleets)
    yield from _limits(mapping(old.get("images")), mapping(new.get("images")))
    yield from _changed("policies", name, tuple(details(mapping(old.get("policies")), mapping(new.get("policies")))))


def is_first_record(stream: Stream) -> bool:
    """Earlier decisions are unknown: the state is older than the record."""
    old, new = _record(stream)
    return old is None and new is not None


def _record(stream: Stream) -> tuple[Inputs | None, Inputs | None]:
    """Before and after. A stack has one record, whatever its name."""
    steps = [step for step in stream.steps.values() if step.type == RECORD]
    sides = ([side for side in each if side is not None] for each in zip(*((s.old, s.new) for s in steps), strict=True))
    old, new = (next(iter(side), None) for side in sides) if steps else (None, None)
    return old, new


def _changed(kind: str, name: str, rows: tuple[Detail, ...]) -> Iterator[Change]:
    if rows:
        yield Change(kind, name, "update", rows)


# --- courses

_Course = tuple[str, Inputs]  # its hub, and the hub's record of it


def _courses(stream: Stream, today: dt.date) -> Iterator[Change]:
    old, new = ({(hub, name): course for hub, name, course in _courses_of(stream, side)} for side in ("old", "new"))
    gone = {name: (hub, course) for (hub, name), course in old.items() if (hub, name) not in new}
    come = {name: (hub, course) for (hub, name), course in new.items() if (hub, name) not in old}
    for name in sorted({*gone, *come}):
        yield from _course(name, gone.get(name), come.get(name), today)
    unrecorded = is_first_record(stream)
    for hub, name in sorted({*old} & {*new}):
        before, after = old[hub, name], new[hub, name]
        if unrecorded:
            after = {key: value for key, value in after.items() if key in before or key not in _PROMISED}
        if before != after:
            yield from _course(name, (hub, before), (hub, after), today)


def _courses_of(stream: Stream, side: str) -> Iterator[tuple[str, str, Inputs]]:
    for step in stream.steps.values():
        if step.type in HUBS:
            for course in items(mapping(getattr(step, side)).get("courses")):
                if name := known_text(course.get("name")):
                    yield step.name, name, course


def _course(name: str, old: _Course | None, new: _Course | None, today: dt.date) -> Iterator[Change]:
    if old is None or new is None:
        hub, course = new or old or ("", {})
        line = _whole_course(hub, course)
        rows: tuple[Detail, ...] = (_whole(line, is_new=new is not None),)
    else:
        moved: tuple[Detail, ...] = (Detail("hub", old[0], new[0]),) if old[0] != new[0] else ()
        rows = (*moved, *details(old[1], new[1]))
    sides = [side[1] for side in (old, new) if side is not None]
    if all(is_over(side, today) for side in sides):
        rows = (*rows, Detail("", "", f"over since {word(sides[-1].get('last_day'))}"))
    yield Change("course", name, "create" if old is None else "delete" if new is None else "update", rows)


def _whole_course(hub: str, course: Inputs) -> str:
    seats, share = whole(course.get("seats")) or 0, course.get("peak_share")
    promised = whole(course.get("guaranteed_gpus"))
    parts = [f"{counted(seats, 'seat')} on hub {hub}"]
    if profiles := texts(course.get("profiles")):
        parts.append(f"{'profile' if len(profiles) == 1 else 'profiles'} {names_of(profiles)}")
    if promised is not None:
        parts.append(f"{counted(promised, 'guaranteed GPU')}")
    if share is not None:
        parts.append(f"{value_text(share, ('peak_share',))} of the seats at the busiest time")
    days = [word(course.get(key)) for key in ("first_day", "last_day")]
    if all(days):
        parts.append(" to ".join(days))
    return ", ".join(parts)


# --- pools and images


def _pools(stream: Stream, old: Inputs, new: Inputs) -> Iterator[Change]:
    """What no GpuNodePool records of a pool: all of it, if somebody else runs the fleet."""
    before, after = (
        {name: each for each in items(side.get("pools")) if (name := known_text(each.get("name")))}
        for side in (old, new)
    )
    with_nodes = {pool_name(step.name, step.new or step.old or {}) for step in _of_type(stream, POOL, *GROUPS)}
    for name in dict.fromkeys([*before, *after]):
        if name in before and name in after:
            yield from _changed("pool", name, tuple(details(before[name], after[name])))
        elif name not in with_nodes:
            pool = after.get(name) or before[name]
            has = f"{word(pool.get('gpus_per_node'))} {word(pool.get('gpu'))} each, driver {word(pool.get('driver'))}"
            count = whole(pool.get("nodes"))  # for a Slurm partition
            nodes = counted(count, "node") if count is not None else names_of(texts(pool.get("nodes")))
            line = f"{nodes} with {has}"
            op = "create" if name in after else "delete"
            yield Change("pool", name, op, (_whole(line, is_new=name in after),))


def _whole(line: str, *, is_new: bool) -> Detail:
    """The detail if all of it comes or goes."""
    return Detail("", "" if is_new else line, line if is_new else "")


def _of_type(stream: Stream, *kinds: str) -> Iterator[Any]:
    return (step for step in stream.steps.values() if step.type in kinds)


def _limits(old: Inputs, new: Inputs) -> Iterator[Change]:
    """Limits for single images. Adding or removing one is one entry."""
    for name in dict.fromkeys([*old, *new]):
        before, after = (mapping(mapping(side.get(name)).get("limit")) for side in (old, new))
        if before and after:
            yield from _changed("image", name, tuple(details(before, after, ("limit",))))
        elif before or after:
            yield _limit(name, before, after)


def _limit(name: str, before: Inputs, after: Inputs) -> Change:
    line = ", ".join(
        value_text(item, (key,)) if key != "until" else f"until {word(item)}" for key, item in (before or after).items()
    )
    return Change("image", name, "update", (Detail("limit of its own", line if before else "", line if after else ""),))


def merged(changes: list[Change]) -> list[Change]:
    """One change for what two resources record of one thing; one that creates or removes it decides which."""
    by_thing: dict[tuple[str, str], Change] = {}
    for change in changes:
        there = by_thing.get((change.kind, change.name))
        if there is not None:
            change = replace(there, details=tuple(dict.fromkeys((*there.details, *change.details))))  # noqa: PLW2901 - the two as one
        by_thing[change.kind, change.name] = change
    return list(by_thing.values())
