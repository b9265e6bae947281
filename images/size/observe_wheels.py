"""`python -m images.size.observe_wheels PACKAGE==VERSION…|WHEEL…` writes, as CSV, which GPUs the code in wheels is for.

A wheel of the package index is read in place, by HTTP range requests, and never stored; a path is read as a file.
The index is the one that pip or uv is set to (environment, pip.conf), else PyPI. Reading a library stops early once
its set of targets has stayed the same for long (`--settle`); the column `complete` says whether it was read to its end.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from images.inspection.fatbin import DeviceCode, Scanner, Target, order
from images.inspection.faults import InspectError
from images.spec.pins import wheel_pin

if TYPE_CHECKING:
    import httpx

    from images.inspection.index import File, Index

COLUMNS = (
    "package",
    "version",
    "wheel",
    "member",
    "section",
    "kind",
    "target",
    "isa",
    "entries",
    "containers",
    "complete",
)
_LIBRARY = re.compile(r"\.so(\.\d+)*$")
_PIECE = 1 << 20
_BUFFER = 4 << 20  # one range request
_GPU_STACK = ("nvidia-", "cuda-", "triton", "pytorch-triton", "jax", "torch", "cupy")


class NotObserved(Exception):  # noqa: N818 - an answer about one wheel, not a fault of the program
    """Why a wheel could not be read: one sentence for people."""


class RangeFile(io.RawIOBase):
    """A file behind a URL, read by range requests; the buffer of an `io.BufferedReader` around it is their size."""

    def __init__(self, client: httpx.Client, url: str) -> None:
        super().__init__()
        self._client = client
        self._url = url
        self._at = 0
        self.bytes_read = 0
        first = self._get(0, 0)
        self._size = int(first.headers["content-range"].rpartition("/")[2])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        last = min(self._at + len(buffer), self._size) - 1
        if last < self._at:
            return 0
        content = self._get(self._at, last).content
        if len(content) != last - self._at + 1:
            raise NotObserved(f"{self._url} answered {len(content)} bytes for the range {self._at}-{last}")
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)

    def _get(self, first: int, last: int) -> httpx.Response:
        # A compressed answer would have other offsets than the file.
        headers = {"Range": f"bytes={first}-{last}", "Accept-Encoding": "identity"}
        with self._client.stream("GET", self._url, headers=headers, follow_redirects=True) as answer:
            if answer.status_code != 206:
                # Not read: a server that ignores ranges would send the whole wheel.
                raise NotObserved(f"{self._url} answered {answer.status_code} to a range request")
            answer.read()
        self.bytes_read += len(answer.content)
        return answer


@dataclass(frozen=True, slots=True)
class Library:
    """Device code of one shared library of a wheel."""

    member: str
    code: DeviceCode
    complete: bool


@dataclass(frozen=True, slots=True)
class Wheel:
    """What a wheel says of GPUs: its requirements of the CUDA stack, and the libraries with device code."""

    package: str
    version: str
    filename: str
    requires: tuple[str, ...]
    libraries: tuple[Library, ...]


def find_wheel(index: Index, text: str) -> File:
    """The smallest Linux x86_64 wheel of `package==version`: device code is alike in all. Raises NotObserved."""
    try:
        pin = wheel_pin(text)
    except ValueError as error:
        raise NotObserved(str(error)) from None
    try:
        files = index.files(pin.name)
    except InspectError as error:
        raise NotObserved(f"{error.problem.reason}; {error.problem.fix}") from None
    wheels = [file for file in files if _fits(file.filename, Version(pin.version))]
    if not wheels:
        raise NotObserved("the index has no wheel for Linux on x86_64")
    return min(wheels, key=lambda file: (file.size or 0, file.filename))


def observe(file: io.BufferedReader, filename: str, *, settle: int | None = None, match: str = "*") -> Wheel:
    """Read a wheel. `settle`: leave a library after so many unpacked bytes without a new target; None: read to the end.

    `match` is a glob on the paths of libraries.
    """
    name, version, *_ = parse_wheel_filename(filename)
    with zipfile.ZipFile(file) as archive:
        members = sorted(archive.infolist(), key=lambda member: member.file_size)
        metadata = next(info for info in members if re.fullmatch(r"[^/]+\.dist-info/METADATA", info.filename))
        requires = tuple(_gpu_requirements(archive.read(metadata)))
        libraries = [
            _library(archive, info, settle)
            for info in members
            if _LIBRARY.search(info.filename) and PurePosixPath(info.filename).match(match)
        ]
    found = tuple(library for library in libraries if library.code.containers)
    return Wheel(name, str(version), filename, requires, found)


def rows(wheel: Wheel) -> Iterator[dict[str, object]]:
    """Rows of `COLUMNS`: one for each requirement, and one for each library, section and target."""
    start = {"package": wheel.package, "version": wheel.version, "wheel": wheel.filename}
    for requirement in wheel.requires:
        yield {**start, "member": "METADATA", "kind": "requires", "target": requirement}
    for library in wheel.libraries:
        code = library.code
        for section, entries in (code.sections or {"": code.entries}).items():
            containers = code.section_containers.get(section, code.containers)
            for target in sorted(entries, key=order):
                yield {
                    **start,
                    "member": library.member,
                    "section": section,
                    **_cells(target),
                    "entries": entries[target],
                    "containers": containers,
                    "complete": "yes" if library.complete else "no",
                }


def main(arguments: Sequence[str] | None = None) -> int:
    """0: all wheels were read; 1: some could not be, each with one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m images.size.observe_wheels", description=__doc__)
    parser.add_argument("wheels", nargs="+", metavar="PACKAGE==VERSION|WHEEL")
    parser.add_argument("--match", default="*", help="only libraries whose path fits this glob")
    parser.add_argument("--settle", type=int, default=150, metavar="MB", help="0: read every library to its end")
    parser.add_argument("--out", type=Path, help="append to this CSV file instead of printing")
    options = parser.parse_args(arguments)
    settle = options.settle * 1_000_000 or None
    failed = 0
    with _output(options.out) as writer:
        for argument in options.wheels:
            try:
                wheel, cost = _observe_argument(argument, settle, options.match)
            except (NotObserved, OSError, zipfile.BadZipFile, InvalidWheelFilename) as error:
                failed += 1
                sys.stderr.write(f"{argument}: {error}\n")
                continue
            writer.writerows(rows(wheel))
            sys.stderr.write(f"{argument}: {wheel.filename}, {cost / 1e6:.0f} MB read\n")
    return min(failed, 1)


def _observe_argument(argument: str, settle: int | None, match: str) -> tuple[Wheel, int]:
    if argument.endswith(".whl"):
        path = Path(argument)
        with path.open("rb") as file:
            return observe(file, path.name, settle=settle, match=match), path.stat().st_size
    import httpx  # noqa: PLC0415 - a wheel on disk is read without a network library

    from images.inspection.index import Index, index_url  # noqa: PLC0415
    from images.inspection.opening import open_session  # noqa: PLC0415

    try:
        with open_session(os.environ, with_login=False) as session, httpx.Client(timeout=60) as client:
            wheel = find_wheel(Index(session, index_url(os.environ)), argument)
            remote = RangeFile(client, wheel.url)
            file = io.BufferedReader(remote, _BUFFER)
            return observe(file, wheel.filename, settle=settle, match=match), remote.bytes_read
    except httpx.HTTPError as error:
        raise NotObserved(f"no answer: {error}") from error


def _library(archive: zipfile.ZipFile, info: zipfile.ZipInfo, settle: int | None) -> Library:
    scanner = Scanner()
    known, changed, ended = 0, 0, True
    with archive.open(info) as member:
        while piece := member.read(_PIECE):
            scanner.feed(piece)
            if len(scanner.targets) > known:
                known, changed = len(scanner.targets), scanner.position
            if settle and known and scanner.position - changed > settle:
                ended = scanner.position >= info.file_size
                break
    return Library(info.filename, scanner.result(ended=ended), ended)


def _gpu_requirements(metadata: bytes) -> Iterator[str]:
    for line in BytesParser().parsebytes(metadata, headersonly=True).get_all("Requires-Dist", []):
        if canonicalize_name(Requirement(line).name).startswith(_GPU_STACK):
            yield line


def _cells(target: Target) -> dict[str, object]:
    return {"kind": target.kind, "target": target.capability, "isa": target.isa}


def _fits(filename: str, version: Version) -> bool:
    try:
        _, found, _, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    return found == version and any(tag.platform.endswith("x86_64") and "linux" in tag.platform for tag in tags)


@contextmanager
def _output(path: Path | None) -> Iterator[csv.DictWriter[str]]:
    """A writer of CSV rows to a file, appended, or to stdout; the header comes once."""
    new = path is None or not path.exists()
    with path.open("a", newline="") if path else nullcontext(sys.stdout) as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        yield writer


if __name__ == "__main__":
    raise SystemExit(main())
