"""Times `gpu-commons comment` on a preview of 5,000 resources that all change, and prints a table. Nothing is asserted.

python bench/comment.py
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / "tests" / "cli"))  # streams are made where they are tested
import previews  # noqa: E402


@click.command()
@click.option("--resources", default=5000, show_default=True)
@click.option("--runs", default=5, show_default=True)
def main(resources: int, runs: int) -> None:
    """Print the table: whole command, start of Python included."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.jsonl"
        file.write_bytes(previews.big(resources))
        title = f"comment, {resources:,} resources, {file.stat().st_size / 1e6:.0f} MB of events"
        table = Table(
            "format", "seconds (median)", "lowest", "highest", "of one core (median)", "characters", title=title
        )
        for form in ("markdown", "text", "json"):
            times, busy, said = [], [], ""
            for _ in range(runs):
                started, worked = time.perf_counter(), _cpu_s()
                said = _comment(file, form)
                times.append(time.perf_counter() - started)
                busy.append(_cpu_s() - worked)
            row = (statistics.median(times), min(times), max(times), statistics.median(busy))
            table.add_row(form, *(f"{value:.2f}" for value in row), f"{len(said):,}")
        Console().print(table)


def _cpu_s() -> float:
    """What ended commands have used: on a busy machine it says more than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _comment(file: Path, form: str) -> str:
    argv = [sys.executable, "-m", "cli", "comment", str(file), "--format", form]
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1} or not done.stdout:
        raise SystemExit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
