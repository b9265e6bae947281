"""Detects whether a lab's disk filled up during an operation.

A server logs that, and its caller may not pass it on: Docker's provider only says that an image could not be pulled.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lab.instance import Instance

_FULL: Final = re.compile(rb"no space left on device", re.IGNORECASE)
_GB: Final = 10**9


def log_sizes(instance: Instance) -> Mapping[Path, int]:
    """The length of each server's log now, in bytes: later lines are the next operation's."""
    return {log: log.stat().st_size for log in instance.logs.glob("*.log")}


def reason(instance: Instance, before: Mapping[Path, int]) -> str:
    """A sentence for the error, if a log has reported a full disk since; else nothing."""
    for log in sorted(instance.logs.glob("*.log")):
        with log.open("rb") as source:
            source.seek(before.get(log, 0))
            is_full = _FULL.search(source.read())
        if is_full:
            free = shutil.disk_usage(instance.home).free / _GB
            return (
                f"The disk of {instance.home} filled up ({log}); {free:.1f} GB are free now. "
                "Free some space, or set XDG_STATE_HOME to a folder on a larger disk.\n"
            )
    return ""
