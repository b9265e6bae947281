"""One file → findings. Pure: bytes and settings in, a report out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from images.lint.model import Finding, Kind, Recipe, Setting
from images.lint.reading import read_recipe
from images.lint.rules.index import ALL_RULES
from images.lint.waivers import Waiver, read_waivers, waived_by


@dataclass(frozen=True, slots=True)
class Report:
    """What is to be said about one file."""

    path: str
    kind: Kind
    findings: tuple[Finding, ...]  # by line
    waived: tuple[tuple[Finding, Waiver], ...] = ()
    unused: tuple[Waiver, ...] = ()  # of comments: they cover nothing
    unread: tuple[int, ...] = ()  # lines that the grammar could not read


def lint(
    data: bytes, path: str, setting: Setting, *, kind: Kind | None = None, waivers: Sequence[Waiver] = ()
) -> Report:
    """Read one file and ask every rule. Raises LintError for a file that cannot be read."""
    recipe = read_recipe(data, path, kind)
    comments = tuple(read_waivers(data.decode("utf-8-sig"), recipe))
    found = findings(recipe, setting)
    sorted_out = [(finding, waived_by(finding, (*comments, *waivers))) for finding in found]
    used = {waiver for _, waiver in sorted_out if waiver}
    return Report(
        path,
        recipe.kind,
        tuple(finding for finding, waiver in sorted_out if waiver is None),
        tuple((finding, waiver) for finding, waiver in sorted_out if waiver is not None),
        tuple(waiver for waiver in comments if waiver not in used),
        recipe.unread,
    )


def findings(recipe: Recipe, setting: Setting) -> list[Finding]:
    """What every rule says, by line; the same said twice is said once."""
    found: Iterable[Finding] = (
        finding for rule in ALL_RULES if recipe.kind in rule.kinds for finding in rule.check(recipe, setting)
    )
    order = {rule.id: index for index, rule in enumerate(ALL_RULES)}
    return sorted(dict.fromkeys(found), key=lambda finding: (finding.line, order[finding.rule]))
