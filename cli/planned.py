"""What `gpu-commons image plan` tells, put together: an image, the pools of a stack, sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cli.reports.plan import Fit, Page, Place
from cli.stacks import pool_of, read_stack, stack_files, stack_name
from cli.terminal import InputError
from components.compat import CaseError, check
from components.compat.ceiling import ceiling
from components.compat.many import joined
from components.compat.pools import read_pools
from components.settings import Stack
from images.cases import Use, uses_of
from images.expected import expected
from images.load import load_sizes
from images.plan import plan_image
from images.spec import ImageSpec
from policies.machines import machine_of


def page_of(family: Sequence[ImageSpec], images: Path, stack: str | None) -> Page:
    """The page of `family[0]`; `images` holds its folder and those of its ancestors. Raises InputError."""
    uses = uses_of(family)
    name, settings, remark = _stack_of(family[0].full_name, stack)
    places = tuple(
        Place(pool.name, pool_of(pool).case, machine_of(pool)) for pool in (settings.fleet.pools if settings else ())
    )
    return Page(
        plan=plan_image(family),
        expected=expected(family, {spec.name: load_sizes(images / spec.name, spec) for spec in family}),
        uses=uses,
        stack=name,
        places=places,
        fits=tuple(_fits(uses, places)),
        remark=remark,
    )


def _fits(uses: Sequence[Use], places: Sequence[Place]) -> Iterator[Fit]:
    for use in uses:
        for place in places:
            case = joined(use.case, place.case)
            try:
                gpu = read_pools(case).values[0].gpu.name
                yield Fit(use, place.name, gpu, check(case), ceiling(case))
            except CaseError as error:
                told = "; ".join(f"{each.field}: {each.reason}" for each in error.problems)
                raise InputError(f"{use.where} on {place.name}: {told}") from None


def _stack_of(image: str, stack: str | None) -> tuple[str, Stack | None, str]:
    """Name and settings of the stack to ask about, and a sentence where it is not the image's own."""
    if stack is not None:
        name, settings = stack_name(stack), read_stack(stack)
        if not settings.fleet.pools:
            return name, None, f"The stack {name} has no pools: nothing is said of any."
        builds = any(each.full_name == image for each in settings.images)
        return name, settings, "" if builds else f"The stack {name} does not build {image}; these are its pools."
    found = {}
    for path in stack_files():
        settings = read_stack(str(path))
        if settings.fleet.pools and any(each.full_name == image for each in settings.images):
            found[stack_name(str(path))] = settings
    if len(found) == 1:
        (only,) = found.items()
        return *only, ""
    if found:
        return "", None, f"Several stacks build it: choose one with --stack, of {', '.join(sorted(found))}."
    return "", None, "No stack with pools builds it: name one with --stack."
