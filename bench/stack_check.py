"""Times `gpu-commons stack check` from the shell and prints a table. Nothing is asserted.

python bench/stack_check.py
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent


@click.command()
@click.option("--runs", default=10, show_default=True)
@click.argument("stacks", nargs=-1)
def main(runs: int, stacks: tuple[str, ...]) -> None:
    """Print the table: whole command, start of Python included. STACKS: names or files; all stacks without."""
    named = stacks or sorted(path.stem.partition(".")[2] for path in (PROJECT / "stacks").glob("Pulumi.*.yaml"))
    table = Table("stack", "seconds (median)", "lowest", "highest", "of one core (median)", title="stack check")
    for stack in named:
        times, busy = [], []
        _check(stack)  # writes bytecode
        for _ in range(runs):
            started, worked = time.perf_counter(), _cpu_s()
            _check(stack)
            times.append(time.perf_counter() - started)
            busy.append(_cpu_s() - worked)
        row = (statistics.median(times), min(times), max(times), statistics.median(busy))
        table.add_row(stack, *(f"{value:.2f}" for value in row))
    Console().print(table)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _check(stack: str) -> None:
    argv = [sys.executable, "-m", "cli", "stack", "check", stack]
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stderr)


if __name__ == "__main__":
    main()
