"""Model of a linted file: a Dockerfile, definition file, environment file or job script as stages and commands.

Every word keeps its line, so that a finding in the middle of a long RUN points there. All values are frozen.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from errors import UserError


class Kind(StrEnum):
    """Kind of file."""

    DOCKERFILE = "dockerfile"
    DEFINITION = "definition"  # Apptainer and SingularityCE
    SCRIPT = "script"  # a job script, or the shell lines of notes
    ENVIRONMENT = "environment"  # requirements of pip, an environment of conda, pyproject.toml


class Role(StrEnum):
    """Role of the image: a batch image needs a command, a driver image may hold a driver."""

    APPLICATION = "application"
    BATCH = "batch"
    DRIVER = "driver"


class Severity(StrEnum):
    """The terms of hadolint and SARIF, known to editors and code review."""

    ERROR = "error"  # it does not work, or not as intended
    WARNING = "warning"  # it works today, at a price


class LintError(UserError):
    """A file that cannot be parsed: `path:line: reason; fix`."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of an instruction or a command, unquoted, with its known variables filled in."""

    text: str
    line: int
    path: str = ""  # the environment file it is in; empty: the linted file

    def __str__(self) -> str:
        return self.text

    def place_from(self, other: "Word", recipe: "Recipe") -> str:
        """Where it is, for a message at another word: `line 3`, or `line 3 of requirements.txt`."""
        name = "" if self.path == other.path else (self.path or recipe.path).rpartition("/")[2]
        return f"line {self.line} of {name}" if name else f"line {self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    """One program call, without wrappers in front of it (sudo, env, conda run, …)."""

    words: tuple[Word, ...]
    line: int
    environment: str = ""  # conda or virtual environment it runs in; empty: the image's
    folder: str = "/"  # working directory, as far as WORKDIR and cd show
    variables: tuple[tuple[str, Word], ...] = ()  # set for it or exported by it
    fed_by: tuple[Word, ...] = ()  # the programs before it in its pipeline: it reads their output
    written: tuple[Word, ...] = ()  # files that its output goes to: `> file`

    @property
    def program(self) -> str:
        """Name without folder: `pip` for /opt/conda/bin/pip; empty if there is none."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""

    @property
    def arguments(self) -> tuple[Word, ...]:
        return self.words[1:]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)

    @property
    def plain(self) -> list[str]:
        """Its arguments other than options."""
        return [word.text for word in self.arguments if not word.text.startswith("-")]

    def has(self, *words: str) -> bool:
        """Is one of these words among its arguments?"""
        return any(word.text in words for word in self.arguments)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One Dockerfile instruction, or the equivalent section of a definition file."""

    keyword: str
    line: int
    end_line: int
    words: tuple[Word, ...] = ()  # COPY and ADD: sources and target; others: their arguments
    flags: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mapping[str, str], ...] = ()
    variables: tuple[tuple[str, Word], ...] = ()  # ARG, ENV, LABEL; the value of `ARG NAME` is empty
    commands: tuple[Command, ...] = ()  # RUN, CMD, ENTRYPOINT, HEALTHCHECK
    folder: str = "/"

    @property
    def copies(self) -> tuple[tuple[tuple[Word, ...], Word], ...]:
        """Sources and target of each copy; a definition file has several, one a line, and may leave the target out."""
        if self.keyword not in {"COPY", "ADD"} or not self.words:
            return ()
        lines = {word.line: tuple(each for each in self.words if each.line == word.line) for word in self.words}
        groups = lines.values() if "each" in self.flags else (self.words,)
        return tuple((group[:-1] or group, group[-1]) for group in groups)

    @property
    def sources(self) -> tuple[Word, ...]:
        """Everything that it copies."""
        return tuple(word for sources, _ in self.copies for word in sources)

    @property
    def copies_everything(self) -> bool:
        """`COPY . …`, from the context, not from another stage."""
        if self.keyword not in {"COPY", "ADD"} or "from" in self.flags or "each" in self.flags:
            return False
        return any(word.text in {".", "./", "/", "*", "./*"} for word in self.words[:-1])


@dataclass(frozen=True, slots=True)
class Stage:
    """From one FROM to the next. `base` is empty if it is not stated; `parent` is another stage's index."""

    name: str
    base: str
    line: int
    instructions: tuple[Instruction, ...]
    parent: int | None = None

    @property
    def is_base_known(self) -> bool:
        return bool(self.base) and self.parent is None and "$" not in self.base and self.base != "scratch"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A whole file."""

    path: str
    kind: Kind
    stages: tuple[Stage, ...]
    unread: tuple[int, ...] = ()  # lines that the grammar could not read: reported, not checked
    left_out: tuple[str, ...] = ()  # environment files that could not be read, a sentence each

    @property
    def files(self) -> tuple[str, ...]:
        """The environment files that are read with it, by their path in the build context."""
        paths = (word.path for command in self.commands for word in command.words)
        return tuple(dict.fromkeys(filter(None, paths)))

    @property
    def image_stages(self) -> tuple[Stage, ...]:
        """The stages whose layers are in the image: the last one and its parents, outermost base first."""
        return self.chain_of(self.stages[-1]) if self.stages else ()

    def chain_of(self, stage: Stage) -> tuple[Stage, ...]:
        """A stage and its parents, outermost base first."""
        chain = [stage]
        while (parent := chain[0].parent) is not None:
            chain.insert(0, self.stages[parent])
        return tuple(chain)

    @property
    def image(self) -> tuple[Instruction, ...]:
        """Instructions of the image, in order."""
        return tuple(instruction for stage in self.image_stages for instruction in stage.instructions)

    @property
    def base(self) -> Stage | None:
        """The stage with the image's outermost base."""
        return self.image_stages[0] if self.stages else None

    @property
    def instructions(self) -> Iterator[Instruction]:
        """Every instruction of every stage."""
        return (instruction for stage in self.stages for instruction in stage.instructions)

    @property
    def commands(self) -> Iterator[Command]:
        """Every command of every stage."""
        return (command for instruction in self.instructions for command in instruction.commands)


@dataclass(frozen=True, slots=True)
class LintContext:
    """Facts that the file lacks."""

    role: Role = Role.APPLICATION
    has_ignore_file: bool | None = None  # None: unknown build context
    today: date | None = None  # None: no check whether a release is still supported
    read: Callable[[str], bytes | None] = lambda _: None  # a file of the build context, by its path there


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake at one line."""

    rule: str
    severity: Severity
    line: int
    message: str
    fix: str
    is_of_module: bool = False  # an environment module that the file loads
    path: str = ""  # the environment file with that line; empty: the linted file


_VARIABLE = re.compile(r"\\\$|\$(?:\{(\w+)(?::?([-+])([^{}]*))?\}|(\w+))")


def expand(text: str, known: Mapping[str, str]) -> str:
    """Fill in the known variables; others stay as written."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[4]
        if not name:
            return match[0]
        if match[2] == "-":
            return known.get(name) or match[3]
        if match[2] == "+":
            return match[3] if known.get(name) else ""
        return known.get(name, match[0])

    return _VARIABLE.sub(value, text)
