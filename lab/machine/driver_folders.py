"""The node folders that a driver container's pod mounts, on a machine that lacks them.

A machine in a container has no /lib/modules, and one without a driver no /run/nvidia.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab.machine import mounts, traces
from lab.machine.traces import Kind, Trace

if TYPE_CHECKING:
    from lab.instance import Instance

MODULES: Final = Path("/lib/modules")
SHOWN: Final = Path(
    "/run/nvidia"
)  # where the container shows its libraries to the node: platforms/kubernetes/runtime.py


def make(instance: Instance) -> None:
    """Create the missing ones. The node must see mounts below /run/nvidia, so that folder is shared."""
    for folder in (MODULES, SHOWN):
        if not folder.exists():
            traces.record(instance, Trace(Kind.SHARED_FOLDER, str(folder)))
            folder.mkdir()
    if SHOWN in _ours(instance):  # otherwise it is the machine's, and systemd shares all mounts
        mounts.share(SHOWN)


def unmount(instance: Instance) -> None:
    """Unmount everything on the created folders; the folders themselves are traces."""
    mounts.unmount_below(*_ours(instance))


def _ours(instance: Instance) -> set[Path]:
    return {MODULES, SHOWN} & {Path(each.value) for each in traces.traces(instance)}
