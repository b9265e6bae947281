"""What is written for people is true: generated pages, links, and the names of targets, commands, files, variables."""

from __future__ import annotations

import ast
import contextlib
import csv
import datetime as dt
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

import pytest

from lab import steps
from lab.__main__ import main as lab_commands
from policies.configuration import SECTION, PolicyConfig
from policies.configuration import json_schema as pack_schema
from policies.rules.index import ALL_RULES
from policies.stacks import configure
from settings.reading import json_schema

sys.path.insert(0, str(Path(__file__).parent / "imaging" / "inspection"))
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
PREVIEWED_ONLY = {"cupy", "dsmlp-next"}
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))


@cache
def text_of(page: Path) -> str:
    return page.read_text()


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def nothing_to_correct(check: Callable[[Path], Iterator[str]], pages: list[Path] = PAGES) -> None:
    """Fail with all that a check finds wrong on these pages, a line each."""
    found = [f"{name_of(page)}: {each}" for page in pages for each in check(page)]
    assert not found, "\n".join(["to correct:", *found])


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


def test_generated_pages_are_up_to_date(generated: dict[Path, str]) -> None:
    assert generated.keys() >= {DOCS / "reference" / name for name in GENERATED}
    behind = [name_of(page) for page, text in generated.items() if text != text_of(page)]
    assert not behind, f"these pages are behind the code: {', '.join(behind)}; run `make docs`"


def test_each_stack_says_what_of_it_was_seen_to_run_in_which_test() -> None:
    with (DOCS / "proof.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    stacks = {file.name.split(".")[1] for file in (ROOT / "stacks").glob("Pulumi.*.yaml")}
    assert {name for row in rows for name in row["stacks"].split()} == {"all", *stacks - PREVIEWED_ONLY}
    for row in rows:
        assert row["how"] in {"real", "stand-in", "never"}, row
        was_seen = row["how"] != "never"
        assert bool(row["shown_by"]) is bool(row["seen"]) is bool(row["with"]) is was_seen, row
        if was_seen:
            assert (ROOT / row["shown_by"]).exists(), row
            assert dt.date.fromisoformat(row["seen"]) <= dt.datetime.now(tz=dt.UTC).date(), row


def test_arguments_of_components_are_those_of_their_models() -> None:
    generated = generator().arguments().items()
    behind = [name_of(path) for path, text in generated if text != text_of(path)]
    assert not behind, (
        f"these modules are behind the models that read their values: {', '.join(behind)}; run `make docs`"
    )


@pytest.mark.slow
def test_no_description_of_an_argument_is_written_twice() -> None:
    """Short ones say the same of different things: the name of the pool."""
    places: dict[str, list[str]] = {}
    for folder in ("components", "platforms", "policies", "settings", "tools", "workloads"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            if "Written by `make docs`" not in text[:400]:
                for node in ast.walk(ast.parse(text)):
                    for line, described in _descriptions(node):
                        places.setdefault(described.rstrip(".").lower(), []).append(f"{file.relative_to(ROOT)}:{line}")
    assert len(places) > 300
    assert not {text: where for text, where in places.items() if len(where) > 1 and len(text) >= 30}


def _descriptions(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Descriptions in a call of Field or Key, or below a key of a TypedDict."""
    match node:
        case ast.Call(func=ast.Name(id="Field"), keywords=keywords):
            found: list[ast.expr] = [each.value for each in keywords if each.arg == "description"]
        case ast.Call(func=ast.Name(id="Key" | "needed"), args=[_, _, text, *_]):
            found = [text]
        case ast.ClassDef(bases=[ast.Name(id="TypedDict")], body=body):
            found = [each.value for each in body[1:] if isinstance(each, ast.Expr)]
        case _:
            found = []
    yield from ((each.lineno, str(each.value)) for each in found if isinstance(each, ast.Constant))


def test_the_folder_of_generated_pages_contains_nothing_else() -> None:
    assert sorted(path.name for path in (DOCS / "reference").iterdir()) == sorted(GENERATED)


def test_every_key_that_can_be_set_has_a_description() -> None:
    for schema in (json_schema, pack_schema):
        models = schema()["$defs"]
        keys = {f"{model}.{key}": value for model, each in models.items() for key, value in each["properties"].items()}
        assert len(keys) > 35, schema.__module__
        assert not [key for key, value in keys.items() if not value.get("description", "").strip()], schema.__module__


# --- links


def links(page: Path) -> Iterator[str]:
    """Targets of links that lie in the project, code left out."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text_of(page), flags=re.DOTALL)
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            yield target


@cache
def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()) for title in titles)
    return {title.replace(" ", "-") for title in plain}


def broken_links(page: Path) -> Iterator[str]:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield f"links to {link}"
        elif anchor and anchor not in anchors(target):
            yield f"links to {link}; there are {sorted(anchors(target))}"


def test_links_lead_somewhere() -> None:
    nothing_to_correct(broken_links)


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


@cache
def code(page: Path) -> str:
    """Fenced blocks and inline code of a page."""
    text = text_of(page)
    fences = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    return "\n".join([*fences, *re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))])


def unknown_targets(page: Path) -> Iterator[str]:
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    named = re.findall(r"(?:^|[\s(\"|&;])make(?: -s)?((?: +[a-z-]+(?![\w=./-]))+)", code(page), re.MULTILINE)
    words = {word for group in named for word in group.split()}
    yield from (f"the Makefile has no target {word}" for word in sorted(words - targets))


def test_make_targets_exist() -> None:
    nothing_to_correct(unknown_targets)


def unknown_lab_commands(page: Path) -> Iterator[str]:
    found = re.findall(r"python -m lab(?: --instance \S+)? ([a-z]+)(?: ([a-z-]+))?", code(page))
    for command, argument in found:
        if command not in lab_commands.commands:
            yield f"the lab has no command {command}"
        if command == "step" and argument and argument not in steps.NAMES:
            yield f"the lab has no step {argument}"


def test_lab_commands_and_steps_exist() -> None:
    nothing_to_correct(unknown_lab_commands)


def missing_files(page: Path) -> Iterator[str]:
    floors = "errors|compat|fleet|imaging|workloads|platforms|settings|components|policies|cli|lab"
    folders = rf"{floors}|images|stacks|tests|docs|\.github|\.ci"
    words = re.findall(rf"(?<![\w./<$-])((?:{folders})/[^\s`\"'()\[\],;:]*)", code(page))
    named = [word.rstrip("./") for word in words if not re.search(r"[<*$…]", word)]  # others have a blank to fill in
    text = text_of(page)
    saved = {  # by a reader of this page
        *re.findall(r"^<!-- file: (.*) -->$", text, re.MULTILINE),
        *(f"stacks/Pulumi.{name}.yaml" for name in re.findall(r"gpu-commons init ([a-z]+)", text)),
        *(f"images/{name}" for name in re.findall(r"gpu-commons image new ([a-z]+)", text)),
    }
    yield from (f"there is no {name}" for name in named if not (ROOT / name).exists() and name not in saved)


def test_files_that_are_named_exist() -> None:
    nothing_to_correct(missing_files)


@cache
def source_text() -> str:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    names = [name for name in listed.stdout.decode().splitlines() if not name.endswith((".md", ".lock", ".sum"))]
    skipped = (ROOT / "docs", Path(__file__))
    paths = [
        ROOT / name for name in names if not (ROOT / name).is_relative_to(skipped[0]) and ROOT / name != skipped[1]
    ]
    return "\n".join(path.read_text(errors="replace") for path in paths if path.is_file())


def unread_variables(page: Path) -> Iterator[str]:
    names = set(re.findall(r"\bGPU_COMMONS_[A-Z_]*[A-Z]", text_of(page)))
    yield from (f"nothing reads {name}" for name in sorted(names) if name not in source_text())


def test_variables_that_are_named_are_read_somewhere() -> None:
    nothing_to_correct(unread_variables)


def lines_of_two_sentences(page: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```|`[^`\n]*`", "x", text_of(page), flags=re.DOTALL)
    if text.startswith("<!-- Written by"):
        return
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#"))]
    yield from (line for line in lines if re.search(r"[a-z0-9)][.?!] +[A-Z][a-z]", re.sub(r"^\d+\.", "", line)))


def test_no_line_holds_two_sentences() -> None:
    # One sentence a line: then a diff shows which one changed. Tables, code and generated pages are exempt.
    nothing_to_correct(lines_of_two_sentences)


def test_every_rule_is_on_the_page_for_reviewers() -> None:
    page = text_of(DOCS / "review-a-preview.md")
    assert not [rule.id for rule in ALL_RULES if rule.id not in page]


# --- what pages show as configuration of the pack


def blocks_of(language: str, page: Path) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.DOTALL | re.MULTILINE)


def test_a_configuration_that_is_shown_can_be_given() -> None:
    blocks = [block for page in PAGES for block in blocks_of("json", page) if f'"{SECTION}": {{' in block]
    assert blocks
    for block in blocks:
        configure({policy: PolicyConfig(keys=keys) for policy, keys in json.loads(block).items()})
    configure({})


# --- what pages show as programs

EXAMPLES = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks_of("python", page), 1)
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


PARTS_OF_A_DECISION = ["Decision.", "Why.", "Rejected.", "Would change our mind."]


def mistakes_of_a_decision(record: Path) -> Iterator[str]:
    text = text_of(record)
    if not text.startswith("# "):
        yield "begins without a title"
    if (parts := re.findall(r"^\*\*([^*]+)\*\*", text, re.MULTILINE)) != PARTS_OF_A_DECISION:
        yield f"has the parts {parts}"
    if (words := len(text.split())) >= 420:
        yield f"has {words} words; a record is half a page"


def test_a_decision_says_what_why_what_not_and_until_when() -> None:
    nothing_to_correct(mistakes_of_a_decision, DECISIONS)


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [record.name[:5] for record in DECISIONS] == [f"{number:04}-" for number in range(1, len(DECISIONS) + 1)]
    assert len(DECISIONS) >= 10


def test_a_change_is_one_line_of_the_changelog() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120 or line.startswith(" ")] == []
