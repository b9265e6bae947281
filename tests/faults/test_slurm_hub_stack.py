"""A hub on a site with Slurm, as its users meet it: each server is a job of its user's account."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pictures
import pytest
from hub_browser import choose, log_in, open_notebook, run_cell, stop_server
from own_lab import OwnLab, changes, own_lab
from playwright.sync_api import Browser, Page, expect

from lab.cluster import wait_until
from lab.machine import machine_account
from lab.servers import slurm_files
from tests.lab import slurm_labs

pytestmark = [pytest.mark.lab, pytest.mark.browser, pytest.mark.timeout(2400)]

HUB = "quest"
ONE, TWO = "One GPU for four hours", "All GPUs of a node for an hour"
KERNEL = "Python 3 (ipykernel)"
SEES = "import getpass, os; print(getpass.getuser(), os.environ['CUDA_VISIBLE_DEVICES'], os.environ['SLURM_JOB_ID'])"
SEEN = re.compile(r"^\S+ [\d,]+ \d+\s*$")


@pytest.fixture(scope="module")
def lab() -> Iterator[OwnLab]:
    with own_lab(HUB) as lab:
        names = [slurm_files.hub_account(lab.instance), account(lab, "ada"), account(lab, "bob")]
        yield lab
    assert not any(machine_account.exists(name) for name in names)


@pytest.fixture(scope="module")
def url(lab: OwnLab) -> str:
    return str(json.loads(lab.pulumi("stack", "output", "hubs", "--json"))[HUB])


@pytest.fixture(scope="module")
def password(lab: OwnLab) -> str:
    return (state(lab) / "credentials" / "login-password").read_text().strip()


@pytest.fixture
def certificates_are_trusted() -> bool:
    """The hub made its certificate itself."""
    return True


@pytest.fixture
def second_page(browser: Browser) -> Iterator[Page]:
    """Somebody else's window."""
    context = browser.new_context(ignore_https_errors=True)
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


def account(lab: OwnLab, user: str) -> str:
    return slurm_files.person_account(lab.instance, user)


def state(lab: OwnLab) -> Path:
    """Where the account of hubs keeps this one's."""
    home = slurm_files.home_of(lab.instance, slurm_files.hub_account(lab.instance))
    return home / ".gpu-commons" / "hubs" / HUB


def queue(lab: OwnLab) -> dict[str, tuple[str, str]]:
    """Jobs of the hub that Slurm has: account → number and GPUs."""
    shown = slurm_labs.queue(lab.instance, "%u %i %b", "-n", HUB)
    return {name: (number, gpus) for name, number, gpus in shown}


def test_it_ends_with_the_hubs_address_and_how_to_log_in(lab: OwnLab, url: str) -> None:
    assert url in lab.output
    assert "log in as ada or bob" in lab.output


def test_two_users_run_a_cell_each_in_a_job_of_their_own_account_on_devices_of_their_own(
    lab: OwnLab, url: str, password: str, page: Page, second_page: Page, artefacts: Any
) -> None:
    seen = {}
    for user, title, window in (("ada", ONE, page), ("bob", TWO, second_page)):
        log_in(window, url, user, password)
        pictures.take(window, artefacts / f"slurm-{user}-profiles.png")
        choose(window, title)
        open_notebook(window, "Python 3", within_s=300, idle=KERNEL)
        seen[user] = run_cell(window, SEES, SEEN).split()
    pictures.take(second_page, artefacts / "slurm-cell.png")
    jobs = queue(lab)
    assert {*jobs} == {account(lab, "ada"), account(lab, "bob")}
    assert seen["ada"] == [account(lab, "ada"), "0", jobs[account(lab, "ada")][0]]
    assert seen["bob"] == [account(lab, "bob"), "0,1", jobs[account(lab, "bob")][0]]


def test_a_killed_hub_comes_back_with_the_next_up_and_its_servers_go_on(
    lab: OwnLab, url: str, password: str, page: Page
) -> None:
    before = queue(lab)
    os.kill(json.loads((state(lab) / "hub.json").read_text())["pid"], signal.SIGKILL)
    wait_until(lambda: {url} - _silent(url), within_s=60, what="the hub was killed and still answers")
    assert changes(lab.up())
    assert queue(lab) == before
    log_in(page, url, "ada", password)
    expect(page.locator(".jp-Launcher, .jp-Notebook").first).to_be_visible(timeout=120_000)


def _silent(url: str) -> set[str]:
    """The address, unless a hub answers there."""
    try:
        return set() if httpx.get(f"{url}hub/health", verify=False).is_success else {url}  # noqa: S501 - made itself
    except httpx.TransportError:
        return {url}


def test_a_server_that_is_stopped_ends_its_job(lab: OwnLab, url: str, password: str, page: Page) -> None:
    log_in(page, url, "bob", password)
    stop_server(page, url)
    wait_until(lambda: {account(lab, "bob")} & {*queue(lab)}, within_s=90, what="a stopped server still has its job")
    assert {*queue(lab)} == {account(lab, "ada")}


def test_a_second_run_changes_nothing_and_destroy_leaves_the_queue_empty_and_the_database(lab: OwnLab) -> None:
    assert not changes(lab.up())
    lab.pulumi("destroy", "--yes", "--skip-preview")
    wait_until(lambda: {*queue(lab)}, within_s=60, what="jobs of users outlive their hub")
    assert (state(lab) / "jupyterhub.sqlite").exists()
    assert not (slurm_files.image_store(lab.instance) / "hubs" / HUB).exists()
