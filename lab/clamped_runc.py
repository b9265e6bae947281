"""Stand-in for runc on a machine that cannot raise limits: it lowers higher limits of a container to the machine's.

Without CAP_SYS_RESOURCE, a process cannot set a limit above its own hard one, and runc refuses the container. Limits
are in the bundle's `config.json` (`create`) and in the file of `exec --process`, which health checks also use. This
file runs alone, without the project's packages.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CAP_SYS_RESOURCE = 24  # https://man7.org/linux/man-pages/man7/capabilities.7.html, include/uapi/linux/capability.h
UNLIMITED = 2**64 - 1  # in the spelling of the OCI runtime specification
STATUS = Path("/proc/self/status")
# Commands of runc that start a process → options that name the folder of the bundle, or the file with the process.
STARTS = {"create": ("--bundle", "-b"), "run": ("--bundle", "-b"), "exec": ("--process", "-p")}


def limits_are_hard() -> bool:
    """Whether processes on this machine may not raise a limit above the hard one."""
    for line in STATUS.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            return not int(value, 16) >> CAP_SYS_RESOURCE & 1
    return False


def hard_limit(kind: str) -> int:
    """This process's, by the OCI name of the limit (`RLIMIT_MEMLOCK`); unlimited if Python does not know it."""
    number = getattr(resource, kind, None)
    if number is None:
        return UNLIMITED
    hard = resource.getrlimit(number)[1]
    return UNLIMITED if hard == resource.RLIM_INFINITY else hard


def clamp(process: dict[str, Any]) -> list[str]:
    """Lower the limits of an OCI process in place; returns the lowered ones."""
    lowered = []
    for limit in process.get("rlimits") or ():
        allowed = hard_limit(limit["type"])
        if limit["hard"] > allowed:
            asked = "unlimited" if limit["hard"] == UNLIMITED else limit["hard"]
            lowered.append(f"{limit['type'].removeprefix('RLIMIT_').lower()} {asked} lowered to {allowed}")
        limit["hard"], limit["soft"] = min(limit["hard"], allowed), min(limit["soft"], allowed)
    return lowered


def file_of(words: Sequence[str]) -> Path | None:
    """The file with the limits, if this runc command line starts a process; else None."""
    for command, options in STARTS.items():
        if command in words:
            for word, following in zip(words, [*words[1:], ""], strict=True):
                option, _, value = word.partition("=")
                if option in options:
                    given = Path(value or following)
                    return given if command == "exec" else given / "config.json"
    return None


def rewrite(file: Path) -> list[str]:
    """Lower the limits in the file; return those."""
    spec = json.loads(file.read_text())
    lowered = clamp(spec.get("process", spec))
    if lowered:
        file.write_text(json.dumps(spec))
    return lowered


def main(runc: str, log: str, *words: str) -> None:
    """Lower the limits for the command `words`, then become runc. A container has a log line for each."""
    file = file_of(words)
    if file and limits_are_hard():
        # An unreadable file is left to runc, which says why.
        with contextlib.suppress(OSError, ValueError, LookupError):
            lowered = rewrite(file)
            if lowered and "exec" not in words:  # otherwise every health check would add one
                when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                with Path(log).open("a") as sink:
                    sink.write("".join(f"{when} container {words[-1][:12]}: {each}\n" for each in lowered))
    os.execv(runc, [runc, *words])  # noqa: S606 - runc, with the words that containerd gave


if __name__ == "__main__":
    main(*sys.argv[1:])
