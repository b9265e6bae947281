"""How every command begins and ends: with streams that are there, one line for what went wrong, and the right code."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, Final, NoReturn

import click

USAGE: Final = 2
INTERRUPTED: Final = 130  # as shells say it: 128 and the number of the signal
CLOSED_PIPE: Final = 141
_OF_STREAMS: Final = frozenset({errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT, errno.EFBIG})


class Guarded(click.Group):
    """A group of commands that ends without a word where nobody reads any more, also in the middle of its help."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the arguments; `--help` prints here."""
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            _let_go(sys.stdout)
            raise click.exceptions.Exit(CLOSED_PIPE) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _let_go(sys.stdout)
            ctx.exit(CLOSED_PIPE)


def run(group: click.Group, name: str, *, failure: int = USAGE) -> NoReturn:
    """Run, and leave without a traceback whatever is broken around. `failure`: the code of what is no usage."""
    _fill_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without ✓ still gets the words
    code = _code(group, name, failure)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # it has been told, or there is nobody to tell
            _let_go(stream)
    sys.exit(code)


def _code(group: click.Group, name: str, failure: int) -> int:
    try:
        try:
            code = group.main(prog_name=name, standalone_mode=False)
        except SystemExit as ended:
            code = ended.code
        sys.stdout.flush()
    except click.ClickException as error:
        return _show(error)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        _let_go(sys.stdout)
        return CLOSED_PIPE
    except Exception as error:
        if (said := explained(error)) is None:
            raise
        _say(f"error: {said}")
        return failure
    return code if isinstance(code, int) else 0


def explained(error: Exception) -> str | None:
    """What is broken around the command and what to change, in one line; None for an error of ours."""
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, UnicodeError):
        return f"an argument or a file is not text in UTF-8 ({error.reason if hasattr(error, 'reason') else error})"
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        return "HOME: nobody says where your home is: let HOME name a folder"
    fault = sys.modules.get("images.inspection.faults")  # imported only where an image is read
    return str(error) if fault and isinstance(error, fault.InspectError) else None


def _of_system(error: OSError) -> str:
    what = error.strerror or str(error)
    if error.filename:
        return f"{os.fsdecode(error.filename)}: {what}"
    if isinstance(error, FileNotFoundError) and "temporary directory" in what:
        return "TMPDIR: there is no folder for temporary files that can be written to: let TMPDIR name one"
    if isinstance(error, FileNotFoundError) and _folder_is_gone():
        return "the working directory is gone: change to a folder that is there (cd …)"
    if error.errno in _OF_STREAMS:  # a file has a name
        return f"standard output: {what}; what was written there is not whole: let it go to a file or a pipe"
    return what


def _folder_is_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - what Path.cwd() asks
    except OSError:
        return True
    return False


def _show(error: click.ClickException) -> int:
    text = io.StringIO()
    error.show(file=text)
    _say(text.getvalue().removesuffix("\n"))
    return error.exit_code


def _say(text: str) -> None:
    from messages.redaction.texts import without_secrets  # noqa: PLC0415 - for a mistake alone

    try:
        click.echo(without_secrets(text), err=True)
    except OSError:
        _let_go(sys.stderr)


def _fill_streams() -> None:
    """A closed stream gets its number back: a file that is opened next would take it, and be written to.

    Writing to a closed standard output fails as it would have; standard error takes what nobody can see.
    """
    for number, name, is_read in ((0, "stdin", True), (1, "stdout", True), (2, "stderr", False)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDONLY if is_read else os.O_WRONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def _let_go(stream: Any) -> None:
    """What is still in the buffer has no reader; the interpreter would complain about it while it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
