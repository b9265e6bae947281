"""Capacity and speed of a node.

Rates are planning figures, each a setting of the pool. The defaults were measured or reported: pulls of
4 to 5 GB in about 100 s (JAX-Toolbox#95), 15 to 20 GB in 4 to 6 min (AWS); unpacking a 5.4 GB stack of CUDA libraries
takes 54 s from gzip and 9.4 s from zstd on one core.
"""

from dataclasses import dataclass, field
from typing import Final

PULL_MB_PER_S: Final = 50.0
DISK_MB_PER_S: Final = 400.0
START_S: Final = 15.0  # from the unpacked image to a server that answers

# The kubelet's default imageGCHighThresholdPercent, and what evictionHard imagefs.available (15 %) leaves: above it
# the kubelet removes unused images, and evicts pods if there are none.
USABLE_SHARE: Final = 0.85


@dataclass(frozen=True, slots=True)
class Rates:
    """A node's rates per second, and a server's start time."""

    pull_mb_per_s: float = PULL_MB_PER_S
    disk_mb_per_s: float = DISK_MB_PER_S
    start_s: float = START_S


@dataclass(frozen=True, slots=True)
class Machine:
    """Capacity and speed of a pool's node. `is_disk_assumed`: the disk has not been measured."""

    disk_gib: float
    is_disk_assumed: bool = False
    rates: Rates = field(default_factory=Rates)
    are_rates_planned: bool = True  # planning figures, not this pool's own
    slow_disk: str = ""  # why its nodes start more slowly than they could, and what to change
