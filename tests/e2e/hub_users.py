"""The administrator of a hub, as tests need one: who is there, and out with whom a test has logged in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from running_lab import RunningLab, wait_for


@dataclass(frozen=True)
class Administrator:
    """Logged in, with the cookies of a browser."""

    http: httpx.Client

    def users(self) -> set[str]:
        """Everybody whom the hub knows."""
        answer = self.call("GET", "users")
        assert answer.is_success, answer.text
        return {str(user["name"]) for user in answer.json()}

    def remove(self, name: str) -> None:
        """End the user's server and forget the user; homes are not the hub's to remove. Safe to repeat."""

        def gone() -> bool:
            # A user whose server starts or stops cannot be removed; a start is interrupted, an end takes its time.
            self.call("DELETE", f"users/{name}/server")
            return self.call("DELETE", f"users/{name}").status_code in (httpx.codes.NO_CONTENT, httpx.codes.NOT_FOUND)

        wait_for(gone, what=f"the user {name} is removed", within_s=120)

    @property
    def token(self) -> str:
        """What a page sends along with each call."""
        return next(cookie.value or "" for cookie in self.http.cookies.jar if cookie.name == "_xsrf")

    def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        """A call of the hub's API."""
        return self.http.request(method, f"hub/api/{path}", headers={"X-XSRFToken": self.token}, **more)


@contextmanager
def administrator(lab: RunningLab, hub: str, namespace: str = "e2e-hub") -> Iterator[Administrator]:
    """The user `admin` of the hub at that address."""
    password = lab.credentials(namespace, "hub-admin")["admin-password"]
    with httpx.Client(base_url=hub, trust_env=False, timeout=60, headers={"Referer": hub}) as http:
        http.get("hub/login").raise_for_status()
        token = http.cookies["_xsrf"]
        login = http.post("hub/login", data={"username": "admin", "password": password, "_xsrf": token})
        assert login.is_redirect, f"the administrator could not log in: {login.status_code}"
        http.get("hub/admin").raise_for_status()
        yield Administrator(http)
