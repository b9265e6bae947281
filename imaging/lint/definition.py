"""Parses definition files of Apptainer or SingularityCE as Recipe, so that the same rules serve both kinds.

No available library keeps the lines of a definition file. Its grammar is a header of `Key: value` lines and sections
that begin with `%name`; they contain shell text, which tree-sitter reads.
"""

from __future__ import annotations

import re
from typing import Final

from imaging.lint.recipe import Instruction, Kind, LintError, Recipe, Stage, Word
from imaging.lint.shell import parse_shell, plain_text

_SHELL: Final = {
    "pre": "SETUP",  # on the building host
    "setup": "SETUP",
    "post": "RUN",
    "environment": "ENV",
    "runscript": "CMD",
    "startscript": "CMD",
    "test": "TEST",
    "appinstall": "RUN",
    "appenv": "ENV",
    "apprun": "CMD",
    "apptest": "TEST",
}
_OTHER: Final = frozenset({"files", "labels", "help", "arguments", "appfiles", "applabels", "apphelp"})
SECTIONS: Final = tuple(f"%{name}" for name in [*_SHELL, *sorted(_OTHER)])
_FROM_REGISTRY: Final = frozenset({"docker", "library", "shub", "oras"})
_Lines = list[tuple[int, str]]  # number and text


def parse_definition(text: str, path: str) -> Recipe:
    """Read a definition file. Raises LintError for a missing Bootstrap line, or an unknown section."""
    stages: list[Stage] = []
    lines = list(enumerate(text.splitlines(), 1))
    starts = [index for index, (_, line) in enumerate(lines) if re.match(r"\s*bootstrap\s*:", line, re.IGNORECASE)]
    if not starts:
        raise LintError(f"{path}:1: has no Bootstrap line; a definition file begins with Bootstrap: docker")
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        stages.append(_stage(lines[start:end], path, stages))
    return Recipe(path, Kind.DEFINITION, tuple(stages))


def _stage(lines: _Lines, path: str, earlier: list[Stage]) -> Stage:
    header: dict[str, Word] = {}
    sections: list[tuple[str, int, _Lines]] = []
    for number, line in lines:
        if match := re.match(r"\s*%(\w+)(.*)", line):
            name = match[1].lower()
            if name not in _SHELL and name not in _OTHER:
                raise LintError(f'{path}:{number}: "%{match[1]}" is not a section; sections are {", ".join(SECTIONS)}')
            sections.append((name, number, []))
        elif sections:
            sections[-1][2].append((number, line))
        elif match := re.match(r"\s*(\w+)\s*:\s*(.*?)\s*(?:#.*)?$", line):
            header[match[1].lower()] = Word(match[2].strip("\"'"), number)
    agent = header["bootstrap"]
    base = header.get("from", Word("", agent.line))
    names = {stage.name: index for index, stage in enumerate(earlier) if stage.name}
    return Stage(
        name=header["stage"].text if "stage" in header else "",
        base=base.text if agent.text.lower() in _FROM_REGISTRY else "",
        line=base.line,
        instructions=tuple(_instruction(name, number, body) for name, number, body in sections),
        parent=names.get(base.text) if agent.text.lower() == "localimage" else None,
    )


def _instruction(name: str, number: int, body: _Lines) -> Instruction:
    end = body[-1][0] if body else number
    if name in _SHELL:
        text = "\n".join(line for _, line in body)
        commands = parse_shell(plain_text(text, number + 1))
        variables = tuple(pair for command in commands for pair in command.variables) if _SHELL[name] == "ENV" else ()
        return Instruction(_SHELL[name], number, end, variables=variables, commands=commands)
    if name in {"files", "appfiles"}:
        words = tuple(
            Word(part, line) for line, text in body for part in text.split() if not text.lstrip().startswith("#")
        )
        return Instruction("COPY", number, end, words=words, flags={"each": "line"})
    return Instruction(name.upper(), number, end)
