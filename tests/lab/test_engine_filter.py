"""Debian's HAProxy with our configuration before a real engine: it decides as the rows say, whatever is sent."""

from __future__ import annotations

import base64
import contextlib
import hmac
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from lab.instance import Instance
from lab.servers import docker
from platforms.docker.engine_filter import (
    ENGINE_SOCKET,
    HUB_SOCKET,
    KERNELS_SOCKET,
    KEY_VARIABLE,
    LARGEST_BODY,
    render_filter,
)
from tests.lab import docker_engines as engines
from tests.platforms.docker import engine_attacks as attacks
from tests.platforms.docker import engine_requests as requests
from tests.platforms.docker.engine_requests import KERNEL, Line, V

pytestmark = pytest.mark.lab

KEY = "a2V5IG9mIHRoZSB0ZXN0cw=="
REFUSED = "the filter of hub lab passes only "


@dataclass(frozen=True, slots=True)
class Filtered:
    """An engine with HAProxy before it: the sockets of hub and gateways, what was rendered, and HAProxy's log."""

    hub_socket: str
    kernels_socket: str
    hub: dict[str, Any]
    log: Path


class Connection(http.client.HTTPConnection):
    """HTTP over a socket of the machine, byte for byte as the test says."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)

    def answer(self, line: Line, headers: Mapping[str, str]) -> tuple[int, str]:
        method, url, body = line
        self.putrequest(method, url, skip_accept_encoding=True)
        for name, value in headers.items():
            self.putheader(name, value)
        content = body.encode()
        if content or method == "POST":
            self.putheader("Content-Type", "application/json")
            self.putheader("Content-Length", str(len(content)))
        with contextlib.suppress(BrokenPipeError):  # refused before the body was sent; the answer is there
            self.endheaders(content or None)
        got = self.getresponse()
        return got.status, got.read().decode(errors="replace")


@pytest.fixture(scope="module")
def filtered(new_instance: Callable[..., Instance], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filtered]:
    program = shutil.which("haproxy", path="/usr/sbin:/usr/bin")
    assert program, "haproxy is not installed; run: .venv/bin/python -m lab test tests/lab/test_engine_filter.py"
    port = new_instance(tmp_path_factory.mktemp("port"), "registry").ports["registry"]
    with engines.engine("filter", registry_port=port) as instance, engines.image_registry(instance) as image:
        hub = requests.document(image)
        paths = {HUB_SOCKET: f"{instance.run}/hub.sock", KERNELS_SOCKET: f"{instance.run}/kernels.sock"}
        text = render_filter(hub)
        for path, here in {**paths, ENGINE_SOCKET: docker.address(instance).removeprefix("unix://")}.items():
            text = text.replace(path, here)
        config, log = instance.run / "engine_filter.cfg", instance.logs / "filter.log"
        config.write_text(text)
        engines.client(instance, "network", "create", "lab")
        for card in hub["cards"]:
            engines.client(instance, "network", "create", "--internal", card["network"])
        engines.client(instance, "run", "-d", "--name", "lab-hub", image, "/bin/busybox", "sleep", "600")
        command, environ = [program, "-f", str(config)], {**os.environ, KEY_VARIABLE: KEY}
        with log.open("w") as sink, subprocess.Popen(command, stdout=sink, stderr=sink, env=environ) as haproxy:
            try:
                _wait_for(paths[KERNELS_SOCKET], log)
                yield Filtered(paths[HUB_SOCKET], paths[KERNELS_SOCKET], hub, log)
            finally:
                haproxy.kill()
        for path in (config, *map(Path, paths.values())):
            path.unlink(missing_ok=True)


def _wait_for(path: str, log: Path) -> None:
    deadline = time.monotonic() + 20
    while not Path(path).exists():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def answer(path: str, line: Line, headers: Mapping[str, str] = MappingProxyType({})) -> tuple[int, str]:
    connection = Connection(path)
    try:
        return connection.answer(line, headers)
    finally:
        connection.close()


def shown(user: str, *, token_of: str | None = None) -> dict[str, str]:
    """Headers of a gateway that says whose it is, with the token that the hub gave to the gateway of somebody."""
    token = hmac.new(base64.b64decode(KEY), (token_of or user).encode(), "sha256").hexdigest().upper()
    return {"Gpu-Commons-User": user, "Gpu-Commons-Token": token}


ADA = shown("ada")


def test_the_calls_of_a_hub_are_carried_out(filtered: Filtered) -> None:
    for line in requests.hub_sends(filtered.hub):
        status, reply = answer(filtered.hub_socket, line)
        assert status < 400, (line, status, reply)
        assert '"error"' not in reply, (line, reply)
        if line[1].endswith("lab-server-ada/json"):
            state = json.loads(reply)
            assert state["State"]["Running"]
            assert set(state["NetworkSettings"]["Networks"]) == {"lab", "lab-user-ada", "gpu-commons-card-0"}


def test_the_calls_of_a_gateway_reach_the_engine(filtered: Filtered) -> None:
    """Its network is made by the hub; what the engine says of GPUs that it has not is the engine's."""
    assert (
        answer(filtered.hub_socket, ("POST", f"{V}/networks/create", requests.text(requests.user_network())))[0] == 201
    )
    for line in requests.gateways_send(filtered.hub):
        status, reply = answer(filtered.kernels_socket, line, ADA)
        assert status != 403, (line, reply)
        assert REFUSED not in reply
    assert answer(filtered.hub_socket, ("DELETE", f"{V}/networks/lab-user-ada", ""))[0] == 204


def test_a_body_may_be_long(filtered: Filtered) -> None:
    """Expressions have limits of their own: what is allowed must not run into them."""
    for more in (
        ["LONG=" + "x" * 45_000],
        ["LONG=" + "\u00e9\n" * 5_000],
        [f"V{number}={number}" for number in range(3000)],
    ):
        made = requests.server(filtered.hub)
        made["Env"] += more
        line = requests.create("lab-server-ada", made)
        assert 40_000 < len(line[2]) < LARGEST_BODY
        status, reply = answer(filtered.hub_socket, line)
        assert status == 201, reply
        assert answer(filtered.hub_socket, ("DELETE", f"{V}/containers/lab-server-ada?force=True", ""))[0] == 204


def test_whatever_else_a_hub_tries_is_refused_with_a_sentence(filtered: Filtered) -> None:
    tried = attacks.on_hub(filtered.hub)
    answers = {name: answer(filtered.hub_socket, line) for name, line in tried.items()}
    assert {name: got for name, got in answers.items() if not _is_refusal(*got)} == {}


def test_whatever_else_a_gateway_tries_is_refused_with_a_sentence(filtered: Filtered) -> None:
    tried = attacks.on_kernels(filtered.hub)
    answers = {name: answer(filtered.kernels_socket, line, ADA) for name, line in tried.items()}
    assert {name: got for name, got in answers.items() if not _is_refusal(*got)} == {}


@pytest.mark.parametrize(
    "headers",
    [
        shown("bob"),
        shown("ada", token_of="bob"),
        shown("bob", token_of="ada"),
        shown("ada GET /info"),
        {"Gpu-Commons-User": "ada"},
        {"Gpu-Commons-User": "ada", "Gpu-Commons-Token": ""},
        {"Gpu-Commons-Token": ADA["Gpu-Commons-Token"]},
        {"Gpu-Commons-User": "ada", "Gpu-Commons-Token": ADA["Gpu-Commons-Token"].lower()},
        {},
    ],
)
def test_the_kernels_of_a_user_are_out_of_reach_of_every_other_gateway(
    filtered: Filtered, headers: Mapping[str, str]
) -> None:
    sent = [line for line in requests.gateways_send(filtered.hub) if KERNEL in f"{line[1]} {line[2]}"]
    answers = [(line[:2], answer(filtered.kernels_socket, line, headers)) for line in sent]
    assert len(sent) > 6
    assert [each for each in answers if not _is_refusal(*each[1])] == []


def _is_refusal(status: int, reply: str) -> bool:
    return status == 403 and json.loads(reply)["message"].startswith(REFUSED)


RAW = {
    "a body in chunks": f"POST {V}/containers/create?name=lab-server-ada HTTP/1.1\r\nHost: x\r\n"
    "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "two lengths": f"POST {V}/containers/lab-server-ada/start HTTP/1.1\r\nHost: x\r\n"
    "Content-Length: 0\r\nContent-Length: 2\r\n\r\n{}",
    "a length and chunks": f"POST {V}/containers/lab-server-ada/start HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "another protocol": f"GET {V}/containers/lab-server-ada/json HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
    "Upgrade: tcp\r\n\r\n",
    "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a body that is too long": f"POST {V}/containers/create?name=lab-server-ada HTTP/1.1\r\nHost: x\r\n"
    f"Content-Length: {LARGEST_BODY + 1}\r\n\r\n{'x' * (LARGEST_BODY + 1)}",
    "a tar that is too long": f"PUT {V}/containers/{KERNEL}/archive?path=%2F HTTP/1.1\r\nHost: x\r\n"
    f"Content-Length: {LARGEST_BODY + 1}\r\n\r\n",
    "a tar without a length": f"PUT {V}/containers/{KERNEL}/archive?path=%2F HTTP/1.1\r\nHost: x\r\n"
    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a space in an address": f"GET {V}/containers/lab-server-ada/json x HTTP/1.1\r\nHost: x\r\n\r\n",
    "a fragment": f"GET {V}/containers/lab-server-ada/json#x HTTP/1.1\r\nHost: x\r\n\r\n",
    "a tab before the method": f"\tGET {V}/info HTTP/1.1\r\nHost: x\r\n\r\n",
    "a line break in an address": f"GET {V}/info\rHTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("tried", RAW)
def test_a_request_of_another_form_is_refused(filtered: Filtered, tried: str) -> None:
    for path in (filtered.hub_socket, filtered.kernels_socket):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(30)
            client.connect(path)
            client.sendall(RAW[tried].encode())
            reply = client.recv(65536).decode(errors="replace")
        assert reply.startswith(("HTTP/1.1 400", "HTTP/1.1 403", "HTTP/1.0 400")) or not reply, reply


def test_each_request_of_a_connection_is_judged(filtered: Filtered) -> None:
    connection = Connection(filtered.hub_socket)
    good, bad = ("GET", f"{V}/_ping", ""), ("GET", f"{V}/info", "")
    assert [connection.answer(line, {})[0] for line in (good, bad, good)] == [200, 403, 200]
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(filtered.hub_socket)
        client.sendall(
            f"POST {V}/containers/lab-server-nobody/start HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
            f"GET {V}/info HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        )
        reply = b""
        while got := client.recv(65536):
            reply += got
    assert reply.startswith(b"HTTP/1.1 404 "), reply
    assert b"HTTP/1.1 403 Forbidden" in reply


def test_a_body_that_does_not_come_is_not_waited_for_long(filtered: Filtered) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(filtered.hub_socket)
        head = f"POST {V}/containers/create?name=lab-server-ada HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{"
        client.sendall(head.encode())
        assert client.recv(65536).startswith((b"HTTP/1.1 408", b"HTTP/1.1 403"))


def test_the_log_names_what_was_refused_and_nothing_else(filtered: Filtered) -> None:
    answer(filtered.hub_socket, ("GET", "/version", ""))
    answer(filtered.hub_socket, ("POST", f"{V}/swarm/leave", ""))
    deadline = time.monotonic() + 5
    while "swarm/leave" not in (text := filtered.log.read_text()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert f"POST {V}/swarm/leave: 403" in text
    assert ": 200" not in text
