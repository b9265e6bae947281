"""Images and pools from JSON Lines, for users without a stack."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from cli.answers import problem_lines
from cli.check.mapping import case_from
from cli.json_lines import LONGEST, numbered_lines
from compat import Case, CaseError, Image, Pool, check, read_host
from compat.evidence.case import POOL_FIELDS

_PROBE_POOL: Final = {"gpu": "Tesla T4"}  # completes an image, so that its own fields can be read without a host
_PROBE_IMAGE: Final = {"cuda": "12.4"}
_MOST: Final = 20  # the most problems to list


class ListError(ValueError):
    """The mistakes in a file, by line number."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        more = len(problems) - _MOST
        self.problems = (*problems[:_MOST], *([f"and {more} more"] if more > 0 else []))


def read_images(file: BinaryIO) -> list[Image]:
    """Images in the order of their first lines; lines with one name are one image. Raises ListError."""
    cases: dict[str, list[Case]] = {}
    for name, given in _lines(file, pool=False):
        group = cases.setdefault(name, [])
        if given:  # only a name: an image that uses no GPU
            group.append(case_from(given))
    return [Image(name, tuple(each)) for name, each in cases.items()]


def read_pools(file: BinaryIO) -> list[Pool]:
    """Pools in the order of the file. Raises ListError."""
    return [Pool(name, read_host(case_from(given))) for name, given in _lines(file, pool=True)]


def _lines(file: BinaryIO, *, pool: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    problems: list[str] = []
    read: list[tuple[str, dict[str, Any]]] = []
    names: set[str] = set()
    for number, line in numbered_lines(file):
        try:
            name, given = _entry(line, pool=pool)
        except ValueError as error:
            problems.append(f"line {number}: {error}")
            continue
        if pool and name in names:
            problems.append(f'line {number}: name: "{name}" is duplicated; give each pool its own name')
        names.add(name)
        read.append((name, given))
    if not read and not problems:
        example = '{"name": "t4", "gpu": "Tesla T4"}' if pool else '{"name": "course", "cuda": "12.4"}'
        problems.append(f"has no lines; write one JSON object per line, such as {example}")
    if problems:
        raise ListError(problems)
    yield from read


def _entry(line: bytes | None, *, pool: bool) -> tuple[str, dict[str, Any]]:
    if line is None:
        raise ValueError(f"is longer than {LONGEST:,} bytes")
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("is not a JSON object") from None
    if not isinstance(given, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - one kind of mistake, as above
    name = given.pop("name", None)
    if not isinstance(name, str) or not name.strip():
        raise ValueError("name: is missing; give it text")
    mine = [field for field in given if (field in POOL_FIELDS) != pool and field in Case.__dataclass_fields__]
    if mine:
        kind, other = ("a pool", "an image") if pool else ("an image", "a pool")
        raise ValueError(f"{', '.join(mine)}: describes {other}, not {kind}; move it to the other file")
    try:
        if given or pool:
            check(case_from({**given, **(_PROBE_IMAGE if pool else _PROBE_POOL)}))
    except CaseError as error:
        raise ValueError(" | ".join(problem_lines(error))) from None
    return name.strip(), given
