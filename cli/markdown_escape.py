"""Escapes foreign text for Markdown: it notifies nobody, links to nothing and runs nothing."""

import html
import re
from typing import Final

_NOTHING_WIDE: Final = "\N{ZERO WIDTH SPACE}"  # GitHub and GitLab turn these into links, escaped or not
_SPECIAL: Final = re.compile(r"([\\`*_\[\]{}|~$])")
_LINK: Final = re.compile(r"https?://[\w./:?=%+,;@#-]*[\w/]", re.ASCII)
# @team, #123, GH-123, and GitLab's !123, ~label, %milestone, &epic, $snippet
_REFERENCE: Final = re.compile(r"(?<![\w/])([@#!~%&$^])(?=[\w\"])|\b(GH)(?=-\d)|(?<=[\w/])(#|!)(?=\d)", re.IGNORECASE)
_LIST: Final = re.compile(r"^(\s*)([-+*>=]|\d+[.)])(?=\s|$|[-=])")
_RUN_OF_BACKTICKS: Final = re.compile(r"`+")


def escaped(text: str) -> str:
    """One line of text without Markdown syntax. A plain URL remains a link."""
    words = _one_line(text)
    parts, end = [], 0
    for link in _LINK.finditer(words):
        parts += [_escaped(words[end : link.start()]), link[0]]
        end = link.end()
    return _LIST.sub(r"\1\\\2", "".join([*parts, _escaped(words[end:])]))


def _one_line(text: str) -> str:
    """Without invisible characters, such as those that reverse the direction of text."""
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())


def _escaped(text: str) -> str:
    apart = _REFERENCE.sub(lambda match: f"{match[0]}{_NOTHING_WIDE}", text)
    return html.escape(_SPECIAL.sub(r"\\\1", apart), quote=False)


def code(text: str, *, in_table: bool = False) -> str:
    """A value as code. Mentions in it notify nobody, on any platform."""
    value = _one_line(text)
    if not value:
        return ""
    longest = max((len(run) for run in _RUN_OF_BACKTICKS.findall(value)), default=0)
    fence = "`" * (longest + 1)
    padded = f" {value} " if value.startswith("`") or value.endswith("`") else value
    if in_table:
        padded = padded.replace("|", "\\|")
    return f"{fence}{padded}{fence}"
