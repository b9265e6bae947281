"""`gpu-commons check`: one case from options, or many from a file."""

from typing import Any, BinaryIO

import click

from cli.answers import answer_data, answer_text, problem_lines
from cli.check.answered import answered
from cli.check.fields import case_fields
from cli.terminal import InputError, as_json, json_text, painter, width
from compat import Answer, Case, CaseError


@click.command(
    epilog="Exit codes: 0 it runs; 1 it does not, it is unknown, or a line of a batch could not be read; 2 usage."
)
@click.option(
    "--batch",
    type=click.File("rb"),
    metavar="FILE",
    help="JSON Lines, one case per line (- for stdin); prints one answer per line, in the same order.",
)
@click.option(
    "--inspect",
    "inspected",
    metavar="REF",
    help="Read this image and its layers; the answer is based on what is in it, not on its name.",
)
@click.option(
    "--no-remedy", is_flag=True, help="With --batch: only verdicts and findings, which is several times faster."
)
@as_json
@click.pass_context
def check(
    ctx: click.Context,
    /,
    batch: BinaryIO | None,
    inspected: str | None,
    *,
    no_remedy: bool,
    is_json: bool,
    **options: str | None,
) -> None:
    """Will this image, or this framework build, run on that GPU with that driver?

    A case needs a GPU (--gpu, --compute-capability or --instance-type) and something to run (--image, --cuda,
    --framework or --sm-list). Everything else is optional: the answer is `unknown` only if it depends on something that
    was left out, and names it.

    \b
    Examples:
      gpu-commons check --gpu "GTX 1080 Ti" --driver 418.88 --image nvidia/cuda:10.2-runtime-ubuntu18.04
      gpu-commons check --gpu T4 --driver 535 --framework torch --framework-version 2.6.0+cu124
      echo '{"gpu": "V100", "driver": "595.71.05", "cuda": "12.4"}' | gpu-commons check --batch -
    """
    fields = {name: value for name, value in options.items() if value is not None}
    if batch is not None:
        if fields:
            raise click.UsageError(f"--batch reads its cases from the file: leave out {_options(fields)}")
        if inspected is not None:
            raise click.UsageError("--batch reads its cases from the file: leave out --inspect")
        from cli.check.batch import run  # noqa: PLC0415 - its JSON library is needed here only

        ctx.exit(run(batch, with_remedy=not no_remedy))
    if no_remedy:
        raise click.UsageError("--no-remedy only works with --batch; a single answer is fast with its remedy")
    answer = _answer(fields, inspected)
    click.echo(
        json_text(answer_data(answer)) if is_json else answer_text(answer, width=width(), paint=painter()), nl=is_json
    )
    ctx.exit(0 if answer.verdict.runs else 1)


def _answer(fields: dict[str, Any], inspected: str | None) -> Answer:
    try:
        if inspected is not None:
            from cli.check.inspected import answer_for  # noqa: PLC0415 - its network library is needed here only

            return answer_for(inspected, {name: value.strip() for name, value in fields.items()})
        case = Case(**{name: value.strip() for name, value in fields.items()})
        return answered(case)
    except CaseError as error:
        options = {field.name: field.option for field in case_fields()}
        raise InputError("\n       ".join(problem_lines(error, options))) from None


def _options(fields: dict[str, Any]) -> str:
    return ", ".join(field.option for field in case_fields() if field.name in fields)


for _field in reversed(tuple(case_fields())):  # options are shown in the order of a case, before --batch
    _help_names_choices = not _field.choices or _field.metavar == "|".join(_field.choices)
    _one_of = "" if _help_names_choices else f" One of {', '.join(_field.choices)}."
    check.params.insert(
        0, click.Option([_field.option, _field.name], metavar=_field.metavar, help=f"{_field.text}{_one_of}")
    )
