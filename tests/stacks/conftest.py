"""A lab for each stack, two at a time; windows of a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.stacks.contract import ALONE, Window


class OneWorkerForEachStack(LoadScopeScheduling):
    """The steps of a stack on one worker, in order, and after those of a stack that needs the same of the machine."""

    def _split_scope(self, nodeid: str) -> str:
        stack = nodeid.rpartition("[")[2].rstrip("]")
        return ALONE.get(stack, stack)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return OneWorkerForEachStack(config, log)


@pytest.fixture
def window(request: pytest.FixtureRequest, artefacts: Path) -> Iterator[Window]:
    """Opens windows of people who have no cookies and trust a hub that made its certificate itself."""
    import pictures  # noqa: PLC0415 - it needs a browser, which most stacks do without

    opened: list[Page] = []

    def open_one() -> Page:
        context = request.getfixturevalue("browser").new_context(
            viewport={"width": 1280, "height": 800}, ignore_https_errors=True
        )
        context.set_default_timeout(30_000)
        opened.append(context.new_page())
        return opened[-1]

    yield open_one
    for number, page in enumerate(opened, 1):
        pictures.take(page, artefacts / f"last-{request.node.name}-{number}.png")
        page.context.close()
