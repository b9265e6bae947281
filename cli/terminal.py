"""The terminal, in one place: whether there is one, its width, and whether it may have colours."""

import os
import shutil
import sys
from collections.abc import Callable
from typing import Any, Final

import click

from cli.words import Paint, plain

_TONES: Final[dict[str, dict[str, Any]]] = {
    "good": {"fg": "green"},
    "warn": {"fg": "yellow"},
    "open": {"fg": "cyan"},
    "bad": {"fg": "red"},
    "quiet": {"dim": True},
    "strong": {"bold": True},
}


class InputError(click.ClickException):
    """Input that cannot be used. The text is the whole message for people."""

    exit_code = click.UsageError.exit_code


as_json: Final[Callable[[Any], Any]] = click.option(
    "--json", "is_json", is_flag=True, help="Print JSON, the stable form for programs."
)


def has_colours() -> bool:
    """On a terminal that supports them, unless NO_COLOR is set (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painter() -> Paint:
    """Colours, if allowed."""
    return (lambda text, tone: click.style(text, **_TONES.get(tone, {}))) if has_colours() else plain


def width() -> int | None:
    """Columns of the terminal; None without one: lines then stay whole, for grep."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_error(text: object) -> None:
    """One line on standard error, without secrets: a path or a name may be a login by mistake."""
    from errors.redaction.texts import without_secrets  # noqa: PLC0415 - for a mistake alone

    click.echo(f"error: {without_secrets(str(text))}", err=True)


class StatusLine:
    """A line on standard error that changes in place while something runs; silent without a terminal."""

    def __init__(self, *, is_shown: bool = True) -> None:
        self.columns = shutil.get_terminal_size().columns if is_shown and sys.stderr.isatty() else None
        self._drawn = ""

    def show(self, text: str) -> None:
        if self.columns and text != self._drawn:
            click.echo(f"\r\x1b[K{text[: self.columns - 1]}", err=True, nl=False)
            self._drawn = text

    def clear(self) -> None:
        if self._drawn:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._drawn = ""


def json_text(data: Any) -> str:
    """JSON for people and programs."""
    import json  # noqa: PLC0415 - most answers are text

    return json.dumps(data, indent=2, ensure_ascii=False)
