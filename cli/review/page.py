"""A review as blocks of a page, ordered by a reviewer's questions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final

from cli.review.affected import Affected
from cli.review.blocks import BREAK, Block, Bullet, Bullets, Code, Diff, Fold, Heading, Inline, Paragraph, Quote, Table
from cli.review.consequence import Consequence
from cli.review.costs import HOURS_PER_MONTH
from cli.review.details import Detail
from cli.review.diff import diff_groups
from cli.review.document import ChangeImpact, Review
from cli.review.findings import Finding, Level, Since, is_refusal
from cli.review.headline import Sign
from cli.review.runs import RUN_RULE, run_blocks
from cli.review.stream import STACK
from cli.review.values import names_of
from cli.review.verdict import Outcome, statements
from cli.words import counted
from policies.report import image_subject

ICONS: Final = {Sign.NOTHING_TO_DO: "✅", Sign.ATTENTION: "⚠️", Sign.STOPPED: "❌", Sign.NO_PROOF: "⛔"}
_DONE: Final = {
    "create": "to create",
    "update": "to update",
    "replace": "to replace",
    "delete": "to delete",
    "import": "to import",
    "same": "unchanged",
}


def title(review: Review) -> str:
    """`❌ dsmlp-fall: refused`"""
    return f"{ICONS[review.sign]} {review.stack or 'preview'}: {review.verdict.headline}"


def one_line(review: Review) -> str | None:
    """The whole comment if nothing changes and there is nothing to report; else None."""
    if review.verdict.outcome is not Outcome.UNCHANGED or review.remarks or review.sign is not Sign.NOTHING_TO_DO:
        return None
    advice = statements(finding for finding in review.findings if finding.since is not Since.RESOLVED)
    standing = f"; {counted(advice, 'finding')} {'stands' if advice == 1 else 'stand'}" if advice else ""
    return f"{title(review)}. {_proof(review)}{standing}."


def blocks_of(review: Review, today: dt.date) -> Iterator[Block]:
    """All below the title."""
    if to_do := [each for each in review.consequences if each.before_update]:
        yield Heading("Before the update")
        yield Bullets(tuple(map(_noticed, to_do)))
    for reason in review.verdict.reasons:
        yield Paragraph((reason,), is_strong=reason is review.verdict.reasons[0])
    for error in review.verdict.errors:
        yield Quote(tuple(error.splitlines()))
    if review.verdict.outcome is Outcome.UNREADABLE or (review.verdict.outcome is Outcome.FAILED and not review.steps):
        return
    yield Paragraph((_summary(review),))
    for remark in review.remarks:
        yield Paragraph((remark,))
    # Refusals come before the change itself; advice comes after it.
    first, second = _findings(review), chain(_changes(review), run_blocks(review))
    yield from chain(first, second) if any(map(is_refusal, review.findings)) else chain(second, first)
    yield from _waivers(review, today)
    yield from _costs(review)
    if review.warnings:
        yield Heading("Warnings")
        named = ((each.urn.rpartition("::")[2], each.message) for each in review.warnings)
        yield Bullets(tuple(Bullet((f"{name}: {message}" if name else message,)) for name, message in named))
    if review.steps:
        yield Diff(f"Whole diff: {counted(len(review.steps), 'resource')}", diff_groups(review.steps))


def _proof(review: Review) -> str:
    if not review.packs:
        return "No policy pack looked at any resource"
    packs = f"policy pack{'' if len(review.packs) == 1 else 's'} {', '.join(review.packs)}"
    every = review.looked_at == review.resources
    what = "every resource" if every else f"{review.looked_at:,} of {counted(review.resources, 'resource')}"
    return f"{packs[0].upper()}{packs[1:]} looked at {what}"


def _summary(review: Review) -> str:
    done = ", ".join(f"{number:,} {_DONE[op]}" for op, number in review.counts) or "no resource was reached"
    return f"{done[0].upper()}{done[1:]}, compared with {review.compared_with}. {_proof(review)}."


# --- changes


def _changes(review: Review) -> Iterator[Block]:
    if review.changes:
        yield Heading("What changes")
        yield Table(("what", "change", "who is affected"), tuple(_change_row(each) for each in review.changes))
    elif any(step.type != STACK for step in review.steps):
        yield Paragraph(("No pool, image, quota, hub or job changes; what does is in the whole diff.",))
    if noticed := [each for each in review.consequences if not each.before_update]:
        yield Heading("What people will notice")
        yield Bullets(tuple(map(_noticed, noticed)))


def _noticed(each: Consequence) -> Bullet:
    return Bullet((each.known,), ((f"Assumed: {each.assumed}",),) if each.assumed else ())


def _change_row(impact: ChangeImpact) -> tuple[Inline, ...]:
    change = impact.change
    ops = {"create": " (new)", "delete": " (removed)", "replace": " (replaced)"}
    what: Inline = (f"{change.kind} ", Code(change.name), ops.get(change.op, ""))
    details: list[str | Code] = []
    for detail in change.details:
        details += [BREAK] if details else []
        details += _detail(detail)
    return what, tuple(details) or ("",), _affected(impact.affected)


def _detail(detail: Detail) -> Inline:
    label = f"{detail.label}: " if detail.label else ""
    if detail.is_list:
        gone: Inline = ("− ", Code(detail.before)) if detail.before else ()  # noqa: RUF001
        come: Inline = ("+ ", Code(detail.after)) if detail.after else ()
        return (label, *gone, *((", ",) if gone and come else ()), *come)
    if detail.before and detail.after:
        return label, Code(detail.before), " → ", Code(detail.after)
    if not detail.label:
        return (detail.after or detail.before,)
    return (label, "− " if detail.before else "+ ", Code(detail.before or detail.after))  # noqa: RUF001


def _affected(affected: Affected) -> Inline:
    parts = [f"hub {hub}: its own pods" for hub in affected.own_pods]
    by_hub: dict[str, list[str]] = {}
    for profile in affected.profiles:
        by_hub.setdefault(profile.hub, []).append(profile.name)
    for hub, profiles in by_hub.items():
        parts.append(f"hub {hub}: {'profile' if len(profiles) == 1 else 'profiles'} {names_of(profiles)}")
    if affected.courses:
        seats = f" ({affected.seats:,} seats)" if affected.seats else ""
        parts.append(f"{'course' if len(affected.courses) == 1 else 'courses'} {names_of(affected.courses)}{seats}")
    if affected.jobs:
        parts.append(f"{'job' if len(affected.jobs) == 1 else 'jobs'} {names_of(affected.jobs)}")
    lines = [word for part in parts for word in (part, BREAK)][:-1]
    return tuple(lines) or ("nobody in this stack",)


# --- findings


_LEVELS: Final = {Level.REFUSED: "refused", Level.UNDECIDED: "not decided", Level.ADVICE: "advice"}


def _findings(review: Review) -> Iterator[Block]:
    now = [finding for finding in review.findings if finding.since is not Since.RESOLVED]
    if not review.findings:
        return
    routine = [finding for finding in now if finding.is_routine and finding.since is not Since.STANDING]
    now = [finding for finding in now if finding not in routine]
    if now or len(review.findings) > len(routine):
        yield Heading("Findings")
        yield from _compared_findings(review, now)
    if routine:
        number = statements(routine)
        title_ = f"{counted(number, 'check')} {'waits' if number == 1 else 'wait'} for a build; the update decides"
        yield Fold(f"{title_} before it touches what depends on it", (Bullets(tuple(_finding_items(routine))),))


def _compared_findings(review: Review, now: Sequence[Finding]) -> Iterator[Block]:
    ways = {image_subject(cell.image): cell.back for cell in review.cells.changed if cell.back}
    if not review.knows_base:
        yield Bullets(tuple(_finding_items(now, ways=ways)))
        return
    fresh = [finding for finding in now if finding.since is Since.NEW]
    standing = [finding for finding in now if finding.since is Since.STANDING]
    resolved = [finding for finding in review.findings if finding.since is Since.RESOLVED]
    numbers = [statements(each) for each in (fresh, resolved, standing)]
    counts = (f"{numbers[0]:,} new", f"{numbers[1]:,} resolved", f"{numbers[2]:,} as on the base branch")
    yield Paragraph((f"{', '.join(counts)}.",))
    if fresh:
        yield Bullets(tuple(_finding_items(fresh, "New", ways)))
    if resolved:
        yield Bullets(tuple(_finding_items(resolved, "Resolved")))
    if standing:
        yield Fold(f"{numbers[2]:,} as on the base branch", (Bullets(tuple(_finding_items(standing))),))


def _finding_items(
    findings: Sequence[Finding], since: str = "", ways: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Bullet]:
    """Things that share a finding are listed with it. `ways`: how an image gets back to what ran."""
    groups: dict[tuple[Level, str, str], list[str]] = {}
    for finding in findings:
        groups.setdefault((finding.level, finding.rule, finding.text), []).append(finding.about)
    for (level, rule, text), about in groups.items():
        word = f"{since}, {_LEVELS[level]}" if since else _LEVELS[level].capitalize()
        first, *more = text.splitlines() or [""]
        nearest = [f"nearest: {ways[each]}" for each in about if rule == RUN_RULE and each in ways]
        below = tuple((line.strip(),) for line in (*nearest, *more) if line.strip())
        yield Bullet((f"{word}: ", Code(rule), f" {names_of(list(dict.fromkeys(about)))}: {first}"), below)


# --- waivers, costs


def _waivers(review: Review, today: dt.date) -> Iterator[Block]:
    if not review.waivers:
        return
    yield Heading("Waivers")
    rows: list[tuple[Inline, ...]] = []
    for waiver in review.waivers:
        until = waiver.until.isoformat() if waiver.until else "?" if waiver.has_end else ""
        state = waiver.state(today)
        why = f"{waiver.reason} ({waiver.owner})" if waiver.owner else waiver.reason
        rows.append(((waiver.subject,), (waiver.allows,), (", ".join(filter(None, (until, state))),), (why,)))
    yield Table(("for", "allows", "until the end of", "why"), tuple(rows))


def _costs(review: Review) -> Iterator[Block]:
    if not review.costs:
        return
    yield Heading("Cost")
    rows = tuple(
        ((Code(cost.name),), (cost.before or "–",), (cost.after or "–",), (_dollars(cost.least_usd, cost.most_usd),))  # noqa: RUF001
        for cost in review.costs
    )
    yield Table(("nodes", "before", "after", "US$ a month"), rows)
    prices = list(dict.fromkeys(price for cost in review.costs for price in cost.prices))
    if prices:
        days = sorted({price.date for price in prices})
        yield Paragraph(
            (
                f"On demand, Linux, us-east-1, {HOURS_PER_MONTH} hours a month; prices of {', '.join(days)}.",
                " Disks and traffic are not counted.",
            )
        )


def _dollars(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return "no price is known"
    low, high = sorted((least, most))
    return f"{low:+,.0f}" if round(low) == round(high) else f"{low:+,.0f} to {high:+,.0f}"
