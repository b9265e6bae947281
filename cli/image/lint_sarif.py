"""The report of `image lint` as SARIF 2.1.0, which code review shows at the line.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from imaging.lint.check import Report
from imaging.lint.hadolint import page_of
from imaging.lint.recipe import Finding, Severity
from imaging.lint.rules.index import ALL_RULES
from imaging.lint.rules.rule import Rule

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
