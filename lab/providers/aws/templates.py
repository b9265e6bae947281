"""Fills a call's arguments from a template: `"$vpcId"` is that value; missing values are left out. Pure.

A template's keys have the inputs' names; `shapes.to_service` finds the service's names. A list item is whole or left
out, except for values written as `"$?description"`. `"=$Latest"` is the text `$Latest`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lab.providers.values import UNKNOWN, Properties

WHOLE: Final = re.compile(r"\$(\??)(\w+)")
PART: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Given:
    """A value given under that name, which errors in it are reported under."""

    name: str
    value: Any


def filled(template: Any, values: Properties) -> Any:
    """The template with values; None if no part has one."""
    if isinstance(template, str):
        if match := WHOLE.fullmatch(template):
            value = values.get(match[2])
            return None if value is None else Given(match[2], value)
        return template[1:] if template.startswith("=") else formatted(template, values)
    if isinstance(template, Mapping):
        made = {key: filled(each, values) for key, each in template.items()}
        kept = {key: each for key, each in made.items() if each is not None}
        return kept if kept or not template else None
    if isinstance(template, list | tuple):
        items = [filled(item, values) for item in template if not _lacks(item, values)]
        return items or None
    return template


def _lacks(template: Any, values: Properties) -> bool:
    """Whether a value is missing: a list item is whole or left out (tags of a new subnet, if it has any).

    A list in it may be empty.
    """
    if isinstance(template, list | tuple):
        return False
    if isinstance(template, Mapping):
        return any(_lacks(each, values) for each in template.values())
    if isinstance(template, str) and template.startswith("$?"):
        return False
    return filled(template, values) is None


def formatted(text: str, values: Properties) -> Any:
    """`{cluster}/{name}` with its values; None if one is missing, unknown if one is."""
    found = [values.get(name) for name in PART.findall(text)]
    if any(each is UNKNOWN for each in found):
        return UNKNOWN
    if any(each is None for each in found):
        return None
    return PART.sub(lambda match: str(values[match[1]]), text)
