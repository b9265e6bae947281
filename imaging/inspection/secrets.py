"""Hides secrets in variables and labels: people bake them into images, and our output must not repeat them."""

import re
from typing import Final

from errors.redaction.names import is_secret
from errors.redaction.texts import without_known_forms, without_secrets

HIDDEN: Final = "(not shown)"
_HARMLESS: Final = re.compile(r"|true|false|yes|no|none|\d{1,5}|/[\w./-]*|https?://[^@\s]*", re.IGNORECASE)


def hide(name: str, value: str) -> str:
    """The value or a placeholder. Paths, switches and small numbers stay: `USE_TOKEN=false`."""
    return HIDDEN if is_secret(name) and not is_harmless(value) else hide_in(value)


def is_harmless(value: str) -> bool:
    """Is it a path, an address, a switch or a small number, whatever its name?"""
    return _HARMLESS.fullmatch(value.strip()) is not None


def hide_in(text: str) -> str:
    """A text without tokens of known formats and passwords in URLs."""
    return without_known_forms(text, HIDDEN)


def hide_in_command(text: str) -> str:
    """A command line or build step, without values after a telling name: `--token=…`, `ARG PASSWORD=…`."""
    return without_secrets(text, HIDDEN)
