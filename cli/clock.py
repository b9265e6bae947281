"""The current date in UTC, for commands."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, cast

from cli.terminal import InputError
from errors import UserError, clock

if TYPE_CHECKING:
    from errors.problems import SettingsError  # slow to import, and needed only for a mistake


def today() -> dt.date:
    """`errors.clock.today`, with mistakes as InputError."""
    try:
        return clock.today()
    except UserError as error:
        (problem,) = cast("SettingsError", error).problems
        raise InputError(f"{problem.path}: {problem.value} {problem.reason} such as 2026-11-23") from None
