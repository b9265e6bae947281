"""slurmd, one for each node of the lab's Slurm. Debian's build runs many on one machine, by their names.

Each has a mount namespace of its own, which its jobs share: there, `/dev` is the machine's with the device files of
this node's GPUs. It ends with the last of these processes, however they end, and the machine never sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lab.processes import Server
from lab.servers import listening, slurm_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.instance import Instance
    from lab.servers import Tools

PREFIX = "slurmd-"  # of these servers' names
# Arguments: an empty folder, the device files, `--`, a command. What is mounted below /dev stays the machine's.
WITH_DEVICES: Final = """\
mount -t tmpfs -o mode=755 node-devices "$0"
cp -ax /dev/. "$0"
for at in $(cut -d' ' -f2 /proc/self/mounts | grep '^/dev/' | sort -u); do mount --bind "$at" "$0${at#/dev}"; done
rm -rf "$0"/nvidia*
until [ "$1" = -- ]; do mknod -m 666 "$0/$1" c 1 3; shift; done
shift
mount --move "$0" /dev
exec "$@"
"""


def name(node: str) -> str:
    return f"{PREFIX}{node}"


def server(instance: Instance, tools: Tools, node: str, port: int, devices: Sequence[str]) -> Server:
    """A node's daemon; a job's processes outlive it, as on a real node."""
    config = slurm_files.config(instance)
    # From the machine to the node, mounts go on; from the node to the machine, none.
    apart = [str(tools.path("unshare")), "--mount", "--propagation", "slave"]
    makes = ["sh", "-euc", WITH_DEVICES, str(slurm_files.new_dev(instance)), *devices, "--"]
    return Server(
        name=name(node),
        argv=[*apart, *makes, str(tools.path("slurmd")), "-D", "-N", node, "-f", str(config)],
        env=slurm_files.environment(instance),
        files=[config, config.with_name("gres.conf")],
        ready=lambda: listening.on_port(port),
        ready_within_s=60,
    )
