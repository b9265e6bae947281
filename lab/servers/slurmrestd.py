"""slurmrestd, Slurm's REST service, on a socket. It refuses to be root: it runs as the jobs' account.

One treats everybody who reaches its socket as the account, as on sites' login nodes. Another identifies users only by
tokens, like one on a port; no stack needs it, and tests start it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lab.processes import Server
from lab.servers import listening, slurm_files

if TYPE_CHECKING:
    from pathlib import Path

    from lab.instance import Instance
    from lab.servers import Tools

NAME: Final = "slurmrestd"
BY_TOKEN: Final = "slurmrestd-tokens"  # noqa: S105 - a server
VERSION: Final = "v0.0.38"  # the newest in Debian's 22.05
PLUGINS: Final = f"openapi/{VERSION},openapi/db{VERSION}"


def server(instance: Instance, tools: Tools) -> Server:
    """Its jobs belong to the account. Its folder must be the account's, and closed to others."""
    return _server(instance, tools, NAME, slurm_files.rest_socket(instance), "rest_auth/local")


def by_token(instance: Instance, tools: Tools) -> Server:
    """It ignores who connects: each request has a token of `scontrol token`."""
    asks = _server(instance, tools, BY_TOKEN, slurm_files.token_socket(instance), "rest_auth/jwt")
    # Without it the service signs by munge, as itself: https://slurm.schedmd.com/slurmrestd.html
    return replace(asks, env={**asks.env, "SLURM_JWT": "daemon"})


def _server(instance: Instance, tools: Tools, name: str, socket: Path, auth: str) -> Server:
    user = slurm_files.account(instance)
    become = [f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    listen = ["-a", auth, "-s", PLUGINS, "-f", str(slurm_files.config(instance)), f"unix:{socket}"]
    return Server(
        name=name,
        argv=[str(tools.path("setpriv")), *become, str(tools.path(NAME)), *listen],
        env={**slurm_files.environment(instance), "HOME": str(slurm_files.home(instance))},
        files=[slurm_files.config(instance)],
        ready=lambda: listening.on_socket(socket),
        ready_within_s=30,
    )


def url(instance: Instance) -> str:
    return f"unix://{slurm_files.rest_socket(instance)}"
