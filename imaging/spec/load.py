"""Reads specs from disk: one image's folder, or an image with all its parents among ours."""

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from errors.document import odd_texts, read_yaml
from errors.problems import NOT_GIVEN, Loc, Problem, SettingsError, nearest, path_text, show, unshown, without_passwords
from imaging.spec.consistency import IGNORE_FILE, cuda_misfits, misfits, shadowed
from imaging.spec.model import ImageSpec
from imaging.spec.parts import TargetKind
from imaging.spec.problems import SPEC_FILE, SpecError, place
from imaging.spec.targets import SERVER, TargetSpec, targeted
from imaging.spec.wheels import SIZES_FILE, WheelSize, is_current, read_sizes, wanted_wheels

IMAGES = Path(__file__).parents[2] / "images"
VERIFYING = Path(__file__).parents[1] / "verifying"  # shared by all checks: build context `verifying` of every image
_FIXES = {
    "extra_forbidden": "take it out, or correct its name",
    "missing": "add it",
    "string_type": 'quote it: "10.1" is text, 10.1 is a number',
    "int_type": "write a whole number without quotes",
}


def load_spec(folder: Path) -> ImageSpec:
    """Read and check the spec of one image, and the files beside it: locks, ignore file, verify.py.

    Raises SpecError with all mistakes at once: path, value, what is allowed, what to change.
    """
    spec = read_spec(folder)
    if problems := list(misfits(folder, spec)):
        raise SpecError(problems)
    return spec


def read_spec(folder: Path) -> ImageSpec:
    """Read and check only the spec: enough to make the files beside it. Raises SpecError."""
    path = folder / SPEC_FILE
    if not path.is_file():
        raise SpecError([_no_such_image(folder)])
    content = path.read_bytes() if os.access(path, os.R_OK) else b""
    return _parsed(folder, content)


@cache
def _parsed(folder: Path, _content: bytes) -> ImageSpec:
    """A program reads each spec some ten times. The cache key includes the file's current content."""
    path = folder / SPEC_FILE
    try:
        document = read_yaml(path, called=place(folder))
    except SettingsError as error:
        raise SpecError(_in_spec(folder, problem) for problem in error.problems) from None
    raw = document.data
    if not isinstance(raw, dict):
        raise SpecError([Problem(place(folder), show(unshown(raw)), "is not a mapping", "start with name: …")])
    if odd := list(odd_texts(raw)):
        raise SpecError(
            Problem(
                _at(folder, each.loc), show(each.value, each.loc), each.reason, each.fix, line=document.line(each.loc)
            )
            for each in odd
        )
    try:
        return ImageSpec.model_validate(raw)
    except ValidationError as error:
        raise SpecError(
            replace(_problem(folder, details), line=document.line(details["loc"])) for details in _own_mistakes(error)
        ) from error


def load_family(name: str, *, images: Path = IMAGES, target: str | None = None) -> tuple[ImageSpec, ...]:
    """The image called `name` and its ancestors among our images, the image first.

    With `target` the first is that target of the image; `server` is the image itself.
    Raises SpecError for a spec with mistakes, an unknown name or target, or a cycle.
    """
    family: list[ImageSpec] = []
    wanted: str | None = name
    while wanted:
        if wanted in [spec.name for spec in family]:
            circle = " → ".join([spec.name for spec in family] + [wanted])
            raise SpecError(
                [
                    Problem(
                        f"images/{wanted}/{SPEC_FILE}: base.image",
                        "",
                        f"is circular: {circle}",
                        "give one of them another base",
                    )
                ]
            )
        family.append(load_spec(images / wanted))
        wanted = family[-1].base.image
    if problems := [problem for pair in pairwise(family) for problem in shadowed(images, *pair)]:
        raise SpecError(problems)
    if problems := list(cuda_misfits(images, family)):
        raise SpecError(problems)
    if target not in {None, SERVER}:
        known = {kind.value: kind for kind in family[0].targets}
        if target not in known:
            advice = nearest(str(target), [SERVER, *known], what="target")
            raise SpecError(
                [Problem(f"images/{name}/{SPEC_FILE}: targets", show(target), "is not a target of it", advice)]
            )
        family[0] = targeted(family[0], known[str(target)])
    return tuple(family)


def load_named(full_name: str, *, images: Path = IMAGES) -> tuple[ImageSpec, ...]:
    """The same by an image's name in registries, profiles and jobs: `cupy-notebook-batch` is a target of its spec."""
    for kind in () if (images / full_name).is_dir() else TargetKind:
        name = full_name.removesuffix(f"-{kind.value}")
        if name != full_name and (images / name).is_dir():
            return load_family(name, images=images, target=kind.value)
    return load_family(full_name, images=images)


def load_sizes(folder: Path, spec: ImageSpec) -> tuple[WheelSize, ...] | None:
    """Sizes of an image's wheels, from the file beside its lock; None if no file fits the lock.

    A target's wheels are a subset of the server's.
    """
    lock = (folder / spec.python.lock).read_text() if spec.python else ""
    wanted = wanted_wheels(spec, lock)
    try:
        sizes = read_sizes((folder / SIZES_FILE).read_text())
    except (OSError, ValueError):
        return None
    if isinstance(spec, TargetSpec):
        keys = {(each.environment, each.name, each.version) for each in wanted}
        sizes = tuple(size for size in sizes if (size.environment, size.name, size.version) in keys)
    return sizes if is_current(sizes, wanted) else None


def context_files(folder: Path) -> tuple[Path, ...]:
    """Files that a build of this folder sees: those its ignore file re-includes, sorted."""
    lines = (folder / IGNORE_FILE).read_text().splitlines()
    return tuple(sorted(folder / line[1:] for line in lines if line.startswith("!")))


def _own_mistakes(error: ValidationError) -> list[ErrorDetails]:
    """Without mere consequences: a list with wrong items is also called too short."""
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
    elif kind in {"model_type", "dict_type"}:
        value, reason, fix = unshown(value), "is not a mapping", "write its keys below it, or leave it out"
    elif kind == "tuple_type":
        value, reason, fix = unshown(value), "is not a list", "write its entries below it, one line each: - …"
    elif kind == "string_pattern_mismatch":
        reason, fix = f"does not look like {details['ctx']['pattern']}", "write it in that form"
    elif kind.startswith(("greater_than", "less_than")) and loc[-1:] in {("uid",), ("gid",)}:
        reason, fix = "is not a user or group that an image may run as (1 to 65535)", "take a number above 0: not root"
    return Problem(_at(folder, loc), show(value, loc), without_passwords(reason), fix)


def _no_such_image(folder: Path) -> Problem:
    parent = folder.parent
    known = [path.parent.name for path in parent.glob(f"*/{SPEC_FILE}")]
    ours = [path.parent.name for path in IMAGES.glob(f"*/{SPEC_FILE}")]
    advice = nearest(folder.name, known or ours, what="image")
    return Problem("image", show(folder.name), f"has no {SPEC_FILE} in {show(str(parent))}", advice)


def _in_spec(folder: Path, problem: Problem) -> Problem:
    """A structural mistake of the file, named like the spec's others."""
    path = problem.path if problem.path == place(folder) else f"{place(folder)}: {problem.path}"
    return replace(problem, path=path, file="")


def _at(folder: Path, loc: Loc) -> str:
    return without_passwords(f"{place(folder)}: {path_text(loc)}".rstrip(": "))
