"""`gpu-commons init`: a first stack file, from answers or from flags."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from cli.init.answers import EXAMPLE, KEYS, ask, ask_missing, completed, parse_pool, problem_of
from cli.init.first_stack import LOGINS, REGISTRY, Answers, assumptions, stack_text
from cli.terminal import InputError, as_json, json_text, painter, width

if TYPE_CHECKING:
    from cli.stack.check import Checked
    from errors.problems import Problem

_FOLDER: Final = "stacks"
_SCHEMA: Final = Path("docs/reference/stack.schema.json")


@click.command(
    epilog="Exit codes: 0 written, 1 written but something in it would be refused, 2 usage: nothing is written."
)
@click.argument("name", required=False)
@click.option(
    "--pool", "pools", multiple=True, metavar="KEY=VALUE,…", help=f"A pool: {EXAMPLE}. Keys: {', '.join(KEYS)}."
)
@click.option("--registry", metavar="HOST/FOLDER", help="Registry that images are pushed to.")
@click.option("--managed-by", metavar="NAME", help="Another stack or team that manages these nodes.")
@click.option("--no-runtime", is_flag=True, help="The site already runs NVIDIA's device plugin.")
@click.option("--hub", metavar="NAME", help="Add a JupyterHub of this name, with a profile for each pool.")
@click.option("--login", type=click.Choice(LOGINS), help="How people log in to the hub.  [default: lti13]")
@click.option("--login-url", metavar="https://…", help="Address of the learning platform or identity provider.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@as_json
@click.pass_context
def init(  # noqa: PLR0913, PLR0917 - one argument for each option
    ctx: click.Context,
    /,
    name: str | None,
    pools: tuple[str, ...],
    registry: str | None,
    managed_by: str | None,
    no_runtime: bool,  # noqa: FBT001 - a flag
    hub: str | None,
    login: str | None,
    login_url: str | None,
    force: bool,  # noqa: FBT001 - the same
    is_json: bool,  # noqa: FBT001 - the same
) -> None:
    """Write stacks/Pulumi.NAME.yaml, from questions on a terminal or from flags.

    Whatever you leave out gets a planning figure and is listed under `assumptions`. For each pool with GPUs, the hub
    gets the newest image of this project that runs on its driver. The file is checked as by `stack check` before it is
    written.

    \b
    Examples:
      gpu-commons init my-site
      gpu-commons init my-site --registry registry.my.edu/gpu --hub datahub --pool "name=t4,gpu=Tesla T4,gpus=4,\\
        nodes=n01-n08 n10,driver=535.183.01,toolkit=1.17.8,cpu=32,memory_gib=192,disk_gib=480"
    """
    asks = not (name and pools)
    if asks and not _is_terminal():
        missing = " and ".join(each for each, given in (("NAME", name), ("--pool", pools)) if not given)
        raise click.UsageError(
            f'there is no terminal for questions: give {missing}, such as my-site --pool "{EXAMPLE}"'
        )
    name = _checked_name(name) if name else ask("Name of the stack", _checked_name)
    path = Path(_FOLDER) / f"Pulumi.{name}.yaml"
    if path.exists() and not force:
        raise InputError(f"{path} already exists: use --force to overwrite it, or choose another name")
    _check_flags(
        ("--registry", "registry", registry),
        ("--managed-by", "line", managed_by),
        ("--hub", "name", hub),
        ("--login-url", "url", login_url),
    )
    answers = Answers(
        name=name,
        pools=tuple(parse_pool(text, number) for number, text in enumerate(pools)),
        total_gpus=0,
        registry=registry,
        managed_by=managed_by,
        has_runtime=not no_runtime,
        hub=hub,
        login=login or "lti13",
        login_url=login_url,
    )
    if asks:
        answers = ask_missing(answers)
    answers = completed(answers)
    schema = f"../{_SCHEMA}" if _SCHEMA.is_file() else None
    text = stack_text(answers, schema=schema)
    checked = _check(text, path)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    _print(path, answers, checked, is_json=is_json)
    ctx.exit(1 if checked.refused else 0)


def _is_terminal() -> bool:
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):  # stdin is missing or closed
        return False


def _check_flags(*flags: tuple[str, str, str | None]) -> None:
    for flag, kind, value in flags:
        if value is not None and (problem := problem_of(kind, value)):
            raise InputError(f"{flag}: {problem}")


def _checked_name(text: str) -> str:
    if problem := problem_of("name", text):
        raise InputError(f"NAME: {problem}")
    return text


def _check(text: str, path: Path) -> Checked:
    """Check it as `stack check` does. Raises InputError with all mistakes before anything is written."""
    from cli.stack.check import Checked, check_stack  # noqa: PLC0415 - the list of commands needs no pydantic
    from cli.stack.report import problems_text  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path.name
        file.write_text(text, encoding="utf-8")
        result = check_stack(file)
    if isinstance(result, Checked):
        return result
    problems: tuple[Problem, ...] = result
    raise InputError(problems_text([replace(each, file="what was answered", line=None) for each in problems]))


def _print(path: Path, answers: Answers, checked: Checked, *, is_json: bool) -> None:
    from cli.stack.report import stack_data, stack_text  # noqa: PLC0415 - see above

    left = assumptions(answers)
    if is_json:
        click.echo(json_text({"file": str(path), "assumptions": left, "check": stack_data(path, checked)}))
        return
    click.echo(stack_text(path, checked, width=width(), paint=painter()), nl=False)
    click.echo(f"\nwrote {path}")
    if left:
        click.echo(f"assumptions to check: {'; '.join(left)}")
    registry = "" if answers.registry else f"; {REGISTRY} is a placeholder for your registry"
    click.echo(
        f"next: correct them{registry}, then run gpu-commons stack check {answers.name}; see docs/write-a-stack.md"
    )
