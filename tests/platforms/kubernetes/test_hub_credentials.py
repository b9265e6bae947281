"""The step that creates the hub's credentials, against a small API server on loopback."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from platforms.kubernetes import hub_credentials

PATH = "/api/v1/namespaces/datahub/secrets/hub-credentials"


class ApiServer(ThreadingHTTPServer):
    """Keeps Secrets by path and refuses to change an immutable one, as Kubernetes does."""

    secrets: dict[str, dict[str, Any]]
    requests: list[tuple[str, str, str]]
    comes_between: dict[str, dict[str, Any]]  # made by another run, after our first look


class Handler(BaseHTTPRequestHandler):
    server: ApiServer

    def do_GET(self) -> None:
        self._note()
        found = self.server.secrets.get(self.path)
        self.server.secrets.update(self.server.comes_between)  # before the answer: after it, it would be a race
        self._answer(200 if found else 404, found or {"message": "not found"})

    def do_PATCH(self) -> None:
        self._note()
        path = self.path.partition("?")[0]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.secrets.get(path, {}).get("immutable"):
            self._answer(422, {"message": "field is immutable"})
            return
        self.server.secrets[path] = body
        self._answer(201, body)

    def log_message(self, *_: object) -> None:
        pass

    def _note(self) -> None:
        self.server.requests.append((self.command, self.path, self.headers["Authorization"]))

    def _answer(self, code: int, body: dict[str, Any]) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())


@pytest.fixture
def api() -> Iterator[ApiServer]:
    server = ApiServer(("127.0.0.1", 0), Handler)
    server.secrets, server.requests, server.comes_between = {}, [], {}
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("of-the-step")
    return tmp_path


def ensure(api: ApiServer, account: Path, name: str = "hub-credentials", values: dict[str, str] | None = None) -> str:
    wanted = values or hub_credentials.new_values()
    return hub_credentials.ensure(f"http://127.0.0.1:{api.server_port}", "datahub", name, wanted, account)


def test_the_first_run_creates_every_key_in_an_immutable_secret(api: ApiServer, account: Path) -> None:
    assert ensure(api, account) == "created Secret datahub/hub-credentials"
    secret = api.secrets[PATH]
    values = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    assert secret["immutable"] is True
    assert sorted(values) == ["cookie-secret", "dummy-password", "proxy-token"]
    # JupyterHub reads the cookie secret as hexadecimal and wants 32 bytes.
    assert len(bytes.fromhex(values["cookie-secret"])) == 32
    assert len(set(values.values())) == 3
    assert {authorization for _, _, authorization in api.requests} == {"Bearer of-the-step"}


def test_a_second_run_changes_nothing(api: ApiServer, account: Path) -> None:
    ensure(api, account)
    before = dict(api.secrets[PATH])
    assert ensure(api, account) == "Secret datahub/hub-credentials is already there: nothing changed"
    assert api.secrets[PATH] == before
    assert [method for method, _, _ in api.requests] == ["GET", "PATCH", "GET"]


def test_the_secret_is_created_by_its_name_so_that_rights_can_be_bound_to_it(api: ApiServer, account: Path) -> None:
    ensure(api, account)
    assert api.requests[-1][:2] == ("PATCH", f"{PATH}?fieldManager=hub-credentials")


def test_every_hub_gets_values_of_its_own() -> None:
    one, other = hub_credentials.new_values(), hub_credentials.new_values()
    assert not set(one.values()) & set(other.values())


def test_a_secret_without_a_key_is_not_changed_and_the_key_is_named(api: ApiServer, account: Path) -> None:
    api.secrets[PATH] = {"data": {"cookie-secret": "", "dummy-password": ""}}
    with pytest.raises(SystemExit, match="lacks proxy-token: delete it, or make it again with all keys"):
        ensure(api, account)
    assert [method for method, _, _ in api.requests] == ["GET"]


def test_a_run_that_was_overtaken_fails_without_changing_the_secret(api: ApiServer, account: Path) -> None:
    theirs = {"immutable": True, "data": {"cookie-secret": "theirs"}}
    api.comes_between = {PATH: theirs}
    with pytest.raises(OSError, match="422") as caught:
        ensure(api, account, values={"cookie-secret": "ours"})
    assert api.secrets[PATH] is theirs
    assert "ours" not in str(caught.value)


def test_an_administrators_password_that_is_added_later_keeps_the_other_credentials(
    api: ApiServer, account: Path
) -> None:
    ensure(api, account)
    before = dict(api.secrets[PATH])
    message = ensure(api, account, "hub-admin", hub_credentials.admin_values())
    assert message == "created Secret datahub/hub-admin"
    assert api.secrets[PATH] == before
    data = api.secrets["/api/v1/namespaces/datahub/secrets/hub-admin"]["data"]
    # JupyterHub refuses a shorter one.
    assert len(base64.b64decode(data["admin-password"])) >= 32
