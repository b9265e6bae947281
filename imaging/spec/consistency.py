"""Checks that a spec fits its folder, locks, targets and base images."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from errors.problems import Problem, nearest, show
from imaging.references import known_image
from imaging.spec.lock import read_lock
from imaging.spec.model import ImageSpec
from imaging.spec.parts import CudaSource, TargetKind
from imaging.spec.pins import wheel_pin
from imaging.spec.problems import SPEC_FILE, SpecError, place
from imaging.spec.targets import TargetSpec, forbidden, needed, smallest_first, stands_on, target_specs

VERIFY_FILE = "verify.py"
IGNORE_FILE = ".dockerignore"
# Libraries of the toolkit, without cuDNN and NCCL: a base with CUDA need not have them.
_CUDA_WHEEL = re.compile(r"nvidia-(cuda-|cublas|cufft|curand|cusolver|cusparse|npp|nvjitlink|nvjpeg|nvvm).*")


def misfits(folder: Path, spec: ImageSpec) -> Iterable[Problem]:
    """Faults that only the folder shows, not the spec alone."""
    if spec.name != folder.name:
        yield Problem(f"{place(folder)}: name", show(spec.name), f"is in the folder {folder.name}", "use the same name")
    targets = target_specs(spec)
    files = [VERIFY_FILE, *(file.source for file in spec.files)]
    files += [each.python.lock for each in (spec, *targets) if each.python]
    if spec.node:
        files += [spec.node.lock, "package.json"]
    for name in files:
        if not (folder / name).is_file():
            yield Problem(place(folder), show(name), "is not in the image's folder", f"add {folder / name}")
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


def shadowed(images: Path, child: ImageSpec, parent: ImageSpec) -> Iterable[Problem]:
    """Wheels that the child would install over the parent's: the image would have both versions, one hidden."""
    if not child.python or not parent.python:
        return
    inherited = _locked(images / parent.name / parent.python.lock)
    for name, versions in _locked(images / child.name / child.python.lock).items():
        if name in inherited and not versions <= inherited[name]:
            yield Problem(
                f"images/{child.name}/{child.python.lock}",
                show(f"{name}=={', '.join(sorted(versions))}"),
                f"would be installed over {', '.join(sorted(inherited[name]))} of {parent.name}",
                _lock_anew(child),
            )


Locked = Mapping[str, set[str]]


def _locked(lock: Path) -> Locked:
    """Versions by name: several in a universal lock, for different Pythons."""
    locked: dict[str, set[str]] = {}
    try:
        for each in read_lock(lock.read_text()):
            locked.setdefault(each.name, set()).add(each.version)
    except ValueError as error:
        fix = f"recreate it: gpu-commons image lock {lock.parent.name} prints the command"
        raise SpecError([Problem(f"images/{lock.parent.name}/{lock.name}", "", str(error), fix)]) from None
    return locked


def _wheel_lock_misfits(folder: Path, spec: ImageSpec) -> Iterable[Problem]:
    assert spec.python is not None  # noqa: S101 - for the type checker; the only caller checks it
    locked = _locked(folder / spec.python.lock)
    for pin in map(wheel_pin, spec.server_wheels):
        found = locked.get(pin.name, set())
        if pin.version not in found:
            there = ", ".join(sorted(found)) or "none"
            yield Problem(
                f"{place(folder)}: python.packages",
                show(pin.text),
                f"does not match {spec.python.lock}, which has {there}",
                _lock_anew(spec),
            )


def _package_misfits(folder: Path, spec: ImageSpec) -> Iterable[Problem]:
    """A target omits only packages of the spec, none that its kind needs."""
    assert spec.python is not None  # noqa: S101 - for the type checker; the only caller checks it
    packages = [package.name for package in spec.python.packages]
    for kind, target in spec.targets.items():
        here = f"{place(folder)}: targets.{kind.value}"
        for index, name in enumerate(target.without):
            if canonicalize_name(name) not in packages:
                advice = nearest(name, packages, what="package")
                yield Problem(f"{here}.without[{index}]", show(name), "is not among python.packages", advice)
        left = set(packages) - set(map(canonicalize_name, target.without))
        if (need := needed(kind)) and need not in left:
            yield Problem(here, "", f"has no {need}", f"pin {need} in python.packages, and leave it in")
        elif not left:
            yield Problem(f"{here}.without", "", "leaves no package", "leave in what the image is for")


def _target_misfits(folder: Path, spec: ImageSpec, targets: Sequence[TargetSpec]) -> Iterable[Problem]:
    """A target has no package forbidden for its kind, and the server's versions."""
    locks = {each.full_name: _locks(folder, each) for each in (spec, *targets)}
    for each in targets:
        if (lock := locks[each.full_name]) is not None:
            yield from _wheel_lock_misfits(folder, each)
            yield from _unlike(each, lock, spec, locks[spec.full_name] or {})
            for name in lock:
                if reason := forbidden(each.kind, name):
                    here = f"{place(folder)}: targets.{each.kind.value}"
                    fix = "list in `without` the package that brings it, then recreate the lock"
                    yield Problem(here, show(name), reason, fix)
    ordered = smallest_first(targets)
    for number, big in enumerate(ordered):
        small, lock = stands_on(big, ordered[:number]), locks[big.full_name]
        if small is not None and lock is not None and (lower := locks[small.full_name]) is not None:
            yield from _unlike(small, lower, big, lock)


def _unlike(small: ImageSpec, lock: Locked, big: ImageSpec, biggers: Locked) -> Iterable[Problem]:
    """Wheels that differ in the image built on its layers, or bound to its versions."""
    assert small.python is not None  # noqa: S101 - for the type checker; targets have wheels
    assert big.python is not None  # noqa: S101 - the same
    for name, versions in lock.items():
        if not versions <= biggers.get(name, set()):
            there = f"{', '.join(sorted(biggers[name]))}" if name in biggers else "none"
            yield Problem(
                f"images/{small.name}/{small.python.lock}",
                show(f"{name}=={', '.join(sorted(versions))}"),
                f"does not match {big.python.lock}, which has {there}",
                _lock_anew(small),
            )


def _locks(folder: Path, spec: ImageSpec) -> Locked | None:
    path = folder / (spec.python.lock if spec.python else "")
    return _locked(path) if path.is_file() else None


def _lock_anew(spec: ImageSpec) -> str:
    return f"recreate the lock: gpu-commons image lock {spec.name} prints the command"


def cuda_misfits(images: Path, family: Sequence[ImageSpec]) -> Iterable[Problem]:
    """CUDA comes from the base or from packages; a base's name tells whether it brings CUDA."""
    base = family[-1].base.reference or ""
    lines = _lines_of(base)
    if lines and TargetKind.GATEWAY_CLIENT in family[0].targets:
        fix = "take it out, or take a base without CUDA"
        here = f"images/{family[0].name}/{SPEC_FILE}: targets.gateway-client"
        yield Problem(here, "", f"would have CUDA: {base} brings {lines[0]}", fix)
    for spec in family:
        for name in _locks(images / spec.name, spec) or () if lines else ():
            if _CUDA_WHEEL.fullmatch(name):
                fix = "leave out the package that brings it, or take a base without CUDA"
                yield Problem(
                    f"images/{spec.name}/{SPEC_FILE}: python.packages",
                    show(name),
                    f"duplicates CUDA: {base} has {lines[0]}",
                    fix,
                )
        here = f"images/{spec.name}/{SPEC_FILE}: cuda"
        if spec.cuda is None or (spec.cuda.source is not CudaSource.BASE and not lines):
            continue
        if not lines:
            fix = "take source: wheels with the pins of the toolkit, or a base such as nvidia/cuda:12.6.3-runtime-…"
            yield Problem(f"{here}.source", show("base"), f"does not fit {base}, whose name says nothing of CUDA", fix)
        elif spec.cuda.source is not CudaSource.BASE:
            fix = f'write cuda: {{line: "{lines[0]}", source: base}}, or take a base without CUDA'
            yield Problem(f"{here}.source", show(spec.cuda.source.value), f"would duplicate the CUDA of {base}", fix)
        elif spec.cuda.line not in lines:
            fix = f'write "{lines[0]}", or take the base of that line'
            yield Problem(f"{here}.line", show(spec.cuda.line), f"is not the line of {base}", fix)


def _lines_of(reference: str) -> tuple[str, ...]:
    """CUDA lines in a reference's name; none if it names none or is unknown."""
    image = known_image(reference)
    return tuple(f"{cuda.major}.{cuda.minor}" for cuda in image.cudas) if image else ()


def _node_lock_misfits(folder: Path, lock: str, pins: Sequence[str]) -> Iterable[Problem]:
    packages: dict[str, Any] = json.loads((folder / lock).read_text()).get("packages", {})
    dependencies = packages.get("", {}).get("dependencies", {})
    for pin in pins:
        name, _, version = pin.rpartition("@")
        found = packages.get(f"node_modules/{name}", {}).get("version")
        if found != version or dependencies.get(name) != version:
            reason = f"does not match {lock}, which has {found or 'none'}"
            fix = f"npm install --package-lock-only --save-exact {pin}, in {folder}"
            yield Problem(f"{place(folder)}: node.packages", show(pin), reason, fix)
