"""`explain`, `facts` and `schema`: looking things up."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rows import each_row

from cli.explain.command import of_hadolint
from cli.schema.shapes import answer_schema, case_schema
from compat.evidence.case import FIELDS, UNREAD
from compat.facts.lookup import table_names
from compat.rules import ALL_RULES
from compat.verdict.staleness import AGED
from imaging.inspection.recommendations import REMARKS
from imaging.lint.rules.index import ALL_RULES as LINT_RULES
from policies.rules.index import ABOUT_THE_PACK
from policies.rules.index import ALL_RULES as PACK_RULES

Run = Callable[..., Result]
PROJECT = Path(__file__).resolve().parents[2]


EVERY_ID = [
    *(rule.id for rule in ALL_RULES),
    *(rule.id for rule in PACK_RULES),
    *ABOUT_THE_PACK,
    *(rule.id for rule in LINT_RULES),
    *REMARKS,
    AGED,
    UNREAD,
]
OUTPUTS = [path for path in (PROJECT / "tests" / "golden").rglob("*") if path.is_file()]
OUTPUTS += [*(PROJECT / "docs").glob("*.md"), PROJECT / "README.md", PROJECT / "CHANGELOG.md"]
RECORDINGS = sorted((PROJECT / "tests" / "cli" / "recordings").glob("*.jsonl.gz"))


def test_explain_without_an_id_lists_every_id_by_family(run: Run) -> None:
    listed = [line.split()[0] for line in run("explain").stdout.splitlines() if line.startswith("  ")]
    assert listed == EVERY_ID
    data = json.loads(run("explain", "--json").stdout)
    assert [each["id"] for each in data] == EVERY_ID
    assert {each["family"] for each in data} == {"compatibility", "policy", "lint", "remark", "batch"}


@each_row("name", EVERY_ID[len(ALL_RULES) :])
def test_every_id_beside_the_engines_is_explained_with_its_page(run: Run, name: str) -> None:
    result = run("explain", name)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{name}: ")
    data = json.loads(run("explain", name, "--json").stdout)
    assert data["says"].endswith(".")
    assert data["says"].split()[0] in result.stdout
    assert (PROJECT / data["page"]).is_file()
    if data["family"] in {"policy", "lint"}:
        assert f"`{name}`" in (PROJECT / data["page"]).read_text()


@pytest.mark.slow
def test_every_id_in_an_output_of_ours_is_explained() -> None:
    """Golden outputs, pages and recorded previews with messages of the pack."""
    texts = {path.name: path.read_text() for path in OUTPUTS}
    texts |= {path.name: gzip.decompress(path.read_bytes()).decode() for path in RECORDINGS}
    found = {
        name: where
        for where, text in texts.items()
        for name in re.findall(r"\b(?:[RPD]-[A-Z]{2,}[A-Z0-9]*|DL\d{4}|SC\d{4})\b", text)
    }
    assert len(found) > 30
    assert {name: where for name, where in found.items() if name not in EVERY_ID and not of_hadolint(name)} == {}


@each_row(
    ("name", "says"),
    [
        ("DL3002", "the same mistake as D-ROOT"),
        ("dl3059", "image lint omits it"),
        ("DL3020", "COPY for files"),
        ("SC2086", "reports what it finds"),
    ],
)
def test_a_rule_of_hadolint_is_explained_with_its_own_page(run: Run, name: str, says: str) -> None:
    result = run("explain", name)
    assert result.exit_code == 0
    assert says in " ".join(result.stdout.split())
    assert f"/{name.upper()}" in json.loads(run("explain", name, "--json").stdout)["page"]


def test_every_remark_of_inspect_has_a_sentence() -> None:
    """`Remark` is made in one module; the kinds that it names there are those of the index."""
    source = (PROJECT / "imaging" / "inspection" / "recommendations.py").read_text()
    assert set(re.findall(r'Remark\(\s*"([a-z-]+)"', source)) == set(REMARKS)


@pytest.mark.parametrize(("written", "name"), [("d-base", "D-BASE"), ("E1", "D-BASE"), ("e5", "D-LIBRARIES")])
def test_a_lint_rule_is_found_by_its_id_and_by_its_number(run: Run, written: str, name: str) -> None:
    output = run("explain", written).stdout
    assert output.startswith(f"{name}: ")
    assert "Example that fails:\n  FROM " in output


@each_row("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_a_rule_is_explained_with_its_sources_and_its_examples_run_now(run: Run, rule: Any) -> None:
    output = run("explain", rule.id).stdout
    assert output.startswith(f"{rule.id}: {rule.text.title}\n")
    assert all(source in output for source in rule.sources)
    assert output.count("gpu-commons check --") == 3
    data = json.loads(run("explain", rule.id, "--json").stdout)
    assert data["says"] == rule.text.says
    verdicts = [each["answer"]["verdict"] for each in data["examples"].values()]
    assert len(verdicts) == 3


@pytest.mark.parametrize("written", ["r-minor", "minor", " R-MINOR "])
def test_a_rule_is_found_however_its_id_is_written(run: Run, written: str) -> None:
    assert run("explain", written).stdout.startswith("R-MINOR: ")


def test_an_unknown_rule_gets_the_nearest(run: Run) -> None:
    for written, meant in [
        ("R-MINER", "R-MINOR"),
        ("miner", "R-MINOR"),
        ("P-TREM", "P-TERM"),
        ("driver-insid", "driver-inside"),
    ]:
        result = run("explain", written)
        assert result.exit_code == 2
        assert f'"{written}" is not a known id; did you mean {meant}' in result.stderr
    assert "did you mean" not in run("explain", "zzz").stderr


def test_a_condition_needs_a_table(run: Run) -> None:
    result = run("facts", "--where", "architecture=Turing")
    assert result.exit_code == 2
    assert "name the TABLE" in result.stderr
    assert not result.stdout


def test_facts_without_a_table_lists_every_table(run: Run) -> None:
    assert [each["table"] for each in json.loads(run("facts", "--json").stdout)] == list(table_names())
    assert [line.split()[0] for line in run("facts").stdout.splitlines()] == list(table_names())


def test_tables_are_listed_with_what_they_hold(run: Run) -> None:
    assert not [line for line in run("facts").stdout.splitlines() if not re.search(r"\d rows  [A-Zc].*\.$", line)]


def test_unverified_cells_are_counted_by_table_and_shown_by_row(run: Run) -> None:
    output = run("facts", "--unverified").stdout
    listed = {each["table"]: each for each in json.loads(run("facts", "--unverified", "--json").stdout)}
    assert list(listed) == list(table_names())
    assert output.splitlines()[-1].startswith(f"{sum(each['cells'] for each in listed.values()):,} cells: ")
    rows = json.loads(run("facts", "gpu_model", "--unverified", "--json").stdout)
    assert len(rows) == listed["gpu_model"]["unsure_rows"] < listed["gpu_model"]["rows"]
    assert all(row["unverified_cells"] for row in rows)


def test_rows_come_with_their_source_and_the_day_it_was_read(run: Run) -> None:
    output = run("facts", "gpu_model", "--where", "model=Tesla T4").stdout
    assert output.startswith("Tesla T4")
    assert "compute_capability" in output
    assert "source" in output
    assert ", read 2026-" in output


def test_rows_are_chosen_by_column_and_by_text(run: Run) -> None:
    turing = json.loads(run("facts", "gpu_model", "--where", "architecture=turing", "--json").stdout)
    assert {row["architecture"] for row in turing} == {"Turing"}
    both = json.loads(run("facts", "gpu_model", "2080", "--where", "architecture=turing", "--json").stdout)
    assert 0 < len(both) < len(turing)
    assert all("2080" in " ".join(row.values()) for row in both)


def test_no_row_ends_with_1(run: Run) -> None:
    result = run("facts", "gpu_model", "no such words anywhere")
    assert result.exit_code == 1
    assert not result.stdout


@each_row(
    ("arguments", "says"),
    [
        (("gpu_modl",), "did you mean gpu_model?"),
        (("gpu-model",), "did you mean gpu_model?"),
        (("gpu_model", "--where", "archtecture=Turing"), "did you mean architecture?"),
        (("gpu_model", "--where", "Turing"), "is not COLUMN=VALUE"),
        (("../model",), "is not a table"),
    ],
)
def test_a_wrong_name_gets_the_nearest(run: Run, arguments: tuple[str, ...], says: str) -> None:
    result = run("facts", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


@each_row("kind", ["case", "answer", "matrix", "stack", "pack"])
def test_a_schema_is_json_with_a_draft_and_a_title(run: Run, kind: str) -> None:
    schema = json.loads(run("schema", kind).stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"].startswith("gpu-commons ")


def test_the_schema_of_a_case_has_its_fields_and_a_description_for_each() -> None:
    properties = case_schema()["properties"]
    assert list(properties) == list(FIELDS)
    assert not [name for name, schema in properties.items() if not schema["description"]]


@pytest.mark.parametrize("cuda", ["12.2", "13.0", ""])
def test_an_answer_has_exactly_what_its_schema_says(run: Run, cuda: str) -> None:
    output = run("check", "--gpu", "T4", "--driver", "535.54.03", "--cuda", cuda, "--sm-list", "sm_75", "--json").stdout
    conforms(json.loads(output), answer_schema(), answer_schema()["$defs"])


def conforms(value: Any, schema: Any, definitions: Any) -> None:
    """The part of JSON Schema that our schemas use."""
    if "$ref" in schema:
        return conforms(value, definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return conforms(value, schema["anyOf"][0 if value is None else 1], definitions)
    if "enum" in schema:
        assert value in schema["enum"]
        return None
    kinds = {"object": dict, "array": list, "string": str, "null": type(None)}
    assert isinstance(value, kinds[schema["type"]])
    if schema["type"] == "object":
        assert set(value) == set(schema["required"]) == set(schema["properties"])
        for name, each in value.items():
            conforms(each, schema["properties"][name], definitions)
    if schema["type"] == "array":
        for each in value:
            conforms(each, schema["items"], definitions)
    return None


def test_the_examples_of_a_rule_have_stable_keys(run: Run) -> None:
    assert [*json.loads(run("explain", "R-MINOR", "--json").stdout)["examples"]] == [
        "passes",
        "fails",
        "cannot be told",
    ]
    assert "Example that is undecided:" in run("explain", "R-MINOR").stdout
