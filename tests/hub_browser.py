"""A hub in a browser, as its users go through it: log in, choose a profile, run a cell in JupyterLab."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect


def log_in(page: Page, hub: str, user: str, password: str) -> None:
    page.goto(hub)
    page.get_by_label("Username:").fill(user)
    page.get_by_label("Password:").fill(password)
    page.get_by_role("button", name="Sign in").click()


def stop_server(page: Page, hub: str) -> None:
    """By the button of the user's home page, which does nothing before the page's script is there."""
    page.goto(f"{hub}hub/home")
    page.wait_for_function("window._jupyterhub_page_loaded")
    page.get_by_role("button", name="Stop My Server").click()


def choose(page: Page, title: str) -> None:
    page.get_by_role("radio", name=title).check()
    page.get_by_role("button", name="Start").click()


def open_notebook(page: Page, kernel: str, *, within_s: int, idle: str = "") -> None:
    """The launcher's card of that kernel makes a notebook; `idle` is what the toolbar calls the kernel."""
    page.locator('.jp-LauncherCard[data-category="Notebook"]').filter(has_text=kernel).click(timeout=within_s * 1000)
    # Before the kernel is there the page still moves the cursor from place to place, and typed text gets lost.
    expect(page.get_by_role("button", name=f"{idle or kernel} | Idle")).to_be_visible(timeout=120_000)


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
