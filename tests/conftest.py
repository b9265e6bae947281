"""Fixtures that everybody uses."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from lab.instance import Instance

settings.register_profile("gpu-commons", deadline=None)  # a busy machine is slow and not wrong
settings.load_profile("gpu-commons")

os.environ["GPU_COMMONS_TODAY"] = "2026-11-23"  # output that tests compare does not change with the calendar

GOLDEN = Path(__file__).parent / "golden"
WRITES = os.environ.get("GPU_COMMONS_GOLDEN") == "write"


@dataclass(frozen=True)
class GoldenFile:
    """A whole text that was read and approved once."""

    path: Path

    def equals(self, text: str) -> None:
        """Compare with the file, or write it under `make golden`, for somebody to read as a diff."""
        if WRITES:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(text)
            return
        approved = self.path.read_text() if self.path.is_file() else ""
        name = self.path.relative_to(GOLDEN)
        assert text == approved, f"{name} differs: `make golden` rewrites it, for you to read as a diff"


@pytest.fixture
def golden() -> Callable[[str], GoldenFile]:
    """`golden("renderer/case.ext").equals(text)` compares a whole rendered text with its approved form."""
    return lambda name: GoldenFile(GOLDEN / name)


@pytest.fixture(scope="session", autouse=True)
def no_child_is_left() -> Iterator[None]:
    """Fail the run when a process that its tests started still runs, or was not waited for, at its end."""
    yield
    left = [str(child.as_dict(["pid", "name", "status", "cmdline"])) for child in psutil.Process().children()]
    if left:
        pytest.fail("\n  ".join(["the tests of this process leave child processes:", *left]), pytrace=False)


@pytest.fixture(scope="session")
def new_instance() -> Callable[..., Instance]:
    """`new_instance(home, "registry")`: a lab with a free port for each of these servers, and nothing that runs."""
    from lab.instance import Instance  # noqa: PLC0415 - few tests need it

    def make(home: Path, *servers: str) -> Instance:
        instance = Instance("lab-tests", 0, home, {server: _free_port() for server in servers})
        for folder in (instance.run, instance.logs, instance.config, instance.data):
            folder.mkdir(parents=True)
        return instance

    return make


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


CHROMIUM_FLAGS = (
    "--no-sandbox",  # Chromium refuses to run as root with it
    "--disable-gpu",
    # Nothing leaves the machine.
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - few tests need it

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("chromium is not on PATH: run `make test`, or as root: apt-get install -y chromium", pytrace=False)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM_FLAGS))
        yield launched
        launched.close()
