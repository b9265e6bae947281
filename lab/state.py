"""The engine's state files of an instance, and what a killed engine leaves behind."""

from __future__ import annotations

import json
import socket
import time
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from pathlib import Path

    from lab.instance import Instance

PROJECT_NAME: Final = "gpu-commons"
DRAFT: Final = ".tmp"  # the suffix of an incomplete file in the engine's storage
ABANDONED_AFTER_S: Final = 5  # writing one takes milliseconds


def folder(instance: Instance) -> Path:
    return instance.data / "state"


def stack_file(instance: Instance, stack: str) -> Path:
    return folder(instance) / ".pulumi" / "stacks" / PROJECT_NAME / f"{stack}.json"


def url(instance: Instance) -> str:
    """The engine's backend URL.

    The engine writes each file in one step, but by default also one with its type and checksum, in two steps: a kill in
    between leaves a state it cannot load ("failed to load checkpoint: EOF"). So it writes none.
    """
    return f"file://{folder(instance)}?metadata=skip"


def make(instance: Instance) -> None:
    """Create the folder, without files that `url` forbids: the engine reads any it finds. Safe to repeat."""
    folder(instance).mkdir(exist_ok=True, mode=0o700)
    for beside in folder(instance).rglob("*.attrs"):
        beside.unlink(missing_ok=True)


def left_locked(instance: Instance, stack: str) -> bool:
    """Whether the stack is locked only by killed processes."""
    locks = sorted((folder(instance) / ".pulumi" / "locks").glob(f"**/{stack}/*"))
    return bool(locks) and all(_holder_is_dead(lock) for lock in locks)


def _holder_is_dead(lock: Path) -> bool:
    """Whether the lock's process, on this machine, has ended. A PID that is younger than the lock is another's."""
    try:
        if lock.suffix == DRAFT:
            return time.time() - lock.stat().st_mtime > ABANDONED_AFTER_S
        holder = json.loads(lock.read_text())
        if holder["hostname"] != socket.gethostname():
            return False
        return psutil.Process(holder["pid"]).create_time() > lock.stat().st_mtime
    except psutil.NoSuchProcess:
        return True
    except (OSError, ValueError, KeyError, TypeError):  # removed just now, or written by another version of the engine
        return False
