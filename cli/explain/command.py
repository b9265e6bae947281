"""`gpu-commons explain`: the meaning of an id, with examples answered by the current rules."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

import click

from cli.answers import answer_data, reasons_text
from cli.terminal import InputError, as_json, json_text, painter, width
from cli.words import SIGNS, Paint
from compat import Case, check
from compat.rules import ALL_RULES, BY_ID
from compat.rules.rule import Rule

_EXAMPLES: Final = (("passes", "passing"), ("fails", "failing"), ("cannot be told", "undecided"))
_IN_WORDS: Final = {"cannot be told": "is undecided"}  # the key in the JSON is stable
_FAMILY_LETTERS: Final = ("R-", "P-", "D-")


@click.command()
@click.argument("rule", metavar="[ID]", required=False)
@as_json
def explain(rule: str | None, *, is_json: bool) -> None:
    """Explain an id: what the rule says, why, its sources and examples. Without ID, list them all.

    Every id in an output can be explained: rules of check (R-MINOR), of the policy pack (P-RUN), of image lint
    (D-BASE; DL3020 is hadolint's), and remarks of inspect (driver-inside).

    \b
    Examples:
      gpu-commons explain R-MINOR
      gpu-commons explain P-RUN
      gpu-commons explain
    """
    if rule is None:
        click.echo(_list_data() if is_json else "\n".join(_list_lines(painter())))
        return
    entry = _find(rule)
    if isinstance(entry, Rule):
        if is_json:
            examples = {kind: _example_data(getattr(entry.text, field)) for kind, field in _EXAMPLES}
            click.echo(json_text({**_rule_data(entry), "examples": examples}))
        else:
            click.echo("\n".join(_lines(entry, painter(), width())))
    else:
        click.echo(json_text(_entry_data(entry)) if is_json else "\n".join(_entry_lines(entry, painter(), width())))


def _list_data() -> str:
    return json_text([*map(_rule_data, ALL_RULES), *map(_entry_data, entries())])


def _list_lines(paint: Paint) -> Iterator[str]:
    compatibility = [Entry(each.id, "compatibility", each.text.title, each.text.says) for each in ALL_RULES]
    every = [*compatibility, *entries()]
    wide = max(len(each.id) for each in every) + 2
    for number, (family, title) in enumerate(FAMILIES.items()):
        if number:
            yield ""
        if family == "hadolint":
            yield paint(f"{title}: explain DL3059, explain SC2086", "strong")
            continue
        yield paint(title, "strong")
        yield from (f"  {each.id:<{wide}}{each.title}" for each in every if each.family == family)


def _find(text: str) -> Rule | Entry:
    wanted = text.strip().upper()
    if known := BY_ID.get(wanted) or BY_ID.get(f"R-{wanted}"):
        return known
    others = {each.id.upper(): each for each in entries()}
    by_number = {each.number: each for each in others.values() if each.number}
    for key in (wanted, f"P-{wanted}", f"D-{wanted}"):
        if entry := others.get(key) or by_number.get(key):
            return entry
    if entry := of_hadolint(wanted):
        return entry
    bare = {_bare(each): each for each in reversed([*BY_ID, *others])}
    close = [bare[match] for match in get_close_matches(_bare(wanted), bare, n=2, cutoff=0.65)]
    likely = (
        f"did you mean {' or '.join(others[each].id if each in others else each for each in close)}? " if close else ""
    )
    raise InputError(f'"{text.strip()}" is not a known id; {likely}gpu-commons explain lists them all')


def _bare(name: str) -> str:
    """MINOR of R-MINOR."""
    return name[2:] if name.startswith(_FAMILY_LETTERS) else name


def _rule_data(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "family": "compatibility",
        "title": rule.text.title,
        "says": rule.text.says,
        "severity": rule.text.severity.value,
        "need": rule.need and rule.need.value,
        "sources": rule.sources,
    }


def _entry_data(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "family": entry.family,
        "title": entry.title,
        "says": entry.says,
        "severity": entry.severity or None,
        "sources": entry.sources,
        "why": entry.why or None,
        "remedy": entry.remedy or None,
        "number": entry.number or None,
        "page": entry.page,
    }


def _example_data(example: Mapping[str, str]) -> dict[str, Any]:
    return {"case": dict(example), "answer": answer_data(check(Case(**example)))}


def _entry_lines(entry: Entry, paint: Paint, columns: int | None) -> Iterator[str]:
    yield paint(f"{entry.id}: {entry.title}", "strong")
    yield ""
    yield from _folded(" ".join(filter(None, (entry.says, entry.why))), columns)
    if entry.remedy:
        yield ""
        yield from _folded(f"What to do: {entry.remedy}", columns)
    yield ""
    worst = f"At worst: {entry.severity}. " if entry.severity else ""
    yield f"{worst}{FAMILIES[entry.family]}: {entry.page}"
    if entry.sources:
        yield from ("Sources:", *(f"  {source}" for source in entry.sources))
    for kind, text in (("passes", entry.passing), ("fails", entry.failing)):
        if text:
            yield ""
            yield f"Example that {kind}:"
            yield from (f"  {line}" for line in text.splitlines())


def _lines(rule: Rule, paint: Paint, columns: int | None) -> Iterator[str]:
    yield paint(f"{rule.id}: {rule.text.title}", "strong")
    yield ""
    yield from _folded(rule.text.says, columns)
    yield ""
    role = f"one way to meet a need: {rule.need.value}" if rule.need else "independent: its refusal is final"
    yield f"At worst: {rule.text.severity.value}; {role}."
    yield from ("Sources:", *(f"  {source}" for source in rule.sources))
    for kind, field in _EXAMPLES:
        example: Mapping[str, str] = getattr(rule.text, field)
        answer = check(Case(**example))
        sign = SIGNS[answer.verdict]
        yield ""
        yield f"Example that {_IN_WORDS.get(kind, kind)}:"
        yield "  gpu-commons check " + " ".join(
            f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in example.items()
        )
        yield paint(f"  {sign.symbol} {answer.verdict.value.replace('_', ' ')}", sign.tone)
        yield from reasons_text(answer, width=columns, paint=paint, indent="    ")


def _folded(text: str, columns: int | None) -> list[str]:
    return textwrap.wrap(text, min(columns or 100, 100))


FAMILIES: Final = {
    "compatibility": "Rules of `check` and `matrix`",
    "policy": "Rules of the policy pack, in previews, updates and `stack check`",
    "lint": "Rules of `image lint`",
    "hadolint": "Rules of hadolint and ShellCheck, which `image lint` runs",
    "remark": "Remarks of `inspect`",
    "batch": "Used instead of a rule in answers of `check`",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One id. The engine's rules have more details."""

    id: str
    family: str
    title: str
    says: str
    severity: str = ""  # its highest severity
    why: str = ""
    remedy: str = ""
    sources: tuple[str, ...] = ()
    passing: str = ""  # a file that passes
    failing: str = ""
    number: str = ""  # the linter's number for a mistake: JSON names it, and `explain` finds the rule by it
    page: str = ""


def entries() -> Iterator[Entry]:
    """All ids except the engine's rules, family by family, in the order of their indexes."""
    # Imported here: models and parsers cost a quarter of a second, and `explain R-MINOR` needs none of them.
    from imaging.inspection.recommendations import REMARKS  # noqa: PLC0415
    from imaging.lint.rules.index import ALL_RULES as LINT_RULES  # noqa: PLC0415
    from policies.rules.index import ABOUT_THE_PACK, ALL_RULES  # noqa: PLC0415

    for rule in ALL_RULES:
        worst = "warn" if rule.check_together else "refuse"
        says = f"{rule.says[0].upper()}{rule.says[1:]}."
        title = rule.says.partition(":")[0]
        remedy = rule.remedy_in()
        yield Entry(rule.id, "policy", title, says, worst, remedy=remedy, page="docs/reference/policies.md")
    for name, when in ABOUT_THE_PACK.items():
        yield Entry(name, "policy", when.partition(":")[0], when, page="docs/reference/policies.md")
    for lint in LINT_RULES:
        yield Entry(
            id=lint.id,
            family="lint",
            title=lint.title,
            says=lint.says,
            severity=lint.severity.value,
            why=lint.why,
            remedy=lint.fix,
            sources=lint.sources,
            passing=lint.passing.text,
            failing=lint.failing.text,
            number=lint.number,
            page="docs/reference/lint-rules.md",
        )
    for name, says in REMARKS.items():
        yield Entry(name, "remark", says.partition(":")[0].removesuffix("."), says, page="docs/inspect-an-image.md")
    unreadable = (
        "As a note: a field cannot be read and counts as not given. As `unknown`: a line of a batch is not a case, and "
        "standard error explains what is wrong with it."
    )
    old = (
        "The tables of drivers, or of machine images where the case names an instance type or an AMI release, were "
        "last read more than 60 days ago: what appeared since is not known."
    )
    yield Entry("TABLES", "batch", "Tables that were last read long ago", old, page="docs/check-an-image.md")
    yield Entry("CASE", "batch", "A field or a line that cannot be read", unreadable, page="docs/check-an-image.md")


def of_hadolint(rule: str) -> Entry | None:
    """A rule of hadolint (DL3059) or ShellCheck (SC2086), explained by its own page; None for anything else."""
    from imaging.lint.hadolint import is_hadolints, page_of  # noqa: PLC0415 - see above
    from imaging.lint.hadolint_rules import FIXES, LEFT_OUT, OURS  # noqa: PLC0415

    if not is_hadolints(rule):
        return None
    title, page = f"A rule of {'hadolint' if rule.startswith('DL') else 'ShellCheck'}", page_of(rule)
    if rule in OURS:
        says = f"It is the same mistake as {OURS[rule]}: image lint reports it under that id."
    elif rule in LEFT_OUT:
        says = f"image lint omits it: {LEFT_OUT[rule]}."
    else:
        says = "image lint runs hadolint and reports what it finds."
    return Entry(rule, "hadolint", title, says, remedy=FIXES.get(rule, ""), page=page)
