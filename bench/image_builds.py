"""`python bench/image_builds.py` prints what our images cost: building, changing, sharing, packing, pulling, reading.

It starts a registry, BuildKit and containerd of its own (the lab's instance `bench-images`), builds for real, and
needs about 40 GB of disk and an hour. Results are kept as JSON lines in --results: what was measured is not measured
again, so a run that was killed goes on. Sizes are those of our own `inspect`. Nothing is asserted here.
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
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from images.build.buildkit import Build, Buildctl, run_build
from images.inspection.store import store_folder
from lab import engine, processes, steps
from lab.__main__ import report
from lab.instance import Instance, cache_home, forget_instance, open_instance
from lab.processes import Server
from lab.servers import buildkit
from lab.toolchain import Toolchain

HERE: Final = Path(__file__).resolve().parent
PROJECT: Final = HERE.parent
STACK: Final = PROJECT / "stacks" / "Pulumi.cupy.yaml"
BASE: Final = "docker.io/library/debian:bookworm-20260824-slim"
STAND_IN: Final = "stand-in for nvidia/cuda:12.6-runtime"
REPETITIONS: Final = 3
MB: Final = 1e6

# What nvidia/cuda:12.6.*-runtime has, as NVIDIA's wheels: cudart, NVRTC, cuBLAS, cuFFT, cuRAND, cuSOLVER, cuSPARSE with
# nvJitLink, NPP, nvJPEG, NVTX, NCCL.
RUNTIME_WHEELS: Final = (
    "nvidia-cuda-runtime-cu12==12.6.77",
    "nvidia-cuda-nvrtc-cu12==12.6.77",
    "nvidia-cublas-cu12==12.6.4.1",
    "nvidia-cufft-cu12==11.3.0.4",
    "nvidia-curand-cu12==10.3.7.77",
    "nvidia-cusolver-cu12==11.7.1.2",
    "nvidia-cusparse-cu12==12.5.4.2",
    "nvidia-nvjitlink-cu12==12.6.85",
    "nvidia-npp-cu12==12.3.1.54",
    "nvidia-nvjpeg-cu12==12.3.3.54",
    "nvidia-nvtx-cu12==12.6.77",
    "nvidia-nccl-cu12==2.23.4",
)
PIP: Final = """\
RUN --mount=type=bind,from=ca,target=/run/site-ca <<'SH'
set -eu
export PIP_CERT=/run/site-ca/{ca}
python3 -m venv {venv}
{venv}/bin/pip install --no-cache-dir {what}
SH
"""
STAND_IN_DOCKERFILE: Final = (
    "FROM {base} AS wheels\n"
    + PIP
    + """\
RUN mkdir -p /cuda/lib64 && cp -P /w/nvidia/*/lib/*.so* /cuda/lib64/
FROM {base}
COPY --from=wheels /cuda /usr/local/cuda-12.6
RUN ln -s cuda-12.6 /usr/local/cuda && echo /usr/local/cuda/lib64 > /etc/ld.so.conf.d/cuda.conf && ldconfig
ENV CUDA_VERSION=12.6.3 LD_LIBRARY_PATH=/usr/local/cuda/lib64 NVIDIA_REQUIRE_CUDA="cuda>=12.6"
LABEL org.gpu-commons.lab.substitute="nvidia/cuda:12.6-runtime"
"""
)
USUAL_DOCKERFILE: Final = (
    """\
FROM {base}
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv tini && rm -rf /var/lib/apt/lists/*
RUN useradd --no-log-init --uid 1000 --gid 100 --create-home jovyan
COPY requirements.txt /tmp/requirements.txt
"""
    + PIP
    + 'ENV PATH=/opt/venv/bin:$PATH\nUSER 1000:100\nCMD ["jupyterhub-singleuser"]\n'
)


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
        """The row that is there, or a new one."""
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
    """What went through the counting door of the registry."""

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
    door: str  # host and port that counts, and leads to the registry
    counts: Counts

    @property
    def client(self) -> Buildctl:
        return Buildctl(self.tools.path("buildctl"), f"unix://{buildkit.socket_path(self.instance)}")

    @property
    def base(self) -> str:
        """What stands in for the Debian of Docker Hub here, or that itself."""
        given = [each for each in self.stack().site.substitutes if each.reference == BASE]
        return given[0].replacement if given else BASE

    def stack(self) -> Any:
        from settings.reading import load_stack  # noqa: PLC0415 - pydantic, only for a run

        return load_stack(STACK, site=Path(self.environment["GPU_COMMONS_SITE"]))

    def prune(self) -> None:
        """Empty the builder's cache, the wheels in its mounts too, and forget what was read of images."""
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
        processes.stop(self.instance, "containerd")
        steps.stop(self.instance, self.tools, report)
        if not is_kept:
            forget_instance(self.instance)


def started(results: Results) -> Bench:
    """Registry, BuildKit with the lab's bases, containerd, and the door."""
    tools = Toolchain()
    tools.ensure(report)
    instance = open_instance("bench-images")
    for name in ("registry", "builder", "bases"):
        steps.one(instance, tools, STACK, name, report)
    processes.start(instance, containerd(instance, tools))
    environment = {**os.environ, **engine.environment(instance, tools), "XDG_CACHE_HOME": str(results.folder / "cache")}
    counts = Counts()
    return Bench(instance, tools, results, environment, opened_door(instance.ports["registry"], counts), counts)


def containerd(instance: Instance, tools: Toolchain) -> Server:
    """A containerd that only pulls: no CRI, no network."""
    config, socket = instance.config / "containerd.toml", instance.run / "containerd.sock"
    config.write_text(
        f"""\
version = 2
root = "{instance.data / "containerd"}"
state = "{instance.run / "containerd"}"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "{socket}"
"""
    )
    return Server("containerd", [str(tools.path("containerd")), "--config", str(config)], socket.exists)


def opened_door(port: int, counts: Counts) -> str:
    """A door to the registry on a port of its own, which counts requests and bytes on the way in."""
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
    """A copy of our images with the specs of this folder, to be changed."""
    folder = bench.results.folder / "images"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "specs", folder)
    shutil.copytree(PROJECT / "images" / "cupy-notebook", folder / "cupy-notebook")
    return folder


def build(bench: Bench, folder: Path, repository: str, *options: str) -> dict[str, Any]:
    """`gpu-commons image build --push` as a user calls it: seconds of the whole call, and of its parts."""
    reference = f"{bench.door}/{repository}:1"
    argv = [sys.executable, "-m", "cli", "image", "build", str(folder), "--stack", str(STACK), "--push", reference]
    began, before = time.monotonic(), cpu_s(bench, "buildkitd")
    with bench.counted() as counts:
        done = subprocess.run(
            [*argv, "--json", *options], cwd=PROJECT, env=bench.environment, capture_output=True, text=True, check=False
        )
    seconds = time.monotonic() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}\n{done.stderr[-6000:]}")
    data = json.loads(done.stdout)
    return {
        "seconds": round(seconds, 1),
        "cpu_s": round(cpu_s(bench, "buildkitd") - before, 1),
        "packing_s": parts(done.stderr, "exporting layers"),
        "pushing_s": parts(done.stderr, "pushing layers"),
        "steps": len(re.findall(r"^#\d+ DONE [1-9\d.]+s$", done.stderr, re.MULTILINE)),
        "sent_bytes": counts.sent_bytes,
        "requests": counts.requests,
        "uploads": counts.uploads,
        "digest": data["digest"],
        "compressed_bytes": data["compressed_bytes"],
        "unpacked_bytes": data["unpacked_bytes"],
        "layers": {layer["digest"]: layer["compressed_bytes"] for layer in data["layers"]},
    }


def cpu_s(bench: Bench, name: str) -> float:
    """Processor seconds of a server and of what it ran and waited for: they do not grow when a machine is busy."""
    record = processes.read_record(bench.instance, name)
    process = record.process() if record else None
    return sum(process.cpu_times()[:4]) if process else 0.0


def parts(said: str, what: str) -> float:
    """Seconds that BuildKit tells of a part, all its builds together."""
    return round(sum(float(found) for found in re.findall(rf"^#\d+ {what} ([\d.]+)s done$", said, re.MULTILINE)), 1)


def build_text(bench: Bench, dockerfile: str, context: Path, repository: str) -> str:
    """A Dockerfile that is not ours, pushed with zstd; its reference."""
    ca = Path(bench.stack().site.ca_bundle or "/etc/ssl/certs/ca-certificates.crt")
    reference = f"{bench.door}/{repository}:1"
    output = {"type": "image", "name": reference, "push": "true", "oci-mediatypes": "true"}
    packed = {"compression": "zstd", "compression-level": "3"}
    text = dockerfile.replace("{ca}", ca.name)
    wanted = Build(context, text, named={"ca": str(ca.parent)}, outputs=[{**output, **packed}])
    digest = run_build(wanted, bench.client, lambda _: None, lambda: False)
    return f"{bench.door}/{repository}@{digest}"


def inspected(bench: Bench, reference: str) -> dict[str, Any]:
    """Sizes and waste, by `gpu-commons inspect --deep`."""
    argv = [sys.executable, "-m", "cli", "inspect", "--deep", "--json", reference]
    done = subprocess.run(argv, cwd=PROJECT, env=bench.environment, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(done.stderr)
    data = json.loads(done.stdout)
    return {
        "compressed_bytes": data["compressed_bytes"],
        "unpacked_bytes": data["deep"]["unpacked_bytes"],
        "twice_bytes": sum(each["extra_bytes"] for each in data["deep"]["copies"]),
        "twice": [each["name"] for each in data["deep"]["copies"]],
        "findings": [each["kind"] for each in data["findings"]],
        "programs": [{key: each["case"].get(key) for key in ("framework", "cuda")} for each in data["programs"]],
    }


# --- steps


def change(bench: Bench) -> None:
    """A course image cold, again without a change, and with one more package."""
    course_on(bench, "cupy-notebook", REPETITIONS)


def change_torch(bench: Bench) -> None:
    """The same course on an image that is seven times as big."""
    course_on(bench, "torch-notebook", 1)


def course_on(bench: Bench, parent: str, repetitions: int) -> None:
    step = f"course on {parent}"
    for repetition in range(repetitions):
        if bench.results.has(step, "one package", repetition):
            continue
        folder, repository = image_folders(bench), f"bench/course-{parent}-{repetition}"
        course = folder / "course-notebook"
        spec = course / "image.yaml"
        spec.write_text(spec.read_text().replace("image: cupy-notebook", f"image: {parent}"))
        again = partial(build, bench, course, repository)
        bench.prune()
        bench.results.once(step, "cold", repetition, again)
        bench.results.once(step, "nothing", repetition, again)
        packages = "    - scipy==1.17.1\n"
        spec.write_text(spec.read_text().replace(packages, f"{packages}    - scikit-learn==1.9.1\n"))
        (course / "requirements.after.lock").replace(course / "requirements.lock")
        bench.results.once(step, "one package", repetition, again)


def share(bench: Bench) -> None:
    """Two images on one base in one registry: what the second one brings."""
    folder = image_folders(bench)
    for image in ("cupy-notebook", "course-notebook"):
        bench.results.once("share", image, 0, partial(build, bench, folder / image, f"bench/share-{image}"))


def pack(bench: Bench) -> None:
    """Zstd and gzip in turn. Each time all layers above the base are made anew, of wheels that are there."""
    for repetition in range(REPETITIONS):
        for compression in ("zstd", "gzip") if repetition % 2 else ("gzip", "zstd"):
            packed(bench, "cupy-notebook", compression, repetition)


def pack_torch(bench: Bench) -> None:
    """The same with a big image, once."""
    for compression in ("zstd", "gzip"):
        packed(bench, "torch-notebook", compression, 0)


def packed(bench: Bench, image: str, compression: str, repetition: int) -> None:
    """Build, then pull with containerd as a node does."""
    what, results = f"{image} {compression}", bench.results
    if results.has("pull", what, repetition):
        return
    folder = image_folders(bench) / image
    day = date(2020, 1, 1) + timedelta(days=2 * repetition + (compression == "gzip"))
    spec = (folder / "image.yaml").read_text()
    (folder / "image.yaml").write_text(re.sub(r"released: \S+", f"released: {day}", spec))
    repository = f"bench/{image}-{compression}"
    results.once("pack", what, repetition, partial(build, bench, folder, repository, "--compression", compression))
    pulled = f"{bench.instance.registry_address}/{repository}:1"
    results.once("pull", what, repetition, partial(pull, bench, pulled))


def pull(bench: Bench, reference: str) -> dict[str, Any]:
    """With containerd: download, check, unpack to disk."""
    ctr = str(bench.tools.path("containerd").with_name("ctr"))
    images = [ctr, "--address", str(bench.instance.run / "containerd.sock"), "images"]
    began, before = time.monotonic(), cpu_s(bench, "containerd")
    subprocess.run([*images, "pull", "--plain-http", reference], check=True, stdout=subprocess.DEVNULL)
    row = {"seconds": round(time.monotonic() - began, 1), "cpu_s": round(cpu_s(bench, "containerd") - before, 1)}
    subprocess.run([*images, "rm", "--sync", reference], check=True, stdout=subprocess.DEVNULL)
    return row


def sizes(bench: Bench) -> None:
    """The same content from wheels alone, and on a CUDA base."""
    folder, results = image_folders(bench), bench.results
    for image in ("torch-notebook", "cupy-notebook"):
        results.once("sizes", f"{image} wheels", 0, partial(from_wheels, bench, folder / image))
    wanted = [f"{image} usual" for image in ("cupy-notebook", "torch-notebook")]
    if all(results.has("sizes", each) for each in wanted):
        return
    bench.prune()  # wheels and layers of the ones above would not leave room for the others
    context = bench.results.folder / "context"
    context.mkdir(exist_ok=True)
    what = f"--no-deps --no-compile --target /w {' '.join(RUNTIME_WHEELS)}"
    text = STAND_IN_DOCKERFILE.replace("{base}", bench.base).replace("{what}", what).replace("{venv}", "/v")
    stand_in = build_text(bench, text, context, "bench/stand-in-cuda-12.6-runtime")
    results.once("sizes", "stand-in", 0, partial(inspected, bench, stand_in))
    for image in ("cupy-notebook", "torch-notebook"):
        lock = (folder / image / "requirements.lock").read_text()
        results.once("sizes", f"{image} usual", 0, partial(usual, bench, stand_in, image, lock))


def from_wheels(bench: Bench, folder: Path) -> dict[str, Any]:
    """One of our specs, built as ever."""
    repository = f"bench/{folder.name}-wheels"
    return inspected(bench, f"{bench.door}/{repository}@{build(bench, folder, repository)['digest']}")


def usual(bench: Bench, stand_in: str, image: str, lock: str) -> dict[str, Any]:
    """The same pins by pip on a CUDA base."""
    pins = re.findall(r"^(\S+==[^\\\n]+)", lock, re.MULTILINE)
    # On a CUDA base nobody asks for these as wheels; torch's own wheel does, and gets them.
    asked = [pin for pin in pins if image != "cupy-notebook" or not pin.startswith("nvidia-")]
    context = bench.results.folder / "context"
    (context / "requirements.txt").write_text("\n".join(asked) + "\n")
    text = USUAL_DOCKERFILE.replace("{base}", stand_in).replace("{what}", "-r /tmp/requirements.txt")
    return inspected(bench, build_text(bench, text.replace("{venv}", "/opt/venv"), context, f"bench/{image}-usual"))


def read(bench: Bench) -> None:
    """`inspect` of many references at once and of one with all its layers, against the same registry."""
    host, results = bench.instance.registry_address, bench.results
    for image in ("cupy-notebook", "torch-notebook"):
        reference = f"{host}/bench/{image}-wheels:1"
        results.once("read", f"{image}, no layers", 0, partial(reader, bench, "one", "--reference", reference))
        results.once("read", f"{image}, `--deep`", 0, partial(reader, bench, "deep", "--reference", reference))
    for repetition in range(REPETITIONS):
        results.once("read", MANY, repetition, partial(many, bench, 200))


MANY: Final = "200 images in parallel, no layers"


def many(bench: Bench, references: int) -> dict[str, Any]:
    """Small images, each with a digest of its own, behind an index each."""
    given = ["--host", bench.instance.registry_address, "--references", str(references)]
    reader(bench, "push", *given)
    return reader(bench, "many", *given)


def reader(bench: Bench, part: str, *options: str) -> dict[str, Any]:
    """A part of inspect_images.py, in a process of its own, so that its memory is its own."""
    argv = [sys.executable, str(HERE / "inspect_images.py"), "--part", part, *options]
    done = subprocess.run(argv, cwd=PROJECT, env=bench.environment, stdout=subprocess.PIPE, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout or "{}")
    return {name: value for name, value in row.items() if name != "what"}


STEPS: Final[Mapping[str, Callable[[Bench], None]]] = {
    "change": change,
    "change-torch": change_torch,
    "share": share,
    "sizes": sizes,
    "pack": pack,
    "pack-torch": pack_torch,
    "read": read,
}


# --- tables


def tables(results: Results) -> Iterator[str]:
    """Markdown. A number of several repetitions is their median, with the lowest and the highest behind it.

    Processor seconds are those of BuildKit with its steps, or of containerd.
    """
    days = sorted({row["on"] for row in results.rows})
    yield f"{' and '.join(days)}, {os.cpu_count()} cores"
    for parent in ("cupy-notebook", "torch-notebook"):
        head = [f"a course image on `{parent}`", "seconds", "of cold", "CPU s", "of cold", *_SENT]
        yield table(head, _changes(results, f"course on {parent}"))
    yield table(["two images on one base", "compressed MB", "MB of them shared", *_SENT], _shared(results))
    yield table(
        ["layers above the base made anew", "MB", "packing s", "build s", "its CPU s", "pull s", "its CPU s"],
        _packings(results),
    )
    yield table(["image", "compressed MB", "unpacked MB", "CUDA twice, MB", "`inspect` finds"], _sizes(results))
    yield table(["`inspect`", "seconds", "CPU s", "peak memory MB", "requests", "MB read"], _reads(results))


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
    told = {"cold": "cold: no wheel, no layer", "nothing": "nothing changed", "one package": "one package added"}
    for what, text in told.items():
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


def _packings(results: Results) -> Iterator[list[str]]:
    for image in ("cupy-notebook", "torch-notebook"):
        for compression in ("zstd", "gzip"):
            what = f"{image} {compression}"
            if rows := results.of("pack", what):
                builds = [spread([row[key] for row in rows]) for key in ("packing_s", "seconds", "cpu_s")]
                pulls = [spread([row[key] for row in results.of("pull", what)]) for key in ("seconds", "cpu_s")]
                yield [f"`{image}`, {compression}", mb(rows[0]["compressed_bytes"]), *builds, *pulls]


def _sizes(results: Results) -> Iterator[list[str]]:
    told = {
        "cupy-notebook wheels": "`cupy-notebook`, wheels alone",
        "cupy-notebook usual": f"the same pins on the {STAND_IN}",
        "torch-notebook wheels": "`torch-notebook`, wheels alone",
        "torch-notebook usual": f"the same pins on the {STAND_IN}",
        "stand-in": f"the {STAND_IN} alone",
    }
    for what, text in told.items():
        for row in results.of("sizes", what):
            numbers = [mb(row[key]) for key in ("compressed_bytes", "unpacked_bytes", "twice_bytes")]
            yield [text, *numbers, ", ".join(row["findings"]) or "nothing"]


def _reads(results: Results) -> Iterator[list[str]]:
    images = ("cupy-notebook", "torch-notebook")
    for what in (*(f"{image}, {how}" for how in ("no layers", "`--deep`") for image in images), MANY):
        if rows := results.of("read", what):
            memory = f"{max(row['memory_mb'] for row in rows):.0f}"
            times = [spread([row[key] for row in rows]) for key in ("wall_s", "cpu_s")]
            yield [what, *times, memory, f"{rows[0]['requests']:,}", mb(rows[0]["bytes"])]


if __name__ == "__main__":
    main()
