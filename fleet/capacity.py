"""Finds GPU demands that the pools cannot meet at the same time. Pure.

No network-flow library: even the smallest one delays each preview by half a second at its start.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Want:
    """A number of GPUs from any of these pools."""

    name: str
    gpus: int
    pools: frozenset[str]


@dataclass(frozen=True, slots=True)
class Shortage:
    """Wants that cannot be met together, all the pools that they accept, and the GPUs of those pools."""

    names: tuple[str, ...]
    gpus: int
    pools: tuple[str, ...]
    room: int


def shortage(wants: Sequence[Want], room: Mapping[str, int]) -> Shortage | None:
    """A set of wants that the pools cannot meet together; None if all are met. GPUs are allocated singly.

    Wants are served in turn; one whose pools are full moves others to further pools that they accept. If no such
    move is left, the set is those that would have had to move.
    """
    # GPUs that each step may still move: from a pool to the end its free GPUs, from a want to a pool what it may take,
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


_END: Final = -1  # sink of free GPUs


def _shortage(stuck: Sequence[Want], room: Mapping[str, int]) -> Shortage:
    pools = tuple(pool for pool in room if any(pool in each.pools for each in stuck))
    names = tuple(each.name for each in stuck)
    return Shortage(names, sum(each.gpus for each in stuck), pools, sum(room[pool] for pool in pools))


def _reach(spare: Mapping[int | str, Mapping[int | str, int]], start: int) -> dict[int | str, int | str]:
    """Everything that can be reached, each with its predecessor; the start is its own."""
    came_from: dict[int | str, int | str] = {start: start}
    waiting: deque[int | str] = deque(came_from)
    while waiting:
        here = waiting.popleft()
        found = [there for there, amount in spare.get(here, {}).items() if amount and there not in came_from]
        came_from |= dict.fromkeys(found, here)
        waiting += found
    return came_from


def _steps(came_from: Mapping[int | str, int | str]) -> Iterator[tuple[int | str, int | str]]:
    """Path to the end, backwards."""
    here: int | str = _END
    while (before := came_from[here]) != here:
        yield before, here
        here = before
