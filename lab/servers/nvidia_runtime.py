"""NVIDIA's container runtime for the lab's runtimes: in CDI mode, above runc or its replacement.

It adds the CDI specs of the devices in a container's NVIDIA_VISIBLE_DEVICES, and leaves the rest to the program below.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab import files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.servers import Tools

PROGRAM: Final = "nvidia-container-runtime"
HOOK: Final = "nvidia-container-runtime-hook"  # the file an engine looks for before it accepts requests for GPUs


def write(tools: Tools, program: Path, *, specs: Path, below: Path) -> Path:
    """Write the program for a runtime's configuration, with its settings beside it; returns its path."""
    settings = files.write(program.with_name(f"{program.name}.toml"), configuration(specs, [below]))
    started = f"NVIDIA_CTK_CONFIG_FILE_PATH={shlex.quote(str(settings))} exec {shlex.quote(str(tools.path(PROGRAM)))}"
    return files.write(program, f'#!/bin/sh\n{started} "$@"\n', mode=0o755)


def configuration(specs: Path, below: Sequence[Path]) -> str:
    """Its config.toml. Images get the GPUs in their NVIDIA_VISIBLE_DEVICES, the publisher's default."""
    return f"""\
[nvidia-container-runtime]
mode = "cdi"
runtimes = {json.dumps([str(each) for each in below])}

[nvidia-container-runtime.modes.cdi]
default-kind = "nvidia.com/gpu"
spec-dirs = [{json.dumps(str(specs))}]
"""
