"""A server that goes away in the middle: what is retried, what is reported, what the next update makes of it."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_kubernetes as k8s
import pytest
import yaml
from conversation import Conversation, NotReady, Refused
from pulumi import automation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Cluster

OBJECTS = 25


class Line:
    """The wire between the plugin and the API server, which can be cut. Bytes only: TLS goes through as it is."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self.port = 0
        self.sent = 0  # chunks towards the server: a rough measure of how far the update is
        self.mend()

    def mend(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), reuse_port=True)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        if self._listener:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        for each in self._open:
            with contextlib.suppress(OSError):  # the other end may have gone by itself
                each.shutdown(socket.SHUT_RDWR)  # close alone would not wake the thread that reads
            each.close()
        self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(self._target)
            except OSError:
                return
            self._open += [near, far]
            threading.Thread(target=self._pump, args=(near, far, 1), daemon=True).start()
            threading.Thread(target=self._pump, args=(far, near, 0), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, counted: int) -> None:
        try:
            while data := source.recv(65536):
                self.sent += counted
                sink.sendall(data)
        except OSError:
            pass
        for each in (source, sink):
            each.close()


def is_of_this_machine(host: str) -> bool:
    """True for addresses that something here could listen on."""
    with socket.socket() as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True


@pytest.fixture
def line(kubeconfig: Path) -> Iterator[Line]:
    server = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    found = re.fullmatch(r"https://([^:/]+):(\d+)", server)
    if not found or not is_of_this_machine(found[1]):
        pytest.skip(f"cuts the wire to a server on this machine only; the cluster is at {server}")
    wire = Line(found[1], int(found[2]))
    yield wire
    wire.cut()


@pytest.fixture
def through_line(line: Line, kubeconfig: Path) -> str:
    """The kubeconfig's text with the address of the wire."""
    return re.sub(r"https://[^:/]+:\d+", f"https://127.0.0.1:{line.port}", kubeconfig.read_text())


def config_map(namespace: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}}


def test_an_absence_of_the_server_is_an_error_and_the_same_update_then_passes(
    executable: Path, through_line: str, line: Line, tmp_path: Path, namespace: str
) -> None:
    """It does not wait for a server that restarts."""
    plugin = Conversation(executable, {"kubeconfig": through_line}, tmp_path)
    plugin.configure()
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    line.cut()
    changed = {**config_map(namespace), "data": {"a": "1"}}
    with pytest.raises((Refused, NotReady), match="unable to get cluster state"):
        resource.update(changed)
    line.mend()
    resource.update(changed)
    assert resource.outputs["data"] == {"a": "1"}
    plugin.close()


def many(kubeconfig: str, namespace: str) -> Callable[[], None]:
    def program() -> None:
        provider = k8s.Provider("cluster", kubeconfig=kubeconfig, cluster_identifier="conformance")
        for number in range(OBJECTS):
            k8s.core.v1.ConfigMap(
                f"many-{number}", metadata={"namespace": namespace}, opts=pulumi.ResourceOptions(provider=provider)
            )

    return program


def test_an_update_whose_server_went_away_is_finished_by_the_next_one(
    through_line: str,
    line: Line,
    namespace: str,
    cluster: Cluster,
    workspace: automation.LocalWorkspaceOptions,
) -> None:
    """An error, then the next update converges."""
    stack = automation.create_or_select_stack(
        "dev", project_name="conformance", program=many(through_line, namespace), opts=workspace
    )

    def cut_in_the_middle() -> None:
        deadline = time.monotonic() + 60
        while line.sent < 2 * OBJECTS and time.monotonic() < deadline:
            time.sleep(0.005)
        line.cut()

    cutting = threading.Thread(target=cut_in_the_middle)
    cutting.start()
    with pytest.raises(automation.CommandError, match=r"connection refused|EOF|reset|unreachable"):
        stack.up()
    cutting.join()
    line.mend()
    stack.up()
    names = [each["metadata"]["name"] for each in cluster.list("v1", "ConfigMap", namespace)]
    made = [name for name in names if name.startswith("many-")]
    assert len(made) >= OBJECTS, sorted(made)  # what was sent and not answered may be there as well, by another name
    stack.preview(expect_no_changes=True)
