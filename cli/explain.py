"""`gpu-commons explain`: the rules, with their examples as they come out today."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

import click

from cli.reports.answers import answer_data, reasons_text
from cli.reports.words import SIGNS, Paint
from cli.terminal import InputError, as_json, json_text, painter, width
from components.compat import Case, check
from components.compat.rules.index import ALL_RULES, BY_ID
from components.compat.rules.rule import Rule

_ELSEWHERE: Final = {
    "P-": "a rule of the policy pack: docs/reference/policies.md has it",
    "D-": "a rule of `image lint`: docs/reference/lint-rules.md has it",
}
_EXAMPLES: Final = (("passes", "passing"), ("fails", "failing"), ("cannot be told", "undecided"))


@click.command()
@click.argument("rule", required=False)
@as_json
def explain(rule: str | None, *, is_json: bool) -> None:
    """A rule: what it says, its sources, its examples. Without RULE, the list of all rules.

    \b
    Examples:
      gpu-commons explain R-MINOR
      gpu-commons explain
    """  # noqa: D301 - \b is click's: it keeps the lines
    if rule is None:
        listed: Any = [_rule_data(each) for each in ALL_RULES]
        click.echo(json_text(listed) if is_json else "\n".join(f"{each.id:<14}{each.title}" for each in ALL_RULES))
        return
    found = _find(rule)
    if is_json:
        examples = {kind: _example_data(getattr(found, field)) for kind, field in _EXAMPLES}
        click.echo(json_text({**_rule_data(found), "examples": examples}))
    else:
        click.echo("\n".join(_lines(found, painter(), width())))


def _find(text: str) -> Rule:
    wanted = text.strip().upper()
    found = BY_ID.get(wanted) or BY_ID.get(f"R-{wanted}")
    if found is None and wanted[:2] in _ELSEWHERE:
        raise InputError(f'"{text}" is {_ELSEWHERE[wanted[:2]]}; here are those of `check`')
    if found is None:
        close = get_close_matches(wanted, BY_ID, n=2) or get_close_matches(f"R-{wanted}", BY_ID, n=2)
        likely = f"did you mean {' or '.join(close)}? " if close else ""
        raise InputError(f'"{text}" is not a rule; {likely}rules are {", ".join(BY_ID)}')
    return found


def _rule_data(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "says": rule.says,
        "severity": rule.severity.value,
        "need": rule.need and rule.need.value,
        "sources": rule.sources,
    }


def _example_data(example: Mapping[str, str]) -> dict[str, Any]:
    return {"case": dict(example), "answer": answer_data(check(Case(**example)))}


def _lines(rule: Rule, paint: Paint, columns: int | None) -> Iterator[str]:
    yield paint(f"{rule.id}: {rule.title}", "strong")
    yield ""
    yield from _folded(rule.says, columns)
    yield ""
    role = f"one way to meet a need: {rule.need.value}" if rule.need else "stands alone: its refusal is final"
    yield f"At worst: {rule.severity.value}; {role}."
    yield from ("Sources:", *(f"  {source}" for source in rule.sources))
    for kind, field in _EXAMPLES:
        example: Mapping[str, str] = getattr(rule, field)
        answer = check(Case(**example))
        sign = SIGNS[answer.verdict]
        yield ""
        yield f"Example that {kind}:"
        yield "  gpu-commons check " + " ".join(
            f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in example.items()
        )
        yield paint(f"  {sign.symbol} {answer.verdict.value.replace('_', ' ')}", sign.tone)
        yield from reasons_text(answer, width=columns, paint=paint, indent="    ")


def _folded(text: str, columns: int | None) -> list[str]:
    return textwrap.wrap(text, min(columns or 100, 100))
