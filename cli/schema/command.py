"""`gpu-commons schema`: JSON Schemas of input and output."""

from importlib import import_module
from typing import Final

import click

from cli.terminal import as_json, json_text

_MAKERS: Final = {
    "case": ("cli.schema.shapes", "case_schema"),
    "answer": ("cli.schema.shapes", "answer_schema"),
    "matrix": ("cli.schema.shapes", "matrix_schema"),
    "comment": ("cli.review.document", "comment_schema"),
    "stack": ("settings.reading", "json_schema"),
    "pack": ("policies.configuration", "json_schema"),
}


@click.command()
@click.argument("kind", type=click.Choice([*_MAKERS]))
@as_json
def schema(kind: str, *, is_json: bool) -> None:  # noqa: ARG001 - it is JSON anyway
    """Print the JSON Schema of a case, an answer, a matrix, a comment, a stack file, or a policy pack configuration.

    \b
    Example:
      gpu-commons schema answer > answer.schema.json
    """
    module, maker = _MAKERS[kind]
    click.echo(
        json_text(getattr(import_module(module), maker)())
    )  # only this one: pydantic costs a quarter of a second
