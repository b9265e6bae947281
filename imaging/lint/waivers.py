"""Waivers: comments above a line, or options, with the reason to accept a finding.

# gpu-commons lint ignore=D-ROOT reason="the driver container needs it"
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from imaging.lint.hadolint import is_hadolints
from imaging.lint.recipe import Finding, LintError, Recipe
from imaging.lint.rules.index import BY_ID

FORM: Final = '# gpu-commons lint ignore=D-ROOT reason="why it is meant"'
_COMMENT: Final = re.compile(r"^\s*#\s*gpu-commons\s+lint\b(.*)$")


@dataclass(frozen=True, slots=True)
class Waiver:
    """Accepted findings. `line` 0: for the whole file."""

    rule: str
    reason: str
    line: int  # of the waiver itself
    first: int  # lines that it covers
    last: int


def read_waivers(text: str, recipe: Recipe) -> Iterator[Waiver]:
    """Waivers of a file's comments. Raises LintError for a missing reason or an unknown rule."""
    lines = text.splitlines()
    spans = {each.line: each.end_line for each in recipe.instructions if each.keyword != "SCRIPT"}
    for number, line in enumerate(lines, 1):
        if match := _COMMENT.match(line):
            where = f"{recipe.path}:{number}"
            rules, reason = _parsed(match[1], where)
            first = next((n for n in range(number + 1, len(lines) + 1) if _says_something(lines[n - 1])), number)
            for rule in rules:
                yield Waiver(known_rule(rule, where), reason, number, first, spans.get(first, first))


def waiver_from(option: str) -> Waiver:
    """`D-ROOT=the reason`, for every line. Raises LintError."""
    rule, equals, reason = option.partition("=")
    if not equals or not reason.strip():
        raise LintError(f'--ignore {option}: has no reason; write --ignore "{rule}=why it is meant"')
    return Waiver(known_rule(rule, "--ignore"), reason.strip(), 0, 0, 0)


def waived_by(finding: Finding, waivers: Iterable[Waiver]) -> Waiver | None:
    """The waiver that covers a finding."""
    of_rule = (each for each in waivers if each.rule == finding.rule)
    return next((each for each in of_rule if not each.line or each.first <= finding.line <= each.last), None)


def known_rule(text: str, where: str) -> str:
    """The listed id of a rule; raises LintError with the nearest one."""
    rule = text.strip().upper()
    if rule in BY_ID or is_hadolints(rule):
        return rule
    near = get_close_matches(rule, BY_ID, n=2)
    likely = f"did you mean {' or '.join(near)}? " if near else ""
    raise LintError(
        f'{where}: "{text.strip()[:40]}" is not a rule; {likely}rules are {", ".join(BY_ID)}, and DL… and SC… '
        "for those of hadolint"
    )


def _parsed(text: str, where: str) -> tuple[list[str], str]:
    match = re.fullmatch(r"\s+ignore=([\w,-]+)(?:\s+reason=(?:\"([^\"]*)\"|'([^']*)'))?\s*", text)
    if match is None:
        raise LintError(f"{where}: this waiver cannot be read; write {FORM}")
    reason = (match[2] or match[3] or "").strip()
    if not reason:
        raise LintError(f"{where}: this waiver has no reason; write {FORM}")
    return [rule for rule in match[1].split(",") if rule], reason


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
