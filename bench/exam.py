"""Scores the compatibility engine on public reports, and prints a table. Nothing is asserted.

    python bench/exam.py FILE…            a line for each exam
    python bench/exam.py --by host FILE   a line for each host, framework, …
    python bench/exam.py --wrong FILE     also the rows that were not right; reading them ends the exam as a blind one

An exam is a CSV file: fields of a case, `expected` (what the people of the thread saw: compatible or incompatible),
`why`, `source` and `collected`. docs/blind-exams.md says how one is made. A row that cannot be read counts as unknown:
its reporter gets no answer.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from compat import Verdict, case_from, check
from compat.evidence.case import FIELDS, CaseError

RUNS = {Verdict.COMPATIBLE, Verdict.WITH_WARNING}  # a warning is not wrong where it ran
OUTCOMES = ("right", "wrong compatible", "wrong incompatible", "unknown")


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--by", type=click.Choice(FIELDS), help="A line for each value of this field.")
@click.option("--wrong", is_flag=True, help="List the rows that were not right, with the findings.")
def main(files: tuple[Path, ...], by: str | None, *, wrong: bool) -> None:
    """Print the score of each exam."""
    scores: dict[str, Counter[str]] = defaultdict(Counter)
    missed: list[tuple[dict[str, str], str, list[str]]] = []
    for file in files:
        with file.open(encoding="utf-8", newline="") as opened:
            for row in csv.DictReader(opened):
                outcome, reasons = score(row)
                scores[(row[by] or "not stated") if by else file.stem][outcome] += 1
                if outcome != "right":
                    missed.append((row, outcome, reasons))
    _print(scores, by or "exam")
    for row, outcome, reasons in missed if wrong else []:
        fields = ", ".join(f"{name}={row[name]}" for name in FIELDS if row.get(name) and name != "id")
        click.echo(
            f"\n{row['id']}  {outcome}; reported: {row['expected']}, {row['why']}\n  {fields}\n  {row['source']}"
        )
        click.echo("\n".join(f"    {reason}" for reason in reasons))


def score(row: dict[str, str]) -> tuple[str, list[str]]:
    """Outcome of a row, one of OUTCOMES, and what the engine reported."""
    try:
        answer = check(case_from({name: row[name] for name in FIELDS if row.get(name)}))
    except CaseError as error:
        return "unknown", str(error).splitlines()
    reasons = [f"{each.severity} {each.rule} {each.message}" for each in answer.findings]
    given, expected = (Verdict.COMPATIBLE if each in RUNS else each for each in (answer.verdict, row["expected"]))
    if given == expected:
        return "right", reasons
    return given if given == Verdict.UNKNOWN else f"wrong {given}", reasons


def _print(scores: dict[str, Counter[str]], by: str) -> None:
    table = Table(by, "reports", *OUTCOMES)
    for name, counts in sorted(scores.items(), key=lambda each: (-each[1].total(), each[0])):
        total = counts.total()
        shares = (f"{counts[outcome]} ({counts[outcome] / total:.1%})" for outcome in OUTCOMES)
        table.add_row(name, str(total), *shares)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
