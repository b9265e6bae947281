"""The day on which a command runs, in UTC."""

from __future__ import annotations

import datetime as dt
import os

from cli.terminal import InputError
from messages import UserError, clock


def today() -> dt.date:
    """As `messages.clock.today`, with a mistake as the commands report it."""
    try:
        return clock.today()
    except UserError:
        named = os.environ[clock.VARIABLE]
        raise InputError(f'{clock.VARIABLE}: "{named}" is not a day such as 2026-11-23') from None
