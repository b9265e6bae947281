"""`gpu-commons image lint`: reads files, runs our rules and hadolint, prints."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

import click

from cli.clock import today
from cli.entry import FINDINGS, USAGE
from cli.image import hadolint as other_linter
from cli.image import lint_report as report_text
from cli.image.lint_report import sarif
from cli.terminal import InputError, as_json, json_text, painter, print_error
from imaging.lint.check import Report
from imaging.lint.check import lint as lint_recipe
from imaging.lint.reading import LARGEST_BYTES
from imaging.lint.recipe import Kind, LintContext, LintError, Role
from imaging.lint.waivers import waiver_from

STDIN: Final = "-"


@click.command(
    epilog="Exit codes: 0 nothing found, 1 findings, 2 a file, an option or a waiver cannot be read.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--role",
    type=click.Choice(["application", "batch", "driver"]),
    default="application",
    show_default=True,
    help="What the image is for: a batch image needs a command, a driver image may contain a driver.",
)
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in Kind]),
    help="Kind of the files. Default: detected from name and content.",
)
@click.option(
    "--context", metavar="FOLDER", help="Build context, with its .dockerignore. Default: the folder of the file."
)
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="RULE=REASON",
    help="Waive a rule for all files; the reason is required.",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text", show_default=True, help="Output."
)
@click.option(
    "--hadolint/--no-hadolint", default=True, show_default=True, help="Also run hadolint, if it is installed."
)
@as_json
@click.pass_context
def lint(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    role: str,
    kind: str | None,
    context: str | None,
    ignored: tuple[str, ...],
    form: str,
    hadolint: bool,
    is_json: bool,
) -> None:
    """Find mistakes that cost GPUs, bytes or repeatability: in Dockerfiles, Apptainer definition files, job scripts,
    requirements.txt, environment.yml and pyproject.toml.

    FILE - reads standard input. Each finding has the file, the line, the rule and the fix. The files that a
    Dockerfile installs from are read too, out of its build context. If hadolint is installed, it checks Dockerfiles.
    A comment above a line waives a rule for that line, including hadolint's DL… and SC… rules:

    \b
      # gpu-commons lint ignore=D-ROOT reason="the driver container needs it"

    \b
    Examples:
      gpu-commons image lint Dockerfile
      gpu-commons image lint --role batch train/Dockerfile train/job.sbatch
      gpu-commons image lint requirements.txt environment.yml
      gpu-commons image lint --format sarif Dockerfile > lint.sarif
    """
    if is_json and form == "sarif":
        raise click.UsageError("give --json or --format sarif, not both")
    if context is not None and not Path(context).is_dir():
        raise InputError(f"--context {context}: is not a folder; name the build context")
    waivers = tuple(map(waiver_from, ignored))
    program = other_linter.find() if hadolint else None
    ask = other_linter.running(program) if program else None
    reports: list[Report] = []
    problems: list[str] = []
    for path in dict.fromkeys(files):
        try:
            folder = _context_of(path, context)
            lint_context = LintContext(Role(role), _has_ignore_file(path, context), today(), _reading(folder))
            of_kind = Kind(kind) if kind else None
            report = lint_recipe(_content(path), path, lint_context, kind=of_kind, waivers=waivers, ask=ask)
            found = [replace(each, path=str(folder / each.path)) for each in report.beside if folder]
            left_out = tuple(str(folder / each) for each in report.left_out if folder)
            reports += [replace(report, beside=(), left_out=left_out), *found]
        except LintError as error:
            problems.append(str(error))
    reports = _each_once(reports)
    _print(reports, "json" if is_json else form)
    if hadolint and program is None and any(report.kind is Kind.DOCKERFILE for report in reports):
        click.echo(f"note: {other_linter.MISSING}", err=True)
    for problem in problems:
        print_error(problem)
    ctx.exit(USAGE if problems else FINDINGS if any(report.all for report in reports) else 0)


def _content(path: str) -> bytes:
    """At most one byte above the limit: the linter then reports a file too big."""
    if path == STDIN:
        return sys.stdin.buffer.read(LARGEST_BYTES + 1)
    if Path(path).is_dir():
        raise LintError(f"{path}: is a folder; name the file, such as {Path(path) / 'Dockerfile'}")
    try:
        with Path(path).open("rb") as file:
            return file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise LintError(f"{path}: {getattr(error, 'strerror', None) or error}; name a file that can be read") from None


def _context_of(path: str, context: str | None) -> Path | None:
    """The build context: the folder of the file unless one is named; None for standard input."""
    return Path(context) if context is not None else None if path == STDIN else Path(path).parent


def _reading(folder: Path | None) -> Callable[[str], bytes | None]:
    """Reads regular files of the context. What a link names may lie outside it, and is not read then."""

    @cache
    def read(name: str) -> bytes | None:
        if folder is None or not (folder / name).resolve().is_relative_to(folder.resolve()):
            return None
        return _content(str(folder / name)) if (folder / name).is_file() else None

    return read


def _each_once(reports: Sequence[Report]) -> list[Report]:
    """One report for each file: a file that is named and also installed from has the findings of both."""
    found: dict[str, Report] = {}
    for report in reports:
        first = found.setdefault(str(Path(report.path)), report)
        if first is not report:
            found[str(Path(report.path))] = replace(
                first,
                findings=tuple(dict.fromkeys((*first.findings, *report.findings))),
                waived=tuple(dict.fromkeys((*first.waived, *report.waived))),
                general=tuple(dict.fromkeys((*first.general, *report.general))),
                unused=tuple(each for each in first.unused if each in report.unused),
            )
    return list(found.values())


def _has_ignore_file(path: str, context: str | None) -> bool | None:
    """Beside the Dockerfile, under its own name, or in the context. None: standard input has no context."""
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
