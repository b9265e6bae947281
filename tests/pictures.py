"""Pictures of pages, for people to look at. A browser of a busy machine may fail to take one, and takes the next."""

from __future__ import annotations

from pathlib import Path

import stamina
from playwright.sync_api import Error, Page

ATTEMPTS = 5


def _is_passing(error: Exception) -> bool:
    return isinstance(error, Error) and "Unable to capture screenshot" in str(error)


@stamina.retry(on=_is_passing, attempts=ATTEMPTS, timeout=None)
def take(page: Page, path: Path, *, whole: bool = False) -> None:
    """Save a picture of what is to be seen, or of the whole page."""
    page.screenshot(path=path, full_page=whole)
