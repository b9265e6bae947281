"""Cleans up after container runtimes: shims, control groups, and the folders they share."""

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
# Every runtime recreates them at start. Several labs use them, and the one that created them may end first.
RUNTIME_STATE = tuple(
    Path(each) for each in ("/run/containerd", "/run/containerd/s", "/run/docker", "/run/docker/plugins")
)
# The CNI library's. A killed lab may have left them behind; our own files in them are removed all the same.
CNI_STATE = (Path("/var/lib/cni"), Path("/var/lib/cni/results"))


def record(instance: Instance, *, cgroup: str, folders: Iterable[Path]) -> None:
    """Record what a runtime is about to create: its control groups and shared folders."""
    for folder in folders:
        if not folder.exists() or folder in (*RUNTIME_STATE, *CNI_STATE):
            traces.record(instance, Trace(Kind.SHARED_FOLDER, str(folder)))
    for group in cgroups(cgroup):
        if not group.exists():
            traces.record(instance, Trace(Kind.CGROUP, str(group)))


def remove(instance: Instance) -> None:
    """Remove what was recorded and is no longer in use, for every runtime of the lab: all must have ended."""
    traces.undo(
        instance,
        {
            Kind.CGROUP: lambda trace: _remove_cgroup(Path(trace.value)),
            Kind.SHARED_FOLDER: lambda trace: _remove_if_unused(instance, Path(trace.value)),
        },
    )


def cgroups(name: str) -> list[Path]:
    """The control groups of that name: one with cgroup v2, one in each hierarchy with v1."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS / name]
    return [one / name for one in sorted(CGROUPS.iterdir()) if one.is_dir() and not one.is_symlink()]


def kill_cgroup(name: str) -> None:
    """End the processes of those control groups: a container outlives a killed shim."""
    found: set[int] = set()
    for file in (file for group in cgroups(name) for file in group.rglob("cgroup.procs")):
        with contextlib.suppress(OSError):  # it has just ended
            found |= {int(pid) for pid in file.read_text().split()}
    family = []
    for pid in sorted(found):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            process.send_signal(signal.SIGKILL)
            family.append(process)
    psutil.wait_procs(family, timeout=10)


def shims(address: Path) -> list[psutil.Process]:
    """The parents of a containerd's containers: a shim's command line names its socket."""
    return [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if str(process.info["name"]).startswith("containerd-shim") and str(address) in (process.info["cmdline"] or [])
    ]


def kill_shims(address: Path) -> None:
    """End them and their containers, and remove their sockets, which are in a shared folder."""
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
    """The CNI library's records of our pods, in files NETWORK-CONTAINER-DEVICE: a killed runtime leaves them."""
    network_name = containerd.network_name(instance)
    containers = [path.name[len(network_name) + 1 :].rpartition("-")[0] for path in folder.glob(f"{network_name}-*")]
    return {
        *folder.glob(f"{network_name}-*"),
        *(path for container in containers for path in folder.glob(f"cni-loopback-{container}-*")),
    }


def is_listened_to(path: Path) -> bool:
    """Whether anything listens at that socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True
