"""`make up` says that something is up only when it is: servers by their processes, hubs through their Services."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Self

import pytest

from lab import health, processes
from lab.instance import Instance, LabError, open_instance
from lab.processes import Server

SERVICE = "/api/v1/namespaces/datahub/services/proxy-public"
POD = "/api/v1/namespaces/datahub/pods/hub-0"
SLEEPER = (sys.executable, "-c", "import time; print('about to sleep', flush=True); time.sleep(60)")


class HubBehindAPort(BaseHTTPRequestHandler):
    """Answers as a hub, from the third question on: before that as a proxy whose hub is not there yet."""

    paths: list[str]

    def do_GET(self) -> None:
        self.paths.append(self.path)
        is_there = len(self.paths) > 2
        self.send_response(200 if is_there else 503)
        self.end_headers()
        self.wfile.write(b'{"version": "5.5.4"}' if is_there else b"Service Unavailable")

    def log_message(self, *_: object) -> None:
        pass


class FakeCluster:
    """Objects by path; no request is sent."""

    objects: dict[str, Any]

    def __init__(self, _: Instance) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, path: str) -> Any:
        return self.objects.get(path)

    def nodes(self, *, labels: tuple[str, str]) -> list[Any]:
        assert labels == ("kwok.x-k8s.io/node", "fake")
        return [{"metadata": {"name": "n02"}}]


@pytest.fixture
def hub_port() -> Iterator[int]:
    handler = type("Handler", (HubBehindAPort,), {"paths": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    objects: dict[str, Any] = {POD: {"spec": {"nodeName": "n01"}}}
    monkeypatch.setattr(health, "Cluster", type("Cluster", (FakeCluster,), {"objects": objects}))
    monkeypatch.setattr(health, "PAUSE_S", 0)
    return objects


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Instance]:
    """With one server that runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    instance = open_instance("health")
    processes.start(instance, Server("kube-proxy", SLEEPER, ready=lambda: True))
    yield instance
    processes.stop(instance, "kube-proxy")


def end_kube_proxy(instance: Instance) -> None:
    record = processes.read_record(instance, "kube-proxy")
    assert record is not None
    if process := record.process():
        process.kill()
        process.wait()


def node_port(port: int) -> dict[str, Any]:
    return {"spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": port}]}}


@pytest.mark.usefixtures("cluster")
def test_a_lab_without_a_stack_has_its_servers_checked(instance: Instance) -> None:
    assert str(health.check(instance)) == "1 server runs"


def test_a_hub_on_a_docker_host_is_asked_on_its_port(
    instance: Instance, hub_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "PAUSE_S", 0)
    address = {"dcsg": f"http://127.0.0.1:{hub_port}/"}
    assert str(health.check(instance, on_hosts=address)) == "1 server runs, hub dcsg answers on its port"
    with pytest.raises(LabError, match=r"hub dcsg does not answer on its port after 0 s: .*\n.*docker logs dcsg-hub"):
        health.check(instance, on_hosts={"dcsg": f"http://127.0.0.1:{hub_port - 1}/"}, within_s=0)


@pytest.mark.usefixtures("cluster")
def test_a_server_that_ended_is_named_with_its_log(instance: Instance) -> None:
    end_kube_proxy(instance)
    with pytest.raises(
        LabError, match=r"(?s)kube-proxy ended after the start.*logs/kube-proxy\.log:\n.*about to sleep"
    ):
        health.check(instance)


def test_a_hub_that_needs_a_moment_is_waited_for(instance: Instance, cluster: dict[str, Any], hub_port: int) -> None:
    cluster[SERVICE] = node_port(hub_port)
    assert str(health.check(instance, ["datahub"])) == "1 server runs, hub datahub answers through its Service"


def test_a_hub_whose_node_port_nobody_serves_is_an_error_with_the_logs_to_read(
    instance: Instance, cluster: dict[str, Any], hub_port: int
) -> None:
    cluster[SERVICE] = node_port(hub_port - 1)
    with pytest.raises(LabError) as raised:
        health.check(instance, ["datahub"], within_s=0)
    message = str(raised.value)
    assert message.startswith(
        "hub datahub does not answer through its Service datahub/proxy-public after 0 s: http://127."
    )
    assert "refused" in message
    assert "kubectl logs --namespace datahub hub-0" in message
    assert f"kube-proxy's log: {instance.logs}/kube-proxy.log" in message


def test_a_proxy_without_its_hub_is_no_answer(instance: Instance, cluster: dict[str, Any], hub_port: int) -> None:
    cluster[SERVICE] = node_port(hub_port)
    with pytest.raises(LabError, match="/hub/api/ answers 503 Service Unavailable"):
        health.check(instance, ["datahub"], within_s=0)


@pytest.mark.usefixtures("cluster")
def test_a_hub_without_a_service_is_an_error(instance: Instance) -> None:
    with pytest.raises(LabError, match="there is no such Service"):
        health.check(instance, ["datahub"], within_s=0)


def test_a_hub_on_a_simulated_node_is_not_waited_for(instance: Instance, cluster: dict[str, Any]) -> None:
    cluster[POD]["spec"]["nodeName"] = "n02"
    expected = "1 server runs, hub datahub is only simulated, and nothing answers there"
    assert str(health.check(instance, ["datahub"])) == expected


def test_a_server_that_ends_while_a_hub_is_waited_for_ends_the_wait(
    instance: Instance, cluster: dict[str, Any], hub_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster[SERVICE] = node_port(hub_port - 1)
    monkeypatch.setattr(health.time, "sleep", lambda _: end_kube_proxy(instance))
    with pytest.raises(LabError, match="kube-proxy ended after the start"):
        health.check(instance, ["datahub"], within_s=60)


@pytest.mark.parametrize(
    ("ports", "address"),
    [
        ([{"name": "http", "port": 80, "nodePort": 30080}], "http://127.0.0.1:30080"),
        ([{"name": "https", "port": 443, "nodePort": 30443}], "https://127.0.0.1:30443"),
        ([{"name": "https", "port": 443}, {"name": "http", "port": 80}], "https://10.201.0.9:443"),
    ],
)
def test_a_hub_is_asked_at_the_port_and_by_the_scheme_of_its_service(ports: list[dict[str, Any]], address: str) -> None:
    assert health.address({"spec": {"clusterIP": "10.201.0.9", "ports": ports}}) == address
