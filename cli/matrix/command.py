"""`gpu-commons matrix`: images on the pools of a stack, or of two lists."""

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from cli.answers import problem_lines
from cli.check.mapping import case_from
from cli.clock import today
from cli.json_lines import LONGEST, numbered_lines
from cli.matrix.grid import Grid, grid_data, grid_of
from cli.matrix.uses import NO_USES, Uses
from cli.stacks import pools_of, read_stack, stack_name
from cli.terminal import InputError, as_json, has_colours, json_text
from compat import Case, CaseError, Image, Pool, check, read_host
from compat import matrix as solve
from compat.evidence.case import POOL_FIELDS
from compat.verdict.answer import BY_SPEC
from compat.verdict.staleness import age_note

_PIPED = 120  # columns when there is no terminal
_LIST = "JSON Lines: a name and fields of a case. Instead of --stack."


@click.command(epilog="Exit codes: 0 everything runs everywhere, 1 something does not run or is unknown, 2 usage.")
@click.option(
    "--stack", metavar="NAME|PATH", help="Stack file, or its name: dsmlp-fall is stacks/Pulumi.dsmlp-fall.yaml."
)
@click.option("--images", type=click.File("rb"), metavar="FILE", help=_LIST)
@click.option("--pools", type=click.File("rb"), metavar="FILE", help=_LIST)
@click.option(
    "--html", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path), metavar="FILE",
    help="Also write a self-contained HTML page; - prints it instead of the table.",
)  # fmt: skip
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@as_json
@click.pass_context
def matrix(  # noqa: PLR0913 - click hands over every option
    ctx: click.Context,
    stack: str | None,
    images: BinaryIO | None,
    pools: BinaryIO | None,
    html: Path | None,
    *,
    markdown: bool,
    is_json: bool,
) -> None:
    """Every image on every pool: which runs, which does not, why, and what to change.

    With --stack: the images and pools of that stack, and which of its hubs, profiles, jobs and courses use each image
    on each pool. With --images and --pools: two lists of your own. Several lines with the same image name describe
    several things in that image that use the GPU; the image runs as well as the worst of them.

    \b
    Examples:
      gpu-commons matrix --stack dsmlp-fall --html matrix.html
      gpu-commons matrix --images images.jsonl --pools pools.jsonl --markdown
    """
    if markdown and is_json:
        raise click.UsageError("give --markdown or --json, not both")
    if html is not None and str(html) == "-" and (markdown or is_json):
        raise click.UsageError("--html - prints the page instead of the table: give it on its own, or name a file")
    if stack is not None and images is None and pools is None:
        grid = _of_stack(stack)
    elif stack is None and images is not None and pools is not None:
        grid = _grid("Which image runs where", *_of_lists(images, pools))
    else:
        raise click.UsageError("give either --stack, or --images and --pools")
    if html is not None:
        _write_html(grid, html)
    if html is None or str(html) != "-":
        click.echo(_text(grid, markdown=markdown, is_json=is_json), nl=is_json)
    if note := age_note(today()):
        click.echo(f"note: {note.message}", err=True)
    ctx.exit(0 if grid.is_fine else 1)


def _of_stack(stack: str) -> Grid:
    """Images, pools and uses from a stack file."""
    # Imported here: pydantic alone costs a quarter of a second at start.
    from cli.matrix.uses import uses_of  # noqa: PLC0415
    from imaging.spec.compat_cases import cases_of  # noqa: PLC0415
    from imaging.spec.load import load_family  # noqa: PLC0415

    settings = read_stack(stack)
    images = [
        Image(image.full_name, cases_of(load_family(image.name, target=image.target)), BY_SPEC)
        for image in settings.images
    ]
    pools = [column for pool in settings.fleet.pools for column in pools_of(pool)]
    return _grid(f"{stack_name(stack)}: which image runs where", images, pools, uses_of(settings))


def _of_lists(images: BinaryIO, pools: BinaryIO) -> tuple[Sequence[Image], Sequence[Pool]]:
    problems: list[str] = []
    lists: list[list[Image] | list[Pool]] = []
    for read, file, option in ((read_images, images, "--images"), (read_pools, pools, "--pools")):
        try:
            lists.append(read(file))
        except ListError as error:
            problems += [f"{option} {problem}" for problem in error.problems]
    if problems:
        raise InputError("\n       ".join(problems))
    return lists[0], lists[1]  # type: ignore[return-value]  # in the order that they were read


def _grid(title: str, images: Sequence[Image], pools: Sequence[Pool], uses: Uses = NO_USES) -> Grid:
    try:
        return grid_of(title, images, pools, solve(images, pools), uses)
    except CaseError as error:
        raise InputError(str(error)) from None


def _text(grid: Grid, *, markdown: bool, is_json: bool) -> str:
    if is_json:
        return json_text(grid_data(grid))
    if markdown:
        from cli.matrix.table import matrix_markdown  # noqa: PLC0415 - one of three is needed

        return matrix_markdown(grid)
    from cli.matrix.table import matrix_text  # noqa: PLC0415 - Rich is needed here only

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPED
    return matrix_text(grid, width=columns, has_colours=has_colours())


def _write_html(grid: Grid, file: Path) -> None:
    from cli.matrix.html_page import matrix_html  # noqa: PLC0415 - needed here only

    note = age_note(today())
    page = matrix_html(grid, made=f"gpu-commons matrix, {today()}" + (f"; {note.message}" if note else ""))
    if str(file) == "-":
        click.echo(page, nl=False)
        return
    file.write_text(page, encoding="utf-8")
    click.echo(f"wrote {file}", err=True)


_PROBE_POOL: Final = {"gpu": "Tesla T4"}  # completes an image, so that its own fields can be read without a host
_PROBE_IMAGE: Final = {"cuda": "12.4"}
_MOST: Final = 20  # the most problems to list


class ListError(ValueError):
    """The mistakes in a file, by line number."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        more = len(problems) - _MOST
        self.problems = (*problems[:_MOST], *([f"and {more} more"] if more > 0 else []))


def read_images(file: BinaryIO) -> list[Image]:
    """Images in the order of their first lines; lines with one name are one image. Raises ListError.

    An image by digest that this machine has read is what was read.
    """
    from cli.check.inspected import cases_read  # noqa: PLC0415 - a list without digests needs no pydantic

    cases: dict[str, list[Case]] = {}
    basis: dict[str, str] = {}
    for name, given in _lines(file, pool=False):
        group = cases.setdefault(name, [])
        if given:  # only a name: an image that uses no GPU
            case = case_from(given)
            read, of = cases_read(case)
            group += read
            basis |= {name: of} if of else {}
    return [Image(name, tuple(each), basis.get(name, "")) for name, each in cases.items()]


def read_pools(file: BinaryIO) -> list[Pool]:
    """Pools in the order of the file. Raises ListError."""
    return [Pool(name, read_host(case_from(given))) for name, given in _lines(file, pool=True)]


def _lines(file: BinaryIO, *, pool: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    problems: list[str] = []
    read: list[tuple[str, dict[str, Any]]] = []
    names: set[str] = set()
    for number, line in numbered_lines(file):
        try:
            name, given = _entry(line, pool=pool)
        except ValueError as error:
            problems.append(f"line {number}: {error}")
            continue
        if pool and name in names:
            problems.append(f'line {number}: name: "{name}" is duplicated; give each pool its own name')
        names.add(name)
        read.append((name, given))
    if not read and not problems:
        example = '{"name": "t4", "gpu": "Tesla T4"}' if pool else '{"name": "course", "cuda": "12.4"}'
        problems.append(f"has no lines; write one JSON object per line, such as {example}")
    if problems:
        raise ListError(problems)
    yield from read


def _entry(line: bytes | None, *, pool: bool) -> tuple[str, dict[str, Any]]:
    if line is None:
        raise ValueError(f"is longer than {LONGEST:,} bytes")
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("is not a JSON object") from None
    if not isinstance(given, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - one kind of mistake, as above
    name = given.pop("name", None)
    if not isinstance(name, str) or not name.strip():
        raise ValueError("name: is missing; give it text")
    mine = [field for field in given if (field in POOL_FIELDS) != pool and field in Case.__dataclass_fields__]
    if mine:
        kind, other = ("a pool", "an image") if pool else ("an image", "a pool")
        raise ValueError(f"{', '.join(mine)}: describes {other}, not {kind}; move it to the other file")
    try:
        if given or pool:
            check(case_from({**given, **(_PROBE_IMAGE if pool else _PROBE_POOL)}))
    except CaseError as error:
        raise ValueError(" | ".join(problem_lines(error))) from None
    return name.strip(), given
