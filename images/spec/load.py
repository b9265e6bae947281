"""Reads specs from disk: one image's folder, or an image with everything of ours that it stands on."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from compat.images import read_image
from compat.versions import VersionError
from images.spec.lock import read_lock
from images.spec.model import CudaSource, ImageSpec, TargetKind
from images.spec.pins import wheel_pin
from images.spec.targets import SERVER, TargetSpec, forbidden, needed, smallest_first, stands_on, target_specs, targeted
from images.spec.wheels import SIZES_FILE, WheelSize, is_current, read_sizes, wanted_wheels
from messages import UserError
from messages.document import odd_texts, read_yaml
from messages.problems import (
    NOT_GIVEN,
    Loc,
    Problem,
    SettingsError,
    first_ones,
    nearest,
    path_text,
    show,
    without_passwords,
)

IMAGES = Path(__file__).parents[1]
VERIFYING = IMAGES / "verifying"  # what all checks share: build context `verifying` of every image
SPEC_FILE = "image.yaml"
VERIFY_FILE = "verify.py"
IGNORE_FILE = ".dockerignore"
# Libraries of the toolkit. cuDNN and NCCL are not among them: a base with CUDA need not have them.
_CUDA_WHEEL = re.compile(r"nvidia-(cuda-|cublas|cufft|curand|cusolver|cusparse|npp|nvjitlink|nvjpeg|nvvm).*")
_FIXES = {
    "extra_forbidden": "take it out, or correct its name",
    "missing": "add it",
    "string_type": 'quote it: "10.1" is text, 10.1 is a number',
    "int_type": "write a whole number without quotes",
}


class SpecError(UserError):
    """All mistakes of an image's spec."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(first_ones(self.problems)))


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
        document = read_yaml(path, called=_place(folder))
    except SettingsError as error:
        raise SpecError(_in_spec(folder, problem) for problem in error.problems) from None
    raw = document.data
    if not isinstance(raw, dict):
        raise SpecError([Problem(_place(folder), show(raw), "is not a mapping", "start with name: …")])
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
    Raises SpecError for a spec with mistakes, an unknown name or target, or a circle.
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
    if problems := list(_cuda_misfits(images, family)):
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
    """The same by what registries, profiles and jobs call an image: `cupy-notebook-batch` is a target of its spec."""
    for kind in () if (images / full_name).is_dir() else TargetKind:
        name = full_name.removesuffix(f"-{kind.value}")
        if name != full_name and (images / name).is_dir():
            return load_family(name, images=images, target=kind.value)
    return load_family(full_name, images=images)


def load_sizes(folder: Path, spec: ImageSpec) -> tuple[WheelSize, ...] | None:
    """Sizes of an image's wheels, from the file beside its lock; None where there is none that fits the lock.

    A target's wheels are all among the server's.
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
    targets = target_specs(spec)
    files = [VERIFY_FILE, *(file.source for file in spec.files)]
    files += [each.python.lock for each in (spec, *targets) if each.python]
    if spec.node:
        files += [spec.node.lock, "package.json"]
    for name in files:
        if not (folder / name).is_file():
            yield Problem(_place(folder), show(name), "is not in the image's folder", f"add {folder / name}")
    yield from _ignore_misfits(folder, files)
    if spec.python and (folder / spec.python.lock).is_file():
        yield from _wheel_lock_misfits(folder, spec)
        yield from _package_misfits(folder, spec)
        yield from _target_misfits(folder, spec, targets)
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
                _lock_anew(child),
            )


Locked = Mapping[str, set[str]]


def _locked(lock: Path) -> Locked:
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
                _lock_anew(spec),
            )


def _package_misfits(folder: Path, spec: ImageSpec) -> Iterable[Problem]:
    """A target leaves out what the spec has, and keeps what its kind needs."""
    assert spec.python is not None  # noqa: S101 - for the type checker; asked by the only caller
    packages = [package.name for package in spec.python.packages]
    for kind, target in spec.targets.items():
        place = f"{_place(folder)}: targets.{kind.value}"
        for index, name in enumerate(target.without):
            if canonicalize_name(name) not in packages:
                advice = nearest(name, packages, what="package")
                yield Problem(f"{place}.without[{index}]", show(name), "is not among python.packages", advice)
        left = set(packages) - set(map(canonicalize_name, target.without))
        if (need := needed(kind)) and need not in left:
            yield Problem(place, "", f"has no {need}", f"pin {need} in python.packages, and leave it in")
        elif not left:
            yield Problem(f"{place}.without", "", "leaves no package", "leave in what the image is for")


def _target_misfits(folder: Path, spec: ImageSpec, targets: Sequence[TargetSpec]) -> Iterable[Problem]:
    """A target has nothing that its kind must not have, and the versions of the server."""
    locks = {each.full_name: _locks(folder, each) for each in (spec, *targets)}
    for each in targets:
        if (lock := locks[each.full_name]) is not None:
            yield from _wheel_lock_misfits(folder, each)
            yield from _unlike(each, lock, spec, locks[spec.full_name] or {})
            for name in lock:
                if reason := forbidden(each.kind, name):
                    place = f"{_place(folder)}: targets.{each.kind.value}"
                    fix = "list in `without` the package that brings it, then make the lock anew"
                    yield Problem(place, show(name), reason, fix)
    ordered = smallest_first(targets)
    for number, big in enumerate(ordered):
        small, lock = stands_on(big, ordered[:number]), locks[big.full_name]
        if small is not None and lock is not None and (lower := locks[small.full_name]) is not None:
            yield from _unlike(small, lower, big, lock)


def _unlike(small: ImageSpec, lock: Locked, big: ImageSpec, biggers: Locked) -> Iterable[Problem]:
    """Wheels of an image that the one which stands on its layers, or has its versions, does not have like this."""
    assert small.python is not None  # noqa: S101 - for the type checker; targets have wheels
    assert big.python is not None  # noqa: S101 - the same
    for name, versions in lock.items():
        if not versions <= biggers.get(name, set()):
            there = f"{', '.join(sorted(biggers[name]))}" if name in biggers else "none"
            yield Problem(
                f"images/{small.name}/{small.python.lock}",
                show(f"{name}=={', '.join(sorted(versions))}"),
                f"is not what {big.python.lock} has: {there}",
                _lock_anew(small),
            )


def _locks(folder: Path, spec: ImageSpec) -> Locked | None:
    path = folder / (spec.python.lock if spec.python else "")
    return _locked(path) if path.is_file() else None


def _lock_anew(spec: ImageSpec) -> str:
    return f"make the lock anew: gpu-commons image lock {spec.name} prints the command"


def _cuda_misfits(images: Path, family: Sequence[ImageSpec]) -> Iterable[Problem]:
    """CUDA comes from the base or from packages, and a base says by its name whether it brings one."""
    base = family[-1].base.reference or ""
    lines = _lines_of(base)
    if lines and TargetKind.GATEWAY_CLIENT in family[0].targets:
        fix = "take it out, or take a base without CUDA"
        place = f"images/{family[0].name}/{SPEC_FILE}: targets.gateway-client"
        yield Problem(place, "", f"would have CUDA: {base} brings {lines[0]}", fix)
    for spec in family:
        for name in _locks(images / spec.name, spec) or () if lines else ():
            if _CUDA_WHEEL.fullmatch(name):
                fix = "leave out the package that brings it, or take a base without CUDA"
                yield Problem(
                    f"images/{spec.name}/{SPEC_FILE}: python.packages",
                    show(name),
                    f"brings CUDA a second time: {base} has {lines[0]}",
                    fix,
                )
        place = f"images/{spec.name}/{SPEC_FILE}: cuda"
        if spec.cuda is None or (spec.cuda.source is not CudaSource.BASE and not lines):
            continue
        if not lines:
            fix = "take source: wheels with the pins of the toolkit, or a base such as nvidia/cuda:12.6.3-runtime-…"
            yield Problem(f"{place}.source", show("base"), f"is said of {base}, whose name tells of no CUDA", fix)
        elif spec.cuda.source is not CudaSource.BASE:
            fix = f'write cuda: {{line: "{lines[0]}", source: base}}, or take a base without CUDA'
            yield Problem(f"{place}.source", show(spec.cuda.source.value), f"would be there twice: {base} has it", fix)
        elif spec.cuda.line not in lines:
            fix = f'write "{lines[0]}", or take the base of that line'
            yield Problem(f"{place}.line", show(spec.cuda.line), f"is not the line of {base}", fix)


def _lines_of(reference: str) -> tuple[str, ...]:
    """CUDA lines that a reference tells by its name; none where it tells of none, or is not known."""
    try:
        return tuple(f"{cuda.major}.{cuda.minor}" for cuda in read_image(reference).cudas)
    except VersionError:
        return ()


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
    return Problem(_at(folder, loc), show(value, loc), without_passwords(reason), fix)


def _no_such_image(folder: Path) -> Problem:
    parent = folder.parent
    known = [path.parent.name for path in parent.glob(f"*/{SPEC_FILE}")]
    ours = [path.parent.name for path in IMAGES.glob(f"*/{SPEC_FILE}")]
    advice = nearest(folder.name, known or ours, what="image")
    return Problem("image", show(folder.name), f"has no {SPEC_FILE} in {folder}", advice)


def _in_spec(folder: Path, problem: Problem) -> Problem:
    """A mistake in the form of the file, called as the spec's others are."""
    path = problem.path if problem.path == _place(folder) else f"{_place(folder)}: {problem.path}"
    return replace(problem, path=path, file="")


def _at(folder: Path, loc: Loc) -> str:
    return without_passwords(f"{_place(folder)}: {path_text(loc)}".rstrip(": "))


def _place(folder: Path) -> str:
    return f"images/{folder.name}/{SPEC_FILE}"
