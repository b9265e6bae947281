"""The day on which a command runs, in UTC."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, cast

from cli.terminal import InputError
from errors import UserError, clock

if TYPE_CHECKING:
    from errors.problems import SettingsError  # not needed where there is no mistake, and slow to import


def today() -> dt.date:
    """As `errors.clock.today`, with a mistake as the commands report it."""
    try:
        return clock.today()
    except UserError as error:
        (problem,) = cast("SettingsError", error).problems
        raise InputError(f"{problem.path}: {problem.value} {problem.reason} such as 2026-11-23") from None
