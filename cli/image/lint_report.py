"""The report of `image lint`: text for editors and hadolint's problem matchers, and plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cli.words import Paint, counted, plain
from imaging.lint.check import Report
from imaging.lint.hadolint import page_of
from imaging.lint.recipe import Finding, Severity
from imaging.lint.rules.index import BY_ID

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
