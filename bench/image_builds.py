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
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from images.buildkit import Build, Buildctl, run_build
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
        from components.settings import load_stack  # noqa: PLC0415 - pydantic, only for a run

        return load_stack(STACK, site=Path(self.environment["GPU_COMMONS_SITE"]))

    def prune(self) -> None:
        """Empty the builder's cache, the wheels in its mounts too."""
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
    began = time.monotonic()
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
    for repetition in range(REPETITIONS - 1):
        if all(bench.results.has("change", what, repetition) for what in ("cold", "nothing", "one package")):
            continue
        folder, repository = image_folders(bench), f"bench/course-{repetition}"
        course = folder / "course-notebook"
        bench.prune()
        bench.results.once("change", "cold", repetition, lambda: build(bench, course, repository))
        bench.results.once("change", "nothing", repetition, lambda: build(bench, course, repository))
        spec = course / "image.yaml"
        spec.write_text(
            spec.read_text().replace("    - scipy==1.17.1\n", "    - scipy==1.17.1\n    - scikit-learn==1.9.1\n")
        )
        (course / "requirements.after.lock").replace(course / "requirements.lock")
        bench.results.once("change", "one package", repetition, lambda: build(bench, course, repository))


def share(bench: Bench) -> None:
    """Two images on one base in one registry: what the second one brings."""
    folder = image_folders(bench)
    bench.results.once("share", "cupy-notebook", 0, lambda: build(bench, folder / "cupy-notebook", "bench/share-cupy"))
    bench.results.once(
        "share", "course-notebook", 0, lambda: build(bench, folder / "course-notebook", "bench/share-course")
    )


def pack(bench: Bench) -> None:
    """Zstd and gzip in turn. Each time all layers above the base are made anew, of wheels that are there."""
    for repetition in range(REPETITIONS):
        for compression in ("zstd", "gzip") if repetition % 2 else ("gzip", "zstd"):
            packed(bench, "cupy-notebook", compression, repetition)
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
    results.once("pack", what, repetition, lambda: build(bench, folder, repository, "--compression", compression))
    results.once("pull", what, repetition, lambda: pull(bench, f"{bench.instance.registry_address}/{repository}:1"))


def pull(bench: Bench, reference: str) -> dict[str, Any]:
    ctr = [
        str(bench.tools.path("containerd").with_name("ctr")),
        "--address",
        str(bench.instance.run / "containerd.sock"),
    ]
    began = time.monotonic()
    subprocess.run([*ctr, "images", "pull", "--plain-http", reference], check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    subprocess.run([*ctr, "images", "rm", "--sync", reference], check=True, stdout=subprocess.DEVNULL)
    return {"seconds": round(seconds, 1)}


def sizes(bench: Bench) -> None:
    """The same content from wheels alone, and on a CUDA base."""
    wanted = (
        "stand-in",
        "cupy-notebook usual",
        "torch-notebook usual",
        "torch-notebook wheels",
        "cupy-notebook wheels",
    )
    if all(bench.results.has("sizes", what) for what in wanted):
        return
    folder = image_folders(bench)
    for image in ("torch-notebook", "cupy-notebook"):

        def ours(image: str = image) -> dict[str, Any]:
            repository = f"bench/{image}-wheels"
            built = build(bench, folder / image, repository)
            return inspected(bench, f"{bench.door}/{repository}@{built['digest']}")

        bench.results.once("sizes", f"{image} wheels", 0, ours)
    if not bench.results.has("sizes", "torch-notebook usual"):
        bench.prune()  # wheels and layers of the one above would not leave room for the other
    context = bench.results.folder / "context"
    context.mkdir(exist_ok=True)
    what = f"--no-deps --no-compile --target /w {' '.join(RUNTIME_WHEELS)}"
    text = STAND_IN_DOCKERFILE.replace("{base}", bench.base).replace("{what}", what).replace("{venv}", "/v")
    stand_in = build_text(bench, text, context, "bench/stand-in-cuda-12.6-runtime")
    bench.results.once("sizes", "stand-in", 0, lambda: inspected(bench, stand_in))
    text = USUAL_DOCKERFILE.replace("{base}", stand_in).replace("{what}", "-r /tmp/requirements.txt")
    for image in ("cupy-notebook", "torch-notebook"):

        def usual(image: str = image) -> dict[str, Any]:
            lock = (folder / image / "requirements.lock").read_text()
            pins = re.findall(r"^(\S+==[^\\\n]+)", lock, re.MULTILINE)
            # On a CUDA base nobody asks for these as wheels; torch's own wheel does, and gets them.
            asked = [pin for pin in pins if image != "cupy-notebook" or not pin.startswith("nvidia-")]
            (context / "requirements.txt").write_text("\n".join(asked) + "\n")
            return inspected(
                bench, build_text(bench, text.replace("{venv}", "/opt/venv"), context, f"bench/{image}-usual")
            )

        bench.results.once("sizes", f"{image} usual", 0, usual)


def read(bench: Bench) -> None:
    """`inspect` of many references at once and of one with all its layers, against the same registry."""
    for name in ("cupy-notebook", "torch-notebook"):
        reference = f"{bench.instance.registry_address}/bench/{name}-wheels:1"
        bench.results.once(
            "read", f"{name}, no layers", 0, lambda ref=reference: reader(bench, "one", "--reference", ref)
        )
    for repetition in range(REPETITIONS):
        what = "200 references in parallel, no layers"
        bench.results.once("read", what, repetition, lambda: many(bench, 200))
    reference = f"{bench.instance.registry_address}/bench/torch-notebook-wheels:1"
    bench.results.once("read", "torch-notebook, --deep", 0, lambda: reader(bench, "deep", "--reference", reference))


def many(bench: Bench, references: int) -> dict[str, Any]:
    host = bench.instance.registry_address
    argv = [sys.executable, str(HERE / "inspect_images.py"), "--part", "push", "--host", host]
    subprocess.run([*argv, "--references", str(references)], check=True, cwd=PROJECT)
    return reader(bench, "many", "--host", host, "--references", str(references))


def reader(bench: Bench, part: str, *options: str) -> dict[str, Any]:
    argv = [sys.executable, str(HERE / "inspect_images.py"), "--part", part, *options]
    done = subprocess.run(argv, cwd=PROJECT, env=bench.environment, stdout=subprocess.PIPE, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout)
    return {**row, "said": row.pop("what")}


STEPS: Final[Mapping[str, Callable[[Bench], None]]] = {
    "change": change,
    "share": share,
    "sizes": sizes,
    "pack": pack,
    "read": read,
}


# --- tables


def tables(results: Results) -> Iterator[str]:
    return iter(())


if __name__ == "__main__":
    main()
