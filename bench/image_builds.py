"""`python bench/image_builds.py` prints the cost of building, changing and sharing our images.

It starts its own registry and BuildKit (the lab's instance `bench-images`) and builds for real. Results are kept as
JSON lines in --results: finished measurements are not repeated, so a run that was killed continues. Sizes are those
of our own `inspect`. Nothing is asserted here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final

from imaging.build.buildkit import Buildctl
from imaging.inspection.store import store_folder
from lab import engine, processes, steps
from lab.__main__ import report
from lab.instance import Instance, cache_home, forget_instance, open_instance
from lab.servers import buildkit
from lab.toolchain import Toolchain

HERE: Final = Path(__file__).resolve().parent
PROJECT: Final = HERE.parent
STACK: Final = PROJECT / "stacks" / "Pulumi.cupy.yaml"
REPETITIONS: Final = 3
MB: Final = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=cache_home() / "bench-images")
    parser.add_argument("--step", choices=sorted(STEPS), action="append", help="only this one; may be given again")
    parser.add_argument("--table", action="store_true", help="measure nothing: print what is there")
    parser.add_argument("--keep", action="store_true", help="leave the servers and their data for the next run")
    options = parser.parse_args()
    results = Results(options.results)
    if not options.table:
        bench = None
        try:
            bench = started(results)
            for name in options.step or STEPS:
                print(f"== {name}", file=sys.stderr)
                STEPS[name](bench)
        finally:
            if bench:
                bench.stop(is_kept=options.keep)
    print("\n\n".join(tables(results)))


@dataclass(slots=True)
class Results:
    """Rows on disk, one JSON object a line; each belongs to a step, what was measured, and a repetition."""

    folder: Path
    rows: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows = [json.loads(line) for line in self._path.read_text().splitlines()] if self._path.exists() else []

    @property
    def _path(self) -> Path:
        return self.folder / "results.jsonl"

    def of(self, step: str, what: str) -> list[dict[str, Any]]:
        """All repetitions."""
        return [row for row in self.rows if (row["step"], row["what"]) == (step, what)]

    def has(self, step: str, what: str, repetition: int = 0) -> bool:
        return any(row["repetition"] == repetition for row in self.of(step, what))

    def once(self, step: str, what: str, repetition: int, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The stored row, or a new one."""
        known = [row for row in self.of(step, what) if row["repetition"] == repetition]
        if known:
            return known[0]
        row = {"step": step, "what": what, "repetition": repetition, "on": date.today().isoformat(), **measure()}  # noqa: DTZ011
        self.rows.append(row)
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"   {json.dumps(row)}", file=sys.stderr)
        return row


# --- servers


@dataclass(slots=True)
class Counts:
    """What passed through the registry's counting door."""

    sent_bytes: int = 0
    requests: int = 0
    uploads: int = 0


@dataclass(slots=True)
class Bench:
    """The servers, and where results go."""

    instance: Instance
    tools: Toolchain
    results: Results
    environment: dict[str, str]
    door: str  # host and port of the counting door to the registry
    counts: Counts

    @property
    def client(self) -> Buildctl:
        return Buildctl(self.tools.path("buildctl"), f"unix://{buildkit.socket_path(self.instance)}")

    def prune(self) -> None:
        """Empty the builder's cache, its wheel mounts and our stored facts about images."""
        shutil.rmtree(store_folder(self.environment), ignore_errors=True)
        argv = [str(self.client.program), "--addr", self.client.endpoint, "prune", "--all"]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)

    @contextmanager
    def counted(self) -> Iterator[Counts]:
        """What passes the door meanwhile."""
        before = Counts(self.counts.sent_bytes, self.counts.requests, self.counts.uploads)
        found = Counts()
        yield found
        found.sent_bytes = self.counts.sent_bytes - before.sent_bytes
        found.requests = self.counts.requests - before.requests
        found.uploads = self.counts.uploads - before.uploads

    def stop(self, *, is_kept: bool) -> None:
        steps.stop(self.instance, self.tools, report)
        if not is_kept:
            forget_instance(self.instance)


def started(results: Results) -> Bench:
    """Registry, BuildKit with the lab's bases, and the door."""
    tools = Toolchain()
    tools.ensure(report)
    instance = open_instance("bench-images")
    for name in ("registry", "builder", "bases"):
        steps.one(instance, tools, STACK, name, report)
    environment = {**os.environ, **engine.environment(instance, tools), "XDG_CACHE_HOME": str(results.folder / "cache")}
    counts = Counts()
    return Bench(instance, tools, results, environment, opened_door(instance.ports["registry"], counts), counts)


def opened_door(port: int, counts: Counts) -> str:
    """A door to the registry on its own port, which counts requests and incoming bytes."""
    ready: list[int] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_counted: bool) -> None:
        while chunk := await reader.read(1 << 18):
            if is_counted:
                counts.sent_bytes += len(chunk)
                if start := re.match(rb"(GET|HEAD|POST|PUT|PATCH) /v2/", chunk):
                    counts.requests += 1
                    counts.uploads += start[1] in {b"POST", b"PUT", b"PATCH"}
            writer.write(chunk)
            await writer.drain()
        writer.close()

    async def enter(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        ways = [copy(reader, outer, is_counted=True), copy(inner, writer, is_counted=False)]
        await asyncio.gather(*ways, return_exceptions=True)

    async def serve() -> None:
        server = await asyncio.start_server(enter, "127.0.0.1", 0)
        ready.append(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    while not ready:
        time.sleep(0.01)
    return f"127.0.0.1:{ready[0]}"


# --- building


def image_folders(bench: Bench) -> Path:
    """A copy of our images with the specs of this folder, to change."""
    folder = bench.results.folder / "images"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "specs", folder)
    shutil.copytree(PROJECT / "images" / "cupy-notebook", folder / "cupy-notebook")
    return folder


def build(bench: Bench, folder: Path, repository: str) -> dict[str, Any]:
    """`gpu-commons image build --push` as a user calls it: seconds of the whole call, and of its parts."""
    reference = f"{bench.door}/{repository}:1"
    argv = [sys.executable, "-m", "cli", "image", "build", str(folder), "--stack", str(STACK), "--push", reference]
    began, before = time.monotonic(), cpu_s(bench, "buildkitd")
    with bench.counted() as counts:
        done = subprocess.run(
            [*argv, "--json"], cwd=PROJECT, env=bench.environment, capture_output=True, text=True, check=False
        )
    seconds = time.monotonic() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}\n{done.stderr[-6000:]}")
    data = json.loads(done.stdout)
    return {
        "seconds": round(seconds, 1),
        "cpu_s": round(cpu_s(bench, "buildkitd") - before, 1),
        "sent_bytes": counts.sent_bytes,
        "requests": counts.requests,
        "uploads": counts.uploads,
        "compressed_bytes": data["compressed_bytes"],
        "layers": {layer["digest"]: layer["compressed_bytes"] for layer in data["layers"]},
    }


def cpu_s(bench: Bench, name: str) -> float:
    """Processor seconds of a server and of its ended children: they do not grow on a busy machine."""
    record = processes.read_record(bench.instance, name)
    process = record.process() if record else None
    return sum(process.cpu_times()[:4]) if process else 0.0


# --- steps


def change(bench: Bench) -> None:
    """A course image cold, again without a change, and with one more package."""
    step = "change"
    for repetition in range(REPETITIONS):
        if bench.results.has(step, "one package", repetition):
            continue
        folder, repository = image_folders(bench), f"bench/course-{repetition}"
        course = folder / "course-notebook"
        spec = course / "image.yaml"
        again = partial(build, bench, course, repository)
        bench.prune()
        bench.results.once(step, "cold", repetition, again)
        bench.results.once(step, "nothing", repetition, again)
        packages = "    - scipy==1.17.1\n"
        spec.write_text(spec.read_text().replace(packages, f"{packages}    - scikit-learn==1.9.1\n"))
        (course / "requirements.after.lock").replace(course / "requirements.lock")
        bench.results.once(step, "one package", repetition, again)


def share(bench: Bench) -> None:
    """Two images on one base in one registry: what the second one adds."""
    folder = image_folders(bench)
    for image in ("cupy-notebook", "course-notebook"):
        bench.results.once("share", image, 0, partial(build, bench, folder / image, f"bench/share-{image}"))


STEPS: Final[Mapping[str, Callable[[Bench], None]]] = {"change": change, "share": share}


# --- tables


def tables(results: Results) -> Iterator[str]:
    """Markdown. A number from several repetitions is their median, followed by the lowest and the highest.

    Processor seconds are those of BuildKit with its steps.
    """
    days = sorted({row["on"] for row in results.rows})
    yield f"{' and '.join(days)}, {os.cpu_count()} cores"
    head = ["a course image on `cupy-notebook`", "seconds", "of cold", "CPU s", "of cold", *_SENT]
    yield table(head, _changes(results, "change"))
    yield table(["two images on one base", "compressed MB", "MB of them shared", *_SENT], _shared(results))


_SENT: Final = ["MB sent", "requests", "of them uploads"]


def table(head: list[str], rows: Iterator[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def mb(number: float) -> str:
    return f"{number / MB:,.1f}" if number < 10 * MB else f"{number / MB:,.0f}"


def spread(numbers: list[float]) -> str:
    """`12.1 (11.8 to 14.0)`."""
    if not numbers:
        return "-"
    middle = f"{statistics.median(numbers):.1f}"
    return middle if len(numbers) == 1 else f"{middle} ({min(numbers):.1f} to {max(numbers):.1f})"


def _sent(rows: list[dict[str, Any]]) -> list[str]:
    return [mb(rows[-1]["sent_bytes"]), str(rows[-1]["requests"]), str(rows[-1]["uploads"])]


def _changes(results: Results, step: str) -> Iterator[list[str]]:
    cold = {row["repetition"]: row for row in results.of(step, "cold")}
    labels = {"cold": "cold: no wheel, no layer", "nothing": "nothing changed", "one package": "one package added"}
    for what, text in labels.items():
        if rows := results.of(step, what):
            cells = []
            for key in ("seconds", "cpu_s"):
                # Each beside the cold build of its own repetition.
                shares = [100 * row[key] / cold[row["repetition"]][key] for row in rows]
                cells += [spread([row[key] for row in rows]), f"{spread(shares)} %"]
            yield [text, *cells, *_sent(rows)]


def _shared(results: Results) -> Iterator[list[str]]:
    images = {what: results.of("share", what) for what in ("cupy-notebook", "course-notebook")}
    if all(images.values()):
        layers = {what: rows[0]["layers"] for what, rows in images.items()}
        common = sum(size for digest, size in layers["cupy-notebook"].items() if digest in layers["course-notebook"])
        for what, rows in images.items():
            yield [f"`{what}`", mb(rows[0]["compressed_bytes"]), mb(common), *_sent(rows)]


if __name__ == "__main__":
    main()
