"""A hub in a browser, as its users go through it: log in, choose a profile, run a cell in JupyterLab."""

from __future__ import annotations

import re
from typing import Final

import stamina
from playwright.sync_api import Error, Page, expect

# Chromium ends every request that has no connection yet when an interface of the machine comes or goes, and labs beside
# this one have such interfaces. JupyterLab tries none of them again ("Failed to fetch"): its users start over.
NETWORK_CHANGED: Final = "net::ERR_NETWORK_CHANGED"


def _lost(error: Exception) -> bool:
    return isinstance(error, Error) and NETWORK_CHANGED in error.message


@stamina.retry(on=_lost, attempts=5, timeout=None)
def go(page: Page, address: str) -> None:
    """To that address, again where the network changed on the way."""
    page.goto(address)


def log_in(page: Page, hub: str, user: str, password: str) -> None:
    go(page, hub)
    page.get_by_label("Username:").fill(user)
    page.get_by_label("Password:").fill(password)
    page.get_by_role("button", name="Sign in").click()


def stop_server(page: Page, hub: str) -> None:
    """By the button of the user's home page, which does nothing before the page's script is there."""
    go(page, f"{hub}hub/home")
    page.wait_for_function("window._jupyterhub_page_loaded")
    page.get_by_role("button", name="Stop My Server").click()


def choose(page: Page, title: str) -> None:
    page.get_by_role("radio", name=title).check()
    page.get_by_role("button", name="Start").click()


def open_notebook(page: Page, kernel: str, *, within_s: int, idle: str = "") -> None:
    """The launcher's card of that kernel makes a notebook; `idle` is what the toolbar calls the kernel."""
    lost: list[str] = []
    page.on("requestfailed", lambda request: lost.append(request.url) if request.failure == NETWORK_CHANGED else None)
    card = page.locator('.jp-LauncherCard[data-category="Notebook"]').filter(has_text=kernel)
    # Before the kernel is there the page still moves the cursor from place to place, and typed text gets lost.
    is_idle = expect(page.get_by_role("button", name=f"{idle or kernel} | Idle"))
    card.click(timeout=within_s * 1000)
    try:
        is_idle.to_be_visible(timeout=120_000)
    except AssertionError:
        if not lost:
            raise
        go(page, f"{page.url.partition('/lab')[0]}/lab?reset")
        card.click(timeout=60_000)
        is_idle.to_be_visible(timeout=120_000)


def run_cell(page: Page, code: str, output: re.Pattern[str]) -> str:
    """Type into the notebook's first cell and run it; returns what it printed, which must look like that."""
    cell = page.locator(".jp-Notebook .jp-CodeCell").first
    editor = cell.locator(".cm-content")
    editor.click()
    page.keyboard.type(code)
    expect(editor).to_have_text(code)
    page.keyboard.press("Shift+Enter")
    printed = cell.locator(".jp-OutputArea-output pre")
    expect(printed).to_have_text(output, timeout=60_000)
    return (printed.text_content() or "").strip()
