"""`gpu-commons schema`: JSON Schemas of input and output."""

from __future__ import annotations

from typing import Any

import click

from cli.terminal import as_json, json_text


@click.command()
@click.argument("kind", type=click.Choice(["case", "answer", "matrix", "comment", "stack", "pack"]))
@as_json
def schema(kind: str, *, is_json: bool) -> None:  # noqa: ARG001 - it is JSON anyway
    """Print the JSON Schema of a case, an answer, a matrix, a comment, a stack file, or a policy pack configuration.

    \b
    Example:
      gpu-commons schema answer > answer.schema.json
    """
    click.echo(json_text(_schema(kind)))


def _schema(kind: str) -> dict[str, Any]:
    if kind == "stack":
        from settings.reading import json_schema  # noqa: PLC0415 - pydantic costs a quarter of a second

        return json_schema()
    if kind == "pack":
        from policies.configuration import json_schema as pack_schema  # noqa: PLC0415 - as above

        return pack_schema()
    if kind == "comment":
        from cli.review.schema import comment_schema  # noqa: PLC0415 - as below

        return comment_schema()
    from cli.schema import shapes  # noqa: PLC0415 - as above, the other way round

    document: dict[str, Any] = getattr(shapes, f"{kind}_schema")()
    return document
