"""Today's date in UTC."""

import datetime as dt
import os
from typing import Final

VARIABLE: Final = "GPU_COMMONS_TODAY"


def today() -> dt.date:
    """Today, or the date in GPU_COMMONS_TODAY, for output that does not change with the calendar.

    Raises SettingsError if it is no date.
    """
    named = os.environ.get(VARIABLE, "")
    if not named:
        return dt.datetime.now(tz=dt.UTC).date()
    try:
        return dt.date.fromisoformat(named)
    except ValueError:
        from errors.problems import Problem, SettingsError  # noqa: PLC0415 - for a mistake only

        raise SettingsError([Problem(VARIABLE, f'"{named}"', "is not a day", "write one such as 2026-11-23")]) from None
