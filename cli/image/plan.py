"""`gpu-commons image plan`: an image, the pools of a stack, sizes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from cli.entry import FINDINGS
from cli.image.plan_report import Fit, Place, PlanReport, plan_data, plan_text
from cli.image.project_images import family_of, folder_of
from cli.stacks import pools_of, read_stack, stack_files, stack_name
from cli.terminal import InputError, as_json, json_text, painter, width
from compat import CaseError, check_on
from compat.evidence.host import with_any_name
from compat.verdict.newest_supported import newest_supported
from imaging.size.expected import expected
from imaging.spec.compat_cases import Use, uses_of
from imaging.spec.load import load_sizes
from imaging.spec.model import ImageSpec
from imaging.spec.plan import plan_image
from settings.fleet import machine_of
from settings.reading import Stack


@click.command(
    epilog="Exit codes: 0 fine, 1 something in it does not run on a pool or is unknown, 2 usage.",
)
@click.argument("name")
@click.option(
    "--stack", metavar="NAME|PATH", help="Check the pools of this stack. Default: every stack that builds the image."
)
@click.option("--target", metavar="TARGET", help="Which image of the spec: gateway-client, kernel or batch.")
@as_json
@click.pass_context
def plan(ctx: click.Context, /, name: str, stack: str | None, target: str | None, *, is_json: bool) -> None:
    """What goes into an image of this project, whether its CUDA runs on each pool and why, and how big it will be.

    NAME is the name of the image, or its folder. Nothing is built and no network is used: the size is a lower bound,
    computed from what `image sizes` wrote beside the lock.

    \b
    Examples:
      gpu-commons image plan scipy-ml-notebook-cu126
      gpu-commons image plan images/cupy-notebook --stack dsmlp-fall
      gpu-commons image plan cupy-notebook --target batch
    """
    found = report_of(family_of(name, target), folder_of(name).parent, stack)
    click.echo(json_text(plan_data(found)) if is_json else plan_text(found, width=width(), paint=painter()), nl=is_json)
    ctx.exit(0 if found.is_fine else FINDINGS)


def report_of(family: Sequence[ImageSpec], images: Path, stack: str | None) -> PlanReport:
    """The report of `family[0]`; `images` holds its folder and those of its ancestors. Raises InputError."""
    uses = uses_of(family)
    stacks, remark = _stacks_of(family[0].full_name, stack)
    places = tuple(
        Place(nodes.name if len(stacks) == 1 else f"{name}/{nodes.name}", nodes.host, machine_of(pool))
        for name, settings in stacks.items()
        for pool in settings.fleet.pools
        for nodes in pools_of(pool)
    )
    return PlanReport(
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
            host = place.host
            try:
                of_any = check_on(use.case, with_any_name(host, "the GPU"))
                gpu = host.may_be[0].gpu.name
                yield Fit(use, place.name, gpu, check_on(use.case, host), of_any, newest_supported(use.case, host))
            except CaseError as error:
                problems = "; ".join(f"{each.field}: {each.reason}" for each in error.problems)
                raise InputError(f"{use.where} on {place.name}: {problems}") from None


def _stacks_of(image: str, stack: str | None) -> tuple[dict[str, Stack], str]:
    """The stacks to check, by name, and a remark if they do not build the image."""
    if stack is not None:
        name, settings = stack_name(stack), read_stack(stack)
        if not settings.fleet.pools:
            return {name: settings}, f"The stack {name} has no pools to check."
        builds = any(each.full_name == image for each in settings.images)
        remark = "" if builds else f"The stack {name} does not build {image}; these are its pools."
        return {name: settings}, remark
    every = {stack_name(str(path)): read_stack(str(path)) for path in stack_files()}
    stacks = {
        name: settings
        for name, settings in every.items()
        if settings.fleet.pools and any(each.full_name == image for each in settings.images)
    }
    return stacks, "" if stacks else "No stack with pools builds it: name one with --stack."
