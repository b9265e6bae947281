"""Address ranges and ports of the labs that tests make: apart from those of other workers, and from those of any lab
on the machine, also of one whose tests were killed: its bridges and addresses stay.
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
    """The highest of this worker's: `make up` takes the lowest."""
    mine = range(WORKER % WORKERS, SLOTS, WORKERS)
    free = [each for each in mine if each not in _held and not is_in_use(Networks.of_slot(each))]
    assert free, f"labs have all of {[Networks.of_slot(each).docker_cidr for each in mine]}: `make clean` in theirs"
    slot = free[-1]
    _held.add(slot)
    try:
        yield slot
    finally:
        _held.remove(slot)


def ports(slot: int) -> dict[str, int]:
    """For every server of a lab."""
    return {name: 20000 + 100 * slot + number for number, name in enumerate(PREFERRED_PORTS)}
