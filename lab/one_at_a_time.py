"""One `make up` at a time for each lab: two would start the same servers, and one engine would wait for the other."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from lab.instance import Instance, LabError


@contextmanager
def alone(instance: Instance, command: str) -> Iterator[None]:
    """Hold the lab's lock. The kernel drops it with the process, however that ends.

    Raises LabError with the pid of the command that has it.
    """
    instance.run.mkdir(parents=True, exist_ok=True)
    with (instance.run / "up.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            pid = lock.read().strip() or "unknown"
            raise LabError(f"another {command} runs for this lab, pid {pid}: wait for it, or end it first") from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield
