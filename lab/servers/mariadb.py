"""MariaDB for the accounting of the lab's Slurm: on its own socket, without a port or a password.

Only root gets in: the database identifies users by the owner of their socket connection.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from lab import processes
from lab.processes import Server
from lab.servers import listening, slurm_files

if TYPE_CHECKING:
    from pathlib import Path

    from lab.instance import Instance
    from lab.servers import Tools

NAME = "mariadbd"


def prepare(instance: Instance, tools: Tools) -> None:
    """Create the empty database if there is none (two seconds). A killed attempt leaves a draft, which is redone."""
    target = _data(instance)
    if target.exists():
        return
    draft = target.with_name("mariadb.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True, mode=0o700)
    options = ["--user=root", "--auth-root-authentication-method=socket", "--skip-test-db", f"--datadir={draft}"]
    processes.run([str(tools.path("mariadb-install-db")), "--no-defaults", *options], log=instance.logs / "mariadb.log")
    draft.rename(target)


def server(instance: Instance, tools: Tools) -> Server:
    """Small: it stores the jobs of one lab. The machine's own configuration is not read."""
    socket = slurm_files.database_socket(instance)
    return Server(
        name=NAME,
        argv=[
            str(tools.path(NAME)),
            "--no-defaults",
            "--user=root",
            "--skip-networking",
            f"--datadir={_data(instance)}",
            f"--socket={socket}",
            f"--pid-file={instance.run / 'mariadbd.pid'}",
            "--innodb-buffer-pool-size=32M",
            "--innodb-lock-wait-timeout=900",  # as Slurm's page on accounting asks
            "--performance-schema=OFF",
        ],
        ready=lambda: listening.on_socket(socket),
        ready_within_s=60,
        stop_within_s=30,
    )


def _data(instance: Instance) -> Path:
    return instance.data / "slurm" / "mariadb"
