"""The persistence pod's script with NVIDIA's own daemon, alone on a node and beside a service that runs it.

The daemon is Debian's, from contrib; the driver's libnvidia-cfg is a stand-in. The node is a folder with a mount and a
PID namespace of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.machine.debian import SUITE, mirror
from platforms.kubernetes.runtime import PERSISTENCE_SCRIPT

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")]

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
DAEMON = "usr/bin/nvidia-persistenced"
PID_FILE = "run/nvidia-persistenced/nvidia-persistenced.pid"
# The first process also takes in the orphans.
SETUP = """
mount -t proc proc "$0/proc"
mount --rbind "$0" "$1/host"
mount -t proc proc "$1/proc"
touch "$1/up"
while sleep 0.1; do :; done
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian's nvidia-persistenced, unpacked."""
    folder = tmp_path_factory.mktemp("persistenced")
    for below in ("lists/partial", "cache/archives/partial", "root"):
        (folder / below).mkdir(parents=True)
    (folder / "sources").write_text(f"deb [signed-by={KEYRING}] {mirror()} {SUITE} contrib\n", encoding="utf-8")
    apt = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "-o", "Dir::Etc::sourceparts=-"]
    for key, name in (("Etc::sourcelist", "sources"), ("State::lists", "lists"), ("Cache", "cache")):
        apt += ["-o", f"Dir::{key}={folder / name}"]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "download", "nvidia-persistenced"], check=True, cwd=folder)
    (found,) = folder.glob("*.deb")
    subprocess.run(["dpkg", "-x", str(found), str(folder / "root")], check=True)
    return folder / "root"


@dataclass(frozen=True)
class Node:
    """A node whose processes are numbered from 1; `process` is the first of them, seen from here."""

    root: Path
    pod: Path
    process: int

    def command(self, root: Path, *command: str) -> list[str]:
        inside = ["nsenter", "--target", str(self.process), "--mount", "--pid"]
        return [*inside, "chroot", str(root), *command]

    def service(self) -> int:
        """Starts the daemon as the distribution's service does; the exit code."""
        return subprocess.run(self.command(self.root, f"/{DAEMON}"), check=False, capture_output=True).returncode

    def daemon(self) -> int | None:
        """The process in the PID file, as the node counts."""
        file = self.root / PID_FILE
        return int(file.read_text()) if file.exists() else None

    def signal(self, name: str, process: int) -> None:
        subprocess.run(self.command(self.pod, "/bin/kill", f"-{name}", str(process)), check=True)

    def runs(self, process: int) -> bool:
        asked = subprocess.run(
            self.command(self.pod, "/bin/kill", "-0", str(process)), check=False, capture_output=True
        )
        return asked.returncode == 0


@pytest.fixture
def node(tmp_path: Path, package: Path) -> Iterator[Node]:
    root, pod = tmp_path / "node", tmp_path / "pod"
    for folder in ("usr/bin", "lib", "lib64", "etc", "proc", "var", "dev", "run", "sys/bus/pci/drivers/nvidia"):
        (root / folder).mkdir(parents=True)
    (root / "var/run").symlink_to("../run")
    (root / "sys/bus/pci/drivers/nvidia/0000:03:00.0").touch()
    shutil.copy(package / DAEMON, root / DAEMON)
    linked = subprocess.run(["ldd", str(root / DAEMON)], check=True, capture_output=True, text=True).stdout
    for library in re.findall(r"/\S+", linked):
        shutil.copy(library, root / ("lib64" if "/ld-" in library else "lib"))
    # As libtirpc-common has it; the daemon listens on a local socket by RPC.
    (root / "etc/netconfig").write_text("local tpi_cots_ord - loopback - - -\n", encoding="utf-8")
    source, library = Path(__file__).with_name("nvidia_cfg.c"), root / "lib/libnvidia-cfg.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    for folder in ("bin", "host", "proc", "tmp"):
        (pod / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "/bin/busybox", pod / "bin/busybox")
    for applet in ("sh", "cat", "kill", "sleep", "chroot"):
        (pod / "bin" / applet).symlink_to("busybox")
    (pod / "dev").mkdir()
    (pod / "dev/null").touch()
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", SETUP, str(root), str(pod)]
    with subprocess.Popen(own) as machine:
        try:
            wait_for((pod / "up").exists)
            children = Path(f"/proc/{machine.pid}/task/{machine.pid}/children").read_text().split()
            yield Node(root, pod, int(children[0]))
        finally:
            machine.kill()


@pytest.fixture
def start_pod(node: Node, tmp_path: Path) -> Iterator[Callable[[], tuple[subprocess.Popen[bytes], Path]]]:
    """Starts the script as the container would; the process and its log."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> tuple[subprocess.Popen[bytes], Path]:
        log = tmp_path / f"pod-{len(started)}.log"
        with log.open("wb") as output:
            command = node.command(node.pod, "/bin/sh", "-c", PERSISTENCE_SCRIPT)
            started.append(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT))
        wait_for(lambda: log.read_text().endswith("\n"))
        return started[-1], log

    yield start
    for each in started:
        each.kill()
        each.wait()


def wait_for(condition: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


Start = Callable[[], tuple[subprocess.Popen[bytes], Path]]


def end(node: Node, pod: subprocess.Popen[bytes]) -> int:
    """The pod gets SIGTERM, as from the kubelet; its exit code."""
    children = Path(f"/proc/{pod.pid}/task/{pod.pid}/children").read_text().split()
    status = Path(f"/proc/{children[0]}/status").read_text()
    node.signal("TERM", int(re.findall(r"NSpid:.*\s(\d+)$", status, re.MULTILINE)[0]))
    return pod.wait(10)


def test_nvidias_daemon_refuses_a_second_one(node: Node) -> None:
    assert node.service() == 0
    first = node.daemon()
    assert node.service() == 1
    assert node.daemon() == first


def test_on_a_node_without_the_daemon_the_pod_starts_it_and_takes_it_along(node: Node, start_pod: Start) -> None:
    pod, log = start_pod()
    daemon = node.daemon()
    assert daemon is not None
    assert log.read_text() == f"this node ran no nvidia-persistenced: started as process {daemon}\n"
    assert end(node, pod) == 0
    wait_for(lambda: not node.runs(daemon))


def test_a_daemon_that_the_node_runs_is_used_and_outlives_the_pod(node: Node, start_pod: Start) -> None:
    assert node.service() == 0
    daemon = node.daemon()
    assert daemon is not None
    pod, log = start_pod()
    assert log.read_text() == f"this node runs nvidia-persistenced, process {daemon}: using it\n"
    assert end(node, pod) == 0
    assert node.runs(daemon)


def test_when_the_nodes_daemon_ends_the_pod_ends_and_the_next_one_starts_its_own(node: Node, start_pod: Start) -> None:
    assert node.service() == 0
    daemon = node.daemon()
    assert daemon is not None
    pod, log = start_pod()
    node.signal("KILL", daemon)  # its PID file stays
    assert pod.wait(20) == 1
    assert log.read_text().endswith("nvidia-persistenced ended\n")
    _, log = start_pod()
    assert "this node ran no nvidia-persistenced: started as process" in log.read_text()
    assert node.daemon() != daemon


def test_a_node_without_a_driver_says_so(node: Node, start_pod: Start) -> None:
    (node.root / DAEMON).unlink()
    pod, log = start_pod()
    assert pod.wait(10) == 1
    assert log.read_text() == "no /usr/bin/nvidia-persistenced on this node: is the NVIDIA driver installed?\n"


def test_a_daemon_that_finds_no_gpu_is_not_waited_for(node: Node, start_pod: Start) -> None:
    (node.root / "sys/bus/pci/drivers/nvidia/0000:03:00.0").unlink()
    (node.root / "sys/bus/pci/drivers/nvidia").rmdir()
    pod, log = start_pod()
    assert pod.wait(10) == 1
    assert "failed to initialize" in log.read_text()
