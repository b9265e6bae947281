"""slurmrestd, Slurm's REST service, on a socket. It refuses to be root: it runs as the account of the lab's jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lab.processes import Server
from lab.servers import listening, slurm_files

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

NAME: Final = "slurmrestd"
VERSION: Final = "v0.0.38"  # the newest that Debian's 22.05 has
PLUGINS: Final = f"openapi/{VERSION},openapi/db{VERSION}"


def server(instance: Instance, tools: Tools) -> Server:
    """Jobs that come by it are the account's own. Its folder must be the account's, and its alone."""
    socket = slurm_files.rest_socket(instance)
    user = slurm_files.account(instance)
    become = [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    listen = ["-a", "rest_auth/local", "-s", PLUGINS, "-f", str(slurm_files.config(instance)), f"unix:{socket}"]
    return Server(
        name=NAME,
        argv=[str(tools.path("setpriv")), *become, str(tools.path(NAME)), *listen],
        env={**slurm_files.environment(instance), "HOME": str(slurm_files.home(instance))},
        files=[slurm_files.config(instance)],
        ready=lambda: listening.on_socket(socket),
        ready_within_s=30,
    )


def url(instance: Instance) -> str:
    return f"unix://{slurm_files.rest_socket(instance)}"
