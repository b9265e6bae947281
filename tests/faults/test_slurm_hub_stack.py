"""A hub on a site with Slurm that is killed, and a server of it that is stopped."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import httpx
import pytest
from hub_browser import choose, log_in, stop_server
from own_lab import OwnLab, changes
from playwright.sync_api import Browser, Page, expect

from lab.cluster import wait_until
from tests.stacks.stack_quest import HUB, ONE, account, new_lab, password, queue, state

pytestmark = [pytest.mark.lab, pytest.mark.browser, pytest.mark.timeout(2400)]

SERVER = ".jp-Launcher, .jp-Notebook"


@pytest.fixture(scope="module")
def lab() -> Iterator[OwnLab]:
    with new_lab(HUB) as lab:
        yield lab


@pytest.fixture(scope="module")
def url(lab: OwnLab) -> str:
    return str(lab.output_of("hubs")[HUB])


@pytest.fixture
def certificates_are_trusted() -> bool:
    """The hub made its certificate itself."""
    return True


@pytest.fixture(scope="module", autouse=True)
def servers(lab: OwnLab, url: str, browser: Browser) -> None:
    """Ada and Bob have one each."""
    for user in ("ada", "bob"):
        context = browser.new_context(ignore_https_errors=True)
        page = context.new_page()
        log_in(page, url, user, password(lab))
        choose(page, ONE)
        expect(page.locator(SERVER).first).to_be_visible(timeout=300_000)
        context.close()
    assert {*queue(lab)} == {account(lab, "ada"), account(lab, "bob")}


def test_a_killed_hub_comes_back_with_the_next_up_and_its_servers_go_on(lab: OwnLab, url: str, page: Page) -> None:
    before = queue(lab)
    os.kill(json.loads((state(lab) / "hub.json").read_text())["pid"], signal.SIGKILL)
    wait_until(lambda: {url} - _silent(url), within_s=60, what="the hub was killed and still answers")
    assert changes(lab.up())
    assert queue(lab) == before
    log_in(page, url, "ada", password(lab))
    expect(page.locator(SERVER).first).to_be_visible(timeout=120_000)


def _silent(url: str) -> set[str]:
    """The address, unless a hub answers there."""
    try:
        return set() if httpx.get(f"{url}hub/health", verify=False).is_success else {url}  # noqa: S501 - made itself
    except httpx.TransportError:
        return {url}


def test_a_server_that_is_stopped_ends_its_job(lab: OwnLab, url: str, page: Page) -> None:
    log_in(page, url, "bob", password(lab))
    stop_server(page, url)
    wait_until(lambda: {account(lab, "bob")} & {*queue(lab)}, within_s=90, what="a stopped server still has its job")
    assert {*queue(lab)} == {account(lab, "ada")}
