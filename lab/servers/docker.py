"""The lab's Docker engine: Debian's dockerd with its own socket, folders, control group and addresses.

It leaves the machine's packet filter alone. So containers of a network reach each other by name, the machine reaches
them, published ports work, and containers cannot reach the outside; builds use the machine's own network.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lab import clamped_runc, files
from lab.instance import LabError
from lab.processes import Server, log_path
from lab.servers import nvidia_runtime

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

NAME = "dockerd"
CLAMPED = "runc-clamped"  # the runtime if this machine cannot give a container its requested limits
# The runtime of every container. Docker before 25 lacks CDI: it writes the requested GPUs into
# NVIDIA_VISIBLE_DEVICES, which this runtime reads, and adds NVIDIA's hook, which this runtime removes.
NVIDIA = "nvidia"
MAX_SOCKET_PATH = 107  # bytes, sun_path of Linux without its closing zero
LONGEST_SOCKET = "containerd/containerd-debug.sock"  # of those that the engine creates below its folder
SHUTDOWN_WITHIN_S = 10  # for containers to end by themselves, all at once


def server(instance: Instance, tools: Tools, specs: Path) -> Server:
    """The engine of `instance`; writes its configuration. `specs` is the folder of CDI specs for the GPUs.

    Raises LabError if the instance's folder is too long for a socket.
    """
    longest = state(instance) / LONGEST_SOCKET
    if len(str(longest).encode()) > MAX_SOCKET_PATH:
        raise LabError(
            f"{longest} is too long for a socket ({MAX_SOCKET_PATH} bytes at most): "
            "set XDG_STATE_HOME to a shorter folder, or give the instance a shorter name"
        )
    folder = instance.config / "docker-engine"
    runtimes = {}
    if clamped_runc.limits_are_hard():
        program = render_clamp(tools.path("runc"), clamp_log(instance))
        runtimes = {CLAMPED: files.write(folder / CLAMPED, program, mode=0o755)}
    below = runtimes.get(CLAMPED, tools.path("runc"))
    runtimes[NVIDIA] = nvidia_runtime.write(tools, folder / NVIDIA, specs=specs, below=below)
    hook = tools.path(nvidia_runtime.HOOK)
    text = json.dumps(configuration(instance, runtimes), indent=2) + "\n"
    config = files.write(folder / "daemon.json", text)
    return Server(
        name=NAME,
        argv=[str(tools.path("dockerd")), "--config-file", str(config)],
        env={"NO_PROXY": "127.0.0.1,localhost"},
        files=[config, *runtimes.values()],
        programs=[hook.parent],
        ready=lambda: _answers(socket_path(instance)),
        ready_within_s=40,
        stop_within_s=SHUTDOWN_WITHIN_S + 20,
    )


def socket_path(instance: Instance) -> Path:
    return instance.run / "docker.sock"


def address(instance: Instance) -> str:
    """For `DOCKER_HOST` and a provider's `host`."""
    return f"unix://{socket_path(instance)}"


def state(instance: Instance) -> Path:
    """What runs: the engine's own containerd, network namespaces, plug-ins."""
    return instance.run / "docker"


def root(instance: Instance) -> Path:
    """Images, containers, volumes and networks: they outlive the engine; its containers stop with it."""
    return instance.data / "docker"


def cgroup(instance: Instance) -> str:
    """The control group of all containers. Another state folder may have an instance of the same name."""
    return f"gpu-commons-{instance.name}-{hashlib.sha256(str(instance.home).encode()).hexdigest()[:8]}"


def containerd_socket(instance: Instance) -> Path:
    """The address by which the shims of the engine's containers know it."""
    return state(instance) / "containerd" / "containerd.sock"


def clamp_log(instance: Instance) -> Path:
    """A line for each limit that a container requested and did not get."""
    return log_path(instance, "docker-limits")


def configuration(instance: Instance, runtimes: dict[str, Path]) -> dict[str, object]:
    """`daemon.json`. Every container uses NVIDIA's runtime, with the one that clamps below it."""
    return {
        "hosts": [address(instance)],
        "data-root": str(root(instance)),
        "exec-root": str(state(instance)),
        "pidfile": str(instance.run / "dockerd.pid"),
        "deprecated-key-path": str(
            root(instance) / "key.json"
        ),  # otherwise 20.10 creates one in /etc/docker; later ones skip it
        "bridge": "none",
        "iptables": False,
        "ip6tables": False,
        "ip-forward": False,
        "ip-masq": False,
        "default-address-pools": [{"base": instance.networks.docker_cidr, "size": 24}],
        "cgroup-parent": f"/{cgroup(instance)}",
        "insecure-registries": [instance.registry_address],
        "shutdown-timeout": SHUTDOWN_WITHIN_S,
        "runtimes": {name: {"path": str(path)} for name, path in runtimes.items()},
        "default-runtime": NVIDIA,
    }


def render_clamp(runc: Path, log: Path) -> str:
    """The program behind the clamping runtime. `-I -S`: it runs for every container and health check."""
    command = shlex.join([sys.executable, "-I", "-S", clamped_runc.__file__, str(runc), str(log)])
    return f'#!/bin/sh\nexec {command} "$@"\n'


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2)
        probe.connect(str(path))
        probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
        return b" 200 OK" in probe.recv(4096)
