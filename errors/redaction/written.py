"""Finds the value after a name: in quotes, on a line, in brackets, in a block. Pure."""

import re
from typing import Final

Span = tuple[int, int]

# A reference to a value elsewhere, or an explicit absence.
_HARMLESS: Final = re.compile(
    r"|true|false|yes|no|none|null|~|nil|on|off|enabled|disabled"
    r"|\$\{[^{}]*\}|\$\([\w.-]*\)|(?-i:\$[A-Z_][A-Z0-9_]*)|\$\{\{.*\}\}|\{\{.*\}\}"
    r"|%\([\w.-]+\)s|<[\w .-]+>|\*+|\(secret\)|\[secret\]|\(not shown\)"
    r"|/(?:run|var|etc|home|opt|tmp|mnt|srv|usr|data|secrets?|root|dev|workspace)(?:/[\w.-]+)+",
    re.IGNORECASE,
)
_PLAIN_WORD: Final = re.compile(r"[a-z]+[.!?]?")
_BLOCK: Final = re.compile(r"(?:![\w/:-]+[ \t]*|&\w+[ \t]*)*[|>][+-]?\d*[+-]?[ \t]*(?:#.*)?$")
_TAG: Final = re.compile(r"(?:![\w/:-]*[ \t]+|&\w+[ \t]+)+")
_CLOSING: Final = {"[": "]", "{": "}"}
_LONGEST_FLOW: Final = 20_000


def is_harmless(value: str) -> bool:
    """Is it a reference to a value, a switch, or the path of a file?"""
    return _HARMLESS.fullmatch(value.strip().strip("\"'")) is not None


def value_span(text: str, name: int, start: int, sign: str) -> Span | None:
    """Span of the value that begins at `start`, after a name at `name`. None if there is none."""
    line_end = _line_end(text, start)
    line = text[start:line_end]
    if not line.strip() or _BLOCK.match(line):
        return _block(text, name, line_end) if ":" in sign or line.strip() else None
    if tag := _TAG.match(line):
        start += tag.end()
    span = _on_line(text, name, start, _line_end(text, start), sign)
    return None if span is None or is_harmless(text[slice(*span)]) else span


def _on_line(text: str, name: int, start: int, end: int, sign: str) -> Span | None:
    slashes = re.match(r"\\*", text[start:end])
    quote = text[start + len(slashes[0] if slashes else "") : end][:1]
    if quote in {'"', "'", "`"} and quote:
        return _quoted(text, start + text[start:end].index(quote) + 1, quote, slashes[0] if slashes else "")
    if text[start] in _CLOSING and not text.startswith("{{", start):
        return _flow(text, start)
    is_key = text[text.rfind("\n", 0, name) + 1 : name].strip(" \t-?") == ""
    rest = text[start:end]
    if is_key and re.fullmatch(r":[ \t]+|[ \t]+:?=[ \t]+|[ \t]+:[ \t]+", sign):
        return start, start + len(rest.rstrip().rstrip("\\"))
    if text[:name].rstrip(" \t")[-1:] == ";":  # Server=db;Password=…;
        match = re.match(r"[^;\"'\n]*", rest)
    else:
        match = re.match(r"\{\{[^}]*\}\}|\$\{[^}]*\}|\$\([^)]*\)|[^\s,;&\"'<>)}\]]+", rest)
    if not match or not match[0]:
        return None
    # `hub-credentials: image is not known` is a message about an object with that name.
    is_prose = not is_key and sign.startswith(":") and "-" in text[name:start] and _PLAIN_WORD.fullmatch(match[0])
    return None if is_prose else (start, start + match.end())


def _quoted(text: str, start: int, quote: str, slashes: str) -> Span:
    """Up to the same quote with the same backslashes; a truncated text ends without one."""
    position = start
    while (found := text.find(quote, position)) != -1:
        before = len(text[start:found]) - len(text[start:found].rstrip("\\"))
        if before == len(slashes) or (not slashes and before % 2 == 0):
            return start, found - len(slashes) if slashes else found
        position = found + 1
    return start, len(text)


def _flow(text: str, start: int) -> Span:
    depth, quote = 0, ""
    for position in range(start, min(len(text), start + _LONGEST_FLOW)):
        sign = text[position]
        if quote:
            quote = "" if sign == quote and text[position - 1] != "\\" else quote
        elif sign in "\"'" and text[position - 1] != "\\":
            quote = sign
        elif sign in _CLOSING:
            depth += 1
        elif sign in "]}":
            depth -= 1
            if not depth:
                return start, position + 1
    return start, _line_end(text, start)


def _block(text: str, name: int, line_end: int) -> Span | None:
    """Lines indented further than the key, and list items indented as far as the key."""
    line_start = text.rfind("\n", 0, name) + 1
    head = text[line_start:name]
    if head.strip(" \t-?\"'"):
        return None
    depth = len(re.sub(r"[-?\"']", " ", head))
    is_item = "-" in head
    begin, end, position = None, 0, line_end + 1
    while position < len(text):
        until = _line_end(text, position)
        line = text[position:until]
        if line.strip():
            inside = len(line) - len(line.lstrip(" \t"))
            if not (inside > depth or (inside == depth and line.lstrip().startswith("- ") and not is_item)):
                break
            begin, end = (position + inside if begin is None else begin), until
        position = until + 1
    if begin is None or is_harmless(text[begin:end].removeprefix("- ")):
        return None
    return begin, end


def _line_end(text: str, start: int) -> int:
    found = text.find("\n", start)
    return len(text) if found == -1 else found
