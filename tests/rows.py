"""Tables as one test: every row is tried, and a failure shows each row that failed with what went wrong."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def each_row(
    names: str | Sequence[str], table: Iterable[Any], ids: Callable[[Any], object] | Iterable[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`pytest.mark.parametrize` for tables of cheap rows: one case, whose rows share their fixtures.

    A case has a price of its own: each worker collects it, sets it up and reports it.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [_row(row, ids if callable(ids) else repr, single=len(arguments) == 1) for row in table]
    if ids is not None and not callable(ids):
        rows = [(name, values) for name, (_, values) in zip(ids, rows, strict=True)]

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def over_the_table(*args: Any, **fixtures: Any) -> None:
            assert rows, "the table is empty"
            failures = []
            for name, values in rows:
                try:
                    test(*args, **dict(zip(arguments, values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - other rows are tried all the same
                    failure.add_note(f"in the row {name}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} rows", failures)

        signature = inspect.signature(test)
        fixtures = [each for each in signature.parameters.values() if each.name not in arguments]
        over_the_table.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]  # pytest reads it
        return over_the_table

    return decorated


def _row(row: Any, shown: Callable[[Any], object], *, single: bool) -> tuple[str, Sequence[Any]]:
    """What a row is called in a failure, and its values."""
    if hasattr(row, "marks"):  # a `pytest.param`
        assert not row.marks, "a row has no marks of its own: its table is one case"
        name, values = row.id, row.values
    else:
        name, values = None, (row,) if single else row
    text = name or ", ".join(str(shown(value)) for value in values)
    return text if len(text) <= 200 else f"{text[:200]}…", values
