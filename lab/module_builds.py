"""Builds a tool with its publisher's own build, from the source in its Go module: `build.sh` beside its pins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lab import go_builds, processes

if TYPE_CHECKING:
    from lab.pins import Pin

SCRIPT = "build.sh"
ENVIRONMENT = {"GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", **go_builds.LESS_WORK}


def has_script(pin: Pin) -> bool:
    return (pin.source / SCRIPT).exists()


def build(go: Path, pin: Pin, target: Path, log: Path) -> None:
    """Build the tool into the folder `target`, with `bin` below it. Raises LabError with the end of the log.

    go.sum beside the script checks the module; its own go.sum checks the rest.
    """
    (module,) = pin.packages
    lookup = {**ENVIRONMENT, "GOFLAGS": go_builds.ENVIRONMENT["GOFLAGS"]}
    processes.run([str(go), "mod", "download", module], cwd=pin.source, env=lookup, timeout_s=1200)
    folder = processes.run([str(go), "list", "-m", "-f", "{{.Dir}}", module], cwd=pin.source, env=lookup).strip()
    env = {**ENVIRONMENT, "PATH": f"{go.parent}:{os.environ.get('PATH', '')}"}
    argv = ["sh", str(pin.source / SCRIPT), folder, str(target), pin.version]
    processes.run(argv, cwd=target, env=env, log=log, timeout_s=3600)
