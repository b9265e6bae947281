"""`python -m tools.wheel_answers [NAME…]` compares answers with the machine code of wheels on a package index.

For each wheel of wheel_answers.csv, 12 GPUs and 6 drivers, it asks `check` twice: by the name and release alone, and
for an image that holds nothing but the wheel, which `inspect` has read. What is true comes from NVIDIA's cuobjdump
(tools/cuobjdump.py) and NVIDIA's rules on machine code and drivers (tools/wheel_truth.py). It prints tables, with
--page for all wheels into docs/wheel-answers.md, and ends with 1 if a bar is missed.

What was read of a wheel is kept in the cache, so a second call only asks.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import hashlib
import io
import json
import os
import re
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import httpx

from cli.check.inspected import answer_from
from compat import Answer, Case, CaseError, Severity, Verdict, check
from compat.facts.csv_files import rows
from imaging.inspection.facts import CONTENTS, VERSION, ImageContents
from imaging.inspection.faults import InspectError
from imaging.inspection.image_locations import open_session
from imaging.inspection.index import File, Index, index_url
from imaging.inspection.layouts import OciLayout
from imaging.inspection.reading import inspect
from tools import cuobjdump
from tools.cuobjdump import CuobjdumpError, Dumped
from tools.wheel_code import find_wheel
from tools.wheel_file import opened
from tools.wheel_truth import DRIVERS, GPUS, runs

WHEELS: Final = Path(__file__).with_suffix(".csv")
PAGE: Final = Path(__file__).parents[1] / "docs" / "wheel-answers.md"
HEAD: Final = """<!-- Written by `python -m tools.wheel_answers --page`. Change that, not this page. -->

# Answers compared with the machine code of wheels

`check` is asked by a release's name, and about an image that holds the wheel and that `inspect` has read; NVIDIA's
`cuobjdump` and NVIDIA's rules on machine code and drivers say what is true.
A release is known if the tables have it from any source; a wheel made a row if its code was read for the tables.
Answers on the other wheels were mended where they were wrong, so those for which nothing was changed are counted apart.
`cuobjdump` reads no code for sm_35, and not all of some libraries (CUDA 12.0 and 12.1, TensorFlow): they are left out.

"""
SITE_PACKAGES: Final = "usr/local/lib/python3.11/site-packages/"
_PIECE: Final = 1 << 20
_LIBRARY: Final = re.compile(r"\.so(?:\.\d+)*$")
# Libraries of CUDA: the framework brings them, and they have code for all that their CUDA knows.
_OF_CUDA: Final = re.compile(
    r"(?:^|/)nvidia/|(?:^|/)lib(?:cu(?:dart|blas|dnn|fft|rand|solver|sparse|pti|file)|nv(?:rtc|jitlink|blas|infer|jpeg|comp)|npp|nccl)"
    r"[^/]*\.so",
    re.IGNORECASE,
)
_OF_LIBRARIES: Final = frozenset({"R-CUDNN", "R-MATHLIB", "R-NCCL"})

BY_NAME: Final = "by name"
READ: Final = "read"
OUTCOMES: Final = ("right", "wrongly compatible", "wrongly incompatible", "unknown")
BY_LIBRARIES: Final = "by libraries"
UNTOUCHED: Final = "nothing was changed for its answers"
_DISJOINT: Final = frozenset({f"{BY_NAME}, release known", f"{BY_NAME}, other releases", READ})
# Right at least, and wrongly compatible at most, in percent.
BARS: Final = {
    f"{BY_NAME}, release known": (99.0, 0.2),
    READ: (99.0, 0.3),
    f"{READ}, wheels that no row is made of": (99.0, 0.3),
    f"{READ}, {UNTOUCHED}": (99.0, 0.3),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A row of the list: a wheel, the wheel that must run beside it, its main libraries, what a user states with it."""

    package: str
    version: str
    beside: str = ""
    """`torch==2.6.0`: by name, both must run."""
    main: str = ""
    """A pattern for the libraries without which the package is of no use; empty: all count together."""
    asked: str = ""
    """How a user names it: `jax[cuda12]==0.6.0`; empty: package and version."""
    cuda: str = ""
    """The CUDA around a wheel with a library for each: `12.4`."""
    apart: str = ""
    """`yes`: asked for the first time when everything was done; nothing was changed for its answers."""

    @property
    def name(self) -> str:
        return self.asked or f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class Read:
    """A wheel as both readers saw it."""

    filename: str
    libraries: tuple[Dumped, ...]
    unread: Mapping[str, str]
    """Libraries that cuobjdump does not read, with its words."""
    contents: ImageContents


@dataclass(frozen=True, slots=True)
class Compared:
    """An answer beside what is true."""

    way: str
    pool: str
    outcome: str
    answer: Answer | None

    @property
    def differs(self) -> bool:
        return self.outcome not in {"right", BY_LIBRARIES}

    def __str__(self) -> str:
        says = self.answer.findings[0].message if self.answer and self.answer.findings else ""
        return f"{self.way}: {self.pool}: {self.outcome}: {says[:150]}"


# --- reading a wheel twice


def read(package: str, version: str, cuda: str, index: Index, folder: Path) -> Read:
    """From the cache, or from the index; with a runtime of that CUDA in the image, if one is named.

    Raises InspectError and httpx.HTTPError.
    """
    source = find_wheel(index, package, version)
    kept = folder / f"{source.filename}.{source.sha256[:16]}.{cuda}.{VERSION}.json"
    if kept.exists():
        found = json.loads(kept.read_text())
        dumped = tuple(Dumped(**each) for each in found["libraries"])
        contents = CONTENTS.validate_python(found["contents"], strict=False)
        return Read(source.filename, dumped, found["unread"], contents)
    sys.stderr.write(f"{source.filename}, {(source.size or 0) / 1e6:.0f} MB\n")
    with tempfile.TemporaryDirectory(dir=folder) as name, ExitStack() as stack:
        draft = Path(name)
        wheel = draft / source.filename
        _download(source, wheel)
        archive = stack.enter_context(zipfile.ZipFile(wheel))
        program = cuobjdump.bring(index, folder)
        unread: dict[str, str] = {}
        dumped = tuple(_dumped(archive, program, draft, unread))
        contents = inspect(OciLayout(_layout(archive, cuda, draft / "image")), deep=True).contents
    draft_of_kept = kept.with_suffix(".draft")
    draft_of_kept.write_text(
        json.dumps(
            {
                "libraries": [asdict(each) for each in dumped],
                "unread": unread,
                "contents": CONTENTS.dump_python(contents, mode="json"),
            }
        )
    )
    draft_of_kept.rename(kept)
    return Read(source.filename, dumped, unread, contents)


def _download(source: File, target: Path) -> None:
    with opened(source) as file, target.open("wb") as out:
        digest = hashlib.sha256()
        while piece := file.read(_PIECE * 8):
            digest.update(piece)
            out.write(piece)
    if source.sha256 and digest.hexdigest() != source.sha256:
        raise InspectError(source.filename, "has another digest than the index says", "try again")


def _dumped(archive: zipfile.ZipFile, program: Path, folder: Path, unread: dict[str, str]) -> Iterator[Dumped]:
    for member in archive.infolist():
        if not _LIBRARY.search(member.filename) or _OF_CUDA.search(member.filename):
            continue
        library = folder / "library.so"
        with archive.open(member) as content, library.open("wb") as out:
            _copy(content, out)
        try:
            if library.stat().st_size and (found := cuobjdump.dump(program, library, member.filename)):
                yield found
        except CuobjdumpError as error:
            unread[member.filename] = str(error).replace(f"{folder}/", "")
        library.unlink()


def _copy(content: IO[bytes], out: IO[bytes]) -> None:
    while piece := content.read(_PIECE):
        out.write(piece)


def _layout(archive: zipfile.ZipFile, cuda: str, folder: Path) -> Path:
    """An OCI layout of one layer: the wheel as an installer unpacks it, and the record of NVIDIA's runtime."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    layer = blobs / "layer"
    with tarfile.open(layer, "w") as tar:
        for member in archive.infolist():
            if member.is_dir():
                continue
            info = tarfile.TarInfo(_installed(member.filename))
            info.size = member.file_size
            with archive.open(member) as content:
                tar.addfile(info, content)
        if cuda:
            record = f"Name: nvidia-cuda-runtime\nVersion: {cuda}.0\n".encode()
            info = tarfile.TarInfo(f"{SITE_PACKAGES}nvidia_cuda_runtime-{cuda}.0.dist-info/METADATA")
            info.size = len(record)
            tar.addfile(info, io.BytesIO(record))
    with layer.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    layer.rename(blobs / digest)
    oci = "application/vnd.oci.image"
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    layers = [
        {"mediaType": f"{oci}.layer.v1.tar", "digest": f"sha256:{digest}", "size": (blobs / digest).stat().st_size}
    ]
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{oci}.manifest.v1+json",
        "config": _blob(blobs, config, f"{oci}.config.v1+json"),
        "layers": layers,
    }
    top = {"schemaVersion": 2, "manifests": [_blob(blobs, manifest, f"{oci}.manifest.v1+json")]}
    (folder / "index.json").write_text(json.dumps(top))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return folder


def _blob(blobs: Path, content: Mapping[str, Any], kind: str) -> dict[str, Any]:
    text = json.dumps(content).encode()
    digest = hashlib.sha256(text).hexdigest()
    (blobs / digest).write_bytes(text)
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(text)}


def _installed(path: str) -> str:
    """`x.data/purelib/…` and `x.data/platlib/…` go to site-packages, `x.data/data/…` beside it."""
    if match := re.match(r"[^/]+\.data/(purelib|platlib|data)/(.*)", path):
        return ("usr/local/" if match[1] == "data" else SITE_PACKAGES) + match[2]
    return SITE_PACKAGES + path


# --- asking


def is_known(wanted: Wanted) -> bool:
    """Whether the table has the release, from whatever source."""
    name, _, version = wanted.name.partition("==")
    package = re.compile(rf"pip (?:{'wheel' if name == 'torch' else re.escape(name)})(?: |$)")
    return any(package.match(row["distribution"]) and row["version"] == version for row in rows("framework"))


def made_a_row(filename: str) -> bool:
    """Whether a row of the table was read in this wheel."""
    return any(filename in each["source"] for each in rows("framework"))


def main_libraries(wanted: Wanted, libraries: Sequence[Dumped]) -> list[Dumped]:
    return [each for each in libraries if re.search(wanted.main, each.path)]


def outcome(answer: Answer | None, is_true: bool) -> str:  # noqa: FBT001 - the truth
    """One of OUTCOMES, or `by libraries`: refused for libraries of NVIDIA alone, whose code was not read."""
    if answer is None or answer.verdict is Verdict.UNKNOWN:
        return "unknown"
    if answer.verdict.runs is is_true:
        return "right"
    if answer.verdict.runs:
        return "wrongly compatible"
    refused = {each.rule for each in answer.findings if each.severity is Severity.REFUSE}
    return BY_LIBRARIES if refused <= _OF_LIBRARIES else "wrongly incompatible"


def compared(wanted: Wanted, found: Read, beside: Read | None) -> Iterator[Compared]:
    """Both ways of asking, for each GPU and driver."""
    own = main_libraries(wanted, found.libraries)
    for gpu, capability, first in GPUS:
        for driver in DRIVERS:
            alone = runs(own, capability, first, driver)
            both = alone and (beside is None or runs(beside.libraries, capability, first, driver))
            pool = {"gpu": gpu, "driver": driver}
            try:
                named = check(Case(**pool, build=wanted.name, cuda=wanted.cuda), with_remedy=False)
            except CaseError:
                named = None
            yield Compared(BY_NAME, f"{gpu}, {driver}", outcome(named, both), named)
            content = answer_from(wanted.name, found.contents, pool)
            yield Compared(READ, f"{gpu}, {driver}", outcome(content, alone), content)


# --- the table


@dataclass(slots=True)
class Tally:
    """Outcomes of all wheels so far, by what was asked, and a line of the table for each wheel."""

    total: dict[str, Counter[str]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def add(self, wanted: Wanted, filename: str, found: Iterable[Compared]) -> None:
        own: dict[str, Counter[str]] = {BY_NAME: Counter(), READ: Counter()}
        for each in found:
            own[each.way][each.outcome] += 1
        known, is_apart = is_known(wanted), not made_a_row(filename)
        kinds = {
            f"{BY_NAME}, release known": known,
            f"{BY_NAME}, release known, wheels that no row is made of": known and is_apart,
            f"{BY_NAME}, other releases": not known,
            READ: True,
            f"{READ}, wheels that no row is made of": is_apart,
            f"{BY_NAME}, release known, {UNTOUCHED}": known and bool(wanted.apart),
            f"{READ}, {UNTOUCHED}": bool(wanted.apart),
        }
        for kind, counts in kinds.items():
            if counts:
                self.total.setdefault(kind, Counter()).update(own[kind.partition(",")[0]])
        cells = (cell for counts in own.values() for cell in percent(counts)[1:])
        marks = ("yes" if each else "no" for each in (known, not is_apart))
        self.lines.append(f"| {' | '.join((wanted.name, *marks, *cells))} |")

    def missed(self) -> Iterator[str]:
        """Each bar that does not hold, as a sentence."""
        for kind, (right, wrong) in BARS.items():
            counts = self.total.get(kind, Counter())
            if (total := sum(counts[each] for each in OUTCOMES)) == 0:
                continue
            share, bad = 100 * counts["right"] / total, 100 * counts["wrongly compatible"] / total
            if share < right or bad > wrong:
                yield (
                    f"{kind}: {share:.2f} % right (at least {right}), {bad:.2f} % wrongly compatible (at most {wrong})"
                )

    def text(self, today: dt.date) -> str:
        head = tuple(f"{each} %" for each in OUTCOMES)
        columns = ("wheel", "known", "made a row", *(f"{way}: {each}" for way in (BY_NAME, READ) for each in head))
        kinds = (f"| {kind} | {' | '.join(percent(self.total[kind]))} |" for kind in sorted(self.total))
        left_out = sum(counts[BY_LIBRARIES] for kind, counts in self.total.items() if kind in _DISJOINT)
        asked = f"{len(self.lines)} wheels, {len(GPUS)} GPUs, {len(DRIVERS)} drivers"
        return "\n".join(
            (
                f"{today}: {asked}; read by cuobjdump {cuobjdump.VERSION}.",
                "",
                *_table(("asked", "answers", *head), kinds),
                "",
                f"Not counted: {left_out} refusals for cuDNN, cuBLAS or NCCL alone, whose code was not read.",
                "",
                *_table(columns, self.lines),
            )
        )


def percent(counts: Counter[str]) -> list[str]:
    """The number of answers, and the share of each outcome."""
    total = sum(counts[each] for each in OUTCOMES)
    return [str(total), *(f"{100 * counts[each] / total:.2f}" if total else "" for each in OUTCOMES)]


def _table(columns: Sequence[str], lines: Iterable[str]) -> list[str]:
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *lines]


def main(arguments: Sequence[str] | None = None) -> int:
    """0: every wheel was read and each bar holds; else 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheel_answers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only wheels of these packages; all if none is named")
    parser.add_argument("--page", action="store_true", help="write the page for people instead of printing")
    parser.add_argument("--differences", action="store_true", help="also print each answer that is not right")
    options = parser.parse_args(arguments)
    with WHEELS.open(newline="") as file:
        wheels = [Wanted(**each) for each in csv.DictReader(file)]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpu-commons" / "wheel-answers"
    folder.mkdir(parents=True, exist_ok=True)
    tally, problems = Tally(), []
    with open_session(os.environ, with_login=False) as session:
        index = Index(session, index_url(os.environ))
        for wanted in wheels:
            if options.names and wanted.package not in options.names:
                continue
            try:
                found = read(wanted.package, wanted.version, wanted.cuda, index, folder)
                name, _, version = wanted.beside.partition("==")
                beside = read(name, version, "", index, folder) if name else None
            except (InspectError, httpx.HTTPError) as error:
                problems.append(f"{wanted.name}: not read: {error}")
                continue
            if unread := [why for path, why in found.unread.items() if re.search(wanted.main, path)]:
                problems.append(f"{wanted.name}: not read: {unread[0]}")
                continue
            if not main_libraries(wanted, found.libraries):
                problems.append(f"{wanted.name}: no device code in a main library")
                continue
            answers = [*compared(wanted, found, beside)]
            tally.add(wanted, found.filename, answers)
            if options.differences:
                sys.stderr.write("".join(f"{wanted.name} {each}\n" for each in answers if each.differs))
    text = tally.text(dt.datetime.now(tz=dt.UTC).date())
    if options.page:
        PAGE.write_text(f"{HEAD}{text}\n")
    else:
        print(text)
    problems += tally.missed()
    sys.stderr.write("".join(f"{each}\n" for each in problems))
    return int(bool(problems))


if __name__ == "__main__":
    raise SystemExit(main())
