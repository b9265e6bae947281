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
from imaging.lint.shell import option_value, option_values

if TYPE_CHECKING:
    from errors.document import Document

Read = Callable[[str], str | None]  # a file of the build context, by its path there
_PIP: Final = ("pip", "install", "--no-cache-dir")  # what it leaves in a layer is said of the command that reads a file
_DEEPEST: Final = 8  # of `-r` in a file of `-r`: nobody nests more, and a loop must end


def locks_of(path: str) -> tuple[str, ...]:
    """Files beside it that would have its exact versions."""
    if path.endswith(".toml"):
        return ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")
    stem = basename(path).rpartition(".")[0]
    if path.endswith(".in"):
        return (f"{stem}.txt",)
    return ("conda-lock.yml",) if path.endswith((".yml", ".yaml")) else ()


def parse_environment(text: str, path: str, *, is_locked: bool) -> Recipe:
    """Read an environment file as a recipe of its own. `is_locked`: one of `locks_of` is beside it. Raises LintError.

    What a lock file pins is left out but for addresses, which may have a password.
    """
    found = (each for each in commands_of(text, path) if install_of(each) is None or not is_locked)
    commands = tuple(replace(each, words=tuple(Word(word.text, word.line) for word in each.words)) for each in found)
    run = Instruction("RUN", 1, text.count("\n") + 1, commands=commands)
    return Recipe(path, Kind.ENVIRONMENT, (Stage("", "", 1, (run,)),))


def _is_pip(command: Command) -> bool:
    return command.words[0].text == "pip"


def commands_of(text: str, path: str, extras: Sequence[str] | None = None) -> tuple[Command, ...]:
    """The commands that install what the file lists; `extras`: only these of a project, None: all. Raises LintError."""
    if path.endswith((".yml", ".yaml")):
        return _of_conda(text, path)
    if path.endswith(".toml"):
        return _of_project(text, path, extras)
    return (_command(_PIP, list(_pip_words(text, path))),)


def _command(call: Sequence[str], words: Sequence[Word]) -> Command:
    line = words[0].line if words else 1
    return Command((*(Word(each, line) for each in call), *words), line)


def _pip_words(text: str, path: str, first: int = 1) -> Iterator[Word]:
    """A requirements file: requirements and options, one in each line that a backslash does not join to the next."""
    whole, number = "", first
    for at, line in enumerate(text.split("\n"), first):
        if line.lstrip().startswith("#"):
            continue  # a comment goes on nowhere, and stands between joined lines
        number = number if whole else at
        whole += line
        if whole.endswith("\\"):
            whole = whole[:-1] + " "
            continue
        plain, whole = re.sub(r"\s#.*", "", whole).strip(), ""
        if plain.startswith("-"):
            yield from (Word(part, number, path) for part in plain.split())
        elif plain:
            yield Word(re.split(r"\s--?\w", plain)[0].strip(), number, path)  # --hash and such follow a requirement


def _of_conda(text: str, path: str) -> tuple[Command, ...]:
    document = _yaml(text, path)
    data = document.data if isinstance(document.data, dict) else {}
    listed = data.get("dependencies")
    if not isinstance(listed, list):
        raise LintError(f"{path}:1: has no list `dependencies`; a conda environment file has one")
    words: list[Word] = []
    of_pip: list[Word] = []
    for index, each in enumerate(listed):
        if isinstance(each, str):
            words.append(Word(each, document.line(("dependencies", index)) or 1, path))
        for number, line in enumerate(_texts(each.get("pip")) if isinstance(each, dict) else ()):
            at = document.line(("dependencies", index, "pip", number)) or 1
            of_pip += _pip_words(line, path, at)
    channels = []
    for number, each in enumerate(_texts(data.get("channels"))):
        at = document.line(("channels", number)) or 1
        channels += [Word("-c", at, path), Word(each, at, path)]
    name = str(data.get("name") or "")
    commands = [_command(("conda", "install"), [*channels, *words]), *([_command(_PIP, of_pip)] if of_pip else ())]
    return tuple(replace(each, environment="" if name == "base" else name) for each in commands)


def _texts(value: Any) -> list[str]:
    """A list of texts; one text counts as a list of it."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)]


def _yaml(text: str, path: str) -> "Document":
    from errors.document import parse_yaml  # noqa: PLC0415 - a Dockerfile needs no YAML
    from errors.problems import SettingsError  # noqa: PLC0415

    try:
        return parse_yaml(text, path)
    except SettingsError as error:
        first = error.problems[0]
        raise LintError(f"{path}:{first.line or 1}: {first.reason}; {first.fix}") from None


# --- pyproject.toml


def _of_project(text: str, path: str, extras: Sequence[str] | None) -> tuple[Command, ...]:
    """PEP 621 and 735, and Poetry's tables; with `extras`, what `pip install .[…]` installs."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise LintError(f"{path}:{line[1] if line else 1}: is not TOML; check quotes and brackets here") from None
    project, tool = _table(data, "project"), _table(data, "tool")
    optional = _table(project, "optional-dependencies")
    found = _texts(project.get("dependencies"))
    found += [each for name, part in optional.items() if extras is None or name in extras for each in _texts(part)]
    groups = _table(data, "dependency-groups").values() if extras is None else ()
    found += [each for part in groups for each in _texts(part)]
    words = [Word(each, _line_of(text, each), path) for each in found]
    poetry = _table(tool, "poetry")
    tables = [_table(poetry, "dependencies")]
    if extras is None:
        tables += [_table(poetry, "dev-dependencies")]
        tables += [_table(each, "dependencies") for each in _table(poetry, "group").values()]
    for name, value in ((name, value) for table in tables for name, value in table.items() if name != "python"):
        if requirement := _of_poetry(name, value[0] if isinstance(value, list) and value else value):
            words.append(Word(requirement, _line_of_key(text, name), path))
    indexes = [*_tables(_table(tool, "uv"), "index"), *_tables(poetry, "source")]
    urls = [str(each["url"]) for each in indexes if "url" in each]
    named = _command(("uv", "index"), [Word(url, _line_of(text, url), path) for url in urls])
    return (_command(_PIP, words), *([named] if urls else ()))


def _table(data: Any, key: str) -> Mapping[str, Any]:
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def _tables(data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = data.get(key)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _of_poetry(name: str, value: Any) -> str:
    """`torch = "2.5.1"` is exact; `^2.5` and `~2.5` are ranges. Empty: a table that only says where it comes from."""
    table = value if isinstance(value, dict) else {"version": value}
    extras = _texts(table.get("extras"))
    named = f"{name}[{','.join(extras)}]" if extras else name
    if url := table.get("url") or table.get("git"):
        ref = next((f"@{table[key]}" for key in ("rev", "tag", "branch") if key in table), "")
        return f"{named} @ {'git+' if 'git' in table else ''}{url}{ref}"
    version = str(table.get("version", "")).strip()
    exact = re.fullmatch(r"={0,2}\s*(\d[\w.+]*)", version)
    return f"{named}=={exact[1]}" if exact else f"{named}>=0" if version else ""


def _line_of(text: str, value: str) -> int:
    """The first with this text in quotes: tomllib has no lines."""
    places = [text.find(f"{quote}{value}{quote}") for quote in "\"'"]
    return text.count("\n", 0, max(*places, 0)) + 1


def _line_of_key(text: str, name: str) -> int:
    """The line of `name = …`, or of a table of that name."""
    key = re.escape(name)
    match = re.search(rf"""^\s*(?:["']?{key}["']?\s*=|\[[\w.-]*\.["']?{key}["']?\])""", text, re.MULTILINE)
    return text.count("\n", 0, match.end()) + 1 if match else 1


# --- files that a recipe installs from


def with_files(recipe: Recipe, read: Read) -> Recipe:
    """The recipe with the content of the environment files that it installs from, as far as they can be read."""
    left_out: dict[str, None] = {}
    stages = tuple(_stage(each, recipe, read, left_out) for each in recipe.stages)
    return replace(recipe, stages=stages, left_out=(*recipe.left_out, *left_out))


def _stage(stage: Stage, recipe: Recipe, read: Read, left_out: dict[str, None]) -> Stage:
    is_beside = recipe.kind in {Kind.SCRIPT, Kind.ENVIRONMENT}
    copies = [copy for one in recipe.chain_of(stage)[:-1] for copy in _copies(one.instructions)]
    found = []
    for instruction in stage.instructions:
        copies += _copies((instruction,))
        if instruction.keyword in {"RUN", "SCRIPT"}:
            there = [("/", (".",))] if is_beside else [*copies, *_mounted(instruction)]
            commands: list[Command] = []
            for command in instruction.commands:
                try:
                    commands += _whole(command, there, read)
                except LintError as error:
                    left_out[str(error)] = None
                    commands.append(command)
            instruction = replace(instruction, commands=tuple(commands))  # noqa: PLW2901 - the same one, with more in it
        found.append(instruction)
    return replace(stage, instructions=tuple(found))


_Copy = tuple[str, Sequence[str]]  # target in the image; sources in the build context, none if it is of elsewhere


def _copies(instructions: Iterable[Instruction]) -> Iterator[_Copy]:
    for each in instructions:
        for sources, target in each.copies:
            place = normpath(join(each.folder, target.text))
            if "from" not in each.flags:
                yield place, [word.text for word in sources]
                continue
            names = [basename(word.text) for word in sources]
            yield from ((path, ()) for path in (place, *(join(place, name) for name in names)))


def _mounted(run: Instruction) -> Iterator[_Copy]:
    for mount in run.mounts:
        if mount.get("type", "bind") == "bind" and "from" not in mount:
            yield normpath(join(run.folder, mount["target"])), [mount.get("source") or mount.get("src") or "."]


def _in_context(path: str, there: Sequence[_Copy]) -> Iterator[str]:
    """Where the build context may have a file of the image, the latest copy first."""
    for target, sources in reversed(there):
        if path == target and not sources:
            return
        for source in (normpath(each.lstrip("/")) for each in sources):
            if path == target:
                yield source
            elif path.startswith(f"{target.rstrip('/')}/"):
                rest = relpath(path, target)
                if fnmatch(rest, basename(source)):
                    yield join(dirname(source), rest)
                yield normpath(join(source, rest))


def _whole(command: Command, there: Sequence[_Copy], read: Read) -> list[Command]:
    """The command with what its files list, and further ones for an environment of conda. Raises LintError."""
    install = install_of(command)
    if install is None:
        return [command]
    own, further = command, list[Command]()
    for text, path, extras in _files(install, there, read):
        for each in commands_of(text, path, extras):
            inside = tuple(_with_nested(each.words[len(_PIP) :], read)) if _is_pip(each) else each.words
            if path.endswith((".yml", ".yaml")):
                is_named = option_value(command.words, "-n", "--name", "-p", "--prefix")
                words = (*each.words[: len(_PIP)], *inside) if _is_pip(each) else inside
                environment = install.environment if is_named else each.environment
                further.append(
                    replace(each, words=words, line=command.line, folder=command.folder, environment=environment)
                )
            elif _is_pip(each):
                own = replace(own, words=(*own.words, *inside))
            else:
                further.append(replace(each, line=command.line))
    return [own, *further]


def _files(install: Install, there: Sequence[_Copy], read: Read) -> Iterator[tuple[str, str, Sequence[str] | None]]:
    """Content and path of each file of an installation that the build context has, and the extras of a project."""
    names: list[tuple[str, Sequence[str] | None]] = [(word.text, None) for word in install.files if word.text != "sync"]
    if install.manager in {Manager.PIP, Manager.UV} and not install.command.has("--no-deps"):
        projects = (re.fullmatch(r"(\.{0,2}/[\w./-]*|\.)(?:\[(.*)\])?", word.text) for word in install.plain)
        names += [(join(each[1], "pyproject.toml"), re.split(r"[\s,]+", each[2] or "")) for each in projects if each]
    for name, extras in names:
        if normpath(join(install.command.folder.lstrip("/"), name)).startswith(".."):
            continue
        paths = _in_context(normpath(join(install.command.folder, name)), there)
        found = (
            (text, path, extras) for path in paths if not path.startswith("..") and (text := read(path)) is not None
        )
        yield from islice(found, 1)


def _with_nested(words: Sequence[Word], read: Read, depth: int = 0) -> Iterator[Word]:
    """The words of a requirements file, and those of the files that it names with `-r`."""
    yield from words
    for word in option_values(words, "-r", "--requirement", may_touch=True) if depth < _DEEPEST else ():
        path = normpath(join(dirname(word.path), word.text))
        if not path.startswith("..") and (text := read(path)) is not None:
            yield from _with_nested(tuple(_pip_words(text, path)), read, depth + 1)
