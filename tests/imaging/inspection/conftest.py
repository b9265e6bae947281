"""A registry with faults on purpose, and images to put into it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from imaging.inspection.credentials import Login
from imaging.inspection.image_locations import read_platform, registry_image
from imaging.inspection.reading import Inspected, inspect
from imaging.inspection.session import RetryPolicy, Session
from imaging.inspection.store import Store

sys.path.insert(0, str(Path(__file__).parent))  # folders of tests are no packages here
from registry_server import Registry

Read = Callable[..., Inspected]


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    yield server
    server.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache" / "gpu-commons" / "images")


@pytest.fixture
def retries() -> RetryPolicy:
    return RetryPolicy(attempts=3, first_wait_s=0.01, longest_wait_s=0.05, total_s=10, read_s=2)


@pytest.fixture
def read(retries: RetryPolicy) -> Iterator[Read]:
    """`read(reference, deep=True, store=store)` as the command does it, with little patience."""
    sessions: list[Session] = []

    def call(
        text: str,
        *,
        deep: bool = False,
        store: Store | None = None,
        platform: str = "linux/amd64",
        login: Callable[[str], Login | None] = lambda registry: None,  # noqa: ARG005
    ) -> Inspected:
        session = Session(find_login=login, retries=retries)
        sessions.append(session)
        source = registry_image(session, text)
        pinned = source.reference.digest or ""
        return inspect(source, wanted=read_platform(platform), deep=deep, pinned=pinned, store=store)

    yield call
    for session in sessions:
        session.__exit__()
