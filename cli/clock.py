"""The day on which a command runs, in UTC."""

from __future__ import annotations

import datetime as dt

from cli.terminal import InputError
from messages import clock
from messages.problems import SettingsError


def today() -> dt.date:
    """As `messages.clock.today`, with a mistake as the commands report it."""
    try:
        return clock.today()
    except SettingsError as error:
        (problem,) = error.problems
        raise InputError(f"{problem.path}: {problem.value} {problem.reason} such as 2026-11-23") from None
