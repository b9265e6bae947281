"""The stand-in beside a server that misbehaves: away, slow to come back, gone in the middle of a change."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from lab.providers.kubernetes import api
from lab.providers.kubernetes.api import ApiServer, UnreachableError
from lab.providers.kubernetes.kubeconfig import Cluster, load_cluster
from lab.providers.kubernetes.naming import field_manager
from lab.providers.kubernetes.provider import KubernetesProvider
from lab.providers.plugin import Engine
from lab.providers.values import Properties, Secret, plain
from lab.providers.vocabulary import Change, PartialFailureError, PluginError, Request

Values = dict[str, Any]
Reply = tuple[int, Values] | None  # None: the connection is closed without an answer


class Script:
    """A small API server that knows ConfigMaps and answers as the test says."""

    def __init__(self, answer: Callable[[str], Reply]) -> None:
        self.requests: list[str] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            def _any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                self.rfile.read(length)
                path = self.path.partition("?")[0]
                script.requests.append(f"{self.command} {path}")
                reply = DISCOVERY if path == "/api/v1" else answer(self.command)
                if reply is None:
                    self.close_connection = True
                    return
                data = json.dumps(reply[1]).encode()
                self.send_response(reply[0])
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PATCH = do_DELETE = do_POST = _any  # noqa: N815 - the library's names

            def log_message(self, *arguments: object) -> None:
                del arguments

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


DISCOVERY: Reply = (200, {"resources": [{"kind": "ConfigMap", "name": "configmaps", "namespaced": True}]})
NOT_FOUND: Reply = (404, {"message": "not found", "reason": "NotFound"})
INPUTS: Properties = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "hub"},
    "data": {"x": Secret("hush")},
}
REQUEST = Request(
    "urn:pulumi:s::p::kubernetes:core/v1:ConfigMap::a", "kubernetes:core/v1:ConfigMap", "a", inputs=INPUTS
)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "PATIENCE_S", 1.0)
    monkeypatch.setattr("lab.providers.kubernetes.operations.PATIENCE_S", 1.0)


@pytest.fixture
def scripted() -> Iterator[Callable[[Callable[[str], Reply]], Script]]:
    scripts: list[Script] = []

    def start(answer: Callable[[str], Reply]) -> Script:
        scripts.append(Script(answer))
        return scripts[-1]

    yield start
    for script in scripts:
        script.close()


def kubeconfig_of(url: str) -> str:
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    }
    return json.dumps(config)


def provider_of(url: str) -> KubernetesProvider:
    provider = KubernetesProvider(Engine())
    provider.configure({"kubeconfig": kubeconfig_of(url)})
    return provider


@pytest.mark.slow
def test_a_create_whose_answer_is_lost_is_kept_as_half_made(scripted: Callable[..., Script]) -> None:
    script = scripted(lambda method: NOT_FOUND if method == "GET" else None)
    with pytest.raises(PartialFailureError, match="the answer was lost") as lost:
        provider_of(script.url).create(REQUEST)
    assert lost.value.identifier == "hub/a"
    assert "hush" not in repr(lost.value.properties) + repr(lost.value.inputs) + str(lost.value)


def update_of(kept: Properties) -> Request:
    return dataclasses.replace(REQUEST, identifier="hub/a", state=kept, old_inputs=INPUTS)


@pytest.mark.slow
def test_the_next_update_makes_what_is_half_made_after_all(scripted: Callable[..., Script]) -> None:
    script = scripted(lambda method: NOT_FOUND if method == "GET" else None)
    with pytest.raises(PartialFailureError) as lost:
        provider_of(script.url).create(REQUEST)
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "hub", "uid": "1"}}
    now = scripted(lambda method: NOT_FOUND if method == "GET" else (201, made))
    assert provider_of(now.url).update(update_of(lost.value.properties))["metadata"]["uid"] == "1"


def test_updating_a_deleted_object_is_an_error_and_does_not_recreate_it(scripted: Callable[..., Script]) -> None:
    script = scripted(lambda _: NOT_FOUND)
    kept = {**INPUTS, "metadata": {**INPUTS["metadata"], "uid": "1"}}
    with pytest.raises(PluginError, match=r'configmaps "a" not found\nunable to get cluster state: .*`pulumi refresh`'):
        provider_of(script.url).update(update_of(kept))
    assert [each for each in script.requests if each.startswith("PATCH")] == []


def test_an_update_that_the_server_refuses_is_kept_with_what_is_really_there(scripted: Callable[..., Script]) -> None:
    live = {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "hub", "uid": "1"}, "data": {"x": "theirs"}}
    causes = [{"field": ".data.x", "message": 'conflict with "kubectl" using v1'}]
    conflict = (409, {"message": "conflict", "details": {"causes": causes}})
    script = scripted(lambda method: (200, live) if method == "GET" else conflict)
    with pytest.raises(PartialFailureError) as refused:
        provider_of(script.url).update(update_of({"metadata": {"uid": "1"}}))
    (reason,) = refused.value.reasons
    assert reason.startswith('the Kubernetes API server reported that "hub/a" failed to fully initialize')
    assert '.data.x: conflict with "kubectl"' in reason
    assert plain(refused.value.properties["data"]) == {"x": "theirs"}


@pytest.mark.slow
def test_a_create_that_never_arrived_is_a_plain_error(scripted: Callable[..., Script]) -> None:
    script = scripted(lambda _: NOT_FOUND)
    provider = provider_of(script.url)
    provider.check(REQUEST)
    script.close()
    with pytest.raises(UnreachableError, match=r"cannot be reached: .*refused.* Start it, or correct its address"):
        provider.create(REQUEST)


@pytest.mark.slow
def test_a_server_that_comes_back_is_waited_for(scripted: Callable[..., Script]) -> None:
    left = [2]

    def answer(_: str) -> Reply:
        left[0] -= 1
        return None if left[0] >= 0 else NOT_FOUND

    script = scripted(answer)
    server = ApiServer(Cluster(script.url, "", "test"), Engine().wait)
    assert server.find("/api/v1/namespaces/hub/configmaps/a", patience_s=10) is None
    assert len(script.requests) == 3


@pytest.mark.slow
def test_a_request_to_a_busy_server_is_retried(scripted: Callable[..., Script]) -> None:
    replies: list[Reply] = [(429, {"message": "too many requests"}), (503, {}), (200, {"kind": "ConfigMap"})]
    script = scripted(lambda _: replies.pop(0))
    server = ApiServer(Cluster(script.url, "", "test"), Engine().wait)
    assert server.get("/x", patience_s=10) == {"kind": "ConfigMap"}


def test_an_object_is_never_posted_twice(scripted: Callable[..., Script]) -> None:
    script = scripted(lambda _: None)
    server = ApiServer(Cluster(script.url, "", "test"), Engine().wait)
    with pytest.raises(UnreachableError):
        server.request("POST", "/x", body={}, patience_s=5)
    assert script.requests == ["POST /x"]


@pytest.mark.slow
def test_one_fault_costs_one_wait(scripted: Callable[..., Script]) -> None:
    script = scripted(lambda _: None)
    server = ApiServer(Cluster(script.url, "", "test"), Engine().wait)
    with pytest.raises(UnreachableError):
        server.get("/x", patience_s=1)
    tried = len(script.requests)
    with pytest.raises(UnreachableError):
        server.get("/y", patience_s=600)
    assert len(script.requests) == tried + 1


def test_an_object_of_an_interrupted_run_is_taken_over_and_a_foreign_one_is_not(
    scripted: Callable[..., Script],
) -> None:
    owners = [{"manager": "kubectl", "operation": "Apply"}]
    found = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "hub", "managedFields": owners},
    }
    script = scripted(lambda _: (200, found))
    provider = provider_of(script.url)
    with pytest.raises(PluginError, match="already exists and was not made by this resource"):
        provider.create(REQUEST)
    assert not [each for each in script.requests if each.startswith("PATCH")]
    owners.append({"manager": "pulumi-kubernetes-2ba4a1ad", "operation": "Apply"})
    with pytest.raises(PluginError, match="already exists"):
        provider.create(REQUEST)
    owners.append({"manager": field_manager(REQUEST.urn, {}, {}), "operation": "Apply"})
    assert provider.create(REQUEST).identifier == "hub/a"


def test_a_secret_in_the_servers_answer_is_hidden(scripted: Callable[..., Script]) -> None:
    invalid = {"message": "bad", "details": {"causes": [{"field": "data.x", "message": 'Invalid value: "hush"'}]}}
    script = scripted(lambda method: NOT_FOUND if method == "GET" else (422, invalid))
    with pytest.raises(PluginError, match=r'data\.x: Invalid value: "\[secret\]"'):
        provider_of(script.url).create(REQUEST)


@pytest.mark.slow
def test_a_quota_that_is_counted_at_the_same_time_is_tried_again(scripted: Callable[..., Script]) -> None:
    message = 'Operation cannot be fulfilled on resourcequotas "gpus": the object has been modified'
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "hub"}}
    replies: list[Reply] = [(409, {"message": message}), (201, made)]
    script = scripted(lambda method: NOT_FOUND if method == "GET" else replies.pop(0))
    assert provider_of(script.url).create(REQUEST).identifier == "hub/a"


def test_a_field_that_only_the_server_knows_to_be_immutable_replaces_the_object(
    scripted: Callable[..., Script],
) -> None:
    cause = {"field": "data.x", "message": "Invalid value: field is immutable when `immutable` is set"}
    script = scripted(lambda _: (422, {"message": "invalid", "details": {"causes": [cause]}}))
    provider = provider_of(script.url)
    old = {**INPUTS, "data": {"x": "1"}}
    labels = {"name": "a", "namespace": "hub", "labels": {"l": "1"}}
    request = replace(
        REQUEST, identifier="hub/a", old_inputs=old, inputs={**old, "metadata": labels, "data": {"x": "2"}}
    )
    provider.configure({"kubeconfig": kubeconfig_of(script.url), "enableConfigMapMutable": "true"})
    found = provider.diff(request)
    assert found.changes == {"data.x": Change.UPDATE_REPLACE, "metadata.labels": Change.ADD}
    assert found.delete_before_replace


@pytest.mark.slow
def test_an_absent_server_is_reported_once(scripted: Callable[..., Script]) -> None:
    script = scripted(lambda _: None)
    reported: list[str] = []
    server = ApiServer(Cluster(script.url, "", "test"), Engine().wait, reported.append)
    with pytest.raises(UnreachableError):
        server.get("/x", patience_s=6)
    assert reported == [f"{script.url} does not answer; trying for 6 s"]


def test_all_mistakes_in_the_inputs_are_reported_at_once() -> None:
    annotations = {"pulumi.com/timeoutSeconds": "soon", "pulumi.com/waitFor": "ready"}
    wrong = {
        "apiVersion": "v2",
        "kind": "Pod",
        "metadata": {"name": "a", "annotations": annotations},
    }
    request = Request(REQUEST.urn, REQUEST.type, "a", inputs=wrong)
    reasons = [failure.reason for failure in KubernetesProvider(Engine()).check(request).failures]
    assert len(reasons) == 4
    assert 'leave it out or write "ConfigMap"' in reasons[1]
    assert '"soon" is not a number of seconds' in reasons[2]
    assert 'neither "condition=TYPE"' in reasons[3]


def test_version_and_kind_are_filled_in_from_the_type() -> None:
    request = Request("urn:x", "kubernetes:apps/v1:DeploymentPatch", "a", inputs={"metadata": {"name": "a"}})
    found = KubernetesProvider(Engine()).check(request).inputs
    assert (found["apiVersion"], found["kind"]) == ("apps/v1", "Deployment")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/no/such/file", "/no/such/file does not exist"),
        ("a: [\n", "is not a kubeconfig"),
        ('{"clusters": []}', "no current-context"),
        ('{"current-context": "x", "contexts": [{"name": "y"}]}', 'no context "x"; it has y'),
    ],
)
def test_a_wrong_kubeconfig_is_reported(text: str, expected: str) -> None:
    with pytest.raises(PluginError, match=expected):
        load_cluster(text)


def test_a_cluster_shows_no_login() -> None:
    shown = repr(Cluster("https://a", "", "test", token="hush", key=b"hush", basic=("u", "hush")))
    assert "hush" not in shown
