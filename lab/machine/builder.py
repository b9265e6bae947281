"""Ends the lab's image builder and its mounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import processes
from lab.machine import mounts
from lab.servers import buildkit

if TYPE_CHECKING:
    from lab.instance import Instance


def end(instance: Instance) -> None:
    """End it, and remove the mounts of interrupted builds, which keep its folder in use. Safe to repeat."""
    processes.stop(instance, buildkit.NAME)
    mounts.unmount_below(buildkit.root(instance), buildkit.scratch(instance))
