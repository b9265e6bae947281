"""The persistence service that a distribution starts on a node with a driver: its process, and its PID file.

A stand-in, because the machine has no driver to keep loaded. The pod that may start another one finds it there.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from lab.processes import Server, read_record

if TYPE_CHECKING:
    from lab.instance import Instance

NAME: Final = "nvidia-persistenced"
PID_FILE: Final = Path("/run", NAME, f"{NAME}.pid")
# Under the daemon's name, which is how it is told from another process with its number.
_SERVICE: Final = 'mkdir -p "${1%/*}"; echo $$ > "$1"; exec "$0" infinity'


def server(instance: Instance) -> Server:
    """The service, beside no other one."""
    program = instance.run / NAME
    if not program.exists():
        shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    return Server(
        name=NAME,
        argv=["sh", "-euc", _SERVICE, str(program), str(PID_FILE)],
        ready=PID_FILE.exists,
        ready_within_s=10,
    )


def is_somebody_elses(instance: Instance) -> bool:
    """Whether a service of the machine's own runs."""
    ours = read_record(instance, NAME)
    return _running() not in (None, ours and ours.pid)


def forget() -> None:
    """Remove the file of a service that has ended, as the daemon does itself."""
    if _running() is None:
        PID_FILE.unlink(missing_ok=True)


def _running() -> int | None:
    with contextlib.suppress(OSError, ValueError, psutil.Error):
        process = psutil.Process(int(PID_FILE.read_text()))
        return process.pid if process.name() == NAME and process.status() != psutil.STATUS_ZOMBIE else None
    return None
