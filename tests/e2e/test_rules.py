"""Every rule through the real engine: what passes, what fails, what a preview cannot decide, and what is waived.

Three previews show all rows of the table in rule_rows.py; a fourth has a stack whose site nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from plain_stack import Config, Previewed, plain_stack
from rule_rows import PIN_FAILING, RULES, Never, Row, broken, sound, waived
from running_lab import RunningLab
from way_rows import WAYS

from cli.review.findings import Finding, Level
from policies.rules.index import ALL_RULES

CELLS = ("passing", "failing", "unknown", "waived")


def rows(*columns: str) -> Iterable[tuple[str, Row]]:
    """Rules with those of these columns that can be."""
    for rule, filled in RULES.items():
        for column in columns:
            if isinstance(row := getattr(filled, column), Row):
                yield rule, row


@pytest.fixture(scope="module")
def previews(servers: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Previewed]:
    """By the name of the stack file."""

    def preview(change: Callable[[Config], None], *columns: str) -> Previewed:
        stack = plain_stack(servers, tmp_path_factory.mktemp(change.__name__))
        stack.settings(change)
        shown = [each for _, row in rows(*columns) for each in (row, *row.beside)]
        stack.keep(facts for row in shown for facts in row.facts)
        return stack.preview(row.resource for row in shown if row.resource)

    return {
        "sound": preview(sound, "passing", "unknown"),
        "broken": preview(broken, "failing"),
        "waived": preview(waived, "failing"),
    }


@pytest.fixture(scope="module")
def ways(servers: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Previewed]:
    """Previews of what takes GPUs past the scheduler, and of its neighbours."""

    def preview(column: str) -> Previewed:
        stack = plain_stack(servers, tmp_path_factory.mktemp(column))
        stack.settings(sound)
        rows = [getattr(way, column) for way in WAYS.values()]
        return stack.preview(row.resource for row in rows)

    return {"bad": preview("bad"), "good": preview("good")}


@pytest.mark.parametrize("name", WAYS)
def test_a_way_past_the_scheduler_is_refused_and_its_neighbour_is_not(ways: dict[str, Previewed], name: str) -> None:
    way = WAYS[name]
    found = [each for each in ways["bad"].findings if way.bad.about in each.about and way.says in each.text]
    assert [each.level for each in found] == [way.level]
    of_neighbour = [each for each in ways["good"].findings if way.good.about in each.about]
    assert [each for each in of_neighbour if way.says in each.text or each.level is Level.REFUSED] == []


def test_only_what_is_refused_ends_a_preview_of_such_ways(ways: dict[str, Previewed]) -> None:
    assert {name: previewed.ended.code != 0 for name, previewed in ways.items()} == {"bad": True, "good": False}


def findings(previewed: Previewed, rule: str, row: Row) -> list[Finding]:
    return [each for each in previewed.findings if (each.rule, each.about) == (rule, row.about)]


def test_every_rule_has_a_row_and_every_cell_a_resource_or_a_reason() -> None:
    assert list(RULES) == [rule.id for rule in ALL_RULES]
    for rule, columns in RULES.items():
        for cell in (getattr(columns, column) for column in CELLS[:3]):
            assert cell.why if isinstance(cell, Never) else cell.about, rule
        assert columns.waived is None or columns.waived.why


@pytest.mark.parametrize("rule", [rule for rule, _ in rows("passing")])
def test_what_is_right_passes(previews: dict[str, Previewed], rule: str) -> None:
    assert findings(previews["sound"], rule, RULES[rule].passing) == []


@pytest.mark.parametrize("rule", [rule for rule, _ in rows("failing")])
def test_a_violation_is_refused_or_reported_where_the_rule_only_warns(
    previews: dict[str, Previewed], rule: str
) -> None:
    row = RULES[rule].failing
    assert isinstance(row, Row)
    found = findings(previews["broken"], rule, row)
    assert [each.level for each in found] == [Level.ADVICE if RULES[rule].is_advice else Level.REFUSED]


@pytest.mark.parametrize("rule", [rule for rule, _ in rows("unknown")])
def test_what_a_preview_cannot_know_is_not_decided(previews: dict[str, Previewed], rule: str) -> None:
    row = RULES[rule].unknown
    assert isinstance(row, Row)
    assert [each.level for each in findings(previews["sound"], rule, row)] == [Level.UNDECIDED]


@pytest.mark.parametrize("rule", [rule for rule, columns in RULES.items() if columns.waived is None])
def test_a_waived_finding_is_reported_and_lets_the_preview_pass(previews: dict[str, Previewed], rule: str) -> None:
    row = RULES[rule].failing
    assert isinstance(row, Row)
    (finding,) = findings(previews["waived"], rule, row)
    assert finding.level is Level.ADVICE
    assert finding.text.startswith("waived until 2999-12-31 by nobody: a test; ")


def test_a_preview_fails_only_where_something_is_refused(previews: dict[str, Previewed]) -> None:
    assert {name: previewed.ended.code != 0 for name, previewed in previews.items()} == {
        "sound": False,
        "broken": True,
        "waived": False,
    }


def test_waivers_and_softened_rules_are_reported_in_every_preview_that_has_them(previews: dict[str, Previewed]) -> None:
    def lines_of(name: str, rule: str) -> list[str]:
        return [text for _, _, text in previews[name].messages if text.startswith(f"{rule}: stack: ")]

    assert lines_of("sound", "P-WAIVER") == []
    (ended,) = lines_of("broken", "P-WAIVER")
    assert ended.startswith(f"P-WAIVER: stack: no longer waived: P-PIN of {PIN_FAILING.about}")
    assert len(lines_of("waived", "P-WAIVER")) == sum(columns.waived is None for columns in RULES.values())
    assert lines_of("sound", "P-LEVEL") == ["P-LEVEL: stack: the site only warns about what P-TERM refuses."]
    assert lines_of("broken", "P-LEVEL") == []


def test_without_a_site_every_workload_is_refused(
    servers: RunningLab, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stack = plain_stack(servers, tmp_path_factory.mktemp("without"))
    (stack.project / "stacks" / "Pulumi.plain.yaml").write_text("config: {}\n")
    shown = [row.resource for _, row in rows("passing") if row.resource]
    previewed = stack.preview(shown)
    refused = {name for level, name, text in previewed.messages if level == "mandatory" and text.startswith("P-SITE")}
    assert refused == {resource["name"] for resource in shown}
