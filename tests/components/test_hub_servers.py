"""What ends the servers of a hub on a Docker host, over a real socket: tests/lab has it on a real engine."""

from __future__ import annotations

import base64
import json
import pickle
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from components.on_docker.engine import EngineUnreachable
from components.on_docker.hub_teardown import ServersLeft, end_servers
from tests.components.running_engine import VERSION

# What Pulumi's SDK 3.259.0 wrote into the state for the first version of this provider.
FIRST = "gASVNwAAAAAAAACMIGNvbXBvbmVudHMub25fZG9ja2VyLmh1Yl9zZXJ2ZXJzlIwLRW5kc1NlcnZlcnOUk5QpgZQu"


class Engine:
    """Containers and networks by name; what refuses to go says why."""

    def __init__(self, *names: str, refuses: dict[str, str] | None = None) -> None:
        self.names, self.refuses = [*names], refuses or {}
        self.calls: list[str] = []

    def answer(self, method: str, path: str) -> tuple[int, object]:
        kind, _, rest = path.removeprefix("/v1.41/").partition("/")
        name = rest.partition("/")[0]
        if kind not in {"containers", "networks"}:
            return 200, VERSION
        if method == "GET" and name in {"", "json"}:
            of_kind = [each for each in self.names if ("-user-" in each) == (kind == "networks")]
            return 200, [{"Name": each} if kind == "networks" else {"Names": [f"/{each}"]} for each in of_kind]
        if method == "GET":
            return 200, {"Name": name, "Containers": {}}
        return self.act(method, name)

    def act(self, method: str, name: str) -> tuple[int, object]:
        self.calls.append(f"{method} {name}")
        if method == "DELETE" and name in self.refuses:
            return 409, {"message": self.refuses[name]}
        if name not in self.names:
            return 404, {"message": f"no such object: {name}"}
        if method == "DELETE":
            self.names.remove(name)
        return 204, None


@contextmanager
def running(engine: Engine, folder: Path) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, reply = engine.answer(self.command, self.path.partition("?")[0])
            body = b"" if reply is None else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_DELETE = do_GET  # noqa: N815 - http.server's

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with socketserver.ThreadingUnixStreamServer(str(folder / "e.sock"), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"unix://{folder / 'e.sock'}"
        finally:
            server.shutdown()


ALL = ("class-user-ada", "class-kernel-ada-1", "class-gateway-ada", "class-server-ada", "class-hub")


@pytest.mark.slow
def test_who_starts_others_ends_first_and_networks_go_last(tmp_path: Path) -> None:
    engine = Engine(*ALL)
    with running(engine, tmp_path) as address:
        end_servers("class", address)
    removed = [call.removeprefix("DELETE ") for call in engine.calls if call.startswith("DELETE")]
    assert removed == ["class-server-ada", "class-gateway-ada", "class-kernel-ada-1", "class-user-ada"]
    assert engine.calls[0] == "POST class-server-ada"  # it may finish what it writes
    assert engine.names == ["class-hub"]


@pytest.mark.slow
def test_what_cannot_be_removed_is_named_with_the_engines_words(tmp_path: Path) -> None:
    engine = Engine(*ALL, refuses={"class-gateway-ada": "driver aufs failed to remove root filesystem"})
    with running(engine, tmp_path) as address, pytest.raises(ServersLeft) as left:
        end_servers("class", address)
    assert str(left.value) == (
        "hub class: class-gateway-ada could not be removed: driver aufs failed to remove root filesystem; "
        "run the command again"
    )
    assert sorted(engine.names) == ["class-gateway-ada", "class-hub"]  # one that stays keeps nothing else


@pytest.mark.slow
def test_what_an_earlier_version_made_is_ended_by_todays_code(tmp_path: Path) -> None:
    engine = Engine(*ALL)
    provider = pickle.loads(base64.b64decode(FIRST))  # noqa: S301 - written above
    with running(engine, tmp_path) as address:
        provider.delete("class", {"hub": "class", "engine": address})
    assert engine.names == ["class-hub"]


def test_an_engine_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EngineUnreachable, match=r"does not answer: No such file or directory; start it"):
        end_servers("class", f"unix://{tmp_path}/nobody.sock")
