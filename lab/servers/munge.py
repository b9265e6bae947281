"""munged, which authenticates requests: all parts of the lab's Slurm share this lab's own key."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from lab import files
from lab.processes import Server
from lab.servers import listening, slurm_files

if TYPE_CHECKING:
    from pathlib import Path

    from lab.instance import Instance
    from lab.servers import Tools

NAME = "munged"
KEY_BYTES = 1024


def server(instance: Instance, tools: Tools) -> Server:
    """Creates the key if there is none."""
    socket = slurm_files.munge_socket(instance)
    return Server(
        name=NAME,
        argv=[
            str(tools.path(NAME)),
            "--foreground",
            f"--key-file={_key(instance)}",
            f"--socket={socket}",
            f"--pid-file={instance.run / 'munged.pid'}",
            f"--seed-file={instance.data / 'slurm' / 'munge.seed'}",
            f"--log-file={instance.logs / 'munged-messages.log'}",
            "--force",  # a killed server's socket
        ],
        ready=lambda: listening.on_socket(socket),
        ready_within_s=20,
    )


def _key(instance: Instance) -> Path:
    path = instance.config / "munge.key"
    return path if path.exists() else files.write(path, secrets.token_bytes(KEY_BYTES), mode=0o600)
