"""Reads bytes as Recipe: detects the file's kind; one clear error for any other."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from imaging.lint.definition import parse_definition
from imaging.lint.dockerfile import INSTRUCTIONS, parse_dockerfile
from imaging.lint.recipe import Instruction, Kind, LintError, Recipe, Stage
from imaging.lint.shell import parse_shell, plain_text

LARGEST_BYTES: Final = 200_000  # the longest known Dockerfile has 60 kB
_NAMES: Final[tuple[tuple[Kind, str], ...]] = (
    (Kind.DOCKERFILE, r"(.*[.-])?(dockerfile|containerfile)([._-].*)?"),
    (Kind.DEFINITION, r".*\.def|(singularity|apptainer)([._-].*)?"),
    (Kind.SCRIPT, r".*\.(sh|bash|sbatch|slurm|pbs|job)"),
)


def read_recipe(data: bytes, path: str, kind: Kind | None = None) -> Recipe:
    """Read one file. `kind` None: detected by name, else by content. Raises LintError."""
    if len(data) > LARGEST_BYTES:
        raise LintError(f"{path}: has more than {LARGEST_BYTES:,} bytes; give a Dockerfile, no archive or image")
    if b"\0" in data:
        raise LintError(f"{path}: is binary; give a text file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LintError(f"{path}:{line}: is not UTF-8 text; save it as UTF-8") from None
    if not text.strip():
        raise LintError(f"{path}: is empty; a Dockerfile begins with FROM")
    text = text.replace("\r\n", "\n")
    return _READERS[kind or kind_of(path, text)](text, path)


def kind_of(path: str, text: str) -> Kind:
    """By the name, else by the first meaningful line."""
    name = path.rpartition("/")[2].lower()
    for kind, pattern in _NAMES:
        if re.fullmatch(pattern, name):
            return kind
    if text.startswith("#!"):
        return Kind.SCRIPT
    if re.search(r"^\s*bootstrap\s*:", text, re.IGNORECASE | re.MULTILINE):
        return Kind.DEFINITION
    first = next((line.split()[0] for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#"), "")
    is_prose = first.upper() not in INSTRUCTIONS and not re.search(r"^\s*FROM\s", text, re.IGNORECASE | re.MULTILINE)
    return Kind.SCRIPT if is_prose and name.endswith((".txt", ".md", "notes")) else Kind.DOCKERFILE


def _script(text: str, path: str) -> Recipe:
    commands = parse_shell(plain_text(_code_of(text) if path.lower().endswith(".md") else text))
    lines = text.count("\n") + 1
    return Recipe(path, Kind.SCRIPT, (Stage("", "", 1, (Instruction("SCRIPT", 1, lines, commands=commands),)),))


def _code_of(text: str) -> str:
    """The fenced blocks of a Markdown page; every other line is empty, so that lines keep their numbers."""
    lines, is_code = [], False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
            lines.append("")
        else:
            lines.append(re.sub(r"^\s*\$ ", "", line) if is_code else "")
    return "\n".join(lines)


_READERS: Final[Mapping[Kind, Callable[[str, str], Recipe]]] = {
    Kind.DOCKERFILE: parse_dockerfile,
    Kind.DEFINITION: parse_definition,
    Kind.SCRIPT: _script,
}
