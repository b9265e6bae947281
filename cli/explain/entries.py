"""The meaning of each id in an output: policy rules, lint rules, remarks, and the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

FAMILIES: Final = {
    "compatibility": "Rules of `check` and `matrix`",
    "policy": "Rules of the policy pack, in previews, updates and `stack check`",
    "lint": "Rules of `image lint`",
    "hadolint": "Rules of hadolint and ShellCheck, which `image lint` runs",
    "remark": "Remarks of `inspect`",
    "batch": "Used instead of a rule in answers of `check`",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One id. The engine's rules have more details: see `cli.explain.command`."""

    id: str
    family: str
    title: str
    says: str
    severity: str = ""  # its highest severity
    why: str = ""
    remedy: str = ""
    sources: tuple[str, ...] = ()
    passing: str = ""  # a file that passes
    failing: str = ""
    number: str = ""  # the linter's number for a mistake: JSON names it, and `explain` finds the rule by it
    page: str = ""


def entries() -> Iterator[Entry]:
    """All ids except the engine's rules, family by family, in the order of their indexes."""
    # Imported here: models and parsers cost a quarter of a second, and `explain R-MINOR` needs none of them.
    from imaging.inspection.recommendations import REMARKS  # noqa: PLC0415
    from imaging.lint.rules.index import ALL_RULES as LINT_RULES  # noqa: PLC0415
    from policies.rules.index import ABOUT_THE_PACK, ALL_RULES  # noqa: PLC0415

    for rule in ALL_RULES:
        worst = "warn" if rule.check_together else "refuse"
        says = f"{rule.says[0].upper()}{rule.says[1:]}."
        title = rule.says.partition(":")[0]
        remedy = rule.remedy_in()
        yield Entry(rule.id, "policy", title, says, worst, remedy=remedy, page="docs/reference/policies.md")
    for name, when in ABOUT_THE_PACK.items():
        yield Entry(name, "policy", when.partition(":")[0], when, page="docs/reference/policies.md")
    for lint in LINT_RULES:
        yield Entry(
            id=lint.id,
            family="lint",
            title=lint.title,
            says=lint.says,
            severity=lint.severity.value,
            why=lint.why,
            remedy=lint.fix,
            sources=lint.sources,
            passing=lint.passing.text,
            failing=lint.failing.text,
            number=lint.number,
            page="docs/reference/lint-rules.md",
        )
    for name, says in REMARKS.items():
        yield Entry(name, "remark", says.partition(":")[0].removesuffix("."), says, page="docs/inspect-an-image.md")
    unreadable = (
        "As a note: a field cannot be read and counts as not given. As `unknown`: a line of a batch is not a case, and "
        "standard error explains what is wrong with it."
    )
    old = (
        "The tables of drivers, or of machine images where the case names an instance type or an AMI release, were "
        "last read more than 60 days ago: what appeared since is not known."
    )
    yield Entry("TABLES", "batch", "Tables that were last read long ago", old, page="docs/check-an-image.md")
    yield Entry("CASE", "batch", "A field or a line that cannot be read", unreadable, page="docs/check-an-image.md")


def of_hadolint(rule: str) -> Entry | None:
    """A rule of hadolint (DL3059) or ShellCheck (SC2086), explained by its own page; None for anything else."""
    from imaging.lint.hadolint import is_hadolints, page_of  # noqa: PLC0415 - see above
    from imaging.lint.hadolint_rules import FIXES, LEFT_OUT, OURS  # noqa: PLC0415

    if not is_hadolints(rule):
        return None
    title, page = f"A rule of {'hadolint' if rule.startswith('DL') else 'ShellCheck'}", page_of(rule)
    if rule in OURS:
        says = f"It is the same mistake as {OURS[rule]}: image lint reports it under that id."
    elif rule in LEFT_OUT:
        says = f"image lint omits it: {LEFT_OUT[rule]}."
    else:
        says = "image lint runs hadolint and reports what it finds."
    return Entry(rule, "hadolint", title, says, remedy=FIXES.get(rule, ""), page=page)
