"""Lints one file. Pure: bytes, settings and the findings of another linter in, a report out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from imaging.lint.hadolint import HadolintResult, is_hadolints, without_duplicates
from imaging.lint.reading import read_recipe, text_of
from imaging.lint.recipe import Finding, Kind, LintContext, Recipe
from imaging.lint.rules.index import ALL_RULES, GPU_RULES
from imaging.lint.waivers import Waiver, read_waivers, waived_by

# Runs hadolint: text and recipe in, its report out. The caller supplies one if the program is installed.
Ask = Callable[[str, Recipe], HadolintResult]


@dataclass(frozen=True, slots=True)
class Report:
    """The results for one file."""

    path: str
    kind: Kind
    findings: tuple[Finding, ...]  # by line: they cost GPUs, bytes or reproducibility
    waived: tuple[tuple[Finding, Waiver], ...] = ()
    unused: tuple[Waiver, ...] = ()  # in comments: they cover nothing
    unread: tuple[int, ...] = ()  # lines that the grammar could not read
    general: tuple[Finding, ...] = ()  # by line: mistakes in any image, ours and hadolint's
    hadolint: HadolintResult = field(default_factory=HadolintResult)
    beside: tuple["Report", ...] = ()  # of the environment files that it installs from
    left_out: tuple[str, ...] = ()  # those that could not be read, a sentence each

    @property
    def all(self) -> tuple[Finding, ...]:
        """Both lists, by line."""
        return tuple(sorted((*self.findings, *self.general), key=lambda finding: finding.line))


def lint(  # noqa: PLR0913 - one file, and everything that it does not state itself
    data: bytes,
    path: str,
    context: LintContext,
    *,
    kind: Kind | None = None,
    waivers: Sequence[Waiver] = (),
    ask: Ask | None = None,
) -> Report:
    """Read one file and what it installs from, and apply all rules. Raises LintError if it cannot be read."""
    recipe = read_recipe(data, path, kind, context.read)
    text = text_of(data, path)
    found = findings(recipe, context)
    own = [each for each in found if not each.path]
    hadolint = ask(text, recipe) if ask and recipe.kind is Kind.DOCKERFILE else HadolintResult()
    beside = []
    for name in recipe.files:
        content = text_of(context.read(name) or b"", name)
        of_file = [replace(each, path="") for each in found if each.path == name]
        beside.append(_report(Recipe(name, Kind.ENVIRONMENT, ()), content, of_file, waivers))
    every = (*own, *without_duplicates(hadolint.findings, own, recipe))
    own_report = _report(recipe, text, every, waivers, hadolint)
    return replace(own_report, beside=tuple(beside), left_out=recipe.left_out)


def _report(
    recipe: Recipe,
    text: str,
    found: Sequence[Finding],
    waivers: Sequence[Waiver],
    hadolint: HadolintResult = HadolintResult(),  # noqa: B008 - frozen
) -> Report:
    """The findings in one file, less what its comments or `waivers` waive."""
    comments = tuple(read_waivers(text, recipe))
    sorted_out = [(finding, waived_by(finding, (*comments, *waivers))) for finding in found]
    used = {waiver for _, waiver in sorted_out if waiver}
    left = [finding for finding, waiver in sorted_out if waiver is None]
    # If hadolint did not read the file, we cannot tell whether waivers of its rules are still needed.
    unused = (each for each in comments if each not in used and (hadolint.has_read or not is_hadolints(each.rule)))
    general = (finding for finding in left if not is_about_gpus(finding))
    return Report(
        recipe.path,
        recipe.kind,
        tuple(filter(is_about_gpus, left)),
        tuple((finding, waiver) for finding, waiver in sorted_out if waiver is not None),
        tuple(unused),
        recipe.unread,
        tuple(sorted(general, key=lambda finding: finding.line)),
        hadolint,
    )


def is_about_gpus(finding: Finding) -> bool:
    """Does it cost GPUs, or the bytes and the repeatability of an image for GPUs?"""
    return any(rule.id == finding.rule for rule in GPU_RULES)


def findings(recipe: Recipe, context: LintContext) -> list[Finding]:
    """The findings of all our rules, by line and without duplicates."""
    found = (finding for rule in ALL_RULES for finding in rule.findings(recipe, context))
    order = {rule.id: index for index, rule in enumerate(ALL_RULES)}
    return sorted(dict.fromkeys(found), key=lambda finding: (finding.line, order[finding.rule]))
