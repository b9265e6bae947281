"""Plans the image that a site can build from a spec: base, packages, and named omissions.

A site lists bases and package sources that it cannot reach as substitutes. Another base replaces a base; nothing
replaces a package source: its packages are left out and named, never imitated. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from errors.problems import Problem, show
from imaging.spec.model import ImageSpec
from imaging.spec.parts import CudaSource, Kernel, Layout, Package
from imaging.spec.problems import SpecError

CONDA_FORGE: Final = "conda-forge"
NOTHING: Final = "nothing"  # the replacement of a package source


@dataclass(frozen=True, slots=True)
class Substitute:
    """An unreachable reference, its replacement, and the reason."""

    reference: str  # a base image without digest, `conda-forge`, or the URL of a page of wheels
    replacement: str  # a base image by digest; `nothing` for a package source
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """An image as built here."""

    spec: ImageSpec
    root: str  # FROM of the image, or of our outermost ancestor
    layout: Layout
    packages: tuple[Package, ...]  # of the server's environment
    cuda_wheels: tuple[str, ...]  # of the server's environment
    kernels: tuple[Kernel, ...]  # that can be built here
    missing: tuple[str, ...]  # pins left out, ancestors' included
    substitutes: tuple[Substitute, ...]  # the ones used, ancestors' included

    @property
    def substituted_references(self) -> tuple[str, ...]:
        return tuple(substitute.reference for substitute in self.substitutes)


def plan_image(family: Sequence[ImageSpec], *, substitutes: Sequence[Substitute] = ()) -> Plan:
    """Decide what goes into `family[0]`; the others are its ancestors among our images, nearest first.

    Substitutes of other images are ignored: a site has one list for all. Raises SpecError for a base without a
    digest or substitute, and for a source that the actual base cannot use.
    """
    spec, *ancestors = family
    by_reference = {substitute.reference: substitute for substitute in substitutes}
    outermost = ancestors[-1] if ancestors else spec
    assert outermost.base.reference is not None  # noqa: S101 - load_family ends at an external base
    assert outermost.base.layout is not None  # noqa: S101 - Base checks it
    stand_in = by_reference.get(outermost.base.reference)
    layout = Layout.DEBIAN if stand_in else outermost.base.layout
    problems: list[Problem] = []
    if stand_in and "@sha256:" not in stand_in.replacement:
        problems.append(
            Problem(
                f"substitutes: {stand_in.reference}",
                show(stand_in.replacement),
                "is not an image by digest",
                "name the stand-in as repository@sha256:…",
            )
        )
    used = [stand_in] if stand_in else []
    missing: list[str] = []
    no_conda_forge = layout is Layout.JUPYTER and CONDA_FORGE in by_reference
    for member in reversed(family):
        if no_conda_forge and member.python:
            missing += conda_pins(member.python.packages)
        for kernel in member.kernels:
            if unreachable := [by_reference[source] for source in kernel_sources(kernel) if source in by_reference]:
                used += unreachable
                missing += kernel_pins(kernel)
            elif layout is Layout.DEBIAN:
                problems.append(_no_conda(member, kernel, outermost.base.reference))
    if no_conda_forge and missing:
        used.append(by_reference[CONDA_FORGE])
    if problems:
        raise SpecError(problems)
    reachable = tuple(k for k in spec.kernels if not any(source in by_reference for source in kernel_sources(k)))
    return Plan(
        spec=spec,
        root=stand_in.replacement if stand_in else pinned(outermost),
        layout=layout,
        packages=_reachable(spec, no_conda_forge=no_conda_forge),
        cuda_wheels=spec.cuda.packages if spec.cuda and spec.cuda.source is CudaSource.WHEELS else (),
        kernels=reachable,
        missing=tuple(dict.fromkeys(missing)),
        substitutes=tuple(dict.fromkeys(used)),
    )


def pinned(spec: ImageSpec) -> str:
    """The base of a spec, by digest if known."""
    return f"{spec.base.reference}@{spec.base.digest}" if spec.base.digest else spec.base.reference or ""


def outside_references(family: Sequence[ImageSpec]) -> tuple[str, ...]:
    """External inputs of an image that a substitute may replace: bases and package sources."""
    found: list[str] = []
    for spec in family:
        if spec.base.reference:
            found.append(spec.base.reference)
        if spec.base.layout is Layout.JUPYTER and spec.python:
            found.append(CONDA_FORGE)
        found += [source for kernel in spec.kernels for source in kernel_sources(kernel)]
    return tuple(dict.fromkeys(found))


def kernel_sources(kernel: Kernel) -> tuple[str, ...]:
    return (CONDA_FORGE, kernel.index) if kernel.index else (CONDA_FORGE,)


def kernel_pins(kernel: Kernel) -> tuple[str, ...]:
    """Every pin of a kernel's environment, as its package manager writes it."""
    cuda = kernel.cuda.packages if kernel.cuda else ()
    return (f"python={kernel.python}", *cuda, *kernel.conda, *kernel.pypi)


def conda_pins(packages: Sequence[Package]) -> list[str]:
    """Pins of packages that a Jupyter base takes from conda-forge."""
    return [pin for package in packages if (pin := package.conda_pin)]


def _reachable(spec: ImageSpec, *, no_conda_forge: bool) -> tuple[Package, ...]:
    packages = spec.python.packages if spec.python else ()
    return tuple(package for package in packages if not (no_conda_forge and package.conda_pin))


def _no_conda(spec: ImageSpec, kernel: Kernel, base: str) -> Problem:
    return Problem(
        f"images/{spec.name}/image.yaml: kernels",
        show(kernel.name),
        f"needs conda, which the base that is used instead of {base} does not have",
        f"give {CONDA_FORGE} a substitute too (with: {NOTHING}), or take a Jupyter base",
    )
