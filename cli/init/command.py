"""`gpu-commons init`: a first stack file, from answers or from flags."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from cli.init.first_stack import LOGINS, PLANNED, REGISTRY, Answers, Pool, assumptions, stack_text
from cli.terminal import InputError, as_json, json_text, painter, width
from messages.problems import nearest, show

if TYPE_CHECKING:
    from cli.stack.checked import Checked
    from messages.problems import Problem

_FOLDER: Final = "stacks"
_SCHEMA: Final = Path("docs/reference/stack.schema.json")
_KEYS: Final = {  # of --pool: what the stack file calls them
    "name": "name",
    "gpu": "gpu",
    "gpus": "gpus_per_node",
    "nodes": "nodes",
    "driver": "driver",
    "toolkit": "container_toolkit",
    "cpu": "cpu",
    "memory_gib": "memory_gib",
    "disk_gib": "root_disk_gib",
}
_POOL: Final = "name=t4,gpu=Tesla T4,gpus=4,nodes=n01-n08 n10,driver=535.183.01"


@click.command(
    epilog="Exit codes: 0 written, 1 written but something in it would be refused, 2 usage: nothing is written."
)
@click.argument("name", required=False)
@click.option(
    "--pool", "pools", multiple=True, metavar="KEY=VALUE,…", help=f"A pool: {_POOL}. Keys: {', '.join(_KEYS)}."
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
        raise click.UsageError(f'there is no terminal for questions: give {missing}, such as my-site --pool "{_POOL}"')
    name = _checked_name(name) if name else _ask("Name of the stack", _checked_name)
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
        pools=tuple(_pool(text, number) for number, text in enumerate(pools)),
        total_gpus=0,
        registry=registry,
        managed_by=managed_by,
        has_runtime=not no_runtime,
        hub=hub,
        login=login or "lti13",
        login_url=login_url,
    )
    if asks:
        answers = _from_answers(answers)
    answers = _completed(answers)
    schema = f"../{_SCHEMA}" if _SCHEMA.is_file() else None
    text = stack_text(answers, schema=schema)
    found = _check(text, path)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    _print(path, answers, found, is_json=is_json)
    ctx.exit(1 if found.refused else 0)


def _is_terminal() -> bool:
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


# --- flags


def _check_flags(*flags: tuple[str, str, str | None]) -> None:
    for flag, kind, given in flags:
        if given is not None and (problem := _problem(kind, given)):
            raise InputError(f"{flag}: {problem}")


def _pool(text: str, number: int) -> Pool:
    where = f"--pool {number + 1}"
    given: dict[str, str] = {}
    for part in re.split(r",(?=\s*\w+\s*=)", text):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not value:
            raise InputError(f"{where}: {show(part.strip())} is not KEY=VALUE; write it as in {_POOL}")
        if key not in _KEYS:
            raise InputError(f"{where}: {show(key)} is not a known key; {nearest(key, _KEYS, what='key')}")
        if _KEYS[key] in given:
            raise InputError(f"{where}: {key} is given twice; give it once")
        given[_KEYS[key]] = value
    needed = ["name", "nodes", *(("gpus", "driver") if "gpu" in given else ())]
    if missing := [key for key in needed if _KEYS[key] not in given]:
        raise InputError(f"{where}: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: {_POOL}")
    if extra := sorted(given.keys() & {"gpus_per_node", "driver", "container_toolkit"}) if "gpu" not in given else []:
        raise InputError(f"{where}: {extra[0]} is given for a pool without gpu; add gpu=MODEL, or leave it out")
    for key, value in given.items():
        if problem := _problem(key, value):
            raise InputError(f"{where}: {next(short for short, long in _KEYS.items() if long == key)}: {problem}")
    return Pool(given)


# --- questions


def _from_answers(answers: Answers) -> Answers:
    pools = list(answers.pools)
    click.echo(
        "Press Enter for what you do not know: a planning figure is written and listed as an assumption.", err=True
    )
    registry = answers.registry or _ask("Registry and folder for images", _checker("registry"), default="") or None
    while not pools or click.confirm("Another pool of nodes?", default=False, err=True):
        pools.append(_pool_from_answers())
    managed_by, has_runtime = answers.managed_by, answers.has_runtime
    if not managed_by and any(pool.has_gpus for pool in pools):
        has_runtime = has_runtime and not click.confirm(
            "Does the site already run NVIDIA's device plugin?", default=False, err=True
        )
    hub = answers.hub or _ask("Name of a JupyterHub (Enter: none)", _checker("name"), default="") or None
    login, login_url = answers.login, answers.login_url
    if hub and not login_url:
        login = click.prompt("How people log in", type=click.Choice(LOGINS), default=login, err=True)
        login_url = _ask("Address of that platform or provider", _checker("url"), default="") or None
    return replace(
        answers,
        pools=tuple(pools),
        registry=registry,
        has_runtime=has_runtime,
        hub=hub,
        login=login,
        login_url=login_url,
    )


def _pool_from_answers() -> Pool:
    given = {"name": _ask("Name of a pool of identical nodes", _checker("name"))}
    given["nodes"] = _ask("  Its nodes, such as n01-n08 n10", _checker("nodes"))
    given["gpu"] = _ask("  GPU model (Enter: no GPUs)", _checker("gpu"), default="")
    if given["gpu"]:
        given["gpus_per_node"] = _ask("  GPUs of one node", _checker("gpus_per_node"))
        given["driver"] = _ask("  Driver, as nvidia-smi prints it", _checker("driver"))
        given["container_toolkit"] = _ask("  NVIDIA container toolkit", _checker("container_toolkit"), default="")
    for key, text in (("cpu", "CPU cores"), ("memory_gib", "Memory in GiB"), ("root_disk_gib", "Disk in GiB")):
        given[key] = _ask(f"  {text} of one node", _checker(key), default="")
    return Pool({key: value for key, value in given.items() if value})


def _ask(text: str, check: Callable[[str], str], *, default: str | None = None) -> str:
    answer: str = click.prompt(
        text, default=default, show_default=False, value_proc=lambda given: given and check(given), err=True
    )
    return answer


def _checker(key: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if problem := _problem(key, text.strip()):
            raise click.UsageError(problem)
        return text.strip()

    return check


def _checked_name(text: str) -> str:
    if problem := _problem("name", text):
        raise InputError(f"NAME: {problem}")
    return text


def _problem(key: str, text: str) -> str:
    """What the reader of stack files reports about a value; empty if it accepts it."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - the list of commands needs no pydantic

    from kube import addresses, names  # noqa: PLC0415
    from messages.faults import Misfit  # noqa: PLC0415
    from settings import values  # noqa: PLC0415

    kinds: dict[str, Any] = {
        "name": names.Name,
        "line": names.Line,
        "nodes": values.NodesEntry,
        "gpu": values.Gpu,
        "driver": values.Driver,
        "container_toolkit": values.ToolkitVersion,
        "registry": addresses.Registry,
        "url": addresses.BaseUrl,
    }
    parts = re.split(r"[,;]?[ ]+|,", text) if key == "nodes" else [text]
    for part in parts:
        try:
            if key in kinds:
                TypeAdapter(kinds[key]).validate_python(part)
            elif key == "gpus_per_node" and not (re.fullmatch(r"\d{1,2}", part) and 1 <= int(part) <= 64):
                return f"{show(part)} is not a number of GPUs; write a whole number from 1 to 64"
            elif key in PLANNED and not (re.fullmatch(r"\d{1,7}(\.\d+)?", part) and float(part) > 0):
                return f"{show(part)} is not an amount; write a number greater than 0, without a unit"
        except ValidationError as error:
            cause = error.errors()[0].get("ctx", {}).get("error")
            return (
                f"{show(part)} {cause.reason}; {cause.fix}" if isinstance(cause, Misfit) else error.errors()[0]["msg"]
            )
    return ""


# --- what follows from the answers


def _completed(answers: Answers) -> Answers:
    """The answers with the sum of the GPUs and, for each pool, the newest image of the project that runs there."""
    from fleet.node_names import expand_all  # noqa: PLC0415 - see above

    total = 0
    for pool in answers.pools:
        nodes = expand_all(re.split(r"[,;]?[ ]+|,", pool.given["nodes"]))
        total += len(nodes) * int(pool.given.get("gpus_per_node", 0))
    images = _images(answers.pools) if answers.hub else {}
    return replace(answers, total_gpus=total, images=images)


def _images(pools: Sequence[Pool]) -> dict[str, str]:
    from compat import Case, check_on  # noqa: PLC0415 - see above
    from fleet.pools import read_node  # noqa: PLC0415
    from images.spec.cases import cases_of  # noqa: PLC0415
    from images.spec.load import IMAGES, load_family  # noqa: PLC0415
    from images.spec.mistakes import SPEC_FILE, SpecError  # noqa: PLC0415

    known: list[tuple[list[int], str, tuple[Case, ...]]] = []
    for file in sorted(IMAGES.glob(f"*/{SPEC_FILE}")):
        try:
            family = load_family(file.parent.name)
        except SpecError:
            continue  # one that is being written
        if (cases := cases_of(family)) and "jupyterhub" in str([spec.python for spec in family]):
            lines = [line for spec in family for line in spec.cuda_lines]
            known.append(([int(part) for part in max(lines, default="0").split(".")], file.parent.name, cases))
    found: dict[str, str] = {}
    for pool in (pool for pool in pools if pool.has_gpus):
        toolkit = pool.given.get("container_toolkit", PLANNED["container_toolkit"])
        place = read_node(pool.given["gpu"], pool.given["driver"], toolkit)
        running = [
            (line, name)
            for line, name, cases in known
            if all(check_on(case, place, with_remedy=False).verdict.runs for case in cases)
        ]
        if running:
            found[pool.name] = max(running)[1]
    return found


def _check(text: str, path: Path) -> Checked:
    """Check it as `stack check` does. Raises InputError with all mistakes, so that nothing is written."""
    from cli.stack.checked import Checked, check_stack  # noqa: PLC0415 - see above
    from cli.stack.report import problems_text  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path.name
        file.write_text(text, encoding="utf-8")
        found = check_stack(file)
    if isinstance(found, Checked):
        return found
    problems: tuple[Problem, ...] = found
    raise InputError(problems_text([replace(each, file="what was answered", line=None) for each in problems]))


def _print(path: Path, answers: Answers, found: Checked, *, is_json: bool) -> None:
    from cli.stack.report import stack_data, stack_text  # noqa: PLC0415 - see above

    left = assumptions(answers)
    if is_json:
        click.echo(json_text({"file": str(path), "assumptions": left, "check": stack_data(path, found)}))
        return
    click.echo(stack_text(path, found, width=width(), paint=painter()), nl=False)
    click.echo(f"\nwrote {path}")
    if left:
        click.echo(f"assumptions to check: {'; '.join(left)}")
    registry = "" if answers.registry else f"; {REGISTRY} is a placeholder for your registry"
    click.echo(
        f"next: correct them{registry}, then run gpu-commons stack check {answers.name}; see docs/write-a-stack.md"
    )
