"""Times the main job and prints a table: `make up` cold and warm, a preview with nothing to change, with and without
the policy pack, the number of resources and the memory of the servers.

    python bench/main_job.py                  warm figures, on the instance that is up
    python bench/main_job.py --cold           also from nothing: ends the instance and removes its data first
    python bench/main_job.py --cold --tools   also without the toolchain's cache (removes it)

Runs are taken one after the other on an otherwise idle machine; the median of --runs is printed. No limit is asserted.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import psutil
from rich.console import Console
from rich.table import Table

from lab import engine, processes
from lab.instance import cache_home, open_instance
from lab.toolchain import Toolchain

PROJECT = Path(__file__).resolve().parent.parent
WITHOUT = {"PULUMI_OPTION_POLICY_PACK": "", "GPU_COMMONS_WITHOUT_POLICIES": "measuring what the pack costs"}


@click.command()
@click.option("--stack", default="dsmlp-fall", show_default=True)
@click.option("--instance", "name", default="default", show_default=True)
@click.option("--runs", default=5, show_default=True, help="Runs of each warm figure.")
@click.option("--cold", is_flag=True, help="Remove the instance and bring it up from nothing.")
@click.option("--tools", is_flag=True, help="Remove the toolchain's cache as well.")
def main(stack: str, name: str, runs: int, cold: bool, tools: bool) -> None:  # noqa: FBT001 - click's flags
    """Print the table."""
    table = Table(
        "what", "seconds (median)", "lowest", "highest", title=f"main job, stack {stack}, {os.cpu_count()} cores"
    )
    lab = [sys.executable, "-m", "lab", "--instance", name]
    if cold:
        _run([*lab, "clean"])
        if tools:
            shutil.rmtree(cache_home() / "tools", ignore_errors=True)
        what = "make up, nothing there" if tools else "make up, tools cached"
        _row(table, what, [_seconds(lambda: _run([*lab, "up", "--stack", stack]))])
    warm = [_seconds(lambda: _run([*lab, "up", "--stack", stack])) for _ in range(runs)]
    _row(table, "make up, nothing to change", warm)
    env = {**os.environ, **engine.environment(open_instance(name), Toolchain())}
    preview = ["pulumi", "preview", "--stack", stack, "--expect-no-changes"]
    with_pack, without_pack = [], []
    for _ in range(runs):  # in pairs, so that both meet the same machine
        with_pack.append(_seconds(lambda: _run(preview, env)))
        without_pack.append(_seconds(lambda: _run(preview, {**env, **WITHOUT})))
    _row(table, "preview, nothing to change", with_pack)
    _row(table, "the same without the policy pack", without_pack)
    state = json.loads(_run(["pulumi", "stack", "export", "--stack", stack], env))
    console = Console()
    console.print(table)
    ratio = statistics.median(a / b for a, b in zip(with_pack, without_pack, strict=True))
    console.print(f"policy pack: {ratio:.2f} times a preview without it (median of {runs} pairs)")
    console.print(f"resources in the state: {len(state['deployment']['resources'])}")
    console.print(f"memory of the lab's servers: {_memory_mib(name):.0f} MiB resident")


def _run(argv: Sequence[str], env: dict[str, str] | None = None) -> str:
    done = subprocess.run(argv, cwd=PROJECT, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(argv)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _row(table: Table, what: str, seconds: Sequence[float]) -> None:
    table.add_row(what, *(f"{value:.1f}" for value in (statistics.median(seconds), min(seconds), max(seconds))))


def _memory_mib(name: str) -> float:
    servers = [record.process() for record in processes.records(open_instance(name))]
    return sum(server.memory_info().rss for server in servers if isinstance(server, psutil.Process)) / 2**20


if __name__ == "__main__":
    main()
