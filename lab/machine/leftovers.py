"""What container runtimes leave on a machine: shims, control groups, and folders that all of them share."""

from __future__ import annotations

import contextlib
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from lab.machine import traces
from lab.machine.traces import Kind, Trace
from lab.servers import containerd

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lab.instance import Instance

CGROUPS = Path("/sys/fs/cgroup")
SHIM_SOCKETS = "/run/containerd/s/"
# Every runtime makes them anew when it starts. Several labs use them, and the one that made them may end first.
RUNTIME_STATE = tuple(
    Path(each) for each in ("/run/containerd", "/run/containerd/s", "/run/docker", "/run/docker/plugins")
)
# Of the CNI library. A lab that was killed may have left them behind; our own files in them go all the same.
CNI_STATE = (Path("/var/lib/cni"), Path("/var/lib/cni/results"))


def record(instance: Instance, *, cgroup: str, folders: Iterable[Path]) -> None:
    """Write down what a runtime is about to make and is not there yet: its control groups and shared folders."""
    for folder in folders:
        if not folder.exists() or folder in (*RUNTIME_STATE, *CNI_STATE):
            traces.record(instance, Trace(Kind.SHARED_FOLDER, str(folder)))
    for group in cgroups(cgroup):
        if not group.exists():
            traces.record(instance, Trace(Kind.CGROUP, str(group)))


def remove(instance: Instance) -> None:
    """Take away what was recorded and nobody uses any more, of every runtime of the lab: all must have ended."""
    traces.undo(
        instance,
        {
            Kind.CGROUP: lambda trace: _remove_cgroup(Path(trace.value)),
            Kind.SHARED_FOLDER: lambda trace: _remove_if_unused(instance, Path(trace.value)),
        },
    )


def cgroups(name: str) -> list[Path]:
    """Where control groups of that name are: one place with cgroup v2, one in each hierarchy with v1."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS / name]
    return [one / name for one in sorted(CGROUPS.iterdir()) if one.is_dir() and not one.is_symlink()]


def kill_cgroup(name: str) -> None:
    """End the processes of those control groups: a container outlives a shim that was killed."""
    found: set[int] = set()
    for file in (file for group in cgroups(name) for file in group.rglob("cgroup.procs")):
        with contextlib.suppress(OSError):  # gone just now
            found |= {int(pid) for pid in file.read_text().split()}
    family = []
    for pid in sorted(found):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            process.send_signal(signal.SIGKILL)
            family.append(process)
    psutil.wait_procs(family, timeout=10)


def shims(address: Path) -> list[psutil.Process]:
    """The parents of the containers of a containerd: a shim says its socket in its command line."""
    return [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if str(process.info["name"]).startswith("containerd-shim") and str(address) in (process.info["cmdline"] or [])
    ]


def kill_shims(address: Path) -> None:
    """End them, with what runs in their containers, and take away their sockets, which are in a shared folder."""
    for shim in shims(address):
        with contextlib.suppress(psutil.Error):
            sockets = {str(each.laddr) for each in shim.net_connections("unix")}
            family = [*shim.children(recursive=True), shim]
            for process in family:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs(family, timeout=10)
            for path in sorted(sockets):
                if path.startswith(SHIM_SOCKETS):
                    Path(path).unlink(missing_ok=True)


def _remove_cgroup(group: Path) -> None:
    below = sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True) if group.is_dir() else []
    for path in (*below, group):
        with contextlib.suppress(OSError):  # one that still has processes stays, and shows whose they are
            path.rmdir()


def _remove_if_unused(instance: Instance, folder: Path) -> None:
    if not folder.is_dir():
        return
    ours = _network_results(instance, folder)
    for entry in folder.iterdir():
        is_our_log = entry.is_symlink() and entry.readlink().is_relative_to(instance.home)
        if (
            entry in ours or is_our_log or (entry.is_socket() and not is_listened_to(entry))
        ):  # a killed shim leaves its socket behind
            entry.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _network_results(instance: Instance, folder: Path) -> set[Path]:
    """What the CNI library noted of our pods, in files NETWORK-CONTAINER-DEVICE: a killed runtime leaves them."""
    network_name = containerd.network_name(instance)
    containers = [path.name[len(network_name) + 1 :].rpartition("-")[0] for path in folder.glob(f"{network_name}-*")]
    return {
        *folder.glob(f"{network_name}-*"),
        *(path for container in containers for path in folder.glob(f"cni-loopback-{container}-*")),
    }


def is_listened_to(path: Path) -> bool:
    """Whether somebody would answer at that socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True
