"""One answer as plain data (the stable form) and as text for a terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

from cli.words import SIGNS, TONES, Paint, folded, plain, source_and_date
from compat import Answer, CaseError, Change, Finding, Remedy, Severity, Verdict
from compat.evidence.case import UNREAD
from compat.values.fact import Fact


def answer_data(answer: Answer) -> dict[str, Any]:
    """The answer as docs/reference/answer.schema.json describes it."""
    return {"id": answer.id, **body_data(answer)}


def body_data(answer: Answer) -> dict[str, Any]:
    """The answer without its id: the same for equal cases."""
    return {
        "verdict": answer.verdict.value,
        "findings": [finding_data(finding) for finding in answer.findings],
        "remedy": remedy_data(answer.remedy),
        "basis": answer.basis,
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """One finding of an answer."""
    fact = finding.fact
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "fact": fact.text,
        "source": fact.source,
        "date": fact.date,
        "places": finding.places,
    }


def remedy_data(remedy: Remedy | None) -> dict[str, Any] | None:
    """The remedy of an answer; null if nothing has to change."""
    if remedy is None:
        return None
    otherwise = [{"text": way.text, "changes": _changes_data(way.changes)} for way in remedy.otherwise]
    return {"text": remedy.text, "changes": _changes_data(remedy.changes), "otherwise": otherwise}


def _changes_data(changes: tuple[Change, ...]) -> list[dict[str, str]]:
    return [{"field": each.field, "from": each.from_, "to": each.to} for each in changes]


def unreadable_data(name: str, line: int, problem: str) -> dict[str, Any]:
    """The answer to a line that is not a case."""
    finding = Finding(UNREAD, Severity.UNKNOWN, problem, Fact("", "", ""), (f"line {line}",))
    return answer_data(Answer(name, Verdict.UNKNOWN, (finding,), None))


def problem_lines(error: CaseError, names: Mapping[str, str] | None = None) -> Iterator[str]:
    """One line for each field that cannot be read; `names` maps fields to the names used here."""
    for problem in error.problems:
        value = f'"{problem.value}" ' if problem.value else ""
        fix = f"; {problem.fix}" if problem.fix else ""
        yield f"{(names or {}).get(problem.field, problem.field)}: {value}{problem.reason}{fix}"


def answer_text(answer: Answer, *, width: int | None = None, paint: Paint = plain) -> str:
    """The verdict, what decided it, and what to change. Lines are folded at `width`; None leaves them whole."""
    sign = SIGNS[answer.verdict]
    head = f"{sign.symbol} {answer.verdict.value.replace('_', ' ')}" + (f": {answer.id}" if answer.id else "")
    return "\n".join([paint(head, sign.tone), *reasons_text(answer, width=width, paint=paint)]) + "\n"


def reasons_text(
    answer: Answer, *, width: int | None = None, paint: Paint = plain, indent: str = "  "
) -> Iterator[str]:
    """Lines of an answer below its verdict."""
    for finding in answer.findings:
        label = f"{finding.severity.value:<9}{finding.rule}  "
        inner = indent + " " * 9
        lines = folded(finding.message, indent + label, inner, width)
        yield lines[0].replace(label, paint(label, TONES[finding.severity]), 1)
        yield from lines[1:]
        shown = finding.fact.text if finding.fact.text != finding.message else ""
        fact = " · ".join(filter(None, (shown, source_and_date(finding.fact.source, finding.fact.date))))
        if fact:
            yield from (paint(line, "quiet") for line in folded(fact, inner, inner, width))
        if finding.places:
            yield from folded("at " + ", ".join(finding.places), inner, inner, width)
    if answer.basis:
        yield paint(f"{indent}judged by {answer.basis}", "quiet")
    if answer.remedy:
        label = f"{'change':<9}"
        lines = folded(answer.remedy.text, indent + label, indent + " " * 9, width)
        yield lines[0].replace(label, paint(label, "strong"), 1)
        yield from lines[1:]
