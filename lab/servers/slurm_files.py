"""Where a lab's Slurm keeps what its users and its nodes share, and what its clients need to find it.

People who submit are not root, and the lab's own folder is below somebody's home, which nobody else may enter. So all
that a job or a user touches is in one folder of the machine, `/var/lib/gpu-commons/DIGEST`.
"""

from __future__ import annotations

import hashlib
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lab.instance import Instance

SHARED: Final = Path("/var/lib/gpu-commons")  # of all labs of this machine


def digest(instance: Instance) -> str:
    """Of the instance's folder: another state folder may have an instance of the same name."""
    return hashlib.sha256(str(instance.home).encode()).hexdigest()[:8]


def root(instance: Instance) -> Path:
    """Everybody may enter it, and only root write into it."""
    return SHARED / digest(instance)


def account(instance: Instance) -> str:
    """The user of this machine that jobs of the lab run as: never root, and nobody's own."""
    return f"gpu-commons-{digest(instance)}"


def hub_account(instance: Instance) -> str:
    """The user of this machine that hubs run as."""
    return f"{account(instance)}-h"


def person_account(instance: Instance, user: str) -> str:
    """The user of this machine that servers of a hub's user run as; a name of 32 characters at most."""
    short = user if re.fullmatch(r"[a-z][a-z0-9-]{1,7}", user) else hashlib.sha256(user.encode()).hexdigest()[:8]
    return f"{account(instance)}-u-{short}"


def home(instance: Instance) -> Path:
    return root(instance) / "home"


def home_of(instance: Instance, name: str) -> Path:
    """Of the account of hubs, or of one of their users."""
    return root(instance) / "homes" / name


def hub_identity(instance: Instance) -> Path:
    """The private key by which hubs start jobs as their users."""
    return home_of(instance, hub_account(instance)) / ".ssh" / "hubs"


def hub_known_hosts(instance: Instance) -> Path:
    """The key of this login node, for hubs on it."""
    return root(instance) / "etc" / "known_hosts"


def image_store(instance: Instance) -> Path:
    return root(instance) / "images"


def scratch(instance: Instance) -> Path:
    return root(instance) / "scratch"


def config(instance: Instance) -> Path:
    """What `SLURM_CONF` names."""
    return root(instance) / "etc" / "slurm.conf"


def spool(instance: Instance) -> Path:
    """Of the nodes, a folder each; also the sockets of their running steps."""
    return root(instance) / "spool"


def munge_socket(instance: Instance) -> Path:
    return root(instance) / "munge" / "socket"


def database_socket(instance: Instance) -> Path:
    return root(instance) / "database" / "socket"


def rest_socket(instance: Instance) -> Path:
    """Everybody may write to it, so its folder is closed to all but the account (and root)."""
    return root(instance) / "rest" / "socket"


def token_socket(instance: Instance) -> Path:
    """Of a REST service that asks for a token."""
    return rest_socket(instance).with_name("tokens")


def environment(instance: Instance) -> dict[str, str]:
    """For Slurm's commands and servers."""
    return {"SLURM_CONF": str(config(instance))}


def short_hostname() -> str:
    """The name by which Slurm's servers know the machine that they run on."""
    return socket.gethostname().partition(".")[0]
