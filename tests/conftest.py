"""Fixtures that everybody uses."""

from __future__ import annotations

import gc
import os
import re
import shlex
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from lab.instance import Instance

sys.path.insert(0, str(Path(__file__).parent))  # for pages.py and hub_browser.py: folders of tests are no packages

# A test run that is ended tears its labs down, as after Ctrl-C.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGTERM, signal.default_int_handler)

# Modules and cases that are loaded stay until the end: nothing is gained by a search for garbage among them.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# Folders that only have tests with servers, and those whose tests with servers are a part of `make soak`.
WITH_SERVERS = ("stacks", "conformance", "e2e", "faults")
SOAK_FOLDERS = ("lab", "faults")
MARKS_OF_A_FILE = re.compile(r"^pytestmark = (?:\[[^\]]*\]|[^\n]*)", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files that are left out as a whole (`-m "not lab"`) are not imported: what only they need takes seconds."""
    left_out = set(re.findall(r"\bnot (\w+)", config.option.markexpr))
    if not left_out or " or " in config.option.markexpr:
        return None
    if "lab" in left_out and collection_path.parent == Path(__file__).parent and collection_path.name in WITH_SERVERS:
        return True
    if collection_path.suffix != ".py" and not collection_path.is_dir():
        return None
    files = collection_path.rglob("test_*.py") if collection_path.is_dir() else [collection_path]
    return all(_marks(file) & left_out for file in files) or None


@cache
def _marks(file: Path) -> set[str]:
    """Marks that a file gives to all of its tests."""
    found = MARKS_OF_A_FILE.search(file.read_text())
    return set(re.findall(r"pytest\.mark\.(\w+)", found[0])) if found else set()


EXAMPLES = int(os.environ.get("GPU_COMMONS_TEST_EXAMPLES", "25"))  # `make test` tries 150, `make soak` 400
settings.register_profile("gpu-commons", deadline=None, max_examples=EXAMPLES)  # a busy machine is slow and not wrong
settings.load_profile("gpu-commons")

os.environ["GPU_COMMONS_TODAY"] = "2026-11-23"  # output that tests compare does not change with the calendar

GOLDEN = Path(__file__).parent / "golden"
WRITES = os.environ.get("GPU_COMMONS_GOLDEN") == "write"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.nodeid.split("/", 2)[1]
        if folder in WITH_SERVERS:
            item.add_marker(pytest.mark.lab)
        if folder in SOAK_FOLDERS and item.get_closest_marker("lab") and not item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.soak(part=folder))


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


@pytest.fixture(scope="module", autouse=True)
def recursion_limit_is_restored() -> Iterator[None]:
    """Celpy raises it for the whole process; what is nested too deeply must not depend on who ran before."""
    before = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(before)


@pytest.fixture(scope="session")
def no_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache without tools."""
    return tmp_path_factory.mktemp("no-tools")


@pytest.fixture(autouse=True)
def only_tests_of_the_lab_find_its_tools(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, no_tools: Path
) -> None:
    """On a new machine the other tests run while the tools are being built."""
    if request.node.get_closest_marker("lab") is None:
        monkeypatch.setattr("lab.toolchain.cache_home", lambda: no_tools)


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
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - few tests need it

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("chromium is not on PATH: run `make test`, or as root: apt-get install -y chromium", pytrace=False)
    unaware = tmp_path_factory.mktemp("browser") / "chromium"
    start = [sys.executable, str(Path(__file__).parent / "unaware_chromium.py"), chromium]
    unaware.write_text(f'#!/bin/sh\nexec {shlex.join(start)} "$@"\n')
    unaware.chmod(0o755)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=unaware, args=list(CHROMIUM_FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """Where screenshots are kept for people to look at."""
    folder = Path(os.environ.get("GPU_COMMONS_ARTEFACTS") or Path(__file__).parents[1] / "artefacts")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def certificates_are_trusted() -> bool:
    """Whether the browser takes a certificate of an authority that it does not know."""
    return False


@pytest.fixture
def page(
    browser: Browser, artefacts: Path, request: pytest.FixtureRequest, *, certificates_are_trusted: bool
) -> Iterator[Page]:
    """A browser window of somebody who has no cookies. What it showed last is kept, for the reader of a failure."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, ignore_https_errors=certificates_are_trusted)
    import pictures  # noqa: PLC0415 - it needs a browser, which most tests do without

    context.set_default_timeout(30_000)
    first = context.new_page()
    yield first
    pictures.take(first, artefacts / f"last-{request.node.name}.png")
    context.close()
