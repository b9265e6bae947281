"""What is written for people is true: generated pages, links, and the names of targets, commands, files, variables."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lab import steps
from lab.__main__ import main as lab_commands
from policies.configuration import SECTION, PolicyConfig
from policies.configuration import json_schema as pack_schema
from policies.rules.index import ALL_RULES
from policies.stacks import configure
from settings.reading import json_schema

sys.path.insert(0, str(Path(__file__).parent / "images" / "inspection"))
from made import image
from registry_server import Registry

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
GENERATED = [
    *(
        "stack.schema.json",
        "pack.schema.json",
        "case.schema.json",
        "answer.schema.json",
        "comment.schema.json",
        "matrix.schema.json",
    ),
    *(
        "stack.md",
        "pack.md",
        "components.md",
        "policies.md",
        "compat-rules.md",
        "facts.md",
        "lint-rules.md",
        "modules.md",
    ),
]
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@cache
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_make", DOCS / "make.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generated() -> dict[Path, str]:
    """Every generated page with its text."""
    pages: dict[Path, str] = generator().pages()
    return pages


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_page_is_up_to_date(generated: dict[Path, str], name: str) -> None:
    text = generated[DOCS / "reference" / name]
    assert (DOCS / "reference" / name).read_text() == text, f"docs/reference/{name} is behind the code: run `make docs`"


def test_the_folder_of_generated_pages_contains_nothing_else() -> None:
    assert sorted(path.name for path in (DOCS / "reference").iterdir()) == sorted(GENERATED)


@pytest.mark.parametrize("schema", [json_schema, pack_schema], ids=["stack file", "policy pack"])
def test_every_key_that_can_be_set_has_a_description(schema: Callable[[], dict[str, Any]]) -> None:
    models = schema()["$defs"]
    keys = {f"{model}.{key}": value for model, each in models.items() for key, value in each["properties"].items()}
    assert len(keys) > 35
    assert not [key for key, value in keys.items() if not value.get("description", "").strip()]


# --- links


def links(page: Path) -> Iterator[str]:
    """Targets of links that lie in the project, code left out."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()) for title in titles)
    return {title.replace(" ", "-") for title in plain}


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {link}; there are {sorted(anchors(target))}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = {ROOT / "README.md"}, [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        targets = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
        found = {each for target in targets for each in (target.glob("*.md") if target.is_dir() else [target])}
        new = {each for each in found if each.suffix == ".md"} - reached
        reached |= new
        waiting += new
    assert not set(PAGES) - reached


# --- what pages tell people to type


def code(page: Path) -> str:
    """Fenced blocks and inline code of a page."""
    text = page.read_text()
    fences = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    return "\n".join([*fences, *re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))])


@every_page
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:^|[\s(\"|&;])make(?: -s)?((?: +[a-z-]+(?![\w=./-]))+)", code(page), re.MULTILINE)
    words = {word for group in named for word in group.split()}
    assert words <= targets


@every_page
def test_lab_commands_and_steps_exist(page: Path) -> None:
    found = re.findall(r"python -m lab(?: --instance \S+)? ([a-z]+)(?: ([a-z-]+))?", code(page))
    for command, argument in found:
        assert command in lab_commands.commands
        if command == "step" and argument:
            assert argument in steps.NAMES


@every_page
def test_files_that_are_named_exist(page: Path) -> None:
    folders = "messages|compat|fleet|images|settings|kube|components|policies|cli|lab|stacks|tests|docs|\\.github|\\.ci"
    words = re.findall(rf"(?<![\w./<$-])((?:{folders})/[^\s`\"'()\[\],;:]*)", code(page))
    named = [word.rstrip("./") for word in words if not re.search(r"[<*$…]", word)]  # others have a blank to fill in
    text = page.read_text()
    saved = {  # by a reader of this page
        *re.findall(r"^<!-- file: (.*) -->$", text, re.MULTILINE),
        *(f"stacks/Pulumi.{name}.yaml" for name in re.findall(r"gpu-commons init ([a-z]+)", text)),
        *(f"images/{name}" for name in re.findall(r"gpu-commons image new ([a-z]+)", text)),
    }
    assert not [name for name in named if not (ROOT / name).exists() and name not in saved]


@cache
def source_text() -> str:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    names = [name for name in listed.stdout.decode().splitlines() if not name.endswith((".md", ".lock", ".sum"))]
    skipped = (ROOT / "docs", Path(__file__))
    paths = [
        ROOT / name for name in names if not (ROOT / name).is_relative_to(skipped[0]) and ROOT / name != skipped[1]
    ]
    return "\n".join(path.read_text(errors="replace") for path in paths if path.is_file())


@every_page
def test_variables_that_are_named_are_read_somewhere(page: Path) -> None:
    assert not {
        name for name in re.findall(r"\bGPU_COMMONS_[A-Z_]*[A-Z]", page.read_text()) if name not in source_text()
    }


@every_page
def test_no_line_holds_two_sentences(page: Path) -> None:
    # One sentence a line: then a diff shows which one changed. Tables, code and generated pages are exempt.
    text = re.sub(r"```.*?```|`[^`\n]*`", "x", page.read_text(), flags=re.DOTALL)
    if text.startswith("<!-- Written by"):
        return
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#"))]
    assert not [line for line in lines if re.search(r"[a-z0-9)][.?!] +[A-Z][a-z]", re.sub(r"^\d+\.", "", line))]


def test_every_rule_is_on_the_page_for_reviewers() -> None:
    page = (DOCS / "review-a-preview.md").read_text()
    assert not [rule.id for rule in ALL_RULES if rule.id not in page]


# --- what pages show as configuration of the pack

CONFIGURATIONS = [
    pytest.param(json.loads(block), id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```json\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE), 1)
    if f'"{SECTION}": {{' in block
]


@pytest.mark.parametrize("shown", CONFIGURATIONS)
def test_a_configuration_that_is_shown_can_be_given(shown: dict[str, Any]) -> None:
    configure({policy: PolicyConfig(keys=keys) for policy, keys in shown.items()})
    configure({})


# --- what pages show as programs

EXAMPLES = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE), 1)
]
# Components are registered with an engine that takes everything, as in their own tests.
IN_AN_ENGINE = """
import asyncio, sys
import pulumi
from pulumi.runtime.stack import run_pulumi_func

class Taking(pulumi.runtime.Mocks):
    def new_resource(self, args):
        print(args.typ)
        return args.name, dict(args.inputs)
    def call(self, args):
        return {}

async def run():
    pulumi.runtime.set_mocks(Taking(), preview=True)
    await run_pulumi_func(lambda: exec(sys.argv[1], {}))

asyncio.run(run())
"""
PUBLIC_IMAGE = "nvidia/cuda:12.4.1-runtime-ubuntu22.04"


def test_there_are_examples_of_programs() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.slow  # loads the engine for each
@pytest.mark.parametrize("block", EXAMPLES)
def test_a_program_on_a_page_runs_as_it_is_printed(block: str, tmp_path: Path) -> None:
    # Alone in a fresh interpreter: then it imports all that it needs. Only the registry is one that can be reached.
    with contextlib.closing(Registry()) as registry:
        program = block.replace(PUBLIC_IMAGE, registry.push(image({"a": b"1"})))
        prefix = ["-c", IN_AN_ENGINE] if "pulumi" in block else ["-c"]
        done = subprocess.run(
            [sys.executable, *prefix, program],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "DOCKER_CONFIG": str(tmp_path)},
        )
    assert done.returncode == 0, done.stderr
    if "pulumi" in block:
        ours = "from components" in block or "gpu-commons:index:" in block
        assert ("gpu-commons:index:" if ours else "kubernetes:") in done.stdout


# --- decisions


@pytest.mark.parametrize("record", DECISIONS, ids=lambda record: record.stem)
def test_a_decision_says_what_why_what_not_and_until_when(record: Path) -> None:
    text = record.read_text()
    assert text.startswith("# ")
    assert re.findall(r"^\*\*([^*]+)\*\*", text, re.MULTILINE) == [
        "Decision.",
        "Why.",
        "Rejected.",
        "Would change our mind.",
    ]
    assert len(text.split()) < 420, "a record is half a page"


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [record.name[:5] for record in DECISIONS] == [f"{number:04}-" for number in range(1, len(DECISIONS) + 1)]
    assert len(DECISIONS) >= 10


def test_a_change_is_one_line_of_the_changelog() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120 or line.startswith(" ")] == []
