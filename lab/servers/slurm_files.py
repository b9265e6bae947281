"""Files of the lab's Slurm that users and nodes share, and that clients need to find it.

Submitting users are not root, and the lab's own folder is below somebody's home, which nobody else may enter. So
everything a job or a user touches is in one folder of the machine, `/var/lib/gpu-commons/DIGEST`.
"""

from __future__ import annotations

import hashlib
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lab.instance import Instance

SHARED: Final = Path("/var/lib/gpu-commons")  # for all labs of this machine


def digest(instance: Instance) -> str:
    """Of the instance's folder: another state folder may have an instance of the same name."""
    return hashlib.sha256(str(instance.home).encode()).hexdigest()[:8]


def root(instance: Instance) -> Path:
    """Everybody may enter it; only root may write to it."""
    return SHARED / digest(instance)


def account(instance: Instance) -> str:
    """The machine's user that runs the lab's jobs: never root, and nobody's own."""
    return f"gpu-commons-{digest(instance)}"


def hub_account(instance: Instance) -> str:
    """The machine's user that runs hubs."""
    return f"{account(instance)}-h"


def person_account(instance: Instance, user: str) -> str:
    """The machine's user for servers of a hub's user; a name of at most 32 characters."""
    short = user if re.fullmatch(r"[a-z][a-z0-9-]{1,7}", user) else hashlib.sha256(user.encode()).hexdigest()[:8]
    return f"{account(instance)}-u-{short}"


def home(instance: Instance) -> Path:
    return root(instance) / "home"


def home_of(instance: Instance, name: str) -> Path:
    """Of the hubs' account, or of a user of theirs."""
    return root(instance) / "homes" / name


def hub_identity(instance: Instance) -> Path:
    """The private key by which hubs start jobs as users."""
    return home_of(instance, hub_account(instance)) / ".ssh" / "hubs"


def hub_known_hosts(instance: Instance) -> Path:
    """The key of this login node, for its hubs."""
    return root(instance) / "etc" / "known_hosts"


def image_store(instance: Instance) -> Path:
    return root(instance) / "images"


def scratch(instance: Instance) -> Path:
    return root(instance) / "scratch"


def config(instance: Instance) -> Path:
    """Value of `SLURM_CONF`."""
    return root(instance) / "etc" / "slurm.conf"


def spool(instance: Instance) -> Path:
    """The nodes' folders; also the sockets of their running steps."""
    return root(instance) / "spool"


def new_dev(instance: Instance) -> Path:
    """An empty folder, where each node makes its `/dev`; what it mounts there, only the node sees."""
    return root(instance) / "dev"


def munge_socket(instance: Instance) -> Path:
    return root(instance) / "munge" / "socket"


def database_socket(instance: Instance) -> Path:
    return root(instance) / "database" / "socket"


def rest_socket(instance: Instance) -> Path:
    """Everybody may write to it, so only the account (and root) may enter its folder."""
    return root(instance) / "rest" / "socket"


def token_socket(instance: Instance) -> Path:
    """For a REST service that needs a token."""
    return rest_socket(instance).with_name("tokens")


def environment(instance: Instance) -> dict[str, str]:
    """For Slurm's commands and servers."""
    return {"SLURM_CONF": str(config(instance))}


def short_hostname() -> str:
    """The name that Slurm's servers use for their machine."""
    return socket.gethostname().partition(".")[0]
