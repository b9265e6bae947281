"""Parses Dockerfiles: tree-sitter reads the text; this module turns its tree into stages and instructions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from posixpath import join, normpath
from typing import TYPE_CHECKING, Final

from imaging.lint.recipe import Command, Instruction, Kind, LintError, Recipe, Stage, Word, expand
from imaging.lint.shell import SHELLS, ShellText, command_from, parse_shell, plain_text, shell_text

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

INSTRUCTIONS: Final = (
    "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER", "ONBUILD",
    "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
)  # fmt: skip
_RUNS: Final = frozenset({"RUN", "CMD", "ENTRYPOINT"})
_PAIRS: Final = frozenset({"ARG", "ENV", "LABEL"})
# What the grammar cannot read is masked with as many bytes: lines and columns stay.
# ${NAME#pattern} and similar: BuildKit knows them, the grammar does not.
_MODIFIER: Final = re.compile(rb"(\$\{\w+)([#%/][^{}\n]*)\}")
# `RUN [ -f x ] && …`: the grammar reads every bracket as the start of an exec form. Masked if it is none.
_BRACKET: Final = re.compile(
    rb"^[ \t]*(?:ONBUILD[ \t]+)?(?:RUN|CMD|ENTRYPOINT)(?:[ \t]++|[\\`][ \t]*\r?\n|--[^\s\\`]++)++\[",
    re.IGNORECASE | re.MULTILINE,
)
# `ENV PS1="# "`: a comment to the grammar, which then swallows the next line.
_VALUES: Final = re.compile(rb"^[ \t]*(?:ENV|LABEL|ARG)[ \t][^\n]*", re.IGNORECASE | re.MULTILINE)
_BLANK: Final = rb"(?:[ \t]|[\\`][ \t]*\r?\n)*+"
_EXEC_FORM: Final = re.compile(
    rb"\[" + _BLANK + rb'(?:"(?:[^"\\\n]|\\.)*+"' + _BLANK + rb"(?:," + _BLANK + rb")?)*+\]" + _BLANK + rb"\r?(?:\n|\Z)"
)


@dataclass(slots=True)
class _Stage:
    """A stage while its instructions are read."""

    name: str
    base: str
    line: int
    parent: int | None
    folder: str = "/"
    environment: str = ""
    known: dict[str, str] = field(default_factory=dict)
    shell: tuple[str, ...] = ("/bin/sh", "-c")
    instructions: list[Instruction] = field(default_factory=list)

    def frozen(self) -> Stage:
        return Stage(self.name, self.base, self.line, tuple(self.instructions), self.parent)


def parse_dockerfile(text: str, path: str) -> Recipe:
    """Read a Dockerfile. Raises LintError for an unknown instruction, a missing FROM, or an empty file."""
    source = text.encode("utf-8", "surrogateescape")
    root = _parser().parse(_masked(source)).root_node
    _refuse_unknown(root, source, path)
    nodes = [node for node in root.named_children if node.type.endswith("_instruction")]
    if not nodes:
        raise LintError(f"{path}:1: has no instruction; a Dockerfile begins with FROM")
    arguments: dict[str, str] = {}
    stages: list[_Stage] = []
    for node in nodes:
        keyword = _keyword(node)
        if keyword == "FROM":
            stages.append(_stage(node, source, stages, arguments, path))
        elif not stages:
            if keyword != "ARG":
                raise LintError(f"{path}:{_line(node)}: {keyword} stands before the first FROM; only ARG may")
            arguments |= {name: word.text for name, word in _pairs(node, source, arguments) if word.text}
        else:
            _add(node, source, stages[-1], arguments)
    if not stages:
        raise LintError(f"{path}:{_line(nodes[-1])}: has no FROM; write one, or FROM scratch")
    unread = tuple(sorted({_line(node) for node in _errors(root)}))
    return Recipe(path, Kind.DOCKERFILE, tuple(stage.frozen() for stage in stages), unread)


@cache
def _parser() -> Parser:
    import tree_sitter_containerfile  # noqa: PLC0415 - a script or a definition file needs no grammar of Dockerfiles
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_containerfile.language()))


def _masked(source: bytes) -> bytes:
    """The text for the grammar."""

    def modifier(match: re.Match[bytes]) -> bytes:
        return match[1] + b":-" + b"x" * (len(match[2]) - 2) + b"}" if len(match[2]) > 1 else match[0]

    def bracket(match: re.Match[bytes]) -> bytes:
        return match[0] if _EXEC_FORM.match(source, match.end() - 1) else match[0][:-1] + b"x"

    quiet = _VALUES.sub(lambda match: match[0].replace(b"#", b"x"), source)
    return _MODIFIER.sub(modifier, _BRACKET.sub(bracket, quiet))


def _line(node: Node) -> int:
    return node.start_point.row + 1


def _end_line(node: Node) -> int:
    """The last line with a part of it: a node may end with the line end."""
    return max(_line(node), node.end_point.row + (1 if node.end_point.column else 0))


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "surrogateescape")


def _keyword(node: Node) -> str:
    return node.type.removesuffix("_instruction").upper()


def _errors(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not node.has_error:
            continue
        if node.is_error:
            yield node
        else:
            waiting += node.children


def _refuse_unknown(root: Node, source: bytes, path: str) -> None:
    """Raise for a line without an instruction: Docker would not build it, and the lines below cannot be trusted."""
    for node in root.named_children:
        is_ours = node.type == "comment" or (node.type.endswith("_instruction") and _keyword(node) in INSTRUCTIONS)
        begins_line = not source[node.start_byte - node.start_point.column : node.start_byte].strip()
        if is_ours or not begins_line:
            continue
        word = (_text(node, source).split(None, 1) or [""])[0]
        if word.upper() in INSTRUCTIONS:
            if len(_text(node, source).split(None, 1)) < 2:
                raise LintError(f"{path}:{_line(node)}: {word.upper()} has no arguments; give it some")
            continue
        shown = word if len(word) <= 40 else f"{word[:40]}…"
        near = get_close_matches(word.upper(), INSTRUCTIONS, n=1)
        likely = f"did you mean {near[0]}? " if near else ""
        raise LintError(
            f'{path}:{_line(node)}: "{shown}" is not an instruction; {likely}allowed are {", ".join(INSTRUCTIONS)}'
        )


def _stage(node: Node, source: bytes, stages: list[_Stage], arguments: Mapping[str, str], path: str) -> _Stage:
    spec = next((child for child in node.named_children if child.type == "image_spec"), None)
    alias = next((child for child in node.named_children if child.type == "image_alias"), None)
    if spec is None:
        raise LintError(f"{path}:{_line(node)}: FROM names no image; write FROM repository@sha256:…")
    base = expand(_text(spec, source), arguments)
    names = {stage.name.lower(): index for index, stage in enumerate(stages) if stage.name}
    parent = names.get(base.lower())
    name = _text(alias, source) if alias is not None else ""
    stage = _Stage(name, base, _line(node), parent)
    if parent is not None:
        stage.folder, stage.environment = stages[parent].folder, stages[parent].environment
        stage.shell, stage.known = stages[parent].shell, dict(stages[parent].known)
    return stage


def _add(node: Node, source: bytes, stage: _Stage, arguments: Mapping[str, str]) -> None:
    keyword = _keyword(node)
    line, end_line = _line(node), _end_line(node)
    if keyword == "ONBUILD":
        # The image built on this one decides what is copied, and which user runs it.
        inner = next((child for child in node.named_children if child.type.endswith("_instruction")), None)
        if inner is not None and _keyword(inner) in {"RUN", "ENV", "ARG"}:
            _add(inner, source, stage, arguments)
        return
    if keyword == "HEALTHCHECK":
        return
    pairs = _pairs(node, source, stage.known) if keyword in _PAIRS else ()
    if keyword == "ARG":  # without a value, it takes the one from before the first FROM
        pairs = tuple((name, word if word.text else Word(arguments.get(name, ""), word.line)) for name, word in pairs)
    instruction = Instruction(
        keyword=keyword,
        line=line,
        end_line=end_line,
        words=_words(node, source, stage) if keyword not in _PAIRS else (),
        flags=_flags(node, source),
        mounts=tuple(_mounts(node, source)),
        variables=pairs,
        commands=_commands(node, source, stage) if keyword in _RUNS else (),
        folder=stage.folder,
    )
    stage.instructions.append(instruction)
    if keyword in {"ARG", "ENV"}:
        stage.known |= {name: word.text for name, word in pairs if word.text}
    _follow(instruction, stage)


def _follow(instruction: Instruction, stage: _Stage) -> None:
    texts = [word.text for word in instruction.words]
    if instruction.keyword == "WORKDIR" and texts:
        stage.folder = normpath(join(stage.folder, texts[0]))
    if instruction.keyword == "SHELL" and texts:
        stage.shell = tuple(texts)
        runs = command_from(instruction.words, folder="/", environment=stage.environment, known={})
        stage.environment = runs[-1].environment if runs else stage.environment
    if instruction.keyword == "ENV":
        for name, word in instruction.variables:
            first = word.text.partition(":")[0]
            if name == "PATH" and first.endswith("/bin") and not first.startswith(("/usr", "/bin", "/sbin", "$")):
                stage.environment = first.removesuffix("/bin")


def _pairs(node: Node, source: bytes, known: Mapping[str, str]) -> tuple[tuple[str, Word], ...]:
    found = []
    for pair in node.named_children:
        if pair.type.endswith("_pair") and (parts := pair.named_children):
            value = "".join(_plain(part, source) for part in parts[1:])
            found.append((_plain(parts[0], source), Word(expand(value, known), _line(pair))))
    return tuple(found)


def _plain(node: Node, source: bytes) -> str:
    text = _text(node, source)
    if node.type in {"double_quoted_string", "single_quoted_string", "json_string"} and len(text) > 1:
        text = text[1:-1]
    return re.sub(r"[\\`][ \t]*\r?\n", "", text)


def _flags(node: Node, source: bytes) -> dict[str, str]:
    texts = [_text(child, source) for child in node.named_children if child.type == "param"]
    parts = [text.removeprefix("--").partition("=") for text in texts]
    return {name: value for name, _, value in parts}


def _mounts(node: Node, source: bytes) -> Iterator[dict[str, str]]:
    for child in node.named_children:
        if child.type == "mount_param":
            parts = [_text(part, source).partition("=") for part in child.named_children]
            mount = {name: value for name, _, value in parts}
            yield {**mount, "target": mount.get("target") or mount.get("dst") or mount.get("destination") or ""}


def _words(node: Node, source: bytes, stage: _Stage) -> tuple[Word, ...]:
    """Arguments of an instruction that takes words; for an exec-form RUN its argv."""
    for child in node.named_children:
        if child.type == "json_string_array":
            return _json_words(child, source)
    skipped = {"param", "mount_param", "comment", "line_continuation", "heredoc_block", "shell_command"}
    nodes = [child for child in node.named_children if child.type not in skipped and not child.is_error]
    return tuple(Word(expand(_plain(child, source), stage.known), _line(child)) for child in nodes)


def _json_words(node: Node, source: bytes) -> tuple[Word, ...]:
    words = []
    for child in node.named_children:
        if child.type == "json_string":
            text = _text(child, source)
            try:
                words.append(Word(str(json.loads(text)), _line(child)))
            except ValueError:
                words.append(Word(text[1:-1], _line(child)))
    return tuple(words)


def _commands(node: Node, source: bytes, stage: _Stage) -> tuple[Command, ...]:
    found: list[Command] = []
    name = stage.shell[0].rpartition("/")[2]
    is_shell = name in SHELLS or any(word.rpartition("/")[2] in SHELLS for word in stage.shell)
    for child in node.named_children:
        if child.type == "json_string_array":
            words = _json_words(child, source)
            found += command_from(words, folder=stage.folder, environment=stage.environment, known=stage.known)
        elif child.type == "shell_command" and is_shell:
            found += _shell_commands(node, child, source, stage)
    return tuple(found)


def _shell_commands(node: Node, child: Node, source: bytes, stage: _Stage) -> Iterator[Command]:
    """A RUN's line, and here-documents read by a shell."""
    bodies = [
        part for block in node.named_children if block.type == "heredoc_block"
        for part in block.named_children if part.type == "heredoc_content"
    ]  # fmt: skip
    line = _joined(child, source)
    if not bodies:
        yield from _parse(line, stage)
        return
    start = re.sub(rb"<<-?[\"']?\w+[\"']?", b"", line.text).split()
    if start:  # `RUN python3 <<EOF`, `RUN cat <<EOF > file`
        marker = re.compile(rb"<<-?[\"']?\w+[\"']?")
        blanked = marker.sub(lambda match: b" " * len(match[0]), line.text)
        yield from _parse(ShellText(blanked, line.offsets, line.lines), stage)
    program = start[0].decode("utf-8", "replace").rpartition("/")[2] if start else ""
    for body in bodies:
        text = _text(body, source)
        by = re.match(r"#!\s*(?:/usr/bin/env\s+)?(?:\S*/)?(\w+)", text)
        if (program in SHELLS) if program else (by is None or by[1] in SHELLS):
            yield from _parse(plain_text(text, _line(body)), stage)


def _parse(text: ShellText, stage: _Stage) -> tuple[Command, ...]:
    return parse_shell(text, folder=stage.folder, environment=stage.environment, known=stage.known)


def _joined(node: Node, source: bytes) -> ShellText:
    """The line that Docker passes to the shell, without comments and empty lines.

    Each line of the file stays a line, with the shell's backslash at its end: so line numbers are right in
    `sh -c "…"` too.
    """
    parts: list[bytes] = []
    start = node.start_byte
    for child in node.named_children:
        if child.type in {"line_continuation", "comment"}:
            parts += (source[start : child.start_byte].replace(b"\n", b"\\\n"), b"\\\n")
            start = child.end_byte
    parts.append(source[start : node.end_byte].replace(b"\n", b"\\\n"))
    return shell_text(b"".join(parts), _line(node))
