"""The questions of `init` on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import click

from cli.init.answers import problem_of
from cli.init.first_stack import LOGINS, Answers, Pool


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
