"""slurmdbd: accounts, limits and ended jobs of the lab's Slurm, in its MariaDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.processes import Server
from lab.servers import listening, slurm_files

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

NAME = "slurmdbd"


def server(instance: Instance, tools: Tools) -> Server:
    """Its configuration is beside slurm.conf, where it looks for it."""
    port = instance.ports[NAME]
    socket = slurm_files.database_socket(instance)
    return Server(
        name=NAME,
        argv=[str(tools.path(NAME)), "-D"],
        env={**slurm_files.environment(instance), "MYSQL_UNIX_PORT": str(socket)},  # the library knows no other way
        files=[slurm_files.config(instance).with_name("slurmdbd.conf")],
        ready=lambda: listening.on_port(port),
        ready_within_s=60,
        stop_within_s=30,
    )
