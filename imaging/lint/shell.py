"""Parses shell text into commands, each word with its line. This module only walks the tree of tree-sitter.

It removes wrappers in front of a command (`sudo`, `env`, `conda run -n x`, `srun`), and also reads the text of
`sh -c "…"`, so that rules see `pip install` in one form only.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from posixpath import join, normpath
from typing import TYPE_CHECKING, Any, Final

from imaging.lint.recipe import Command, Word, expand

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
PROGRAMS: Final[Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("programs.toml").read_text(encoding="utf-8")
)
_WRAPPERS: Final = {name: frozenset(valued) for name, valued in PROGRAMS["wrappers"].items()}
_FIRST_IS_OWN: Final = frozenset({"timeout", "gosu"})  # their first plain word is a duration, or a user
_CONDAS: Final = frozenset({"conda", "mamba", "micromamba"})
_RUN_OPTIONS: Final = frozenset({"-n", "--name", "-p", "--prefix"})
_CALLS: Final = frozenset({"command", "declaration_command", "unset_command"})
_GROUPS: Final = frozenset({"redirected_statement", "subshell", "compound_statement", "list"})
_SEVERAL: Final = frozenset({"list", "pipeline", "negated_command"})
_MOST_BEFORE: Final = 8  # remembered programs of a pipeline: nobody writes more, and a hostile file must not
_DEEPEST: Final = 8  # of sh -c "sh -c …": nobody writes more, and a hostile file must not exhaust the stack


@dataclass(frozen=True, slots=True)
class ShellText:
    """Bytes to read as shell. `lines[i]` is the file's line of the byte at `offsets[i]`."""

    text: bytes
    offsets: tuple[int, ...]  # rising, 0 first
    lines: tuple[int, ...]

    def line(self, offset: int) -> int:
        """Line of the file with this byte."""
        return self.lines[bisect_right(self.offsets, offset) - 1]


def plain_text(text: str, line: int = 1) -> ShellText:
    """A text that begins at that line."""
    return shell_text(text.encode("utf-8", "surrogateescape"), line)


def shell_text(source: bytes, line: int) -> ShellText:
    """The same for bytes."""
    starts = (0, *accumulate(len(part) + 1 for part in source.split(b"\n")[:-1]))
    return ShellText(source, starts, tuple(range(line, line + len(starts))))


@dataclass(slots=True)
class _State:
    """Effects of earlier commands on later ones."""

    folder: str
    environment: str
    known: Mapping[str, str]
    depth: int = 0
    found: list[Command] = field(default_factory=list)
    calls: dict[int, Command] = field(default_factory=dict)  # by the id of their node


def parse_shell(
    source: ShellText,
    *,
    folder: str = "/",
    environment: str = "",
    known: Mapping[str, str] | None = None,
    depth: int = 0,
) -> tuple[Command, ...]:
    """All commands of a shell text in order, those in substitutions, functions and branches included."""
    state = _State(folder, environment, known or {}, depth)
    tree = _parser().parse(source.text)
    for node, fed_by in _statements(tree.root_node):
        _read(node, source, state, fed_by)
    return tuple(state.found)


def command_from(
    words: Sequence[Word], *, folder: str, environment: str, known: Mapping[str, str]
) -> tuple[Command, ...]:
    """Commands of an exec form, `["sh", "-c", "…"]` included."""
    state = _State(folder, environment, known)
    _add(state, tuple(Word(expand(word.text, known), word.line) for word in words), ())
    return tuple(state.found)


@cache
def _parser() -> Parser:
    import tree_sitter_bash  # noqa: PLC0415 - a file without a shell line needs no shell grammar
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


def _statements(root: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Calls, bare assignments and here-documents, in the order of the text, each with the calls before it in a pipe.

    Without recursion: nesting is unlimited.
    """
    waiting: list[tuple[Node, tuple[Node, ...]]] = [(root, ())]
    while waiting:
        node, fed_by = waiting.pop()
        if node.type in _CALLS or node.type in {"variable_assignment", "heredoc_body"}:
            yield node, fed_by
        # A command substitution has its own input.
        passed = () if "substitution" in node.type else fed_by
        inner: list[tuple[Node, tuple[Node, ...]]] = []
        for child in node.named_children:
            inner.append((child, passed))
            if node.type == "pipeline":
                passed = (*passed, *_calls_in(child))[-_MOST_BEFORE:]
        waiting += reversed(inner)


def _calls_in(part: Node) -> Iterator[Node]:
    """The first calls in one part of a pipeline, groups and redirections included."""
    waiting = [part]
    for _ in range(2 * _MOST_BEFORE):
        if not waiting:
            return
        node = waiting.pop(0)
        if node.type == "command":
            yield node
        elif node.type in _GROUPS:
            waiting += node.named_children


def _read(node: Node, source: ShellText, state: _State, fed_by: tuple[Node, ...]) -> None:
    if node.type == "heredoc_body":
        _read_heredoc(node, source, state)
    elif node.type == "variable_assignment":
        if node.parent is not None and node.parent.type not in _CALLS:
            pair = _assignment(node, source, state)
            state.found.append(
                Command((), pair[1].line, state.environment, state.folder, (pair,)),
            )
    else:
        variables = tuple(
            _assignment(child, source, state) for child in node.named_children if child.type == "variable_assignment"
        )
        words = tuple(
            _word(child, source, state)
            for child in node.named_children
            if child.type != "variable_assignment" and "redirect" not in child.type and child.type != "comment"
        )
        if node.type == "declaration_command":  # export, declare: the first word is not a named child
            words = (
                Word(source.text[node.start_byte :].split(None, 1)[0].decode(), source.line(node.start_byte)),
                *words,
            )
        written, after = _redirected(node, source, state)
        words += after
        before = len(state.found)
        calls = (state.calls[call.id] for call in fed_by if call.id in state.calls)
        _add(state, words, variables, tuple(call.words[0] for call in calls if call.words), written)
        if len(state.found) > before:
            state.calls[node.id] = state.found[before]


def _redirected(call: Node, source: ShellText, state: _State) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """Files that the call writes, and its words behind them: in `pip install a>b c`, c is an argument."""
    # In `a && b > f` the grammar has the whole list before the redirection, which is of the last command alone.
    body, statement = call, call.parent
    while statement is not None and statement.type in _SEVERAL and statement.named_children[-1] == body:
        body, statement = statement, statement.parent
    if statement is None or statement.type != "redirected_statement" or statement.child_by_field_name("body") != body:
        return (), ()
    written: list[Word] = []
    after: list[Word] = []
    for redirect in statement.children_by_field_name("redirect"):
        words = [_word(each, source, state) for each in redirect.children_by_field_name("destination")]
        if redirect.type == "file_redirect" and words:
            text = source.text[redirect.start_byte : redirect.end_byte]
            written += words[:1] if re.match(rb"[\d&]*>>?(?!&)", text) else []
            after += words[1:]
    return tuple(written), tuple(after)


def _read_heredoc(node: Node, source: ShellText, state: _State) -> None:
    """The body of `bash <<EOF`; other programs' bodies are not shell."""
    statement = node.parent and node.parent.parent
    if statement is None or statement.type != "redirected_statement" or state.depth >= _DEEPEST:
        return
    body = statement.child_by_field_name("body")
    text = source.text[body.start_byte : body.end_byte].split() if body is not None else []
    names = [word.decode("utf-8", "replace").rpartition("/")[2] for word in text]
    if names and (names[0] in SHELLS or (names[0] == "sudo" and len(names) > 1 and names[1] in SHELLS)):
        inner = source.text[node.start_byte : node.end_byte].decode("utf-8", "surrogateescape")
        state.found += parse_shell(
            plain_text(inner, source.line(node.start_byte)),
            folder=state.folder,
            environment=state.environment,
            known=state.known,
            depth=state.depth + 1,
        )


def _add(
    state: _State,
    words: tuple[Word, ...],
    variables: tuple[tuple[str, Word], ...],
    fed_by: tuple[Word, ...] = (),
    written: tuple[Word, ...] = (),
) -> None:
    """One call: remove wrappers, follow `cd` and `activate`, parse `sh -c`."""
    environment = state.environment
    for _ in range(_DEEPEST):
        rest, own_variables, environment = _unwrapped(words, environment)
        variables += own_variables
        if len(rest) == len(words):
            break
        words = rest
    if not words and not variables:
        return
    line = words[0].line if words else variables[0][1].line
    command = Command(words, line, environment, state.folder, variables, fed_by, written)
    state.found.append(command)
    if command.program in SHELLS and state.depth < _DEEPEST and (script := _script_of(command)) is not None:
        state.found += parse_shell(
            plain_text(script.text, script.line),
            folder=state.folder,
            environment=environment,
            known=state.known,
            depth=state.depth + 1,
        )
    _follow(command, state)


def _follow(command: Command, state: _State) -> None:
    arguments = command.plain
    if command.program in {"cd", "pushd"} and arguments:
        state.folder = normpath(join(state.folder, arguments[0]))
    if command.program in {"source", "."} and arguments:
        path = arguments[0]
        if path.rpartition("/")[2] == "activate":
            state.environment = arguments[1] if len(arguments) > 1 else path.removesuffix("/bin/activate")
    if command.program in _CONDAS and arguments[:1] == ["activate"]:
        state.environment = "" if arguments[1:2] in ([], ["base"]) else arguments[1]


def _unwrapped(words: tuple[Word, ...], environment: str) -> tuple[tuple[Word, ...], tuple[tuple[str, Word], ...], str]:
    """The words without one wrapper, the variables it sets, and the environment it chooses."""
    name = words[0].text.rpartition("/")[2] if words else ""
    if name in _CONDAS and len(words) > 1 and words[1].text == "run":
        rest, variables = _after_options(words[2:], _RUN_OPTIONS | {"--cwd"})
        chosen = option_value(words[2 : len(words) - len(rest)], *sorted(_RUN_OPTIONS))
        return rest, variables, chosen or environment
    if name in _WRAPPERS and len(words) > 1:
        rest, variables = _after_options(words[1:], _WRAPPERS[name])
        if name in _FIRST_IS_OWN:
            rest = rest[1:]
        return rest or words[:1], variables, environment
    return words, (), environment


def _after_options(
    words: tuple[Word, ...], valued: frozenset[str]
) -> tuple[tuple[Word, ...], tuple[tuple[str, Word], ...]]:
    """Words after a wrapper's options and NAME=VALUE pairs, and those pairs."""
    variables: list[tuple[str, Word]] = []
    index = 0
    while index < len(words):
        text = words[index].text
        if text == "--":
            index += 1
            break
        if pair := re.fullmatch(r"(\w+)=(.*)", text, re.DOTALL):
            variables.append((pair[1], Word(pair[2], words[index].line)))
        elif not text.startswith("-"):
            break
        elif text in valued:
            index += 1
        index += 1
    return words[index:], tuple(variables)


def option_value(words: Sequence[Word], *names: str) -> str:
    """Value of the first of these options; empty if none is given."""
    return next((word.text for word in option_values(words, *names)), "")


def option_values(words: Sequence[Word], *names: str, may_touch: bool = False) -> Iterator[Word]:
    """Values of repeatable options, `--name value` or `--name=value`; `-nvalue` counts if it `may_touch`."""
    for index, word in enumerate(words):
        name, equals, value = word.text.partition("=")
        if word.text in names:
            yield from words[index + 1 : index + 2]
        elif equals and name in names:
            yield replace(word, text=value)
        elif may_touch and word.text[:2] in names:
            yield replace(word, text=word.text[2:])


def _script_of(command: Command) -> Word | None:
    """The text of `bash -lc "…"`."""
    for index, word in enumerate(command.arguments):
        if re.fullmatch(r"-[a-z]*c[a-z]*", word.text):
            rest = command.arguments[index + 1 :]
            return rest[0] if rest else None
        if not word.text.startswith(("-", "+")):
            return None
    return None


def _assignment(node: Node, source: ShellText, state: _State) -> tuple[str, Word]:
    name = node.child_by_field_name("name")
    value = node.child_by_field_name("value")
    text = source.text[name.start_byte : name.end_byte].decode("utf-8", "surrogateescape") if name is not None else ""
    line = source.line(node.start_byte)
    return text, (replace(_word(value, source, state), line=line) if value is not None else Word("", line))


def _word(node: Node, source: ShellText, state: _State) -> Word:
    return Word(expand(_value(node, source), state.known), source.line(node.start_byte))


def _value(node: Node, source: ShellText) -> str:
    """The word as the program gets it; expansions and substitutions stay as written."""
    text = source.text[node.start_byte : node.end_byte].decode("utf-8", "surrogateescape")
    match node.type:
        case "command_name" | "concatenation" if node.named_child_count:
            if node.type == "concatenation":
                return "".join(_value(child, source) for child in node.children)
            return _value(node.named_children[0], source)
        case "raw_string":
            return text[1:-1]
        case "string":
            # A backslash before a line end stays: when `sh -c` reads it again, line numbers stay right.
            return re.sub(r'\\(["\\`])', r"\1", text[1:-1])
        case "word":
            return re.sub(r"\\(\n|.)", lambda match: "" if match[1] == "\n" else match[1], text, flags=re.DOTALL)
        case _:
            return text
