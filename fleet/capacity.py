"""Who can be served at the same time, where each takes from some pools only. Pure.

Not a library for flows in networks: the smallest of them costs each preview half a second at its start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final


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
    # GPUs that each step may still move: from a pool to the end what is free, from a want to a pool what it may take,
    # and from a pool to a want what the want can give up there.
    spare: dict[int | str, dict[int | str, int]] = {pool: {_END: free} for pool, free in room.items()}
    for index, want in enumerate(wants):
        spare[index] = dict.fromkeys(sorted(want.pools & room.keys()), want.gpus)
        missing = want.gpus
        while missing:
            came_from = _reach(spare, index)
            if _END not in came_from:
                return _shortage([each for number, each in enumerate(wants) if number in came_from], room)
            steps = list(_steps(came_from))
            amount = min(missing, *(spare[one][other] for one, other in steps))
            for one, other in steps:
                spare[one][other] -= amount
                back = spare.setdefault(other, {})
                back[one] = back.get(one, 0) + amount
            missing -= amount
    return None


_END: Final = -1  # where GPUs go that nobody has


def _shortage(stuck: Sequence[Want], room: Mapping[str, int]) -> Shortage:
    pools = tuple(pool for pool in room if any(pool in each.pools for each in stuck))
    names = tuple(each.name for each in stuck)
    return Shortage(names, sum(each.gpus for each in stuck), pools, sum(room[pool] for pool in pools))


def _reach(spare: Mapping[int | str, Mapping[int | str, int]], start: int) -> dict[int | str, int | str]:
    """Everything that can be reached, each with what it was reached from; the start from itself."""
    came_from: dict[int | str, int | str] = {start: start}
    waiting: deque[int | str] = deque(came_from)
    while waiting:
        here = waiting.popleft()
        found = [there for there, amount in spare.get(here, {}).items() if amount and there not in came_from]
        came_from |= dict.fromkeys(found, here)
        waiting += found
    return came_from


def _steps(came_from: Mapping[int | str, int | str]) -> Iterator[tuple[int | str, int | str]]:
    """The way to the end, backwards."""
    here: int | str = _END
    while (before := came_from[here]) != here:
        yield before, here
        here = before
