"""Folders of a node that the pod of a driver container mounts, on a machine that has none of them.

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
    """Make those that are missing. What is mounted below /run/nvidia has to be seen by the node: so it is shared."""
    for folder in (MODULES, SHOWN):
        if not folder.exists():
            traces.record(instance, Trace(Kind.SHARED_FOLDER, str(folder)))
            folder.mkdir()
    if SHOWN in _ours(instance):  # else it is the machine's, and systemd shares all that is mounted
        mounts.share(SHOWN)


def unmount(instance: Instance) -> None:
    """Take away what is mounted on those that were made; the folders themselves are traces."""
    mounts.unmount_below(*_ours(instance))


def _ours(instance: Instance) -> set[Path]:
    return {MODULES, SHOWN} & {Path(each.value) for each in traces.traces(instance)}
