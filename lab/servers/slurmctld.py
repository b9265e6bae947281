"""slurmctld, the controller of the lab's Slurm, on 127.0.0.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.processes import Server
from lab.servers import listening, slurm_files

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

NAME = "slurmctld"


def server(instance: Instance, tools: Tools) -> Server:
    """It finds its jobs again: their state is in the instance's data."""
    port = instance.ports[NAME]
    config = slurm_files.config(instance)
    return Server(
        name=NAME,
        argv=[str(tools.path(NAME)), "-D", "-f", str(config)],
        env=slurm_files.environment(instance),
        files=[config, config.with_name("gres.conf")],
        ready=lambda: listening.on_port(port),
        ready_within_s=60,
        stop_within_s=30,
    )
