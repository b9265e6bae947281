"""Environment files, read as the commands that install the same: `pip install …`, `conda install …`.

So one set of rules sees what a command names and what its file names. Every word keeps its file and line.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from itertools import islice
from posixpath import basename, dirname, join, normpath, relpath
from typing import TYPE_CHECKING, Any, Final

from imaging.lint.packages import Install, Manager, install_of
from imaging.lint.recipe import Command, Instruction, Kind, LintError, Recipe, Stage, Word
from imaging.lint.shell import option_values

if TYPE_CHECKING:
    from errors.document import Document

Read = Callable[[str], str | None]  # a file of the build context, by its path there
_PIP: Final = ("pip", "install", "--no-cache-dir")  # what it leaves in a layer is said of the command that reads a file
LOCKS: Final = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")  # beside a pyproject.toml: they have the versions
_DEEPEST: Final = 8  # of `-r` in a file of `-r`: nobody nests more, and a loop must end


def parse_environment(text: str, path: str, *, is_locked: bool) -> Recipe:
    """Read an environment file as a recipe of its own; `is_locked`: one of `LOCKS` is beside it. Raises LintError."""
    more = (Word("-c", 1), Word("lock", 1)) if is_locked and path.endswith(".toml") else ()
    commands = tuple(
        replace(each, words=(*(Word(word.text, word.line) for word in each.words), *more))
        for each in commands_of(text, path)
    )
    run = Instruction("RUN", 1, text.count("\n") + 1, commands=commands)
    return Recipe(path, Kind.ENVIRONMENT, (Stage("", "", 1, (run,)),))


def commands_of(text: str, path: str) -> tuple[Command, ...]:
    """The commands that install what the file lists. Raises LintError."""
    if path.endswith((".yml", ".yaml")):
        return _of_conda(text, path)
    if path.endswith(".toml"):
        return _of_project(text, path)
    return (_command(_PIP, list(_pip_words(text, path))),)


def _command(call: Sequence[str], words: Sequence[Word]) -> Command:
    line = words[0].line if words else 1
    return Command((*(Word(each, line) for each in call), *words), line)


def _pip_words(text: str, path: str, first: int = 1) -> Iterator[Word]:
    """A requirements file: requirements and options, one in each line that a backslash does not join to the next."""
    joined = re.sub(r"\\\n", "\0", text)
    number = first
    for whole in joined.split("\n"):
        line = re.sub(r"(^|\s)#.*", "", whole.replace("\0", " ")).strip()
        if line.startswith("-"):
            yield from (Word(part, number, path) for part in re.split(r"[\s]+", line))
        elif line:
            yield Word(re.split(r"\s--?\w", line)[0].strip(), number, path)  # --hash and such follow a requirement
        number += 1 + whole.count("\0")


def _of_conda(text: str, path: str) -> tuple[Command, ...]:
    document = _yaml(text, path)
    data = document.data if isinstance(document.data, dict) else {}
    listed, channels = data.get("dependencies"), data.get("channels")
    if not isinstance(listed, list):
        raise LintError(f"{path}:1: has no list `dependencies`; it is no environment of conda")
    words: list[Word] = []
    of_pip: list[Word] = []
    for index, each in enumerate(listed):
        if isinstance(each, str):
            words.append(Word(each, document.line(("dependencies", index)) or 1, path))
        for number, line in enumerate(each.get("pip") or () if isinstance(each, dict) else ()):
            at = document.line(("dependencies", index, "pip", number)) or 1
            of_pip += _pip_words(str(line), path, at)
    name = str(data.get("name") or "")
    named = [part for each in channels or () for part in ("-c", str(each))]
    commands = [_command(("conda", "install", *named), words), *([_command(_PIP, of_pip)] if of_pip else ())]
    return tuple(replace(each, environment="" if name == "base" else name) for each in commands)


def _yaml(text: str, path: str) -> "Document":
    from errors.document import parse_yaml  # noqa: PLC0415 - a Dockerfile needs no YAML
    from errors.problems import SettingsError  # noqa: PLC0415

    try:
        return parse_yaml(text, path)
    except SettingsError as error:
        first = error.problems[0]
        raise LintError(f"{path}:{first.line or 1}: {first.reason}; {first.fix}") from None


def _of_project(text: str, path: str) -> tuple[Command, ...]:
    """PEP 621 and 735, and Poetry's table. What only an extra or a group installs counts: somebody installs it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise LintError(f"{path}:{line[1] if line else 1}: is not TOML; check quotes and brackets here") from None
    project, poetry = _table(data, "project"), _table(_table(data, "tool"), "poetry")
    lists = [project.get("dependencies"), *_table(project, "optional-dependencies").values()]
    lists += _table(data, "dependency-groups").values()
    found = [each for part in lists if isinstance(part, list) for each in part if isinstance(each, str)]
    tables = [_table(poetry, "dependencies"), _table(poetry, "dev-dependencies")]
    tables += [_table(each, "dependencies") for each in _table(poetry, "group").values()]
    found += [_of_poetry(name, value) for table in tables for name, value in table.items() if name != "python"]
    return (_command(_PIP, [Word(each, _line_of(text, each), path) for each in found]),)


def _table(data: Any, key: str) -> Mapping[str, Any]:
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def _of_poetry(name: str, value: Any) -> str:
    """`torch = "2.5.1"` is exact; `^2.5` and `~2.5` are ranges."""
    version = str(value.get("version", "") if isinstance(value, dict) else value)
    return f"{name}=={version}" if re.fullmatch(r"\d[\w.+]*", version) else name + (">=0" if version else "")


def _line_of(text: str, dependency: str) -> int:
    """Tomllib has no lines: the first with the dependency as it is written."""
    name = re.split(r"[^\w.-]", dependency)[0]
    place = text.find(dependency)
    if place < 0 and (match := re.search(rf"^\s*[\"']?{re.escape(name)}\b", text, re.MULTILINE)):
        place = match.end()
    return text.count("\n", 0, max(place, 0)) + 1


# --- files that a recipe installs from


def with_files(recipe: Recipe, read: Read) -> Recipe:
    """The recipe with the content of the environment files that it installs from. Raises LintError."""
    return replace(recipe, stages=tuple(_stage(each, recipe, read) for each in recipe.stages))


def _stage(stage: Stage, recipe: Recipe, read: Read) -> Stage:
    copies = list(_copies(recipe.stages[stage.parent].instructions)) if stage.parent is not None else []
    found = []
    for instruction in stage.instructions:
        copies += _copies((instruction,))
        if instruction.keyword in {"RUN", "SCRIPT"}:
            is_beside = recipe.kind in {Kind.SCRIPT, Kind.ENVIRONMENT}
            there = [("/", (".",))] if is_beside else [*copies, *_mounted(instruction)]
            commands = [each for command in instruction.commands for each in _whole(command, there, read)]
            instruction = replace(instruction, commands=tuple(commands))  # noqa: PLW2901 - the same one, with more in it
        found.append(instruction)
    return replace(stage, instructions=tuple(found))


_Copy = tuple[str, Sequence[str]]  # target in the image; sources in the build context


def _copies(instructions: Iterable[Instruction]) -> Iterator[_Copy]:
    for each in instructions:
        if each.keyword not in {"COPY", "ADD"} or "from" in each.flags:
            continue
        texts = [word.text for word in each.words]
        lines = {word.line: [other.text for other in each.words if other.line == word.line] for word in each.words}
        for *sources, target in lines.values() if "each" in each.flags else [texts] if texts else ():
            yield normpath(join(each.folder, target)), sources or [target]


def _mounted(run: Instruction) -> Iterator[_Copy]:
    for mount in run.mounts:
        if mount.get("type", "bind") == "bind" and "from" not in mount:
            yield normpath(join(run.folder, mount["target"])), [mount.get("source") or mount.get("src") or "."]


def _in_context(path: str, there: Sequence[_Copy]) -> Iterator[str]:
    """Where the build context may have a file of the image, the latest copy first."""
    for target, sources in reversed(there):
        for source in (normpath(each.lstrip("/")) for each in sources):
            if path == target:
                yield source
            elif path.startswith(f"{target.rstrip('/')}/"):
                rest = relpath(path, target)
                if fnmatch(rest, basename(source)):
                    yield join(dirname(source), rest)
                yield normpath(join(source, rest))


def _whole(command: Command, there: Sequence[_Copy], read: Read) -> Iterator[Command]:
    """The command with what its files list, and further ones for an environment of conda."""
    install = install_of(command)
    if install is None:
        yield command
        return
    own, further = command, list[Command]()
    for text, path in _texts(install, there, read):
        for each in commands_of(text, path):
            if path.endswith((".yml", ".yaml")):
                named = install.environment or each.environment
                further.append(replace(each, line=command.line, folder=command.folder, environment=named))
            else:
                own = replace(own, words=(*own.words, *_with_nested(each.words[len(_PIP) :], read)))
    yield own
    yield from further


def _texts(install: Install, there: Sequence[_Copy], read: Read) -> Iterator[tuple[str, str]]:
    """Content and path of each file of an installation that the build context has."""
    names = [word.text for word in install.files]
    if install.manager in {Manager.PIP, Manager.UV}:
        projects = (re.fullmatch(r"(\.(?:/[\w./-]*)?)(?:\[.*\])?", word.text) for word in install.plain)
        names += [join(match[1], "pyproject.toml") for match in projects if match]
    for name in names:
        paths = _in_context(normpath(join(install.command.folder, name)), there)
        found = ((text, path) for path in paths if not path.startswith("..") and (text := read(path)) is not None)
        yield from islice(found, 1)


def _with_nested(words: Sequence[Word], read: Read, depth: int = 0) -> Iterator[Word]:
    """The words of a requirements file, and those of the files that it names with `-r`."""
    yield from words
    for word in option_values(words, "-r", "--requirement", may_touch=True) if depth < _DEEPEST else ():
        path = normpath(join(dirname(word.path), word.text))
        if not path.startswith("..") and (text := read(path)) is not None:
            yield from _with_nested(tuple(_pip_words(text, path)), read, depth + 1)
