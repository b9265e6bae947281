"""Docker engines of the tests' own: how they are made, queried, and proved gone."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

from lab import files, image_pushes, processes
from lab.instance import Instance
from lab.machine import docker_host, iptables, leftovers, mounts, network
from lab.machine.stand_in_gpus import StandInGpus
from lab.servers import buildkit, docker, registry
from lab.stand_ins.images import render_dockerfile
from lab.toolchain import Toolchain
from tests.slots import free_slot

CLIENT = "/usr/bin/docker"  # that of the engine's package
GPUS: Final = StandInGpus(
    name="Tesla T4",
    driver="580.95.05",
    cuda=(13, 0),
    compute_capability=(7, 5),
    memory_mib=16384,
    uuids=tuple(f"GPU-00000000-0000-0000-0000-00000000000{index}" for index in range(4)),
)
HTTPD = ("/bin/busybox", "httpd", "-f", "-p", "8000", "-h", "/bin")


@contextmanager
def engine(name: str, *, registry_port: int = 1) -> Iterator[Instance]:
    """A lab with nothing but an engine and four GPUs; its folder is short enough for sockets."""
    with free_slot() as slot, tempfile.TemporaryDirectory(prefix="gc-") as home:
        instance = Instance(name, slot, Path(home) / name, {"registry": registry_port})
        for folder in (instance.run, instance.logs, instance.config, instance.data):
            folder.mkdir(parents=True)
        try:
            docker_host.start(instance, Toolchain(), gpus=GPUS)
            yield instance
        finally:
            stop(instance)
            files.remove_tree(instance.home)


def stop(instance: Instance) -> None:
    docker_host.end(instance)
    leftovers.remove(instance)


def push_busybox(instance: Instance) -> str:
    """An image of one program, pushed to the lab's registry; its reference by digest."""
    tools = Toolchain()
    recipe = render_dockerfile("busybox", program="busybox", places=("/bin/busybox", "/bin/sh"), entrypoint=())
    repository = f"{instance.registry_address}/lab/busybox"
    digest = image_pushes.push(instance, tools, f"{repository}:1", recipe, {"busybox": tools.path("busybox")})
    return f"{repository}@{digest}"


def import_busybox(instance: Instance) -> str:
    """The same program in an engine without a registry; the image's digest."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bin").mkdir()
        shutil.copy(Toolchain().path("busybox"), Path(folder) / "bin" / "busybox")
        archive = Path(folder) / "image.tar"
        processes.run(["tar", "-C", folder, "-cf", str(archive), "bin"])
        return client(instance, "import", str(archive))


@contextmanager
def image_registry(instance: Instance) -> Iterator[str]:
    """The lab's registry and builder; gives the reference of an image of busybox in it, by digest."""
    tools = Toolchain()
    try:
        processes.start(instance, registry.server(instance, tools))
        processes.start(instance, buildkit.server(instance, tools))
        yield push_busybox(instance)
    finally:
        processes.stop(instance, "buildkitd", within_s=30)
        processes.stop(instance, "registry")


def client(instance: Instance, *words: str) -> str:
    """What Docker's own client prints, without its last line end. Raises AssertionError with its error."""
    argv = [CLIENT, "--host", docker.address(instance), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def inspect(instance: Instance, container: str) -> dict[str, Any]:
    return dict(json.loads(client(instance, "inspect", container))[0])


def traces_of(instance: Instance) -> list[str]:
    """What of an engine is on the machine outside the folder of its lab, and what of it runs or is mounted."""
    bridges = {str(link["ifname"]) for link in network.ip_json("link", "show", "type", "bridge")}
    ours = docker_host.bridges(instance)
    return [
        *(f"bridge {name}" for name in sorted(bridges & ours)),
        *(f"control group {group}" for group in leftovers.cgroups(docker.cgroup(instance)) if group.exists()),
        *(f"mount {point}" for point in mounts.below(instance.home)),
        *(f"process {process.name()}" for process in psutil.process_iter() if _is_of(process, instance)),
        *(f"file {path}" for path in sorted(instance.run.iterdir())),
    ]


def dead_sockets() -> set[Path]:
    """Sockets of shims that are gone, of whatever runtime: all of them share one folder."""
    return {path for path in Path(leftovers.SHIM_SOCKETS).glob("*") if not leftovers.is_listened_to(path)}


def _is_of(process: psutil.Process, instance: Instance) -> bool:
    try:
        return any(str(instance.home) in word for word in process.cmdline())
    except psutil.Error:
        return False


def packet_filter() -> list[str]:
    """Rules and policies of the machine, but for those of a Kubernetes node, which change while they are looked at."""
    saved = [processes.run([f"{family}-save"]) for family in iptables.FAMILIES]
    lines = [line.partition(" [")[0] for text in saved for line in text.splitlines() if line.startswith(("-A", ":"))]
    return [
        line
        for line in lines
        if not line.endswith(" ACCEPT") or line.startswith("-A")
        if not iptables.OURS.search(line)
    ]
