"""Answers from flags or a terminal, mistakes in them, and values that follow from them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import click

from cli.init.first_stack import LOGINS, PLANNED, Answers, Pool, node_entries
from cli.terminal import InputError
from errors.problems import nearest, show

KEYS: Final = {  # of --pool → of the stack file
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
EXAMPLE: Final = "name=t4,gpu=Tesla T4,gpus=4,nodes=n01-n08 n10,driver=535.183.01"


def parse_pool(text: str, number: int) -> Pool:
    """A pool from one `--pool`; the first has the number 0. Raises InputError."""
    where = f"--pool {number + 1}"
    values: dict[str, str] = {}
    for part in re.split(r",(?=\s*\w+\s*=)", text):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not value:
            raise InputError(f"{where}: {show(part.strip())} is not KEY=VALUE; write it as in {EXAMPLE}")
        if key not in KEYS:
            raise InputError(f"{where}: {show(key)} is not a known key; {nearest(key, KEYS, what='key')}")
        if KEYS[key] in values:
            raise InputError(f"{where}: {key} is given twice; give it once")
        values[KEYS[key]] = value
    needed = ["name", "nodes", *(("gpus", "driver") if "gpu" in values else ())]
    if missing := [key for key in needed if KEYS[key] not in values]:
        raise InputError(f"{where}: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: {EXAMPLE}")
    if extra := sorted(values.keys() & {"gpus_per_node", "driver", "container_toolkit"}) if "gpu" not in values else []:
        raise InputError(f"{where}: {extra[0]} is given for a pool without gpu; add gpu=MODEL, or leave it out")
    for key, value in values.items():
        if problem := problem_of(key, value):
            raise InputError(f"{where}: {next(short for short, long in KEYS.items() if long == key)}: {problem}")
    return Pool(values)


def problem_of(key: str, text: str) -> str:
    """What the reader of stack files says about a value; empty if accepted."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - the list of commands needs no pydantic

    from errors.faults import Misfit  # noqa: PLC0415
    from settings import values  # noqa: PLC0415
    from workloads import addresses, names  # noqa: PLC0415

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
    parts = node_entries(text) if key == "nodes" else [text]
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


# --- questions on a terminal


def ask_missing(answers: Answers) -> Answers:
    """The answers from flags, completed by asking for the rest."""
    pools = list(answers.pools)
    click.echo(
        "Press Enter for what you do not know: a planning figure is written and listed as an assumption.", err=True
    )
    registry = answers.registry or ask("Registry and folder for images", _checker("registry"), default="") or None
    while not pools or click.confirm("Another pool of nodes?", default=False, err=True):
        pools.append(_pool_from_answers())
    managed_by, has_runtime = answers.managed_by, answers.has_runtime
    if not managed_by and any(pool.has_gpus for pool in pools):
        has_runtime = has_runtime and not click.confirm(
            "Does the site already run NVIDIA's device plugin?", default=False, err=True
        )
    hub = answers.hub or ask("Name of a JupyterHub (Enter: none)", _checker("name"), default="") or None
    login, login_url = answers.login, answers.login_url
    if hub and not login_url:
        login = click.prompt("How people log in", type=click.Choice(LOGINS), default=login, err=True)
        login_url = ask("Address of that platform or provider", _checker("url"), default="") or None
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
    answers = {"name": ask("Name of a pool of identical nodes", _checker("name"))}
    answers["nodes"] = ask("  Its nodes, such as n01-n08 n10", _checker("nodes"))
    answers["gpu"] = ask("  GPU model (Enter: no GPUs)", _checker("gpu"), default="")
    if answers["gpu"]:
        answers["gpus_per_node"] = ask("  GPUs of one node", _checker("gpus_per_node"))
        answers["driver"] = ask("  Driver, as nvidia-smi prints it", _checker("driver"))
        answers["container_toolkit"] = ask("  NVIDIA container toolkit", _checker("container_toolkit"), default="")
    for key, text in (("cpu", "CPU cores"), ("memory_gib", "Memory in GiB"), ("root_disk_gib", "Disk in GiB")):
        answers[key] = ask(f"  {text} of one node", _checker(key), default="")
    return Pool({key: value for key, value in answers.items() if value})


def ask(text: str, check: Callable[[str], str], *, default: str | None = None) -> str:
    """One answer; the question is repeated while `check` raises."""
    answer: str = click.prompt(
        text, default=default, show_default=False, value_proc=lambda given: given and check(given), err=True
    )
    return answer


def _checker(key: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if problem := problem_of(key, text.strip()):
            raise click.UsageError(problem)
        return text.strip()

    return check


# --- values that follow: the fleet's GPUs, and an image per pool


def completed(answers: Answers) -> Answers:
    """The answers with the GPU total and, for each pool, the project's newest image that runs there."""
    from fleet.node_names import expand_all  # noqa: PLC0415 - the list of commands needs no pydantic

    total = 0
    for pool in answers.pools:
        nodes = expand_all(node_entries(pool.given["nodes"]))
        total += len(nodes) * int(pool.given.get("gpus_per_node", 0))
    images = _images(answers.pools) if answers.hub else {}
    return replace(answers, total_gpus=total, images=images)


def _images(pools: Sequence[Pool]) -> dict[str, str]:
    from compat import Case, check_on  # noqa: PLC0415 - see above
    from fleet.pools import read_node  # noqa: PLC0415
    from imaging.spec.compat_cases import cases_of  # noqa: PLC0415
    from imaging.spec.load import IMAGES, load_family  # noqa: PLC0415
    from imaging.spec.problems import SPEC_FILE, SpecError  # noqa: PLC0415

    known: list[tuple[list[int], str, tuple[Case, ...]]] = []
    for file in sorted(IMAGES.glob(f"*/{SPEC_FILE}")):
        try:
            family = load_family(file.parent.name)
        except SpecError:
            continue  # a spec that is still being written
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
