"""What tests have in common: the cases that were reported, the examples of the rules, answers and their text."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from cli.check.mapping import case_from
from compat import Answer, Case, Severity, Verdict, check
from compat.evidence.case import FIELDS
from compat.rules import ALL_RULES

CASES = Path(__file__).parent / "cases.csv"
DECIDES = {
    Severity.REFUSE: Verdict.INCOMPATIBLE,
    Severity.UNKNOWN: Verdict.UNKNOWN,
    Severity.WARN: Verdict.WITH_WARNING,
    Severity.NOTE: Verdict.COMPATIBLE,
}


def rows() -> list[dict[str, str]]:
    """Rows of cases.csv: the fields of a case, and its source's account of it."""
    with CASES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def case_of(row: dict[str, str]) -> Case:
    return case_from({name: row[name] for name in FIELDS if row[name]})


def reported() -> list[Case]:
    return [case_of(row) for row in rows()]


def examples() -> list[dict[str, str]]:
    return [{**each} for rule in ALL_RULES for each in (rule.text.passing, rule.text.failing, rule.text.undecided)]


def written(texts: dict[str, str]) -> list[tuple[str, str]]:
    """Each text that people write, with what it means; `texts` has those of one meaning in one cell (`T4|Tesla T4`)."""
    return [(text, meaning) for meaning, cell in texts.items() for text in cell.split("|")]


def checked(**case: str) -> Answer:
    return check(case_from(case))


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


def told(answer: Answer) -> str:
    return "; ".join(f"{each.rule} {each.severity}: {each.message}" for each in answer.findings)


def forget() -> None:
    """Empty the engine's caches: what an earlier test made would not be made from its rows again."""
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] == "compat":
            for each in [*vars(module).values()]:
                if hasattr(each, "cache_clear"):
                    each.cache_clear()
