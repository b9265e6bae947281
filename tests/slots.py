"""Address ranges and ports for the labs that tests make.

No two workers share one, and one that is in use on the machine is passed over: a lab whose tests were killed leaves
its bridges and addresses behind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lab.instance import PREFERRED_PORTS, SLOTS, Networks, is_in_use

WORKER: Final = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
WORKERS: Final = 4  # whose ranges lie apart

_held: set[int] = set()


@contextmanager
def free_slot() -> Iterator[int]:
    """The highest one of this worker that is free; `make up` takes the lowest."""
    mine = range(WORKER % WORKERS, SLOTS, WORKERS)
    free = [each for each in mine if each not in _held and not is_in_use(Networks.of_slot(each))]
    assert free, f"slots {list(mine)} are all in use on this machine: end the labs that have them (`make clean`)"
    slot = free[-1]
    _held.add(slot)
    try:
        yield slot
    finally:
        _held.remove(slot)


def ports(slot: int) -> dict[str, int]:
    """A port for every server of a lab in that slot."""
    return {name: 20000 + 100 * slot + number for number, name in enumerate(PREFERRED_PORTS)}
