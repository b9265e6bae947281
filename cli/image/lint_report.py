"""The report of `image lint`: text for editors and hadolint's problem matchers, plain data, and SARIF."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from cli.words import Paint, counted, plain
from imaging.lint.check import Report
from imaging.lint.hadolint import page_of
from imaging.lint.recipe import Finding, Severity
from imaging.lint.rules.index import ALL_RULES, BY_ID
from imaging.lint.rules.rule import Rule

TONES = {Severity.ERROR: "bad", Severity.WARNING: "warn"}


def lint_text(reports: Sequence[Report], *, paint: Paint = plain) -> str:
    """`FILE:LINE ID severity: message`, then the fix below it; empty if nothing was found."""
    return "".join(f"{line}\n" for report in reports for line in _lines(report, paint))


def _lines(report: Report, paint: Paint) -> Iterator[str]:
    for finding in report.all:
        severity = paint(finding.severity.value, TONES[finding.severity])
        yield f"{report.path}:{finding.line} {finding.rule} {severity}: {finding.message}"
        yield paint(f"    fix: {finding.fix}", "quiet")


def remarks(report: Report) -> Iterator[str]:
    """Notes that are not findings, for standard error."""
    for line in report.unread:
        yield f"{report.path}:{line}: part of this line cannot be parsed and is not checked"
    yield from (f"{text}: what it installs is not checked" for text in report.left_out)
    if report.hadolint.problem:
        yield f"{report.path}: {report.hadolint.problem}"
    for waiver in report.unused:
        yield f"{report.path}:{waiver.line}: the waiver of {waiver.rule} is unused; remove it"


def summary(reports: Sequence[Report]) -> str:
    """`7 findings in 2 files, 1 waived`."""
    number = sum(len(report.all) for report in reports)
    waived = sum(len(report.waived) for report in reports)
    text = f"{counted(number, 'finding')} in {counted(len(reports), 'file')}"
    return f"{text}, {waived} waived" if waived else text


def lint_data(reports: Iterable[Report]) -> dict[str, Any]:
    """The stable form."""
    return {"files": [_report_data(report) for report in reports]}


def _report_data(report: Report) -> dict[str, Any]:
    waived = [{**_finding_data(finding), "reason": waiver.reason} for finding, waiver in report.waived]
    return {
        "file": report.path,
        "kind": report.kind.value,
        "findings": [_finding_data(finding) for finding in report.findings],
        "general": [_finding_data(finding) for finding in report.general],
        "hadolint": report.hadolint.has_read,
        "waived": waived,
        "unread_lines": list(report.unread),
    }


def _finding_data(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "reference": BY_ID[finding.rule].number if finding.rule in BY_ID else "",
        "line": finding.line,
        "severity": finding.severity.value,
        "message": finding.message,
        "fix": finding.fix,
        "sources": list(BY_ID[finding.rule].sources) if finding.rule in BY_ID else [page_of(finding.rule)],
    }


SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def sarif(reports: Sequence[Report], version: str) -> dict[str, Any]:
    """One run with every rule, so that a viewer can explain what was checked; waived findings are suppressed."""
    findings = [finding for report in reports for finding in (*report.all, *(each for each, _ in report.waived))]
    ours = [rule.id for rule in ALL_RULES]
    hadolints = sorted({finding.rule for finding in findings} - set(ours))
    index = {rule: number for number, rule in enumerate([*ours, *hadolints])}
    results = [_result(report, finding, index) for report in reports for finding in report.all]
    results += [
        {
            **_result(report, finding, index),
            "suppressions": [{"kind": "inSource" if waiver.line else "external", "justification": waiver.reason}],
        }
        for report in reports
        for finding, waiver in report.waived
    ]
    rules = [*map(_rule, ALL_RULES), *map(_hadolints, hadolints)]
    driver = {"name": "gpu-commons image lint", "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": rule.id,
        "name": "".join(part for part in rule.title.title() if part.isalnum()),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.says} {rule.why}"},
        "help": {"text": f"{rule.fix} Sources: {', '.join(rule.sources)}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"reference": rule.number} if rule.number else {"tags": ["general"]},
    }
    return data | {"helpUri": rule.sources[0]}


def _hadolints(rule: str) -> dict[str, Any]:
    """A hadolint rule with a finding. The result has the message, because it depends on the place."""
    by = "hadolint" if rule.startswith("DL") else "ShellCheck, run by hadolint"
    return {
        "id": rule,
        "name": rule,
        "shortDescription": {"text": f"{rule} of {by}"},
        "help": {"text": f"See {page_of(rule)}"},
        "properties": {"tags": ["general", "hadolint"]},
        "helpUri": page_of(rule),
    }


def _result(report: Report, finding: Finding, index: Mapping[str, int]) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": quote(report.path.removeprefix("./"))},
        "region": {"startLine": finding.line},
    }
    return {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}. Fix: {finding.fix}"},
        "locations": [{"physicalLocation": place}],
    }
