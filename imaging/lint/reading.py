"""Reads bytes as Recipe: detects the file's kind; definition files are parsed here."""

import codecs
import re
from collections.abc import Callable, Mapping
from typing import Final

from imaging.lint.dockerfile import INSTRUCTIONS, parse_dockerfile
from imaging.lint.environment_files import locks_of, parse_environment, with_files
from imaging.lint.recipe import Instruction, Kind, LintError, Recipe, Stage, Word
from imaging.lint.shell import parse_shell, plain_text

# Definition files: no available library keeps their lines. Their grammar is a header of `Key: value` lines and sections
# that begin with `%name`; they contain shell text, which tree-sitter reads.
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
    sections: list[tuple[str, int, _Lines, str]] = []  # name, line, body, and the stage that files come from
    for number, line in lines:
        if match := re.match(r"\s*%(\w+)(.*)", line):
            name = match[1].lower()
            if name not in _SHELL and name not in _OTHER:
                raise LintError(f'{path}:{number}: "%{match[1]}" is not a section; sections are {", ".join(SECTIONS)}')
            of = re.match(r"\s*from\s+(\S+)", match[2])
            sections.append((name, number, [], of[1] if of else ""))
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
        instructions=tuple(_instruction(*each) for each in sections),
        parent=names.get(base.text) if agent.text.lower() == "localimage" else None,
    )


def _instruction(name: str, number: int, body: _Lines, of: str) -> Instruction:
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
        return Instruction("COPY", number, end, words=words, flags={"each": "line", **({"from": of} if of else {})})
    return Instruction(name.upper(), number, end)


Read = Callable[[str], bytes | None]  # a file of the build context, by its path there
LARGEST_BYTES: Final = 200_000  # the longest known Dockerfile has 60 kB
_NAMES: Final[tuple[tuple[Kind, str], ...]] = (
    (Kind.DOCKERFILE, r"(.*[.-])?(dockerfile|containerfile)([._-].*)?"),
    (Kind.DEFINITION, r".*\.def|(singularity|apptainer)([._-].*)?"),
    (Kind.SCRIPT, r".*\.(sh|bash|sbatch|slurm|pbs|job)"),
    (
        Kind.ENVIRONMENT,
        (
            r"(?!(apt|system|os|dnf|yum|npm)[-_]).*requirements.*\.(txt|in|lock)"
            r"|(?!conda-lock).*(environment|conda).*\.ya?ml|env\.ya?ml|pyproject\.toml"
        ),
    ),
)


def read_recipe(data: bytes, path: str, kind: Kind | None = None, read: Read = lambda _: None) -> Recipe:
    """Read one file, and the environment files that it installs from, as far as `read` has them.

    `kind` None: detected by name, else by content. Raises LintError.
    """

    def beside(name: str) -> str | None:
        content = read(name)
        return None if content is None else text_of(content, name)

    text = text_of(data, path)
    kind = kind or kind_of(path, text)
    if not text.strip() and kind is not Kind.ENVIRONMENT:
        raise LintError(f"{path}: is empty; a Dockerfile begins with FROM")
    if kind is Kind.ENVIRONMENT:
        recipe = parse_environment(text, path, is_locked=any(read(each) is not None for each in locks_of(path)))
    else:
        recipe = _READERS[kind](text, path)
    return with_files(recipe, beside)


def text_of(data: bytes, path: str) -> str:
    """The text of a file, with plain line ends. Raises LintError."""
    if len(data) > LARGEST_BYTES:
        raise LintError(f"{path}: has more than {LARGEST_BYTES:,} bytes; give a text file, no archive or image")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # what PowerShell writes, and pip reads
        data = data.decode("utf-16", "replace").encode()
    if b"\0" in data:
        raise LintError(f"{path}: is binary; give a text file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LintError(f"{path}:{line}: is not UTF-8 text; save it as UTF-8") from None
    return text.replace("\r\n", "\n")


def kind_of(path: str, text: str) -> Kind:
    """By the name, else by the first meaningful line."""
    name = path.rpartition("/")[2].lower()
    if re.search(r"(^|/)requirements/[^/]+\.(txt|in)$", path.lower()):
        return Kind.ENVIRONMENT
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
