"""A hub on one Docker host when no GPU is free and when it is killed, and what it can reach of its engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import httpx
import pytest
from hub_browser import choose, log_in
from own_lab import OwnLab, own_lab
from playwright.sync_api import Page, expect

from lab.cluster import wait_until
from tests.stacks.stack_dcsg import HUB, SERVER, containers

pytestmark = [pytest.mark.lab, pytest.mark.browser, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def lab() -> Iterator[OwnLab]:
    with own_lab("dcsg") as lab:
        yield lab


@pytest.fixture(scope="module")
def url(lab: OwnLab) -> str:
    return f"{lab.output_of('hubs')[HUB].rstrip('/')}/"


@pytest.fixture(scope="module")
def password(lab: OwnLab) -> str:
    return lab.docker("exec", f"{HUB}-hub", "cat", "/credentials/login-password").strip()


@pytest.fixture
def certificates_are_trusted() -> bool:
    """The hub made its certificate itself."""
    return True


def test_who_comes_when_no_gpu_is_free_reads_who_has_them(lab: OwnLab, url: str, password: str, page: Page) -> None:
    hold = ("--label", "gpu-commons.org/pool=workstation", "--network", "gpu-commons-card-1")
    image = lab.docker("inspect", "--format", "{{.Image}}", f"{HUB}-hub").strip()
    lab.docker("run", "-d", "--name", "somebody", *hold, "--entrypoint", "sleep", image, "600")
    try:
        log_in(page, url, "cleo", password)
        choose(page, SERVER)
        expect(page.get_by_text(re.compile("somebody")).first).to_be_visible(timeout=120_000)
        assert f"{HUB}-server-cleo" not in containers(lab)
    finally:
        lab.docker("rm", "-f", "somebody")


def test_the_hub_and_gateways_reach_the_engine_through_the_filter_alone(lab: OwnLab) -> None:
    names = lab.docker("ps", "--format", "{{.Names}}").split()
    inspected = json.loads(lab.docker("inspect", *names))
    sources = {each["Name"].lstrip("/"): {mount.get("Source", "") for mount in each["Mounts"]} for each in inspected}
    with_socket = {name for name, found in sources.items() if any(each.endswith("docker.sock") for each in found)}
    assert with_socket == {f"{HUB}-engine"}
    ask = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/engine/hub.sock'); "
        "s.sendall(b'GET /images/json HTTP/1.0\\r\\n\\r\\n'); print(s.recv(99))"
    )
    assert " 403 " in lab.docker("exec", f"{HUB}-hub", "python3", "-c", ask)


def _does_not_answer(url: str) -> set[str]:
    try:
        return set() if httpx.get(url, verify=False).is_success else {url}  # noqa: S501 - the hub made it itself
    except httpx.TransportError:
        return {url}


def test_a_killed_hub_finds_its_servers_again(lab: OwnLab, url: str, password: str, page: Page) -> None:
    log_in(page, url, "bob", password)
    choose(page, SERVER)
    expect(page.locator(".jp-Launcher, .jp-Notebook").first).to_be_visible(timeout=180_000)
    before = containers(lab)
    assert f"{HUB}-server-bob" in before
    lab.docker("kill", f"{HUB}-hub")
    lab.docker("start", f"{HUB}-hub")
    wait_until(lambda: _does_not_answer(f"{url}hub/health"), within_s=60, what="the hub does not answer")
    page.context.clear_cookies()
    log_in(page, url, "bob", password)
    expect(page.locator(".jp-Launcher, .jp-Notebook").first).to_be_visible(timeout=120_000)
    assert {*before} <= {*containers(lab)}
