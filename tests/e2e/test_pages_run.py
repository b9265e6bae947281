"""Every command block of every page, typed in order into a shell in an empty folder that has nothing but a clone.

The clone is the working tree, so what is proved is what is about to be committed. Programs, lab and registry are those
of `make env`, as for a reader who has run `make up`. tests/pages.py says how a page marks what is not typed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pages
import pytest
from running_lab import PROJECT, RunningLab

from lab import engine, sdks
from lab.instance import cache_home, open_instance, state_home
from lab.toolchain import Toolchain

pytestmark = pytest.mark.soak(part="pages")

PAGES = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted((PROJECT / "docs").glob("*.md"))]
WITH_COMMANDS = [page for page in PAGES if list(pages.commands(page.read_text()))]
WITHIN_S = 240
INSTANCES = ("department", "second")  # the pages start these labs, and remove them

# What is not typed here because it has been done, or because it would change the stack of whoever runs the tests.
SATISFIED: Mapping[str, str] = {
    "make up": "these tests run on what it leaves: lab/__main__.py starts it, or found it started",
    "make check": "the suite that runs this test",
    "make test": "CI, and lab/suites.py",
    "make soak": "the suite that runs this test",
    "pulumi destroy --stack dsmlp-fall": "tests/e2e/test_own_stack.py",
    "pulumi cancel --stack dsmlp-fall": "tests/faults/test_interrupted.py",
    "pulumi refresh --clear-pending-creates --stack dsmlp-fall": "tests/faults/test_interrupted.py",
    "pulumi up --stack dsmlp-fall": "tests/faults/test_interrupted.py",
}


@dataclass(frozen=True)
class Reader:
    """Somebody with a clone in a folder of their own, and the variables of a fresh login."""

    clone: Path
    variables: Mapping[str, str]
    stands_for: Mapping[str, str]

    def works_through(self, page: Path, results: Path) -> list[str]:
        text = page.read_text()
        ended = subprocess.run(
            ["bash", "--norc", "-c", pages.script(text, results, self.stands_for, SATISFIED)],
            cwd=self.clone,
            env=dict(self.variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
        )
        return [*pages.complaints(text, results, self.stands_for), *filter(None, [ended.stderr])]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working tree as a clone, with an environment as `make` would give it."""
    made = tmp_path_factory.mktemp("reader") / "gpu-commons"
    made.mkdir()
    listed = _git("ls-files", "-co", "--exclude-standard", "-z", cwd=PROJECT).split("\0")
    for name in filter(None, listed):
        if (PROJECT / name).is_file():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, made / name)
    _git("init", "--quiet", cwd=made)
    _git("add", "--all", cwd=made)
    _git("-c", "user.name=reader", "-c", "user.email=reader@example.edu", "commit", "--quiet", "-m", "clone", cwd=made)
    # Linked and not made anew: that would compile every package again. Only what names the clone is written by uv.
    subprocess.run(["cp", "-a", *_linked(made), str(PROJECT / ".venv"), str(made / ".venv")], check=True)
    uv = sdks.uv_folders()[-1] / "uv"
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    subprocess.run([uv, "sync", "--frozen", "--inexact", "--quiet"], cwd=made, env=environment, check=True)
    (made / ".venv" / "synced").touch()
    return made


@pytest.fixture(scope="module")
def reader(lab: RunningLab, clone: Path) -> Iterator[Reader]:
    instance, tools = open_instance(os.environ["GPU_COMMONS_LAB"]), Toolchain()
    if taken := [name for name in INSTANCES if (state_home() / name).exists()]:
        reason = f"the pages would remove your lab {taken[0]}: end it first, python -m lab --instance {taken[0]} clean"
        pytest.fail(reason, pytrace=False)
    home = clone.parent / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "uv").symlink_to(sdks.uv_folders()[-1] / "uv")
    ours = {*engine.environment(instance, tools), "VIRTUAL_ENV", "PYTEST_CURRENT_TEST"}
    kept = {
        name: value
        for name, value in lab.environ.items()
        if name not in ours and not name.startswith(("GPU_COMMONS_", "PULUMI_", "PYTHON", "UV_PROJECT_"))
    }
    folders = {str(engine.bin_folder(instance)), str(Path(sys.executable).parent), *map(str, tools.bin_folders())}
    path = [part for part in os.environ["PATH"].split(":") if part not in folders]
    variables = {
        **kept,
        "PATH": ":".join([str(home / "bin"), *path]),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(cache_home().parent),
        "XDG_STATE_HOME": str(state_home().parent),
        "INSTANCE": instance.name,
        "NO_COLOR": "1",
        "PULUMI_SKIP_CONFIRMATIONS": "true",  # a reader answers yes
    }
    images = lab.outputs["images"]
    hub = images["hub"]
    registry = hub.partition("/")[0]
    stands_for = {
        "registry.example.edu/gpu-commons/cupy-notebook:1.0.0": hub,
        "registry.example.edu": registry,
    }
    yield Reader(clone, variables, stands_for)
    # `make` in the clone has made the plugins of the lab start with the clone's Python.
    engine.prepare(instance, tools, print)


@pytest.fixture
def fresh(reader: Reader) -> Reader:
    """The same reader on another day: the clone as it was, and nothing beside it."""
    _git("checkout", "--quiet", ".", cwd=reader.clone)
    _git("clean", "-d", "--force", "--quiet", cwd=reader.clone)
    for other in reader.clone.parent.iterdir():
        if other.name not in {"gpu-commons", "home"}:
            shutil.rmtree(other)
    return reader


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_and_print_what_it_shows(page: Path, fresh: Reader, tmp_path: Path) -> None:
    if found := fresh.works_through(page, tmp_path):
        pytest.fail(f"{page.relative_to(PROJECT)}\n" + "\n".join(found), pytrace=False)


def _git(*argv: str, cwd: Path) -> str:
    return subprocess.run(["git", *argv], cwd=cwd, capture_output=True, text=True, check=True).stdout


def _linked(folder: Path) -> list[str]:
    return ["--link"] if folder.stat().st_dev == (PROJECT / ".venv").stat().st_dev else []
