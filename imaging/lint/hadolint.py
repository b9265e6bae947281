"""Converts hadolint's findings to ours. Pure: the caller starts the program.

hadolint knows Dockerfiles and, through ShellCheck, their shell code; docs/decisions has why and how we run it.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from imaging.lint.hadolint_rules import BEATEN_BY, FIXES, LEFT_OUT, OURS, SAFE_FEEDERS
from imaging.lint.recipe import Finding, Recipe, Severity

_ID: Final = re.compile(r"DL\d{4}|SC\d{4}")
_NOT_PARSED: Final = "DL1000"
# Its info and style levels are taste; DL1001 and similar rules are off unless a site's configuration enables them.
_SEVERITIES: Final = {"error": Severity.ERROR, "warning": Severity.WARNING}


@dataclass(frozen=True, slots=True)
class HadolintResult:
    """Its result: findings, or why there are no valid ones."""

    findings: tuple[Finding, ...] = ()
    has_read: bool = False  # it read the file; else it did not run, or could not read it
    problem: str = ""  # for the user, without the path


def unread(why: str) -> HadolintResult:
    """It did not read the file."""
    return HadolintResult(problem=f"hadolint {why}: only our own rules were checked")


def is_hadolints(rule: str) -> bool:
    """Is this the id of a hadolint rule, its own (DL) or ShellCheck's (SC)?"""
    return _ID.fullmatch(rule) is not None


def page_of(rule: str) -> str:
    """Page that explains a hadolint rule."""
    folder = (
        "https://github.com/hadolint/hadolint/wiki/" if rule.startswith("DL") else "https://www.shellcheck.net/wiki/"
    )
    return f"{folder}{rule}"


@dataclass(frozen=True, slots=True)
class Padded:
    """A text for hadolint, with a map back to its lines."""

    text: str
    ends: tuple[int, ...]  # lines of the file that got an empty line after them

    def line(self, line: int) -> int:
        """Line of the file, from a line of the padded text."""
        starts = [end + index + 1 for index, end in enumerate(self.ends)]  # of the empty lines
        return max(1, line - bisect_right(starts, line))


def padded(text: str, recipe: Recipe) -> Padded:
    """The text with an empty line after each here-document.

    hadolint 2.15.1 swallows the line end after the marker and then reads nothing of the file:
    https://github.com/hadolint/language-docker/issues/99.
    """
    lines = text.split("\n")
    ends = sorted(
        {
            each.end_line
            for each in recipe.instructions
            if each.end_line > each.line and any("<<" in line for line in lines[each.line - 1 : each.end_line])
        }
    )
    parts = [lines[start:end] for start, end in zip([0, *ends], [*ends, len(lines)], strict=True)]
    return Padded("\n\n".join("\n".join(part) for part in parts), tuple(ends))


def read_result(output: bytes, errors: bytes, code: int, padded: Padded) -> HadolintResult:
    """Read the program's output. It may have crashed, or not understood the file."""
    messages = _messages(output)
    if messages is None:
        first = next(iter(errors.decode("utf-8", "replace").split("\n")), "").strip()[:200]
        return unread(f"ended with {code} ({first or 'no message'})")
    for rule, _, line, message in messages:
        if rule == _NOT_PARSED:
            reason = " ".join(message.split())[:120]
            where = f"line {padded.line(line)}: {reason}"
            return unread(f"cannot read this file ({where})")
    problem = " ".join(errors.decode("utf-8", "replace").replace("\\n", " ").split()).strip('" ')[:200]
    return HadolintResult(
        tuple(_findings(messages, padded)), has_read=True, problem=f"hadolint says: {problem}" if problem else ""
    )


def _messages(output: bytes) -> list[tuple[str, str, int, str]] | None:
    """Rule, level, line and message of everything in its JSON; None for other output."""
    try:
        rows = json.loads(output)
        if isinstance(rows, list):
            return [(str(each["code"]), str(each["level"]), int(each["line"]), str(each["message"])) for each in rows]
    except (ValueError, KeyError, TypeError):
        pass
    return None


def _findings(messages: Iterable[tuple[str, str, int, str]], padded: Padded) -> Iterator[Finding]:
    for rule, level, line, message in messages:
        if level in _SEVERITIES and rule not in LEFT_OUT and rule not in OURS and is_hadolints(rule):
            text = " ".join(message.split()).rstrip(".")
            yield Finding(rule, _SEVERITIES[level], padded.line(line), text, FIXES.get(rule) or f"see {page_of(rule)}")


def without_duplicates(found: Sequence[Finding], own: Iterable[Finding], recipe: Recipe) -> list[Finding]:
    """Without findings that our rules word better for the same instruction; each of the rest once."""
    instructions = sorted(recipe.instructions, key=lambda instruction: instruction.line)
    starts = [each.line for each in instructions]
    ours = {(finding.rule, bisect_right(starts, finding.line)) for finding in own}
    feeding = {
        index
        for index, each in enumerate(instructions, 1)
        if any(word.text not in SAFE_FEEDERS for command in each.commands for word in command.fed_by[:1])
    }

    def counts(finding: Finding) -> bool:
        place = bisect_right(starts, finding.line)
        is_beaten = any((rule, place) in ours for rule in BEATEN_BY.get(finding.rule, ()))
        return not is_beaten and (finding.rule != "DL4006" or place in feeding)

    return list(dict.fromkeys(filter(counts, found)))
