"""Reads YAML as plain data with the line of every value. Knows neither Pulumi nor any keys."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from yaml._yaml import CParser
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from errors.problems import Fault, Loc, Problem, SettingsError, path_text, without_passwords

_MOST_NODES: Final = 50_000  # ten times the biggest plausible stack; nested aliases grow without limit
_MOST_CHARACTERS: Final = 2_000_000
_DEEPEST: Final = 24  # a stack file has eight levels
_FAR_TOO_DEEP: Final = 4 * _DEEPEST
_LONGEST_NUMBER: Final = 40  # digits; no setting needs nearly as many
_CORE: Final = "tag:yaml.org,2002:"
_OTHER_TAGS: Final = frozenset({"binary", "map", "omap", "pairs", "seq", "set", "str", "timestamp"})
_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Document:
    """One source's data and lines. `lines` is empty for a source that is not a file."""

    file: str
    data: Any
    lines: Mapping[Loc, int] = field(default_factory=dict)

    def line(self, loc: Loc) -> int | None:
        """Line of the value at `loc`, or of its nearest existing parent."""
        for end in range(len(loc), 0, -1):
            if found := self.lines.get(loc[:end]):
                return found
        return None


class _Composer(Composer):
    """Stops at a file that is nested too deeply."""

    _open = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Stop before Python's own limit: PyYAML checks every open bracket for each new one, which takes seconds."""
        self._open += 1
        if self._open > _FAR_TOO_DEEP:
            raise _TooMuchError("(syntax)", _TOO_DEEP, self.peek_event().start_mark.line + 1)  # type: ignore[attr-defined]  # of the parser
        node: yaml.Node | None = super().compose_node(parent, index)
        self._open -= 1
        return node


class _Resolver(Resolver):
    """Reads plain scalars as the engine's YAML reader does.

    PyYAML alone would make `yes` true, `1:30` the number 90 and 2026-01-02 a date, and the same file would mean one
    thing to the CLI and another to `pulumi up`.
    """


_Resolver.yaml_implicit_resolvers = {}


class _Loader(_Composer, _Resolver, yaml.SafeLoader):
    """PyYAML's own parser, whose error messages people understand."""


class _FastLoader(_Composer, CParser, SafeConstructor, _Resolver):
    """libyaml's parser, several times as fast; the engine's parser is a port of it."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        _Composer.__init__(self)
        SafeConstructor.__init__(self)
        _Resolver.__init__(self)


_FORMS: Final[dict[str, re.Pattern[str]]] = {}  # pattern of the scalars of each tag

for _tag, _text, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9_]*|0[0-7]+|0x[0-9a-fA-F]+)", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("merge", "<<", "<"),
):
    _firsts = ["" if first == "\0" else first for first in _first]
    _FORMS[_tag] = re.compile(f"(?:{_text})$")
    _Resolver.add_implicit_resolver(f"{_CORE}{_tag}", _FORMS[_tag], _firsts)


def read_yaml(path: Path, *, called: str) -> Document:
    """Read one YAML file; raises SettingsError with one problem per structural mistake.

    `called` is the user's name for the file: the variable or argument that gave it.
    """
    file = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        fix = "give the path of a readable YAML file"
        raise SettingsError([Problem(called, f'"{file}"', f"cannot be read: {why}", fix, file)]) from None
    return parse_yaml(text, file)


def parse_yaml(text: str, file: str) -> Document:
    """Read YAML text; raises SettingsError as `read_yaml` does."""
    if len(text) > _MOST_CHARACTERS:
        raise SettingsError([Problem("(top)", "", "is too large", "give a file with settings", file, 1)])
    try:
        loader, root = _composed(text)
        lines: dict[Loc, int] = {}
        faults = list(_walk(root, (), lines, ())) if root else []
        data = loader.construct_document(root) if root and not faults else None
    except yaml.YAMLError as error:
        raise SettingsError([_malformed(error, text, file)]) from None
    except _TooMuchError as error:
        raise SettingsError([error.problem(file)]) from None
    if faults:
        raise SettingsError(
            Problem(without_passwords(path_text(loc)) or "(top)", "", reason, fix, file, line)
            for loc, reason, fix, line in faults
        )
    return Document(file, data, lines)


def _composed(text: str) -> tuple[_Loader | _FastLoader, yaml.Node | None]:
    with suppress(yaml.YAMLError):
        fast = _FastLoader(text)
        return fast, fast.get_single_node()
    loader = _Loader(text)
    return loader, loader.get_single_node()


def odd_texts(value: object, loc: Loc = ()) -> Iterator[Fault]:
    """Keys and texts with characters that no file can hold: NUL and unpaired surrogates."""
    if isinstance(value, str) and (found := _NO_TEXT.search(value)):
        what = "a NUL character" if found[0] == "\0" else "half of a character"
        yield Fault(loc, f"holds {what} (U+{ord(found[0]):04X})", "remove it", value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str) and _NO_TEXT.search(key):
                yield Fault((*loc, key), "is a key with a NUL character or half of a character", "remove it")
            else:
                yield from odd_texts(item, (*loc, str(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from odd_texts(item, (*loc, index))


_TOO_DEEP: Final = "is nested too deeply"


class _TooMuchError(Exception):
    """Stops the reading: the rest of the file is not checked."""

    def __init__(self, path: str, reason: str, line: int) -> None:
        super().__init__(reason)
        self._details = path, reason, line

    def problem(self, file: str) -> Problem:
        path, reason, line = self._details
        is_deep = reason == _TOO_DEEP
        fix = f"no setting has more than {_DEEPEST} levels" if is_deep else _WRITE_OUT
        return Problem(path, "", reason, fix, file, line)


_WRITE_OUT: Final = "write the values out instead of using anchors and aliases"


def _malformed(error: yaml.YAMLError, text: str, file: str) -> Problem:
    # PyYAML's own text repeats the offending line, which may hold a secret: only the kind of mistake is shown.
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    line = mark.line + 1 if mark else None
    if isinstance(error, yaml.reader.ReaderError):
        line = text[: error.position].count("\n") + 1
    reason = "is not YAML: " + re.sub(r"(?<=alias |nchor )'.*?'", "of that name", without_passwords(problem))
    return Problem("(syntax)", "", reason, "check indentation, quotes and tabs here", file, line)


def _walk(
    node: yaml.Node, loc: Loc, lines: dict[Loc, int], above: tuple[yaml.Node, ...]
) -> Iterator[tuple[Loc, str, str, int]]:
    """Fill `lines`; yield what YAML allows and we do not: duplicate keys, loops, odd keys, tags.

    Raises _TooMuchError if a file grows without limit.
    """
    line = node.start_mark.line + 1
    lines.setdefault(loc, line)
    if len(lines) > _MOST_NODES:
        raise _TooMuchError(path_text(loc[:2]), "is too large for settings", line)
    if len(above) > _DEEPEST:
        raise _TooMuchError(path_text(loc[:2]), _TOO_DEEP, line)
    if node in above:
        yield loc, "contains itself", _WRITE_OUT, line
    elif wrong := _wrong_tag(node):
        yield loc, *wrong, line
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _walk(item, (*loc, index), lines, (*above, node))
    elif isinstance(node, yaml.MappingNode):
        yield from _walk_mapping(node, loc, lines, above)


def _walk_mapping(
    node: yaml.MappingNode, loc: Loc, lines: dict[Loc, int], above: tuple[yaml.Node, ...]
) -> Iterator[tuple[Loc, str, str, int]]:
    seen: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            yield loc, "has a key that is not a name", "write keys as plain words", line
        elif key.tag == f"{_CORE}merge":
            merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
            if all(isinstance(each, yaml.MappingNode) for each in merged):
                yield from _walk(value, (*loc, key.value), lines, (*above, node))
            else:
                yield (*loc, key.value), "merges what is not a mapping", "merge an alias of a mapping: <<: *name", line
        elif wrong := _wrong_tag(key):
            yield (*loc, key.value), *wrong, line
        elif key.value in seen:
            first = seen[key.value]
            yield (*loc, key.value), f"is written twice, first in line {first}", "keep one of the two", line
        else:
            seen[key.value] = line
            lines[*loc, key.value] = line
            yield from _walk(value, (*loc, key.value), lines, (*above, node))


def _wrong_tag(node: yaml.Node) -> tuple[str, str] | None:
    """A tag that settings do not use, or that contradicts its value; a plain value has the tag of its form."""
    tag = node.tag.removeprefix(_CORE)
    own = {yaml.SequenceNode: {"seq"}, yaml.MappingNode: {"map"}, yaml.ScalarNode: {"str", *_FORMS}}[type(node)]
    # An unknown tag may be an unquoted password that begins with an exclamation mark.
    written = f"the tag !!{tag}" if tag in {*_FORMS, *_OTHER_TAGS} else "a tag"
    if tag not in own:
        fix = "leave the tag out, and write the plain value; a text that begins with ! stands in quotes"
        return f"has {written}, which settings do not use", fix
    if isinstance(node, yaml.ScalarNode) and tag in _FORMS:
        if tag == "merge":
            return "is <<, which merges mappings only as a key", 'quote it: "<<"'
        if not _FORMS[tag].match(node.value):
            return f"has {written}, which does not fit its value", "leave the tag out, or correct the value"
        if tag in {"int", "float"} and len(node.value) > _LONGEST_NUMBER:
            return f"is a number of {len(node.value)} digits", "write the number that is meant, or text in quotes"
    return None
