"""The day on which a command runs, in UTC."""

from __future__ import annotations

import datetime as dt
import os
from typing import Final

from cli.terminal import InputError

VARIABLE: Final = "GPU_COMMONS_TODAY"


def today() -> dt.date:
    """Today, or the day that GPU_COMMONS_TODAY names, for output that does not change with the calendar."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        return dt.datetime.now(tz=dt.UTC).date()
    try:
        return dt.date.fromisoformat(named)
    except ValueError:
        raise InputError(f'{VARIABLE}: "{named}" is not a day such as 2026-11-23') from None
