"""`python bench/inspect_images.py` prints what `inspect` costs: 200 references at once, and a synthetic image of 3 GB.

Everything runs against a registry of the standard library on loopback, in a process of its own; memory is the peak of
the process that inspects.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import resource
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

from imaging.inspection.conclusions import judge
from imaging.inspection.image_locations import registry_image
from imaging.inspection.reading import inspect
from imaging.inspection.session import Session

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=200)
    parser.add_argument("--gigabytes", type=float, default=3.0, help="unpacked size of the synthetic image")
    parser.add_argument("--part", choices=["serve", "many", "deep"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--host", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part == "serve":
        serve(options.folder)
    elif options.part == "many":
        many(options.host, options.references)
    elif options.part == "deep":
        deep(f"{options.host}/bench/big:1")
    else:
        measure(options.references, options.gigabytes)


def measure(references: int, gigabytes: float) -> None:
    """Make the images, start the registry, run each part in its own process, print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.monotonic()
        for number in range(references):
            write_image(folder, f"small-{number}", [layer([(f"opt/file-{number}", b"x" * 1000)])])
        write_image(folder, "big", big_layers(folder, gigabytes))
        print(f"made in {time.monotonic() - began:.0f} s", file=sys.stderr)
        arguments = [sys.executable, __file__]
        with subprocess.Popen(
            [*arguments, "--part", "serve", "--folder", name], stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                host = server.stdout.readline().strip() if server.stdout else ""
                rows = []
                for part in ("many", "deep"):
                    more = ["--host", host, "--references", str(references)]
                    done = subprocess.run(
                        [*arguments, "--part", part, *more], stdout=subprocess.PIPE, text=True, check=True
                    )
                    rows.append(json.loads(done.stdout))
            finally:
                server.terminate()
    print(f"{'what':<56} {'wall':>8} {'CPU':>8} {'peak memory':>12} {'requests':>9} {'bytes read':>14}")
    for row in rows:
        sizes = f"{row['memory_mb']:>9.0f} MB {row['requests']:>9,} {row['bytes']:>14,}"
        print(f"{row['what']:<56} {row['wall_s']:>6.2f} s {row['cpu_s']:>6.2f} s {sizes}")


def many(host: str, references: int) -> None:
    """Many references at once, without their layers."""
    began = time.monotonic()
    with Session() as session, ThreadPoolExecutor(16) as pool:
        sources = [registry_image(session, f"{host}/bench/small-{number}:1") for number in range(references)]
        found = list(pool.map(inspect, sources))
        tell(
            f"{len({each.contents.digest for each in found})} references in parallel, no layers",
            began,
            session.counters,
        )


def deep(reference: str) -> None:
    """A reference with all its layers."""
    began = time.monotonic()
    with Session() as session:
        found = inspect(registry_image(session, reference), deep=True)
        contents = found.contents.deep
        if contents is None:
            raise SystemExit("the layers were not read")
        targets = judge(found.contents).programs[0].fields["sm_list"]
        size = f"{contents.unpacked_bytes / 1e9:.1f} GB, {contents.files:,} files, {targets}"
        tell(f"--deep, {size}", began, session.counters)


def tell(what: str, began: float, counters: Any) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    row = {
        "what": what,
        "wall_s": time.monotonic() - began,
        "cpu_s": used.ru_utime + used.ru_stime,
        "memory_mb": peak_mb(),
        "requests": counters.requests,
        "bytes": counters.bytes_read,
    }
    print(json.dumps(row))


def peak_mb() -> float:
    """Of this program; `ru_maxrss` would include its parent."""
    (line,) = [each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024 / 1e6


def big_layers(folder: Path, gigabytes: float) -> Iterator[Path]:
    """A system of many small files, libraries with device code, wheels, and data that compresses badly; on disk."""
    noise = random.Random(1).randbytes(1 << 20)  # noqa: S311 - made-up content need not be unguessable
    entry = b"".join(
        struct.pack("<HHIQ8xHHI8xQ16x", 2, 0x101, 64, 4096, 5, 8, architecture, 0) + noise[:4096]
        for architecture in (80, 90)
    )
    fatbin = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry
    library = b"\x7fELF\x02\x01\x01".ljust(512, b"\0")
    site = "opt/venv/lib/python3.11/site-packages"
    total = int(gigabytes * 1e9)
    yield written(
        folder / "system", ((f"usr/share/{n % 500}/{n}/file-{n}", noise[n % 1000 :][:500], 1) for n in range(200_000))
    )
    wheels = [
        (f"{site}/torch-2.6.0.dist-info/METADATA", b"Name: torch\n\n", 1),
        (f"{site}/torch/version.py", b"cuda = '12.4'\n", 1),
        (f"{site}/torch/lib/libtorch_cuda.so", library + fatbin, 60_000),
    ]
    yield written(folder / "wheels", iter(wheels))
    rest = max(total - 60_000 * len(fatbin + library) - 200_000 * 500, 0)
    yield written(
        folder / "data",
        ((f"{site}/nvidia/lib/lib{n}.so", library + noise + noise[::-1], 50) for n in range(rest // (100 << 20))),
    )


def written(path: Path, members: Iterator[tuple[str, bytes, int]]) -> Path:
    """A gzip layer on disk; members repeat a few contents, and each content is compressed once."""
    pending: list[bytes] = []
    with path.open("wb") as out:

        def flush() -> None:
            out.write(gzip.compress(b"".join(pending), 1))
            pending.clear()

        for name, content, times in members:
            info = tarfile.TarInfo(name)
            info.size = len(content) * times
            pending.append(info.tobuf())
            if times > 1:
                flush()
                many = gzip.compress(content * max(1, min(times, (1 << 20) // len(content))), 1)
                one = gzip.compress(content, 1)
                step = max(1, min(times, (1 << 20) // len(content)))
                for _ in range(times // step):
                    out.write(many)
                for _ in range(times % step):
                    out.write(one)
            else:
                pending.append(content)
            pending.append(bytes(-info.size % 512))
            if len(pending) > 10_000:
                flush()
        pending.append(bytes(1024))
        flush()
    return path


def layer(files: list[tuple[str, bytes]]) -> bytes:
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, BytesIO(content))
    return gzip.compress(out.getvalue(), mtime=0)


def write_image(folder: Path, repository: str, layers: Any) -> None:
    """Index, manifest, config and layers as files named after their paths in the registry's interface."""
    top = folder / "v2" / "bench" / repository
    (top / "manifests").mkdir(parents=True)
    (top / "blobs").mkdir()
    described = []
    for each in layers:
        digest = sha256(each)
        target = top / "blobs" / digest
        if isinstance(each, Path):
            each.rename(target)
        else:
            target.write_bytes(each)
        kind = "application/vnd.oci.image.layer.v1.tar+gzip"
        described.append({"mediaType": kind, "digest": digest, "size": target.stat().st_size})
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "name": repository}).encode()
    (top / "blobs" / sha256(config)).write_bytes(config)
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": sha256(config),
                "size": len(config),
            },
            "layers": described,
        }
    ).encode()
    (top / "manifests" / sha256(manifest)).write_bytes(manifest)
    platform = {"os": "linux", "architecture": "amd64"}
    entry = {"mediaType": MANIFEST, "digest": sha256(manifest), "size": len(manifest), "platform": platform}
    (top / "manifests" / "1").write_bytes(
        json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}).encode()
    )


def sha256(content: bytes | Path) -> str:
    if isinstance(content, bytes):
        return f"sha256:{hashlib.sha256(content).hexdigest()}"
    with content.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def serve(folder: Path) -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            path = folder / self.path.lstrip("/")
            size = path.stat().st_size
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            self.wfile.flush()
            with path.open("rb") as file:
                at = 0
                while at < size:
                    at += os.sendfile(self.connection.fileno(), file.fileno(), at, 1 << 20)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    with Server(("127.0.0.1", 0), Handler) as server:
        print(f"127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
