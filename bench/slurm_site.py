"""Times work for a Slurm site and prints a table: many images on many partitions, and many jobs through `up`.

    python bench/slurm_site.py                                the matrix alone
    python bench/slurm_site.py --instance NAME --jobs 200     also that many jobs, in the lab where comet is up

The jobs do nothing and are submitted, not waited for; afterwards the stack is as its file says. No limit is asserted.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import click
import yaml
from rich.console import Console
from rich.table import Table

from compat import Case, Image, Pool, matrix
from compat.evidence.host import host_of
from compat.evidence.names.gpu_names import find_gpu
from compat.values.versions import DriverVersion, parse_release
from lab import engine
from lab.instance import Instance, open_instance
from lab.servers import slurmrestd
from lab.toolchain import Toolchain

PROJECT = Path(__file__).resolve().parent.parent
STACK = "comet"
SEED = 20261126
GPUS = ("Tesla K80", "Tesla P100-PCIE-16GB", "Tesla V100-PCIE-16GB", "NVIDIA A100-SXM4-40GB", "NVIDIA H100 80GB HBM3")
DRIVERS = ("418.226.00", "450.248.02", "470.256.02", "535.183.01")
LIBRARIES = ("2.17", "2.28")
LINES = ("8.0", "9.0", "9.2", "10.0", "10.1", "10.2", "11.0", "11.3", "11.4", "11.8", "12.1", "12.4", "12.6", "12.8")
TARGETS = ("37", "37;60", "60;70", "70", "60;70;75;80", "70;75;80;86;90")
BUILDS = (("pytorch", "2.0.1", "cu118"), ("pytorch", "1.12.1", "cu113"), ("tensorflow", "1.8.0", ""), ("", "", ""))


@click.command()
@click.option("--images", default=300, show_default=True, help="Images of the matrix.")
@click.option("--partitions", default=40, show_default=True, help="Partitions of the matrix.")
@click.option("--instance", "name", default=None, help="Lab in which comet is up.")
@click.option("--jobs", default=200, show_default=True, help="Jobs that are added to the stack there.")
def main(images: int, partitions: int, name: str | None, jobs: int) -> None:
    """Print the table."""
    table = Table("what", "seconds", "requests to Slurm", title=f"Slurm, {os.cpu_count()} cores")
    given = _images(images), _pools(partitions)
    began, used = time.perf_counter(), time.process_time()
    found = matrix(*given)
    took, used = time.perf_counter() - began, time.process_time() - used
    what = f"{len(found.images)} images on {len(found.pools)} partitions"
    table.add_row(f"{what} ({used:.2f} s of a processor)", f"{took:.2f}", "-")
    if name:
        for what, seconds, requests in _many(open_instance(name), jobs):
            table.add_row(what, f"{seconds:.1f}", str(requests))
    Console().print(table)


def _images(count: int) -> list[Image]:
    chance, found = random.Random(SEED), []  # noqa: S311 - the same ones each time
    for number in range(count):
        framework, version, build = chance.choice(BUILDS)
        line = "" if framework == "pytorch" else chance.choice(LINES)
        own = {} if framework else {"sm_list": chance.choice(TARGETS), "ptx": "none"}
        case = Case(cuda=line, framework=framework, framework_version=version, build=build, **own)
        found.append(Image(f"image-{number}", (case,)))
    return found


def _pools(count: int) -> list[Pool]:
    every = [*product(GPUS, DRIVERS, LIBRARIES)]
    return [
        Pool(
            f"partition-{number}",
            host_of(find_gpu(gpu), DriverVersion.parse(driver), host="apptainer", glibc=parse_release(glibc)),
        )
        for number, (gpu, driver, glibc) in enumerate(every[each % len(every)] for each in range(count))
    ]


def _many(instance: Instance, count: int) -> Iterator[tuple[str, float, int]]:
    """The stack with that many more jobs, again without a change, and without them."""
    with _project() as (folder, write):
        env = {**os.environ, **engine.environment(instance, Toolchain())}
        for what, number in (
            (f"up that submits {count} jobs", count),
            ("the same again, without a change", count),
            ("up that removes them", 0),
        ):
            write(number)
            before, began = _requests(instance), time.perf_counter()
            _up(instance, folder, env)
            yield what, time.perf_counter() - began, _requests(instance) - before


@contextmanager
def _project() -> Iterator[tuple[Path, Callable[[int], None]]]:
    """This project by link, with its own stack file."""
    stack: dict[str, Any] = yaml.safe_load((PROJECT / "stacks" / f"Pulumi.{STACK}.yaml").read_text())
    jobs = stack["config"]["gpu-commons:jobs"]
    small = {"image": jobs[0]["image"], "pool": "shared-p100", "gpus": 1, "cpu": 1, "memory_gib": 0.1}
    with tempfile.TemporaryDirectory(prefix="gc-") as name:
        folder = Path(name)
        for entry in PROJECT.iterdir():
            if entry.name not in {"stacks", ".git"}:
                (folder / entry.name).symlink_to(entry)
        (folder / "stacks").mkdir()

        def write(count: int) -> None:
            more = [
                {**small, "name": f"many-{each}", "command": ["true"], "deadline_s": 600, "slurm": {}}
                for each in range(count)
            ]
            text = yaml.safe_dump({**stack, "config": {**stack["config"], "gpu-commons:jobs": [*jobs, *more]}})
            (folder / "stacks" / f"Pulumi.{STACK}.yaml").write_text(text)

        yield folder, write


def _up(instance: Instance, folder: Path, env: dict[str, str]) -> None:
    command = [engine.program(instance, Toolchain()), "up", "--yes", "--skip-preview", "--stack", STACK]
    done = subprocess.run(
        [*command, "--non-interactive"], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout[-4000:] + done.stderr[-2000:])


def _requests(instance: Instance) -> int:
    """Requests that the REST service has logged."""
    text = (instance.logs / f"{slurmrestd.NAME}.log").read_text(errors="replace")
    return len(re.findall(r"operations_router: \[[^\]]*\] (?:GET|POST|DELETE) ", text))


if __name__ == "__main__":
    main()
