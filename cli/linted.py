"""What `image lint` does: reads files, asks our rules and hadolint, prints."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from cli import hadolint
from cli.reports import lint as report_text
from cli.reports.lint_sarif import sarif
from cli.terminal import InputError, json_text, painter
from images.lint.check import Ask, Report, lint
from images.lint.model import Kind, LintError, Role, Setting
from images.lint.reading import LARGEST_BYTES
from images.lint.waivers import Waiver, waiver_from

STDIN: Final = "-"
FINDINGS: Final = 1
USAGE: Final = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the call."""

    role: str
    kind: str | None
    context: str | None
    ignored: tuple[str, ...]
    with_hadolint: bool


def lint_files(files: Sequence[str], asked: Asked, form: str) -> int:
    """Lint each file once and print one report. Returns the exit code. Raises InputError for a waiver."""
    try:
        waivers = tuple(waiver_from(option) for option in asked.ignored)
    except LintError as error:
        raise InputError(str(error)) from None
    program = hadolint.find() if asked.with_hadolint else None
    ask = hadolint.asking(program) if program else None
    reports: list[Report] = []
    problems: list[str] = []
    for path in dict.fromkeys(files):
        try:
            reports.append(_linted(path, asked, waivers, ask))
        except LintError as error:
            problems.append(str(error))
    _print(reports, form)
    if asked.with_hadolint and program is None and any(report.kind is Kind.DOCKERFILE for report in reports):
        click.echo(f"note: {hadolint.MISSING}", err=True)
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    return USAGE if problems else FINDINGS if any(report.all for report in reports) else 0


def _linted(path: str, asked: Asked, waivers: tuple[Waiver, ...], ask: Ask | None) -> Report:
    today = dt.datetime.now(tz=dt.UTC).date()
    setting = Setting(Role(asked.role), _has_ignore_file(path, asked.context), today)
    kind = Kind(asked.kind) if asked.kind else None
    return lint(_content(path), path, setting, kind=kind, waivers=waivers, ask=ask)


def _content(path: str) -> bytes:
    """No more than one byte above the limit: the linter says that it is too much."""
    if path == STDIN:
        return sys.stdin.buffer.read(LARGEST_BYTES + 1)
    if Path(path).is_dir():
        raise LintError(f"{path}: is a folder; name the file, such as {Path(path) / 'Dockerfile'}")
    try:
        with Path(path).open("rb") as file:
            return file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise LintError(f"{path}: {getattr(error, 'strerror', None) or error}; name a file that can be read") from None


def _has_ignore_file(path: str, context: str | None) -> bool | None:
    """Beside the Dockerfile under its own name, or in the context. None: of standard input nobody knows the context."""
    if path == STDIN and context is None:
        return None
    folder = Path(context) if context is not None else Path(path).parent
    names = [folder / ".dockerignore", folder / ".containerignore"]
    own = [] if path == STDIN else [Path(f"{path}.dockerignore")]
    return any(name.is_file() for name in [*names, *own])


def _print(reports: list[Report], form: str) -> None:
    if form == "json":
        click.echo(json_text(report_text.lint_data(reports)))
    elif form == "sarif":
        click.echo(json_text(sarif(reports, _version())))
    else:
        click.echo(report_text.lint_text(reports, paint=painter()), nl=False)
    for report in reports:
        for remark in report_text.remarks(report):
            click.echo(f"note: {remark}", err=True)
    if form == "text" and any(report.all or report.waived for report in reports):
        click.echo(report_text.summary(reports), err=True)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - for SARIF alone

    try:
        return version("gpu-commons")
    except PackageNotFoundError:
        return "0"
