"""The table at the end of a run of suites: suite, tests, minutes, and one line with the sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

HEAD = ("suite", "tests", "failed", "skipped", "minutes")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a suite, or of a step between suites, which has no tests. Fixture errors count as failures."""

    name: str
    seconds: float
    tests: int | None = None
    failed: int = 0
    skipped: int = 0

    @property
    def passed(self) -> int:
        return max(0, (self.tests or 0) - self.failed - self.skipped)


def of_step(name: str, seconds: float, *, succeeded: bool) -> Result:
    """A failed step is one failure."""
    return Result(name, seconds, failed=0 if succeeded else 1)


def of_suite(name: str, seconds: float, code: int, report: Path) -> Result:
    """From pytest's final report. A run that failed without a failed test is one failure more."""
    counts = _counts(report)
    tests, failed, skipped = (counts.get(key, 0) for key in ("tests", "failed", "skipped"))
    if code != 0 and failed == 0:
        return Result(name, seconds, tests + 1, 1, skipped)
    return Result(name, seconds, tests, failed, skipped)


def _counts(report: Path) -> dict[str, int]:
    try:
        suites = [*ET.parse(report).iter("testsuite")]  # noqa: S314 - pytest wrote it just now
    except (FileNotFoundError, ET.ParseError):
        return {}
    total = {key: sum(int(each.get(key, 0)) for each in suites) for key in ("tests", "failures", "errors", "skipped")}
    return {
        "tests": total["tests"],
        "failed": total["failures"] + total["errors"],
        "skipped": total["skipped"],
    }


def table(results: Sequence[Result], seconds: float) -> str:
    """A line for each, a line for the whole run, and a marker for programs that read the output."""
    tests, skipped = sum(each.tests or 0 for each in results), sum(each.skipped for each in results)
    passed, failed = sum(each.passed for each in results), sum(each.failed for each in results)
    total = Result("total", seconds, tests, failed, skipped)
    rows = [HEAD, *(_row(each) for each in (*results, total))]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(wide[0]), *(cell.rjust(width) for cell, width in zip(row[1:], wide[1:], strict=True))])
        for row in rows
    ]
    return "\n".join([*lines, "", f"{passed} passed, {failed} failed"])


def _row(result: Result) -> tuple[str, ...]:
    if result.tests is None:
        return (result.name, "", str(result.failed) if result.failed else "", "", _minutes(result.seconds))
    counts = (result.tests, result.failed, result.skipped)
    return (result.name, *map(str, counts), _minutes(result.seconds))


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f}"
