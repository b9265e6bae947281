"""The end of the lab's image builder on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import processes
from lab.machine import mounts
from lab.servers import buildkit

if TYPE_CHECKING:
    from lab.instance import Instance


def end(instance: Instance) -> None:
    """End it, and take away the mounts of builds that it was killed in: they keep the folder. Safe to repeat."""
    processes.stop(instance, buildkit.NAME)
    mounts.unmount_below(buildkit.root(instance), buildkit.scratch(instance))
