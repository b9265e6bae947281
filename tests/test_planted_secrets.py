"""A secret in any place of what people hand us is in nothing that we print: previews, stack files, arguments."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import pytest
import yaml
from click.testing import CliRunner
from rows import each_row

from cli.__main__ import commands
from cli.entry import run as run_command
from errors import UserError
from settings.reading import load_stack

sys.path.insert(0, str(Path(__file__).parent / "cli"))  # for previews.py: folders of tests are no packages here
import previews

pytestmark = pytest.mark.slow

Loc = tuple[str | int, ...]
Words = tuple[str, ...]
PROJECT: Final = Path(__file__).parents[1]
SECRET: Final = "Violet7tango42"  # noqa: S105 - in no form of a token: what is around it gives it away
FORMS: Final = (
    f"https://ann:{SECRET}@registry.invalid/x",
    f"password={SECRET}",
    f"ann:{SECRET}@registry.invalid/x:1",
    f"ghp_{SECRET * 3}",
)
PLACES: Final = 34  # of each recording; which ones is drawn anew when its resources change


def leaves(value: Any, loc: Loc = ()) -> Iterator[Loc]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*loc, key))
    else:
        yield loc


def kind(loc: Loc) -> Loc:
    """Places that differ in a number or in the name of something are one place."""
    return tuple("*" if isinstance(step, int) or re.search(r"[\d/]", step) else step for step in loc)


def planted(raw: Any, loc: Loc, value: str) -> Any:
    raw = copy.deepcopy(raw)
    inside = raw
    for step in loc[:-1]:
        inside = inside[step]
    inside[loc[-1]] = value
    return raw


@each_row("recording", ["first", "image", "next"])
def test_a_secret_in_any_place_of_a_preview_is_in_no_comment(recording: str) -> None:
    lines = previews.recorded(recording).split(b"\n")
    events = [(number, json.loads(line)) for number, line in enumerate(lines) if line.startswith(b"{")]
    places = {
        (event["resourcePreEvent"]["metadata"]["type"], kind(loc)): (number, event, loc)
        for number, event in events
        if "resourcePreEvent" in event
        for loc in leaves(event)
        if "inputs" in loc or "outputs" in loc
    }
    draw = random.Random(recording)
    for number, event, loc in draw.sample([*places.values()], PLACES):
        changed = json.dumps(planted(event, loc, draw.choice(FORMS))).encode()
        stream = b"\n".join([*lines[:number], changed, *lines[number + 1 :]])
        for form in ("markdown", "text", "json"):
            asked = ["comment", "-", "--date", "2020-11-16", "--format", form]
            shown = CliRunner().invoke(commands, asked, input=stream)
            assert shown.exit_code in {0, 1}, loc
            assert len(shown.output) > 100, loc
            assert SECRET not in shown.output, loc


def refusal(file: Path) -> str:
    try:
        load_stack(file)
    except UserError as error:
        return str(error)
    return ""


@each_row("stack", sorted(path.name for path in (PROJECT / "stacks").glob("Pulumi.*.yaml")))
def test_a_secret_in_any_place_of_a_stack_file_is_in_no_message(tmp_path: Path, stack: str) -> None:
    raw = yaml.safe_load((PROJECT / "stacks" / stack).read_text(encoding="utf-8"))
    file = tmp_path / stack
    refused = 0
    for number, loc in enumerate({kind(loc): loc for loc in leaves(raw)}.values()):
        file.write_text(json.dumps(planted(raw, loc, FORMS[number % len(FORMS)]), default=str), encoding="utf-8")
        if message := refusal(file):
            refused += 1
            assert SECRET not in message, loc
    assert refused > len(raw["config"])


def commands_below(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None:
                yield from commands_below(inner, (*path, name))
    else:
        yield path, command


@each_row("secret", FORMS)
def test_a_secret_in_any_argument_is_in_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.chdir(tmp_path)
    asked = 0
    for path, command in commands_below(commands):
        for parameter in command.params:
            if getattr(parameter, "is_flag", False):
                continue
            option = parameter.opts[-1:] if isinstance(parameter, click.Option) else []
            output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
            monkeypatch.setattr(sys, "argv", ["gpu-commons", *path, *option, secret])
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
            with (
                contextlib.redirect_stdout(output),
                contextlib.redirect_stderr(output),
                pytest.raises(SystemExit),
            ):
                run_command(commands, "gpu-commons")
            asked += 1
            output.seek(0)
            assert SECRET not in output.read(), (path, option)
    assert asked > 50
