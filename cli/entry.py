"""Start and end of every command: open streams, one-line errors and the right exit code."""

import errno
import gc
import importlib
import io
import os
import sys
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import click

from errors import UserError

FINDINGS: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130  # as in shells: 128 plus the number of the signal
CLOSED_PIPE: Final = 141
_OF_STREAMS: Final = frozenset({errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT, errno.EFBIG})


class Guarded(click.Group):
    """A group of commands that ends silently when its output is closed, even in the middle of its help."""

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


class Lazy(Guarded):
    """A group that imports a command only when it is named, and none to list them.

    `modules` maps a command to its module and help line; the module defines the command under the same name.
    """

    def __init__(self, *args: Any, modules: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.modules = modules

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a mistake of the user is one message."""
        try:
            return super().invoke(ctx)
        except UserError as error:
            from cli.terminal import InputError  # noqa: PLC0415 - for a mistake alone

            raise InputError(str(error)) from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """Names in the order of the list, not alphabetically."""
        return [*self.modules]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """The command of that name."""
        if cmd_name not in self.modules:
            return None
        command = getattr(importlib.import_module(self.modules[cmd_name][0]), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - a test names each
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The named command; suggests the nearest one for an unknown name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches  # noqa: PLC0415 - for a mistake alone

            if not (close := get_close_matches(args[0], self.modules, n=1)):
                raise
            raise click.UsageError(f"{error.message} Did you mean '{close[0]}'?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """The list, without importing what it lists."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.modules.items()])


def run(group: click.Group, name: str, *, failure: int = USAGE) -> NoReturn:
    """Run, and exit without a traceback if the environment is broken. `failure` is the code for anything but usage."""
    gc.set_threshold(100_000)  # most objects of a command live until it ends
    _fill_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without ✓ still shows the words
    code = _code(group, name, failure)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # already reported, or nobody can read it
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
        if (message := explained(error)) is None:
            raise
        _say(f"error: {message}")
        return failure
    return code if isinstance(code, int) else 0


def explained(error: Exception) -> str | None:
    """The fault of the environment and its fix, in one line; None for a bug of ours."""
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, UnicodeError):
        return f"an argument or a file is not valid UTF-8 ({error.reason if hasattr(error, 'reason') else error})"
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        return "HOME: is not set; set it to your home folder"
    return None


def _of_system(error: OSError) -> str:
    what = error.strerror or str(error)
    if error.filename:
        return f"{os.fsdecode(error.filename)}: {what}"
    if isinstance(error, FileNotFoundError) and "temporary directory" in what:
        return "TMPDIR: no folder for temporary files is writable; set TMPDIR to one that is"
    if isinstance(error, FileNotFoundError) and _folder_is_gone():
        return "the working directory no longer exists: change to another one (cd …)"
    if error.errno in _OF_STREAMS:  # an error about a file names the file
        return f"standard output: {what}; the output is incomplete: redirect it to a file or a pipe"
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
    from errors.redaction.texts import without_secrets  # noqa: PLC0415 - for a mistake alone

    try:
        click.echo(without_secrets(text), err=True)
    except OSError:
        _let_go(sys.stderr)


def _fill_streams() -> None:
    """Reopen closed streams: otherwise the next opened file would get their number, and the output.

    Writing to a closed standard output still fails; what goes to a closed standard error is lost.
    """
    for number, name, is_read in ((0, "stdin", True), (1, "stdout", True), (2, "stderr", False)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDONLY if is_read else os.O_WRONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def _let_go(stream: Any) -> None:
    """Discard the rest of the buffer: nobody reads it, and the interpreter would complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
