"""Finds values assigned to secret names: `name: value`, `--name value`, `{name: N, value: V}`. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from errors.redaction.names import is_secret
from errors.redaction.written import Span, is_harmless, value_span

# A name and what follows it; `a::b` is no assignment. Backslashes precede quotes of JSON inside JSON.
_NAMED: Final = re.compile(
    r"(?<![\w/@-])(?P<name>[A-Za-z_][\w.-]{,200})(?P<sign>(?:\\*[\"'])?(?:[ \t]*(?::=|=>|=(?!=)|:(?!:))[ \t]*))(?!=)"
)
_OPTION: Final = re.compile(
    r"(?<![\w-])--?(?P<name>[A-Za-z][\w.-]{1,100})(?:=|[ \t]+|\\*[\"'],?\s*|[\"']?\s*\n\s*-[ \t]+)(?=[^\s-])"
    r"(?P<value>\\*\"[^\"\n]*\"|\\*'[^'\n]*'|[^\s,;\"'\])}]+)"
)
_PAIR: Final = re.compile(
    r"(?:(?:name|key|Name|Key|param|header)\\*[\"']?[ \t]*[:=][ \t]*\\*[\"']?(?P<name>[\w.-]+)\\*[\"']?)"
    r"[\s,]{,80}\\*[\"']?(?P<value>[vV]alue)\\*[\"']?(?P<sign>[ \t]*[:=][ \t]*)"
)
_ELEMENT: Final = re.compile(r"<(?P<name>[\w.:-]+)(?:\s[^<>]*)?>(?P<value>[^<]+)</")
# A name and its value with only space between: directives, `.netrc`, `aws configure set`, `ARG`.
_SPACED: Final = re.compile(
    r"(?<![\w./-])(?=[\w-]{,60}?(?i:pass|secret|token|key|cred|pw|auth|jwt|pat))"
    r"(?P<name>[A-Za-z][\w-]{2,60})[ \t]+(?P<value>\\*\"[^\"\n]+\"|'[^'\n]+'|[^\s\"',;]+)"
)
_KEYED_ELEMENT: Final = re.compile(
    r"<\w+\s[^<>]{,200}?\b(?:key|name|id)=[\"'](?P<name>[\w.-]+)[\"'][^<>]{,200}>(?P<value>[^<]+)</"
)
_DIRECTIVES: Final = frozenset({"requirepass", "masterauth", "bindpw", "rootpw", "bind_pw"})
_BEFORE_A_NAME: Final = re.compile(r"(?:(?:^|[\s;&|])(?:set|setenv|configure set|config set)|(?:^|\n)[ \t]*ENV)[ \t]+$")
_NETRC: Final = re.compile(r"\b(?:machine|login)[ \t]+\S+\s+(?:[\w-]+[ \t]+\S+\s+)*$")
_HEADER: Final = re.compile(
    r"(?i)(?<![\w-])(?:proxy-authorization|authorization|x-[\w-]*(?:key|token|auth)|(?:set-)?cookie)"
    r"\\*[\"']?[ \t]*[:=]?[ \t]*\\*[\"']?(?:(?:bearer|basic|token|digest|negotiate|apikey|key)[ \t]+)?"
    r"(?P<value>[^\s\"'\\][^\n\"'\\]*)"
)
_MANIFEST: Final = re.compile(r"\bkind\\*[\"']?[ \t]*:[ \t]*\\*[\"']?Secret(?![\w-])")
_DATA: Final = frozenset({"data", "stringData"})


def assigned_spans(text: str) -> Iterator[Span]:
    """Spans of values whose names mark them as secrets."""
    yield from _named(text)
    for match in _OPTION.finditer(text):
        value = match["value"].strip("\\\"'")
        if is_secret(match["name"]) and not is_harmless(value) and not value.startswith("id="):
            yield _inside_quotes(text, *match.span("value"))
    for match in _PAIR.finditer(text):
        if is_secret(match["name"]) and (span := value_span(text, match.start("value"), match.end(), match["sign"])):
            yield span
    for pattern in (_ELEMENT, _KEYED_ELEMENT, _HEADER):
        for match in pattern.finditer(text):
            if (pattern is _HEADER or is_secret(match["name"])) and not is_harmless(match["value"]):
                yield match.span("value")
    yield from _spaced(text)


def _named(text: str) -> Iterator[Span]:
    manifests = list(_manifests(text))
    is_logins = '"auths' in text or "auths\\" in text or "auths:" in text
    position = 0
    while match := _NAMED.search(text, position):
        name = match["name"]
        is_of_secret = name in _DATA and any(start <= match.start() < end for start, end in manifests)
        counts = is_secret(name) or is_of_secret or (is_logins and name == "auth")
        sign = match["sign"].strip("\\\"'")
        if counts and (span := value_span(text, match.start("name"), match.end(), sign)):
            yield span
            position = max(span[1], match.end())
            continue
        # The value may itself be an assignment: `https://x?token=…`, `--set=password=…`.
        position = match.end("name") + 1


def _manifests(text: str) -> Iterator[Span]:
    """YAML documents, or a whole JSON text, that hold a Kubernetes Secret."""
    if "Secret" not in text:
        return
    start = 0
    for end in [*(match.start() for match in re.finditer(r"^---", text, re.MULTILINE)), len(text)]:
        if _MANIFEST.search(text, start, end):
            yield start, end
        start = end


def _spaced(text: str) -> Iterator[Span]:
    position = 0
    while match := _SPACED.search(text, position):
        position = match.end("name")  # the next word may itself be a name
        name, value = match["name"], match["value"].strip("\\\"'")
        at_start = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip() == ""
        if name in _DIRECTIVES:
            counts = at_start
        elif not is_secret(name) or is_harmless(value):
            continue
        elif _BEFORE_A_NAME.search(text, max(0, match.start() - 40), match.start()):
            counts = True
        elif name == "password":  # of a login in .netrc
            counts = _NETRC.search(text, max(0, match.start() - 300), match.start()) is not None
        else:  # in prose, a verb follows a name
            counts = "_" in name and len(value) >= 8 and bool(re.search(r"\d", value) and re.search(r"[A-Za-z]", value))
        if counts:
            yield _inside_quotes(text, *match.span("value"))


def _inside_quotes(text: str, start: int, end: int) -> Span:
    while start < end and text[start] in "\\\"'":
        start += 1
    while end > start and text[end - 1] in "\\\"'":
        end -= 1
    return start, end
