"""`check --batch`: answers a stream line by line, in order, in constant memory."""

import gc
import os
import stat
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import click
import orjson

from cli.answers import body_data, problem_lines, unreadable_data
from cli.check.answered import answered
from cli.check.mapping import case_from
from cli.json_lines import LONGEST, numbered_lines
from cli.words import counted
from compat import CaseError, Verdict

_KEPT: Final = 64 << 20  # bytes of encoded answers, kept for cases that differ only in their id
_EVERY = 10_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The output for one line. `problem` explains why the line is not a case; empty for a valid one."""

    line: bytes
    verdict: str
    problem: str = ""


class _UnreadableError(ValueError):
    """The line is not a case; the text says why."""


def run(stream: BinaryIO, *, with_remedy: bool = True) -> int:
    """Answer every line of the stream on stdout; problems and a summary go to stderr. Returns the exit code."""
    # Reference counting frees what a case allocates; looking for cycles would take a quarter of the time.
    gc.set_threshold(1_000_000)
    out = sys.stdout.buffer
    at_once = not _is_file(stream)  # a program that writes one case and waits gets its answer
    draws = sys.stderr.isatty() and not out.isatty()
    verdicts: Counter[str] = Counter()
    bad = 0
    for number, line in numbered_lines(stream):
        outcome = answer_line(number, line, with_remedy=with_remedy)
        out.write(outcome.line)
        if at_once:
            out.flush()
        verdicts[outcome.verdict] += 1
        if outcome.problem:
            bad += 1
            click.echo(f"line {number}: {outcome.problem}", err=True)
        if draws and number % _EVERY == 0:
            click.echo(f"\r{number:,} lines", err=True, nl=False)
    out.flush()
    click.echo(("\r" if draws else "") + summary(verdicts, bad), err=True)
    fine = verdicts[Verdict.COMPATIBLE.value] + verdicts[Verdict.WITH_WARNING.value]
    return 0 if fine == verdicts.total() else 1


def summary(verdicts: Counter[str], bad: int) -> str:
    """The result of a batch in one line."""
    if not verdicts:
        return "no cases: write one JSON object per line"
    parts = [f"{verdicts[each.value]:,} {each.value}" for each in Verdict if verdicts[each.value]]
    unread = f"; {counted(bad, 'line')} could not be read" if bad else ""
    return f"{counted(verdicts.total(), 'case')}: {', '.join(parts)}{unread}"


def answer_line(number: int, line: bytes | None, *, with_remedy: bool = True) -> Outcome:
    """The answer to one line. Never raises: a case that cannot be answered is `unknown` with a reason."""
    name = str(number)
    try:
        fields = _object(line)
        name = _name(fields.pop("id", None), name)
        verdict, body = _solved(fields, with_remedy=with_remedy)
    except _UnreadableError as error:
        return _unreadable(name, number, str(error))
    except CaseError as error:
        return _unreadable(name, number, " | ".join(problem_lines(error)))
    except Exception as error:  # noqa: BLE001 - a bug met by one case must not cost the answers to all others
        return _unreadable(
            name, number, f"could not be answered because of a bug in gpu-commons: {type(error).__name__}: {error}"
        )
    return Outcome(b'{"id":%b,%b\n' % (orjson.dumps(name), body), verdict)


def _object(line: bytes | None) -> dict[str, Any]:
    if line is None:
        raise _UnreadableError(f"is longer than {LONGEST:,} bytes")
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _UnreadableError(_why(line, error)) from None
    if not isinstance(fields, dict):
        raise _UnreadableError('is not a JSON object such as {"gpu": "T4", "driver": "535", "cuda": "12.4"}')
    return fields


def _why(line: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        line.decode()
    except UnicodeDecodeError as undecodable:
        return f"is not UTF-8 text (byte {undecodable.start + 1})"
    return f"is not JSON: {error.msg} (column {error.colno})"


def _name(value: Any, otherwise: str) -> str:
    if value is None or value == "":
        return otherwise
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _UnreadableError("id: is neither text nor a number")
    return str(value)


def _solved(request: dict[str, Any], *, with_remedy: bool) -> tuple[str, bytes]:
    """Verdict and encoded answer without its id."""
    try:
        fields = orjson.dumps(request, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        raise _UnreadableError("is nested too deeply") from None
    # A slice is a copy: orjson's bytes own a buffer of several kilobytes, which the key would keep alive.
    key = fields[1:] if with_remedy else fields[:-1]
    encoded = _answers.get(key)
    if encoded is None:
        answer = answered(case_from(request), with_remedy=with_remedy)
        encoded = answer.verdict.value, orjson.dumps(body_data(answer))[1:]
        _answers.keep(key, encoded)
    return encoded


class _Answers:
    """Encoded answers by case; the oldest are dropped when they exceed the limit in bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._found: dict[bytes, tuple[str, bytes]] = {}
        self.get = self._found.get

    def keep(self, key: bytes, answer: tuple[str, bytes]) -> None:
        self._found[key] = answer
        self._size += len(key) + len(answer[1])
        while self._size > self._most:
            oldest = next(iter(self._found))
            self._size -= len(oldest) + len(self._found.pop(oldest)[1])


_answers = _Answers(_KEPT)


def _unreadable(name: str, number: int, problem: str) -> Outcome:
    shown = problem if len(problem) <= LONGEST // 1024 else f"{problem[: LONGEST // 1024]}…"
    return Outcome(orjson.dumps(unreadable_data(name[:200], number, shown)) + b"\n", Verdict.UNKNOWN.value, shown)


def _is_file(stream: BinaryIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False
