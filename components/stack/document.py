"""YAML files as plain data with the line of every value. No Pulumi, no idea of what the keys mean."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from components.problems import Loc, Problem, SettingsError, path_text

_MOST_NODES = 50_000  # ten times the biggest stack we can think of; aliases of aliases grow without end


@dataclass(frozen=True, slots=True)
class Document:
    """What one source says, and where. `lines` is empty for a source that is not a file."""

    file: str
    data: Any
    lines: Mapping[Loc, int] = field(default_factory=dict)

    def line(self, loc: Loc) -> int | None:
        """Line of the value at `loc`, or of the nearest thing around it that is there."""
        for end in range(len(loc), 0, -1):
            if found := self.lines.get(loc[:end]):
                return found
        return None


class _Loader(yaml.SafeLoader):
    """Reads plain scalars as the engine's YAML reader does.

    PyYAML alone would make `yes` true, `1:30` the number 90 and 2026-01-02 a date, and the same file would mean one
    thing to the CLI and another to `pulumi up`.
    """


_Loader.yaml_implicit_resolvers = {}

for _tag, _text, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9_]*|0[0-7]+|0x[0-9a-fA-F]+)", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("merge", "<<", "<"),
):
    _firsts = ["" if first == "\0" else first for first in _first]
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_text})$"), _firsts)


def read_yaml(path: Path, *, called: str) -> Document:
    """Read one YAML file; raises SettingsError with one problem per mistake in its form.

    `called` is how the user knows the file: the variable or the argument that named it.
    """
    file = str(path)
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
        root = loader.get_single_node()
        lines: dict[Loc, int] = {}
        faults = list(_walk(root, (), lines, [])) if root else []
        data = loader.construct_document(root) if root and not faults else None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        fix = "give the path of a readable YAML file"
        raise SettingsError([Problem(called, f'"{file}"', f"cannot be read: {why}", fix, file)]) from None
    except yaml.YAMLError as error:
        raise SettingsError([_malformed(error, file)]) from None
    except ValueError:  # an explicit tag that its value belies: !!int abc
        fix = "leave tags such as !!int out"
        raise SettingsError([Problem("(syntax)", "", "has a value that is not of its tag", fix, file)]) from None
    except RecursionError:
        raise SettingsError([Problem("(syntax)", "", "is nested too deep", "no setting is", file)]) from None
    if faults:
        raise SettingsError(
            Problem(path_text(loc) or "(top)", "", reason, fix, file, line) for loc, reason, fix, line in faults
        )
    return Document(file, data, lines)


def _malformed(error: yaml.YAMLError, file: str) -> Problem:
    # PyYAML's own text repeats the offending line, which may hold a secret: only the kind of mistake is shown.
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
    line = mark.line + 1 if mark else None
    return Problem("(syntax)", "", f"is not YAML: {problem}", "check indentation, quotes and tabs here", file, line)


def _walk(
    node: yaml.Node, loc: Loc, lines: dict[Loc, int], above: list[yaml.Node]
) -> Iterator[tuple[Loc, str, str, int]]:
    """Fill `lines` and yield what YAML allows and we do not: doubled keys, loops, explosions, odd keys."""
    line = node.start_mark.line + 1
    lines.setdefault(loc, line)
    if node in above or len(lines) > _MOST_NODES:
        reason = "contains itself" if node in above else "is too large for a stack file"
        yield loc, reason, "write the values out instead of using anchors and aliases", line
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _walk(item, (*loc, index), lines, [*above, node])
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            key_line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                yield loc, "has a key that is not a name", "write keys as plain words", key_line
            elif key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                first = seen[key.value]
                yield (*loc, key.value), f"is written twice, first in line {first}", "keep one of the two", key_line
            else:
                seen[key.value] = key_line
                lines[*loc, key.value] = key_line
                yield from _walk(value, (*loc, key.value), lines, [*above, node])
