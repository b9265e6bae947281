"""Kills `pulumi up` at random moments and prints what `make up` then found, and how long it took to finish the update.

    python bench/kills.py            20 kills, in the second lab that tests/faults starts

`make soak PART=kills` makes 10 of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree as ET

import click
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent
TESTS = "tests/faults/test_interrupted.py"


@click.command()
@click.option("--kills", default=20, show_default=True)
def main(kills: int) -> None:
    """Print the table; the exit code is that of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        properties = [f"--junit-xml={report}", "--override-ini=junit_family=xunit1"]
        command = [sys.executable, "-m", "lab", "test", TESTS, "-k", "at_any_moment", *properties]
        variables = {**os.environ, "GPU_COMMONS_TEST_KILLS": str(kills)}
        done = subprocess.run(command, cwd=PROJECT, env=variables, check=False)
        if not report.exists():
            click.echo("the tests wrote no report: see what they printed above", err=True)
            sys.exit(done.returncode or 1)
        cases = ET.parse(report).getroot().findall(".//testcase")  # noqa: S314 - pytest wrote it
    rows = [{each.get("name"): each.get("value") for each in case.iter("property")} for case in cases]
    columns = [*dict.fromkeys(str(name) for row in rows for name in row)]
    table = Table(*columns, "converged")
    for case, row in zip(cases, rows, strict=True):
        failed = any(case.find(kind) is not None for kind in ("failure", "error"))
        table.add_row(*(str(row.get(column, "")) for column in columns), "no" if failed else "yes")
    Console().print(table)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
