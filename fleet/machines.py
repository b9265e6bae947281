"""What a node can hold and how fast it is.

Rates are planning figures, and each is a setting of the pool. The defaults are what was measured or reported: pulls of
4 to 5 GB in about 100 s (JAX-Toolbox#95), 15 to 20 GB in 4 to 6 min (AWS); unpacking a 5.4 GB stack of CUDA libraries
takes 54 s from gzip and 9.4 s from zstd on one core.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

PULL_MB_PER_S: Final = 50.0
DISK_MB_PER_S: Final = 400.0
START_S: Final = 15.0  # from the unpacked image to a server that answers

# The kubelet's default imageGCHighThresholdPercent, and what evictionHard imagefs.available (15 %) leaves: above it
# unused images are thrown out, and where none is unused, pods.
USABLE_SHARE: Final = 0.85


@dataclass(frozen=True, slots=True)
class Rates:
    """What a node does in a second, and how long a server takes to start."""

    pull_mb_per_s: float = PULL_MB_PER_S
    disk_mb_per_s: float = DISK_MB_PER_S
    start_s: float = START_S


@dataclass(frozen=True, slots=True)
class Machine:
    """What a node of a pool can hold and how fast it is. `is_disk_assumed`: nobody has measured it."""

    disk_gib: float
    is_disk_assumed: bool = False
    rates: Rates = field(default_factory=Rates)
    are_rates_planned: bool = True  # planning figures, not this pool's own
    slow_disk: str = ""  # why its nodes start later than they could, and what to change
