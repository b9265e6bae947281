"""Somebody at the hub, with or without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from playwright.sync_api import Page

PASSWORD = "open sesame"  # noqa: S105 - of a hub that lives as long as its tests


@dataclass(frozen=True)
class Asker:
    """A running hub: where it answers, and what it wrote."""

    url: str
    log: Path

    @contextmanager
    def session(self, user: str) -> Iterator[httpx.Client]:
        """Somebody who is logged in, and has no browser: plain requests with cookies."""
        with httpx.Client(base_url=self.url, follow_redirects=True, timeout=20) as client:
            token = re.search(r'name="_xsrf" value="([^"]+)"', client.get("/hub/login").text)
            assert token
            form = {"username": user, "password": PASSWORD, "_xsrf": token[1]}
            assert client.post("/hub/login?next=/hub/home", data=form).is_success
            yield client

    def log_in(self, page: Page, user: str) -> None:
        """The login page, filled in."""
        page.goto(f"{self.url}/hub/login")
        page.get_by_label("Username:").fill(user)
        page.get_by_label("Password:").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
