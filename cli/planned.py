"""What `gpu-commons image plan` tells, put together: an image, the pools of a stack, sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cli.reports.plan import Fit, Page, Place
from cli.stacks import pools_of, read_stack, stack_files, stack_name
from cli.terminal import InputError
from compat import CaseError, check
from compat.ceiling import ceiling
from compat.many import joined
from compat.pools import read_pools
from images.size.expected import expected
from images.spec.cases import Use, uses_of
from images.spec.load import load_sizes
from images.spec.model import ImageSpec
from images.spec.plan import plan_image
from settings.fleet import machine_of
from settings.reading import Stack


def page_of(family: Sequence[ImageSpec], images: Path, stack: str | None) -> Page:
    """The page of `family[0]`; `images` holds its folder and those of its ancestors. Raises InputError."""
    uses = uses_of(family)
    stacks, remark = _stacks_of(family[0].full_name, stack)
    places = tuple(
        Place(nodes.name if len(stacks) == 1 else f"{name}/{nodes.name}", nodes.case, machine_of(pool))
        for name, settings in stacks.items()
        for pool in settings.fleet.pools
        for nodes in pools_of(pool)
    )
    return Page(
        plan=plan_image(family),
        expected=expected(family, {spec.name: load_sizes(images / spec.name, spec) for spec in family}),
        uses=uses,
        stack=", ".join(stacks),
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


def _stacks_of(image: str, stack: str | None) -> tuple[dict[str, Stack], str]:
    """The stacks to ask about by name, and a sentence where they are not the image's own."""
    if stack is not None:
        name, settings = stack_name(stack), read_stack(stack)
        if not settings.fleet.pools:
            return {name: settings}, f"The stack {name} has no pools: nothing is said of any."
        builds = any(each.full_name == image for each in settings.images)
        remark = "" if builds else f"The stack {name} does not build {image}; these are its pools."
        return {name: settings}, remark
    every = {stack_name(str(path)): read_stack(str(path)) for path in stack_files()}
    found = {
        name: settings
        for name, settings in every.items()
        if settings.fleet.pools and any(each.full_name == image for each in settings.images)
    }
    return found, "" if found else "No stack with pools builds it: name one with --stack."
