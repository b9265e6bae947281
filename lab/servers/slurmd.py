"""slurmd, one for each node of the lab's Slurm. Debian's build runs many on one machine, by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.processes import Server
from lab.servers import listening, slurm_files

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

PREFIX = "slurmd-"  # of these servers' names


def name(node: str) -> str:
    return f"{PREFIX}{node}"


def server(instance: Instance, tools: Tools, node: str, port: int) -> Server:
    """A node's daemon; a job's processes outlive it, as on a real node."""
    config = slurm_files.config(instance)
    return Server(
        name=name(node),
        argv=[str(tools.path("slurmd")), "-D", "-N", node, "-f", str(config)],
        env=slurm_files.environment(instance),
        files=[config, config.with_name("gres.conf")],
        ready=lambda: listening.on_port(port),
        ready_within_s=60,
    )
