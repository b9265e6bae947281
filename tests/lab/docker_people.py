"""People who use a hub on a Docker engine of the tests: they start servers and run code in kernels."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import httpx
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

PASSWORD: Final = "born-in-a-volume-of-the-host"  # noqa: S105 - of nobody


def logged_in(url: str, name: str, clients: ExitStack, *, password: str = PASSWORD, trusts: bool = True) -> Person:
    """Somebody who logs in, and has a token from then on."""
    client = clients.enter_context(httpx.Client(base_url=url, follow_redirects=True, timeout=60, verify=trusts))
    page = client.get("/hub/login")
    (token,) = set(re.findall(r'name="_xsrf" value="([^"]+)"', page.text))
    answer = client.post("/hub/login?next=/hub/home", data={"username": name, "password": password, "_xsrf": token})
    assert "/hub/home" in str(answer.url), answer.text
    xsrf = client.cookies.get("_xsrf", path="/hub/")
    made = client.post(f"/hub/api/users/{name}/tokens", json={}, headers={"X-XSRFToken": str(xsrf)})
    assert made.is_success, made.text
    headers = {"Authorization": f"token {made.json()['token']}"}
    api = httpx.Client(base_url=url, headers=headers, timeout=180, verify=trusts)
    return Person(name, clients.enter_context(api), client, trusts=trusts)


@dataclass(frozen=True)
class Person:
    """A user of the hub; `api` has a token, `pages` a login."""

    name: str
    api: httpx.Client
    pages: httpx.Client
    trusts: bool = True  # False: the hub made its certificate itself

    def begin(self, profile: str) -> None:
        """Ask for a server."""
        answer = self.api.post(f"/hub/api/users/{self.name}/server", json={"profile": profile})
        assert answer.status_code in {201, 202}, answer.text

    def start(self, profile: str) -> None:
        """Ask for a server, and wait until it answers."""
        self.begin(profile)
        last = list(self.events())[-1]
        assert last.get("ready"), last

    def events(self) -> Iterator[dict[str, Any]]:
        """What the waiting page gets, until the start has ended."""
        with self.api.stream("GET", f"/hub/api/users/{self.name}/server/progress") as stream:
            assert stream.status_code == 200, stream.read()
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def stop(self) -> None:
        """End the server."""
        answer = self.api.delete(f"/hub/api/users/{self.name}/server")
        assert answer.status_code in {202, 204}, answer.text
        until(lambda: not self.server(), f"the end of the server of {self.name}", 60)

    def server(self) -> dict[str, Any]:
        """As the hub describes it; empty where there is none, and nothing is pending."""
        found = dict(self.api.get(f"/hub/api/users/{self.name}").json()["servers"].get("", {}))
        return found if found.get("ready") or found.get("pending") else {}

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """The person's own server, through the proxy."""
        return self.api.request(method, f"/user/{self.name}/api/{path}", **more)

    def new_kernel(self, name: str = "") -> str:
        """The id of a kernel that starts."""
        answer = self.ask("POST", "kernels", json={"name": name} if name else {})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def run(self, kernel: str, code: str) -> str:
        """What the code prints in the kernel, over the websocket that a notebook uses."""
        proxy = str(self.api.base_url).rstrip("/").replace("http", "ws", 1)
        address = f"{proxy}/user/{self.name}/api/kernels/{kernel}/channels"
        headers = {"Authorization": self.api.headers["Authorization"]}
        return asyncio.run(
            _printed(HTTPRequest(address, headers=headers, connect_timeout=30, validate_cert=self.trusts), code)
        )


async def _printed(request: HTTPRequest, code: str) -> str:
    connection = await websocket_connect(request)
    message = {
        "channel": "shell",
        "header": {"msg_id": "question", "msg_type": "execute_request", "version": "5.3"},
        "parent_header": {},
        "metadata": {},
        "content": {"code": code, "silent": False},
    }
    await connection.write_message(json.dumps(message))
    printed = []
    while True:
        text = await asyncio.wait_for(connection.read_message(), 60)
        assert text is not None, "the connection was closed"
        answer = json.loads(text)
        if answer["parent_header"].get("msg_id") != "question":
            continue
        if answer["msg_type"] in {"stream", "error"}:
            printed.append(answer["content"].get("text") or "\n".join(answer["content"]["traceback"]))
        if answer["msg_type"] == "status" and answer["content"]["execution_state"] == "idle":
            connection.close()
            while await connection.read_message() is not None:
                pass  # until the other side has closed it too
            return "".join(printed).strip()


def until(is_so: Any, what: str, within_s: float) -> None:
    """Wait; whatever is raised meanwhile counts as not yet."""
    deadline = time.monotonic() + within_s
    error: Exception | None = None
    while time.monotonic() < deadline:
        try:
            if is_so():
                return
        except (httpx.HTTPError, AssertionError, LookupError) as raised:
            error = raised
        time.sleep(0.3)
    raise AssertionError(f"{what} did not come within {within_s:g} s: {error}")
