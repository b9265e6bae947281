"""Reads specs from disk: one image's folder, or an image with everything of ours that it stands on."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from components.problems import NOT_GIVEN, Loc, Problem, nearest, path_text, show
from images.lock import read_lock
from images.pins import wheel_pin
from images.spec import ImageSpec
from images.wheels import SIZES_FILE, WheelSize, is_current, read_sizes, wanted_wheels

IMAGES = Path(__file__).parent
SPEC_FILE = "image.yaml"
VERIFY_FILE = "verify.py"
IGNORE_FILE = ".dockerignore"
_FIXES = {
    "extra_forbidden": "take it out, or correct its name",
    "missing": "add it",
    "string_type": 'quote it: "10.1" is text, 10.1 is a number',
    "int_type": "write a whole number without quotes",
}


class SpecError(Exception):
    """All mistakes of an image's spec. Its text is the whole message for people: print it without a traceback."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def load_spec(folder: Path) -> ImageSpec:
    """Read and check the spec of one image, and the files beside it: locks, ignore file, verify.py.

    Raises SpecError, which names every mistake at once: path, value, what is allowed, what to change.
    """
    spec = read_spec(folder)
    if problems := list(_misfits(folder, spec)):
        raise SpecError(problems)
    return spec


def read_spec(folder: Path) -> ImageSpec:
    """Read and check the spec alone: enough to make the files that belong beside it. Raises SpecError."""
    path = folder / SPEC_FILE
    if not path.is_file():
        raise SpecError([_no_such_image(folder)])
    try:
        raw = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise SpecError([Problem(_place(folder), "", f"is not YAML: {_one_line(error)}", "correct it")]) from error
    if not isinstance(raw, dict):
        raise SpecError([Problem(_place(folder), show(raw), "is not a mapping", "start with name: …")])
    try:
        return ImageSpec.model_validate(raw)
    except ValidationError as error:
        raise SpecError(_problem(folder, details) for details in _own_mistakes(error)) from error


def load_family(name: str, *, images: Path = IMAGES) -> tuple[ImageSpec, ...]:
    """The image called `name` and its ancestors among our images, the image first.

    Raises SpecError for a spec with mistakes, an unknown name, or a circle.
    """
    family: list[ImageSpec] = []
    wanted: str | None = name
    while wanted:
        if wanted in [spec.name for spec in family]:
            circle = " → ".join([spec.name for spec in family] + [wanted])
            raise SpecError(
                [Problem(f"images/{wanted}/{SPEC_FILE}: base.image", "", f"makes a circle: {circle}", "break it")]
            )
        family.append(load_spec(images / wanted))
        wanted = family[-1].base.image
    if problems := [problem for pair in pairwise(family) for problem in _shadowed(images, *pair)]:
        raise SpecError(problems)
    return tuple(family)


def load_sizes(folder: Path, spec: ImageSpec) -> tuple[WheelSize, ...] | None:
    """Sizes of an image's wheels, from the file beside its lock; None where there is none that fits the lock."""
    lock = (folder / spec.python.lock).read_text() if spec.python else ""
    try:
        sizes = read_sizes((folder / SIZES_FILE).read_text())
    except (OSError, ValueError):
        return None
    return sizes if is_current(sizes, wanted_wheels(spec, lock)) else None


def context_files(folder: Path) -> tuple[Path, ...]:
    """Files that a build of this folder sees: those its ignore file lets back in, sorted."""
    lines = (folder / IGNORE_FILE).read_text().splitlines()
    return tuple(sorted(folder / line[1:] for line in lines if line.startswith("!")))


def epoch(day: dt.date) -> int:
    """SOURCE_DATE_EPOCH of a day: its first second, UTC."""
    return int(dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC).timestamp())


def _misfits(folder: Path, spec: ImageSpec) -> Iterable[Problem]:
    """What the spec alone cannot tell: it must fit the folder that it lies in."""
    if spec.name != folder.name:
        yield Problem(f"{_place(folder)}: name", show(spec.name), f"lies in folder {folder.name}", "use the same name")
    needed = [VERIFY_FILE, *(file.source for file in spec.files)]
    if spec.python:
        needed.append(spec.python.lock)
    if spec.node:
        needed += [spec.node.lock, "package.json"]
    for name in needed:
        if not (folder / name).is_file():
            yield Problem(_place(folder), show(name), "is not in the image's folder", f"add {folder / name}")
    yield from _ignore_misfits(folder, needed)
    if spec.python and (folder / spec.python.lock).is_file():
        yield from _wheel_lock_misfits(folder, spec)
    if spec.node and (folder / spec.node.lock).is_file():
        yield from _node_lock_misfits(folder, spec.node.lock, spec.node.packages)


def _ignore_misfits(folder: Path, needed: Sequence[str]) -> Iterable[Problem]:
    path = folder / IGNORE_FILE
    expected = "\n".join(["*", *(f"!{name}" for name in sorted(set(needed)))]) + "\n"
    if not path.is_file() or path.read_text() != expected:
        found = show(path.read_text()) if path.is_file() else ""
        reason = "must let in exactly what the build needs, so that nothing else can change or enter the image"
        yield Problem(
            f"images/{folder.name}/{IGNORE_FILE}", found, reason, f"write these lines: {' '.join(expected.split())}"
        )


def _shadowed(images: Path, child: ImageSpec, parent: ImageSpec) -> Iterable[Problem]:
    """Wheels that the child would install over the parent's: both versions would be in the image, one unseen."""
    if not child.python or not parent.python:
        return
    inherited = _locked(images / parent.name / parent.python.lock)
    for name, versions in _locked(images / child.name / child.python.lock).items():
        if name in inherited and not versions <= inherited[name]:
            yield Problem(
                f"images/{child.name}/{child.python.lock}",
                show(f"{name}=={', '.join(sorted(versions))}"),
                f"would lie over {', '.join(sorted(inherited[name]))} of {parent.name}",
                f"make the lock anew: gpu-commons image lock {child.name} prints the command",
            )


def _locked(lock: Path) -> dict[str, set[str]]:
    """Versions by name. A universal lock may have several, for different Pythons."""
    locked: dict[str, set[str]] = {}
    try:
        for each in read_lock(lock.read_text()):
            locked.setdefault(each.name, set()).add(each.version)
    except ValueError as error:
        fix = f"make it anew: gpu-commons image lock {lock.parent.name} prints the command"
        raise SpecError([Problem(f"images/{lock.parent.name}/{lock.name}", "", str(error), fix)]) from None
    return locked


def _wheel_lock_misfits(folder: Path, spec: ImageSpec) -> Iterable[Problem]:
    assert spec.python is not None  # noqa: S101 - for the type checker; asked by the only caller
    locked = _locked(folder / spec.python.lock)
    for pin in map(wheel_pin, spec.server_wheels):
        found = locked.get(pin.name, set())
        if pin.version not in found:
            there = f"has {', '.join(sorted(found))}" if found else "has none"
            yield Problem(
                f"{_place(folder)}: python.packages",
                show(pin.text),
                f"is not what {spec.python.lock} {there}",
                f"make the lock anew: gpu-commons image lock {spec.name} prints the command",
            )


def _node_lock_misfits(folder: Path, lock: str, pins: Sequence[str]) -> Iterable[Problem]:
    packages: dict[str, Any] = json.loads((folder / lock).read_text()).get("packages", {})
    asked = packages.get("", {}).get("dependencies", {})
    for pin in pins:
        name, _, version = pin.rpartition("@")
        found = packages.get(f"node_modules/{name}", {}).get("version")
        if found != version or asked.get(name) != version:
            reason = f"is not what {lock} has ({found or 'none'})"
            fix = f"npm install --package-lock-only --save-exact {pin}, in {folder}"
            yield Problem(f"{_place(folder)}: node.packages", show(pin), reason, fix)


def _own_mistakes(error: ValidationError) -> list[ErrorDetails]:
    """Without what only follows: a list whose items are wrong is also called too short."""
    found = error.errors(include_url=False)
    locs = [details["loc"] for details in found]
    return [details for details in found if details["type"] != "too_short" or not _has_deeper(locs, details["loc"])]


def _has_deeper(locs: Iterable[Loc], loc: Loc) -> bool:
    return any(other[: len(loc)] == loc != other for other in locs)


def _problem(folder: Path, details: ErrorDetails) -> Problem:
    loc = details["loc"]
    kind = details["type"]
    value = NOT_GIVEN if kind == "missing" else details["input"]
    reason = details["msg"].removeprefix("Value error, ")
    fix = _FIXES.get(kind, "correct it")
    if kind == "extra_forbidden":
        reason = "is not a key of an image spec"
    elif kind == "missing":
        reason = "is missing"
    elif kind == "string_pattern_mismatch":
        reason, fix = f"does not look like {details['ctx']['pattern']}", "write it in that form"
    elif kind.startswith(("greater_than", "less_than")) and loc[-1:] in {("uid",), ("gid",)}:
        reason, fix = "is not a user or group that an image may run as (1 to 65535)", "take a number above 0: not root"
    return Problem(f"{_place(folder)}: {path_text(loc)}".rstrip(": "), show(value, loc), reason, fix)


def _no_such_image(folder: Path) -> Problem:
    parent = folder.parent
    known = [path.parent.name for path in parent.glob(f"*/{SPEC_FILE}")]
    advice = nearest(folder.name, known, what="image")
    return Problem("image", show(folder.name), f"has no {SPEC_FILE} in {folder}", advice)


def _place(folder: Path) -> str:
    return f"images/{folder.name}/{SPEC_FILE}"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
