"""Who can be served at the same time, where each takes from some pools only. Pure.

Not a library for flows in networks: the smallest of them costs each preview half a second at its start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Want:
    """A number of GPUs, from any of these pools."""

    name: str
    gpus: int
    pools: frozenset[str]


@dataclass(frozen=True, slots=True)
class Shortage:
    """Wants that cannot be met together, the pools that are all they could take from, and the GPUs of those."""

    names: tuple[str, ...]
    gpus: int
    pools: tuple[str, ...]
    room: int


def shortage(wants: Sequence[Want], room: Mapping[str, int]) -> Shortage | None:
    """A set of wants that the pools cannot meet together; None where all are met. GPUs can be handed out singly.

    Wants are served one after the other; one that finds its pools taken moves others to pools that they accept as
    well. Where no such move is left, those that would have had to move are the set.
    """
    held: dict[tuple[int, str], int] = {}  # want and pool → GPUs
    free = dict(room)
    for index, want in enumerate(wants):
        missing = want.gpus
        while missing:
            came_from, end = _reach(index, wants, held, free)
            if end is None:
                stuck = [wants[each] for each in sorted({each for each in came_from if isinstance(each, int)})]
                pools = tuple(pool for pool in room if any(pool in each.pools for each in stuck))
                return Shortage(
                    tuple(each.name for each in stuck),
                    sum(each.gpus for each in stuck),
                    pools,
                    sum(room[pool] for pool in pools),
                )
            missing -= _move(end, came_from, held, free, missing)
    return None


def _reach(
    start: int, wants: Sequence[Want], held: Mapping[tuple[int, str], int], free: Mapping[str, int]
) -> tuple[dict[int | str, int | str | None], str | None]:
    """Wants and pools that can be reached by moving, each with what it was reached from, and a pool with room."""
    came_from: dict[int | str, int | str | None] = {start: None}
    waiting = deque([start])
    while waiting:
        want = waiting.popleft()
        for pool in sorted(wants[want].pools & free.keys()):
            if pool in came_from:
                continue
            came_from[pool] = want
            if free[pool]:
                return came_from, pool
            for other, where in held:
                if where == pool and held[other, where] and other not in came_from:
                    came_from[other] = pool
                    waiting.append(other)
    return came_from, None


def _move(
    end: str,
    came_from: Mapping[int | str, int | str | None],
    held: dict[tuple[int, str], int],
    free: dict[str, int],
    most: int,
) -> int:
    """Hands the free GPUs of `end` back along the path, as many as every step of it can; their number."""
    steps: list[tuple[int, str, str | None]] = []  # a want takes from a pool, and gives up what it held in another
    pool: str | None = end
    while pool is not None:
        want = came_from[pool]
        assert isinstance(want, int)  # noqa: S101 - pools are reached from wants
        before = came_from[want]
        assert not isinstance(before, int)  # noqa: S101 - and wants from pools
        steps.append((want, pool, before))
        pool = before
    amount = min([most, free[end], *(held[want, given] for want, _, given in steps if given is not None)])
    free[end] -= amount
    for want, taken, given in steps:
        held[want, taken] = held.get((want, taken), 0) + amount
        if given is not None:
            held[want, given] -= amount
    return amount
