"""Times a Docker host and prints a table: from login to the first cell, and many containers.

    python bench/docker_host.py                    the hub of dcsg, which is up: both shapes
    python bench/docker_host.py --containers 30    also a stack of that many containers, in a lab of its own

Runs are taken one after the other on an otherwise idle machine. No limit is asserted.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
import yaml
from rich.console import Console
from rich.table import Table

from lab import engine
from lab.instance import open_instance
from lab.toolchain import Toolchain

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))
from tests.lab.docker_people import logged_in  # noqa: E402 - found by the line above

HUB = "dcsg"
SHAPES = {"gpu-server": "", "remote-kernels": "cupy"}  # profile → kernel; none: the server's own
STACK = "containers"


@click.command()
@click.option("--instance", "name", default="default", show_default=True, help="The lab in which dcsg is up.")
@click.option("--runs", default=5, show_default=True, help="Logins with each shape.")
@click.option("--containers", default=0, help="Containers of the stack that is made for this.")
def main(name: str, runs: int, containers: int) -> None:
    """Print the table."""
    table = Table("what", "seconds (median)", "lowest", "highest", title=f"Docker host, {os.cpu_count()} cores")
    env = {**os.environ, **engine.environment(open_instance(name), Toolchain())}
    for profile, kernel in SHAPES.items():
        times = [_first_cell(env, f"bench{run}", profile, kernel) for run in range(runs)]
        _row(table, f"login to first cell, {profile}", times)
    if containers:
        for what, seconds in _many(containers):
            _row(table, what, [seconds])
    Console().print(table)


def _first_cell(env: dict[str, str], user: str, profile: str, kernel: str) -> float:
    """Seconds from the login page to a cell's output; then ends the server."""
    hub = json.loads(_run(["pulumi", "stack", "output", "hubs", "--stack", HUB, "--json"], env))[HUB]
    password = _run(["docker", "exec", f"{HUB}-hub", "cat", "/credentials/login-password"], env).strip()
    with ExitStack() as clients:
        began = time.perf_counter()
        person = logged_in(str(hub).rstrip("/"), user, clients, password=password, trusts=False)
        person.start(profile)
        output = person.run(person.new_kernel(kernel), "print(6 * 7)")
        took = time.perf_counter() - began
        person.stop()
    if output != "42":
        raise SystemExit(f"{user} in {profile} read {output!r}")
    return took


def _many(count: int) -> Iterator[tuple[str, float]]:
    """The stack without containers, with that many, and with nothing to change."""
    with tempfile.TemporaryDirectory(prefix="gc-") as folder, _stack(Path(folder)) as up:
        up(0)
        for what, number in ((f"{count} containers made", count), (f"{count} containers unchanged", count)):
            yield what, up(number)
        yield f"{count} containers removed", up(0)


@contextmanager
def _stack(folder: Path) -> Iterator[Callable[[int], float]]:
    stacks = folder / "stacks"
    stacks.mkdir()
    stack = yaml.safe_load((PROJECT / "stacks" / "Pulumi.perceptron.yaml").read_text())
    env = {**os.environ, "XDG_STATE_HOME": str(folder), "GPU_COMMONS_STACKS": str(stacks)}
    lab = [sys.executable, "-m", "lab", "--instance", "bench"]

    def up(count: int) -> float:
        sleeper = {"image": "perceptron", "pool": "workstation", "cpu": 0.1, "memory_gib": 0.1}
        names = [f"sleeper-{number}" for number in range(count)]
        containers = [{"name": name, **sleeper, "command": ["sleep", "infinity"]} for name in names]
        stack["config"]["gpu-commons:containers"] = containers
        (stacks / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump(stack))
        began = time.perf_counter()
        _run([*lab, "up", "--stack", STACK], env)
        return time.perf_counter() - began

    try:
        yield up
    finally:
        _run([*lab, "clean"], env)


def _run(argv: Sequence[str], env: dict[str, str]) -> str:
    done = subprocess.run(argv, cwd=PROJECT, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(argv)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def _row(table: Table, what: str, seconds: Sequence[float]) -> None:
    table.add_row(what, *(f"{value:.1f}" for value in (statistics.median(seconds), min(seconds), max(seconds))))


if __name__ == "__main__":
    main()
