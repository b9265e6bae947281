"""Times the compatibility engine and its command, and prints a table. Nothing is asserted.

    python bench/verdicts.py                 all figures, about a quarter of an hour
    python bench/verdicts.py --cases 20000   a quicker look, six minutes

Cases are made from the tables: each GPU model, drivers at and around every floor, image references, framework builds
and CUDA lines, drawn by a generator with a fixed seed. Every figure is taken in a process of its own, on one core.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from compat import Case, Image, Pool, matrix, read_host
from compat.facts import tables

PROJECT = Path(__file__).resolve().parent.parent
SEED = 20261120
HOSTS = ("docker", "kubernetes")
SYSTEMS = ("ubuntu18.04", "ubuntu20.04", "ubuntu22.04", "ubuntu24.04", "ubi8", "rockylinux9")
SHAPES = ("base", "runtime", "devel", "cudnn-runtime", "cudnn8-devel")
MEASURED = """
import re, runpy, sys, time
sys.argv = ["gpu-commons", "check", "--batch", *sys.argv[1:]]
started = time.perf_counter()
try:
    runpy.run_module("cli", run_name="__main__")
except SystemExit:
    pass
highest = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]  # getrusage knows the parent's as well
print(time.perf_counter() - started, highest, file=sys.stderr)
"""
IMPORTED = """
import sys, time
started = time.perf_counter()
from compat import check
print(time.perf_counter() - started, *sorted({"pulumi", "pydantic", "yaml", "click", "rich"} & set(sys.modules)))
"""
ONE = ["check", "--gpu", "GTX 1080 Ti", "--driver", "418.88", "--image", "nvidia/cuda:10.2-runtime-ubuntu18.04"]


@click.command()
@click.option("--cases", "number", default=100_000, show_default=True, help="Cases of a batch.")
@click.option("--runs", default=10, show_default=True, help="Runs of one check from the shell.")
def main(number: int, runs: int) -> None:
    """Print the table."""
    table = Table(
        "what", "figure", title=f"compatibility engine, {os.cpu_count()} cores, Python {sys.version.split()[0]}"
    )
    with tempfile.TemporaryDirectory() as folder:
        sites, all_, few = (Path(folder) / name for name in ("sites.jsonl", "all.jsonl", "few.jsonl"))
        chosen = _grid(number // 2)
        distinct = list(islice(cases(), number))
        _write(sites, _shuffled([*chosen, *chosen]))
        _write(all_, distinct)
        _write(few, distinct[: number // 10])
        labels = {
            sites: f"{2 * len(chosen):,} cases, half of them distinct (100 images x 25 GPUs x drivers)",
            all_: f"{number:,} cases, all distinct (drawn from all tables)",
        }
        for file, what in labels.items():
            for option, without in (("--no-remedy", ", no remedies"), ("", "")):
                seconds, peak = _batch(file, *filter(None, [option]))
                count = number if file is all_ else 2 * len(chosen)
                table.add_row(f"check --batch{without}, {what}", f"{count / seconds:,.0f} verdicts/s, {peak:,.0f} MiB")
        _, small = _batch(few)
        table.add_row(f"the same, {number // 10:,} cases", f"{small:,.0f} MiB")
    for what, seconds in _matrices():
        table.add_row(what, f"{seconds:.2f} s")
    table.add_row(
        "one check from the shell, median", f"{_median(runs, [sys.executable, '-m', 'cli', *ONE]) * 1000:.0f} ms"
    )
    table.add_row("python alone, median", f"{_median(runs, [sys.executable, '-c', '']) * 1000:.0f} ms")
    imported, *loaded = _run([sys.executable, "-c", IMPORTED])[0].split()
    table.add_row(
        "import of compat",
        f"{float(imported) * 1000:.0f} ms, loads {' '.join(loaded) or 'none'} of pulumi, pydantic, yaml, click, rich",
    )
    Console(width=120 if not sys.stdout.isatty() else None).print(table)


def cases() -> Iterator[dict[str, str]]:
    """Endless cases, no two alike in GPU, driver and image."""
    chance = random.Random(SEED)  # noqa: S311 - the same cases on every machine
    gpus = _gpus()
    drivers = _drivers()
    things = _things()
    seen: set[tuple[str, str, int]] = set()
    while True:
        gpu, driver, thing = chance.choice(gpus), chance.choice(drivers), chance.randrange(len(things))
        if (gpu, driver, thing) in seen:
            continue
        seen.add((gpu, driver, thing))
        yield {"gpu": gpu, "driver": driver, "host": HOSTS[len(seen) % len(HOSTS)], **things[thing]}


def _grid(most: int) -> list[dict[str, str]]:
    """Every image of some sites on every GPU with every driver: cases share parts, as a fleet's do."""
    chance = random.Random(SEED)  # noqa: S311 - the same cases on every machine
    things, gpus = chance.sample(_things(), 100), chance.sample(_gpus(), 25)
    drivers = chance.sample(_drivers(), max(most // (len(things) * len(gpus)), 1))
    return [
        {"gpu": gpu, "driver": driver, "host": HOSTS[index % len(HOSTS)], **thing}
        for index, gpu in enumerate(gpus)
        for driver in drivers
        for thing in things
    ]


def _gpus() -> list[str]:
    return [model.name for model in tables.gpu_models() if model.product_class != "jetson"]  # those have no such driver


def _drivers() -> list[str]:
    """Drivers at, above and below each floor, and a few bare branches."""
    floors = sorted({each.floor for each in tables.toolkits() if each.floor is not None})
    near = {f"{each.branch}.{max(each.minor + step, 0):02}" for each in floors for step in (-1, 0, 1, 7)}
    return sorted({*map(str, floors), *near, *(str(branch) for branch in tables.driver_branches() if branch % 3 == 0)})


def _things() -> list[dict[str, str]]:
    """What may run: images by reference, framework builds, CUDA lines."""
    lines = sorted({each.version for each in tables.toolkits()})
    images = [
        {"image": f"nvidia/cuda:{cuda}-{shape}-{system}"} for cuda in lines for shape in SHAPES for system in SYSTEMS
    ]
    builds = [
        {"framework": build.framework, "framework_version": build.version, "build": build.variant}
        for framework in tables.frameworks()
        for build in tables.builds(framework)
        if build.cuda is not None and build.version[:1].isdigit()
    ]
    return [*images, *builds, *builds, *({"cuda": str(cuda)} for cuda in lines)]


def _shuffled(given: list[dict[str, str]]) -> list[dict[str, str]]:
    random.Random(SEED).shuffle(given)  # noqa: S311 - the same order on every machine
    return given


def _write(file: Path, given: list[dict[str, str]]) -> None:
    file.write_text("".join(json.dumps({"id": str(index), **case}) + "\n" for index, case in enumerate(given)))


def _batch(file: Path, *options: str) -> tuple[float, float]:
    """Seconds and peak memory in MiB, with imports; answers are discarded, so no reader slows it down."""
    _, output = _run([sys.executable, "-c", MEASURED, str(file), *options], stdout=subprocess.DEVNULL)
    seconds, kib = output.splitlines()[-1].split()
    return float(seconds), float(kib) / 1024


def _matrices() -> Iterator[tuple[str, float]]:
    things = _things()
    images = [Image(f"image-{index}", (Case(**things[index * 7 % len(things)]),)) for index in range(1000)]
    gpus, drivers = _gpus(), _drivers()
    for distinct in (20, 200):
        hosts = [
            Case(gpu=gpus[index * 3 % len(gpus)], driver=drivers[index * 5 % len(drivers)], host="kubernetes")
            for index in range(distinct)
        ]
        pools = [Pool(f"pool-{index}", read_host(hosts[index % distinct])) for index in range(200)]
        few = [Image(image.name, images[index % 300].cases) for index, image in enumerate(images)]
        if distinct < len(pools):
            yield f"matrix, 1,000 images x 200 pools, 300 and {distinct} of them distinct", _seconds(matrix, few, pools)
        else:
            yield "matrix, 1,000 images x 200 pools, all distinct", _seconds(matrix, images, pools)


def _seconds(action: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - started


def _median(runs: int, argv: list[str]) -> float:
    return statistics.median(_seconds(_run, argv) for _ in range(runs))


def _run(argv: list[str], stdout: int = subprocess.PIPE) -> tuple[str, str]:
    done = subprocess.run(argv, cwd=PROJECT, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    if "Traceback" in done.stderr:
        raise SystemExit(done.stderr)
    return done.stdout or "", done.stderr


if __name__ == "__main__":
    main()
