"""Somebody at the hub, with or without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page

PASSWORD = "open sesame"  # noqa: S105 - of a hub that lives as long as its tests

DIGEST = "sha256:" + "0" * 64
ML: dict[str, Any] = {
    "image": f"registry.example.edu/ml@{DIGEST}",
    "image_name": "ml-image",
    "gpu": "GeForce RTX 2080 Ti",
    "gpu_memory_gb": 11,
    "pool": "pool-b",
    "contents": {
        "title": "Machine learning",
        "cuda_lines": ["10.1"],
        "frameworks": ["TensorFlow 2.3.4", "PyTorch 1.7.1"],
        "packages": ["NumPy 2.4.6"],
        "missing": ["what jupyter/datascience-notebook brings"],
        "missing_reason": "not reachable from here",
    },
}
PROFILES: list[dict[str, Any]] = [
    {
        "name": "cpu",
        "title": "CPU only",
        "image": f"registry.example.edu/base@{DIGEST}",
        "image_name": "base-image",
        "cpu": 1,
        "memory_gib": 2,
    },
    {**ML, "name": "one", "title": "One RTX 2080 Ti", "gpus": 1, "cpu": 4, "memory_gib": 16},
    {**ML, "name": "two", "title": "Two RTX 2080 Ti", "gpus": 2, "cpu": 8, "memory_gib": 32},
    {**ML, "name": "odd", "title": "{{ 7 * 6 }} <b>&", "gpus": 1, "cpu": 4, "memory_gib": 16, "pool": "pool-c"},
]
ARGS: dict[str, Any] = {
    "hub_image": f"registry.example.edu/hub@{DIGEST}",
    "proxy_image": f"registry.example.edu/proxy@{DIGEST}",
    "profiles": PROFILES,
    "expose": {"kind": "cluster_ip"},
    "authenticator": {"kind": "dummy"},
    "core_pool": "pool-a",
    "cull": {"idle_s": 3600, "max_age_s": 43200},
    "site_name": "dsmlp",
    "help_url": "https://help.example.edu/gpus",
}


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


def window(browser: Browser, hub: Asker, user: str, **options: Any) -> Page:
    """The spawn page in a window of somebody who has just logged in."""
    page = browser.new_context(**options).new_page()
    hub.log_in(page, user)
    page.goto(f"{hub.url}/hub/spawn")
    return page
