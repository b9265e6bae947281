"""Hub and proxy on a login node: started once, found again, restarted where they have to, and ended.

The program that starts images is a stand-in, which runs a web server in place of the proxy and sleeps in place of
JupyterHub.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from platforms.slurm.hub import files
from tests.platforms.slurm.test_hub import SIFS, hub, site
from workloads.hub_programs import hub_programs

PROGRAM = """#!{python}
import json, os, socket, ssl, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
words = sys.argv[1:]
binds = dict(each.split(":")[1::-1] for flag, each in zip(words, words[1:]) if flag == "--bind")
command = words[next(i for i, each in enumerate(words) if each.endswith(".sif")) + 1:]
if command[0] == "openssl":
    os.execvp("openssl", [each.replace("/tls/", binds["/tls"] + "/") for each in command])
if command[0] == "jupyterhub":
    port = json.load(open(binds["/program"] + "/hub.json"))["hub_port"]
    heard = socket.create_server(("127.0.0.1", port), reuse_port=True)
    time.sleep(600)
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'{{"version": "5"}}')
flags = dict(each[2:].split("=", 1) for each in command if each.startswith("--"))
server = HTTPServer((flags["ip"], int(flags["port"])), Answer)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(binds["/tls"] + "/tls.crt", binds["/tls"] + "/tls.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


NODES = """\
NodeName=gpu01 Arch=x86_64 Gres=gpu:p100:2(S:0-1) NodeAddr=10.0.0.1 NodeHostName=gpu01 Partitions=gpu,all Reason=x y
NodeName=cpu01 Arch=x86_64 NodeAddr=cpu01 NodeHostName=cpu01 Partitions=all
NodeName=spare NodeAddr=10.0.0.9 NodeHostName=spare
"""


class Node:
    """A login node with one hub's files, the home of the account that it runs as, and programs in place of ssh."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.home.mkdir()
        program = root / "starts-images"
        program.write_text(PROGRAM.format(python=sys.executable))
        (root / "ssh").write_text(f'#!/bin/sh\necho "$*" >> {root}/ssh-called\n')
        (root / "scontrol").write_text(f"#!/bin/sh\ncat <<E\n{NODES}E\n")
        for each in (program, root / "ssh", root / "scontrol"):
            each.chmod(0o755)
        with socket.socket() as probe, socket.socket() as other:
            probe.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            self.port, self.hub_port = probe.getsockname()[1], other.getsockname()[1]
        (root / "identity").touch()
        self.stranger = 0
        """User id of whoever listens on the hub's ports; 0: the account."""
        self.write()

    def write(self, **given: Any) -> None:
        expose = {"kind": "login_node", "port": self.port, "hub_port": self.hub_port}
        made = hub(expose=expose, authenticator={"kind": "dummy"}, **given)
        here = site(program=str(self.root / "starts-images"))
        assert here.hubs
        here = here.model_copy(
            update={
                "hubs": here.hubs.model_copy(update={"identity": str(self.root / "identity"), "inside": "127.0.0.1"})
            }
        )
        for path, text in files("quest", made, here, SIFS, hub_programs("platforms.slurm")).items():
            target = self.root / "hubs" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    @property
    def state(self) -> Path:
        return self.home / ".gpu-commons" / "hubs" / "quest"

    def pid(self, part: str) -> int:
        return int(json.loads((self.state / f"{part}.json").read_text())["pid"])

    def ask(self, *words: str, is_root: bool = False) -> subprocess.CompletedProcess[str]:
        service = str(self.root / "hubs" / "quest" / "service.py")
        run = (
            "import os, runpy, sys; uid = os.getuid(); "
            f"service = runpy.run_path({service!r}); names = service['main'].__globals__; "
            f"names['os'] = type('os', (), {{**vars(os), 'getuid': staticmethod(lambda: {0 if is_root else 7})}}); "
            "names['owner'] = lambda pid: names['os'].getuid(); "
            f"heard = names['listeners']; names['listeners'] = lambda port: heard(port) and {{{self.stranger or 7}}}; "
            "import json\n"
            f"try: print(json.dumps(names['main']({list(words)!r})))\n"
            "except names['Failed'] as failed: sys.exit(str(failed))"
        )
        env = {**os.environ, "HOME": str(self.home), "PATH": f"{self.root}:{os.environ['PATH']}"}
        return subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False, env=env)

    def reply(self, *words: str) -> dict[str, Any]:
        done = self.ask(*words)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    for process in psutil.process_iter(["cmdline"]):
        if str(tmp_path) in " ".join(process.info["cmdline"] or ()):
            process.kill()


@pytest.mark.slow
def test_what_runs_as_it_should_is_left_alone(node: Node) -> None:
    parts = ["keeper", "proxy", "hub"]
    assert node.reply("start")["started"] == parts
    before = [node.pid(part) for part in parts]
    assert node.reply("start")["started"] == []
    assert [node.pid(part) for part in parts] == before
    assert node.reply("status")["wrong"] == []


@pytest.mark.slow
def test_a_hub_that_was_killed_is_seen_and_started_again_beside_its_proxy(node: Node) -> None:
    node.reply("start")
    proxy = node.pid("proxy")
    os.kill(node.pid("hub"), signal.SIGKILL)
    _until_gone(node.pid("hub"))
    assert node.reply("status")["wrong"] == ["hub"]
    assert node.reply("start")["started"] == ["hub"]
    assert node.pid("proxy") == proxy


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="another account needs root")
def test_nobody_else_gets_the_hubs_port_while_the_hub_is_down(node: Node) -> None:
    node.reply("start")
    os.kill(node.pid("hub"), signal.SIGKILL)
    _until_gone(node.pid("hub"))
    for address in ("127.0.0.1", "0.0.0.0"):  # noqa: S104 - refused
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            assert "Address already in use" in _listened_by_another_account(address, node.hub_port, option)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", node.hub_port))
    assert node.reply("start")["started"] == ["hub"]


@pytest.mark.slow
def test_the_nodes_of_each_partition_are_what_slurm_tells_the_account_of_the_hub(node: Node) -> None:
    node.reply("start")
    deadline = time.monotonic() + 20
    while not (node.state / "nodes.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    nodes = json.loads((node.state / "nodes.json").read_text())
    assert {name: {*found} for name, found in nodes.items()} == {
        "gpu": {"gpu01", "10.0.0.1"},
        "all": {"gpu01", "10.0.0.1", "cpu01"},
    }


@pytest.mark.slow
def test_another_version_of_the_hub_restarts_it_and_not_the_proxy_of_its_servers(node: Node) -> None:
    node.reply("start")
    node.write(http_timeout_s=99)
    assert node.reply("status")["wrong"] == ["hub"]
    assert node.reply("start")["started"] == ["hub"]


@pytest.mark.slow
def test_credentials_are_kept_and_readable_for_the_account_alone(node: Node) -> None:
    node.reply("start")
    kept = {path.name: path.read_text() for path in (node.state / "credentials").iterdir()}
    assert {"cookie-secret", "login-password", "proxy-token"} == {*kept}
    node.reply("stop")
    node.reply("start")
    assert {path.name: path.read_text() for path in (node.state / "credentials").iterdir()} == kept
    secret = [*(node.state / "credentials").iterdir(), node.state / "tls" / "tls.key"]
    assert {oct(path.stat().st_mode & 0o777) for path in secret} == {"0o600"}


@pytest.mark.slow
def test_its_end_is_that_of_its_users_jobs_as_well(node: Node) -> None:
    node.reply("start")
    pids = node.pid("hub"), node.pid("proxy"), node.pid("keeper")
    node.reply("stop")
    for pid in pids:
        _until_gone(pid)
    calls = (node.root / "ssh-called").read_text().splitlines()
    assert [call.rpartition("-- ")[2] for call in calls] == ["ada01@127.0.0.1 end quest", "bob02@127.0.0.1 end quest"]


@pytest.mark.slow
def test_an_account_that_is_closed_holds_up_no_end_and_one_that_nobody_reaches_does(node: Node) -> None:
    node.reply("start")
    ssh = node.root / "ssh"
    ssh.write_text("#!/bin/sh\necho 'ada01@127.0.0.1: Permission denied (publickey).' >&2\nexit 255\n")
    assert node.reply("end", "ada01")["left"] == []
    ssh.write_text("#!/bin/sh\necho 'ssh: connect to host 127.0.0.1 port 22: Connection refused' >&2\nexit 255\n")
    done = node.ask("stop")
    assert done.returncode == 1
    assert "jobs of these accounts could not be ended: ada01 (ssh: connect to host" in done.stderr


@pytest.mark.slow
def test_a_key_that_no_account_takes_is_no_success(node: Node) -> None:
    (node.root / "ssh").write_text("#!/bin/sh\necho 'u@127.0.0.1: Permission denied (publickey).' >&2\nexit 255\n")
    done = node.ask("stop")
    assert done.returncode == 1
    assert "no account lets the key" in done.stderr
    (node.root / "identity").unlink()
    assert "identity cannot be read" in node.ask("stop").stderr


def test_words_of_slurm_about_permission_are_no_closed_account(node: Node) -> None:
    (node.root / "ssh").write_text("#!/bin/sh\necho 'scancel: Permission denied (job 7)' >&2\nexit 1\n")
    assert node.reply("end", "ada01")["left"] == ["ada01 (scancel: Permission denied (job 7))"]


@pytest.mark.slow
def test_a_port_of_somebody_else_is_reported_and_the_proxy_ends(node: Node) -> None:
    node.reply("start")
    proxy = node.pid("proxy")
    node.stranger = 4242
    assert node.reply("status")["wrong"] == ["proxy", "hub"]
    done = node.ask("start")
    assert done.returncode == 1
    assert f"port {node.port} of the proxy of hub quest is taken by user id 4242" in done.stderr
    _until_gone(proxy)


@pytest.mark.slow
def test_what_was_started_on_another_machine_is_neither_started_nor_ended_here(node: Node) -> None:
    node.reply("start")
    record = node.state / "hub.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "host": "login-2"}))
    done = node.ask("start")
    assert done.returncode == 1
    assert "the hub of hub quest was started on login-2" in done.stderr


@pytest.mark.slow
def test_a_part_that_ended_before_it_was_noted_is_started_again(node: Node) -> None:
    node.reply("start")
    record = node.state / "hub.json"
    pid = node.pid("hub")
    os.kill(pid, signal.SIGKILL)
    _until_gone(pid)
    record.write_text(json.dumps({**json.loads(record.read_text()), "born": None}))
    assert node.reply("status")["wrong"] == ["hub"]
    assert node.reply("start")["started"] == ["hub"]


@pytest.mark.slow
def test_a_proxy_that_ends_at_once_is_reported_with_its_log(node: Node) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", node.port))
        taken.listen()
        done = node.ask("start")
    assert done.returncode == 1
    assert "the proxy of hub quest has ended" in done.stderr
    assert "Address already in use" in done.stderr


def test_a_hub_never_runs_as_root(node: Node) -> None:
    done = node.ask("start", is_root=True)
    assert "never runs as root" in done.stderr
    assert not node.state.exists()


def _listened_by_another_account(address: str, port: int, option: int) -> str:
    """What Python says of it; the account is nobody's."""
    listen = (
        "import os, socket; os.setuid(65534); s = socket.socket(); "
        f"s.setsockopt(socket.SOL_SOCKET, {option}, 1); s.bind(({address!r}, {port})); s.listen()"
    )
    return subprocess.run([sys.executable, "-c", listen], capture_output=True, text=True, check=False).stderr


def _until_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.1)
