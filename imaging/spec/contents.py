"""Describes an image for people who choose one: its content at this site, and what is missing. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from compat.facts import csv_files
from imaging.references import ImageReference, known_image
from imaging.spec.hub_description import Contents
from imaging.spec.model import Environment, ImageSpec
from imaging.spec.parts import CudaSource, Layout
from imaging.spec.pins import Pin, read_pin
from imaging.spec.plan import Plan

# The projects' own spelling; other packages keep the name of their pin.
_SPELLING: Final = {row["package"]: row["spelling"] for row in csv_files.rows("spelling", Path(__file__).parent)}
# Internals: nobody chooses an image for these.
_PLUMBING: Final = frozenset({"ipykernel", "jupyterhub"})


def contents(family: Sequence[ImageSpec], plan: Plan) -> Contents:
    """Content of an image (`family`: its spec and its parents') as `plan` builds it."""
    left_out = frozenset(plan.missing)
    there, gone = _environments(family, left_out)
    base = _base(family[-1])
    is_replaced = family[-1].base.reference in plan.substituted_references
    lines = _cuda_lines(there, without_base=is_replaced)
    absent = [line for line in _cuda_lines([*there, *gone]) if line not in lines]
    missing = [*_frameworks(gone), *(f"CUDA {line}" for line in absent), *_gone(family, plan)]
    if base and is_replaced:
        missing.append(f"what {base} brings")
    values: dict[str, Any] = {
        "title": family[0].title,
        "cuda_lines": lines,
        "frameworks": _unique(_frameworks(there)),
        "packages": _unique(_packages(there, without=left_out)),
        "stands_on": "" if is_replaced else base,
        "missing": _unique(missing),
        "missing_reason": "; ".join(_unique(each.reason for each in plan.substitutes)) if missing else "",
    }
    return Contents(**{key: value for key, value in values.items() if value})


def _base(outermost: ImageSpec) -> str:
    base = outermost.base
    named = known_image(base.reference or "")
    if base.reference is None or not (base.layout is Layout.JUPYTER or (named and named.framework)):
        return ""
    return ImageReference.parse(base.reference).repository


def _environments(family: Sequence[ImageSpec], left_out: frozenset[str]) -> tuple[list[Environment], list[Environment]]:
    """Environments built here, and those whose kernel's Python itself is missing."""
    there: list[Environment] = []
    gone: list[Environment] = []
    for spec in family:
        server, *kernels = spec.environments
        there.append(server)
        for kernel, environment in zip(spec.kernels, kernels, strict=True):
            is_gone = f"python={kernel.python}" in left_out and {*kernel.pypi, *kernel.conda} <= left_out
            (gone if is_gone else there).append(environment)
    return there, gone


def _cuda_lines(environments: Sequence[Environment], *, without_base: bool = False) -> tuple[str, ...]:
    cudas = [environment.cuda for environment in environments if environment.cuda]
    lines = {cuda.line for cuda in cudas if not (without_base and cuda.source is CudaSource.BASE)}
    return tuple(sorted(lines, key=lambda line: [int(part) for part in line.split(".")]))


def _frameworks(environments: Sequence[Environment]) -> Iterator[str]:
    for environment in environments:
        for pin, framework in environment.frameworks:
            yield _name(framework, pin)


def _packages(environments: Sequence[Environment], *, without: frozenset[str]) -> Iterator[str]:
    """Packages of servers' environments, except frameworks and parts of CUDA."""
    for environment in environments:
        if environment.name.startswith("kernel "):
            continue
        cuda = set(environment.cuda.packages) if environment.cuda else set()
        shown = {pin.text for pin, _ in environment.frameworks} | cuda | without
        yield from (_name(pin.name, pin) for pin in environment.pins if pin.text not in shown and _is_worth_saying(pin))


def _gone(family: Sequence[ImageSpec], plan: Plan) -> Iterator[str]:
    """Missing packages of servers' environments; for a kernel, its framework says enough."""
    left_out = frozenset(plan.missing)
    for spec in family:
        for package in spec.python.packages if spec.python else ():
            if package.conda_pin in left_out:
                pin = read_pin(package.pypi)
                if _is_worth_saying(pin):
                    yield _name(pin.name, pin)


def _is_worth_saying(pin: Pin) -> bool:
    return pin.name not in _PLUMBING


def _name(name: str, pin: Pin) -> str:
    return f"{_SPELLING.get(name, name)} {pin.version.partition('+')[0]}"


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
