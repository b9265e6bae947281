"""The lab's image builder: buildkitd as root on a socket of the instance, known to buildx as a remote builder.

RUN steps share the machine's network, because that is how the machine reaches package registries. It is the daemon's
own setting: a build that asks for `network: host` would need an entitlement nobody gets here.
"""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

from lab import files
from lab.instance import LabError
from lab.processes import Server

if TYPE_CHECKING:
    from pathlib import Path

    from lab.instance import Instance
    from lab.servers import Tools

NAME = "buildkitd"
BUILDER = "gpu-commons"  # the name in a stack's `site.builder`
MAX_SOCKET_PATH = 107  # bytes, sun_path of Linux without its closing zero
CACHE_MAX = "40GB"  # twice what a full set of one stack's images needs
FREE_MIN = "5GB"  # the registry and the real node share the disk


def server(instance: Instance, tools: Tools) -> Server:
    """The builder of `instance`; writes its configuration and the DOCKER_CONFIG folder with its name."""
    path = socket_path(instance)
    if len(str(path).encode()) > MAX_SOCKET_PATH:
        raise LabError(
            f"{path} is too long for a socket ({MAX_SOCKET_PATH} bytes at most): "
            "set XDG_STATE_HOME to a shorter folder, or give the instance a shorter name"
        )
    config = files.write(instance.config / "buildkitd.toml", configuration(instance, runc=tools.path("runc")))
    write_docker_config(instance)
    scratch(instance).mkdir(parents=True, exist_ok=True)
    return Server(
        name=NAME,
        argv=[str(tools.path(NAME)), "--config", str(config)],
        env={"TMPDIR": str(scratch(instance))},
        files=[config],
        ready=lambda: _listens(path),
        ready_within_s=30,
        stop_within_s=30,  # ends a running build and removes its mounts
    )


def root(instance: Instance) -> Path:
    """Its data: layers and the build cache."""
    return instance.data / "buildkit"


def scratch(instance: Instance) -> Path:
    """Mounts of builds; each leaves empty mount points, so not in a shared folder."""
    return instance.data / "buildkit-tmp"


def socket_path(instance: Instance) -> Path:
    return instance.images / "run" / "buildkitd.sock"


def docker_config(instance: Instance) -> Path:
    """Folder for `DOCKER_CONFIG`: the user's credentials are neither read nor written."""
    return instance.config / "docker"


def configuration(instance: Instance, runc: Path) -> str:
    return f"""\
root = "{root(instance)}"

[grpc]
  address = ["unix://{socket_path(instance)}"]

[worker.containerd]
  enabled = false

[worker.oci]
  enabled = true
  binary = "{runc}"
  snapshotter = "overlayfs"
  networkMode = "host"
  max-parallelism = 4
  gc = true
  reservedSpace = "{FREE_MIN}"
  maxUsedSpace = "{CACHE_MAX}"
  minFreeSpace = "{FREE_MIN}"

[cdi]
  disabled = true

[history]
  maxEntries = 20

[registry."{instance.registry_address}"]
  http = true
"""


def write_docker_config(instance: Instance) -> None:
    """The folder that makes the builder known by name, to the docker-build plugin and to buildx alike."""
    node = {"Name": f"{BUILDER}0", "Endpoint": f"unix://{socket_path(instance)}"}
    builder = json.dumps({"Name": BUILDER, "Driver": "remote", "Nodes": [node]}, indent=2) + "\n"
    files.write(docker_config(instance) / "buildx" / "instances" / BUILDER, builder)
    files.write(docker_config(instance) / "config.json", "{}\n")


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2)
        probe.connect(str(path))
    return True
