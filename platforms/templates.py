"""Renders templates: pages and files that are mostly text, beside the module that writes them."""

from pathlib import Path
from typing import Any


def rendered(template: Path, **values: Any) -> str:
    """The text of a template. In one that ends in .html.j2, texts are escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - for who writes a file

    environment = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=template.name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template.name).render(**values)
