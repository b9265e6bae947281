"""A review as blocks of a page, ordered by a reviewer's questions. A renderer decides how each block looks."""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import Final

from cli.engine_events import STACK
from cli.engine_values import grouped, names_of
from cli.review.cells import Cell
from cli.review.consequences import Consequence
from cli.review.costs import HOURS_PER_MONTH
from cli.review.details import Affected, Change, Detail, diff_groups
from cli.review.document import Review
from cli.review.findings import RUN_RULE, Finding, Level, Since, statements
from cli.review.verdict import Outcome, Sign
from cli.words import counted
from compat import Verdict
from policies.report import image_subject

_MOST_NAMES: Final = 6
BREAK: Final = "\n"  # a separate part: the next one starts on a new line if it may
ICONS: Final = {Sign.NOTHING_TO_DO: "✅", Sign.ATTENTION: "⚠️", Sign.STOPPED: "❌", Sign.NO_PROOF: "⛔"}
_LEVELS: Final = {Level.REFUSED: "refused", Level.UNDECIDED: "not decided", Level.ADVICE: "advice"}
_RUNS: Final = {
    Verdict.COMPATIBLE: "✓ runs",
    Verdict.WITH_WARNING: "! runs, with a limit",
    Verdict.UNKNOWN: "? not known",
    Verdict.INCOMPATIBLE: "✕ does not run",
}


@dataclass(frozen=True, slots=True)
class Code:
    """A value, shown as it is written."""

    text: str


Inline = tuple[str | Code, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    parts: Inline
    is_strong: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """Lines as the program wrote them."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bullets:
    """Items, each a line with its sub-lines. Those with a title stay closed until a reader opens them."""

    items: tuple[tuple[Inline, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    head: tuple[str, ...]
    rows: tuple[tuple[Inline, ...], ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """The whole diff, folded, grouped by resource."""

    title: str
    resources: Iterable[tuple[str, ...]] = field(compare=False)  # built only when read


Block = Heading | Paragraph | Quote | Bullets | Table | Diff


def title(review: Review) -> str:
    """`❌ dsmlp-fall: refused`"""
    return f"{ICONS[review.sign]} {review.stack or 'preview'}: {review.verdict.headline}"


def one_line(review: Review) -> str | None:
    """The whole comment if nothing changes and there is nothing to report; else None."""
    if review.verdict.outcome is not Outcome.UNCHANGED or review.remarks or review.sign is not Sign.NOTHING_TO_DO:
        return None
    number = statements(finding for finding in review.findings if finding.since is not Since.RESOLVED)
    standing = f"; {counted(number, 'finding')} {'stands' if number == 1 else 'stand'}" if number else ""
    return f"{title(review)}. {_proof(review)}{standing}."


def blocks_of(review: Review, today: dt.date) -> Iterator[Block]:
    """All below the title."""
    yield from _noticed("Before the update", [each for each in review.consequences if each.before_update])
    for reason in review.verdict.reasons:
        yield Paragraph((reason,), is_strong=reason is review.verdict.reasons[0])
    for error in review.verdict.errors:
        yield Quote(tuple(error.splitlines()))
    if review.verdict.outcome is Outcome.UNREADABLE or (review.verdict.outcome is Outcome.FAILED and not review.steps):
        return
    done = (f"{number:,} {'unchanged' if op == 'same' else f'to {op}'}" for op, number in review.counts)
    summary = ", ".join(done) or "No resource was reached"
    yield _paragraph(f"{summary}, compared with {review.compared_with}. {_proof(review)}.")
    yield from map(_paragraph, review.remarks)
    # Refusals come before the change itself; advice comes after it.
    parts = [_findings(review), chain(_changes(review), _runs(review))]
    yield from chain(*(parts if any(each.is_refusal for each in review.findings) else reversed(parts)))
    yield from _waivers(review, today)
    yield from _costs(review)
    if review.warnings:
        named = ((each.urn.rpartition("::")[2], each.message) for each in review.warnings)
        yield Heading("Warnings")
        yield Bullets(tuple(((f"{name}: {message}" if name else message,),) for name, message in named))
    if review.steps:
        yield Diff(f"Whole diff: {counted(len(review.steps), 'resource')}", diff_groups(review.steps))


def _paragraph(text: str) -> Paragraph:
    return Paragraph((text,))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _proof(review: Review) -> str:
    what = f"{review.looked_at:,} of {counted(review.resources, 'resource')}"
    what = "every resource" if review.looked_at == review.resources else what
    packs = f"Policy pack{'' if len(review.packs) == 1 else 's'} {', '.join(review.packs)}"
    return f"{packs} looked at {what}" if review.packs else "No policy pack looked at any resource"


# --- changes


def _changes(review: Review) -> Iterator[Block]:
    if review.changes:
        yield Heading("What changes")
        yield Table(("what", "change", "who is affected"), tuple(map(_change_row, review.changes)))
    elif any(step.type != STACK for step in review.steps):
        yield _paragraph("No pool, image, quota, hub or job changes; what does is in the whole diff.")
    yield from _noticed("What people will notice", [each for each in review.consequences if not each.before_update])


def _noticed(head: str, consequences: Sequence[Consequence]) -> Iterator[Block]:
    if consequences:
        yield Heading(head)
        lines = ((each.known, each.assumed and f"Assumed: {each.assumed}") for each in consequences)
        yield Bullets(tuple(tuple((line,) for line in both if line) for both in lines))


def _change_row(change: Change) -> tuple[Inline, ...]:
    ops = {"create": " (new)", "delete": " (removed)", "replace": " (replaced)"}
    what: Inline = (f"{change.kind} ", Code(change.name), ops.get(change.op, ""))
    return what, _lines(map(_detail, change.details)) or ("",), _affected(change.affected)


def _lines(parts: Iterable[Inline]) -> Inline:
    return tuple(word for part in parts for word in (BREAK, *part))[1:]


def _detail(detail: Detail) -> Inline:
    label = f"{detail.label}: " if detail.label else ""
    if detail.before and detail.after and not detail.is_list:
        return label, Code(detail.before), " → ", Code(detail.after)
    if not detail.label and not detail.is_list:
        return (detail.after or detail.before,)
    gone: Inline = ("− ", Code(detail.before)) if detail.before else ()  # noqa: RUF001
    come: Inline = ("+ ", Code(detail.after)) if detail.after or not gone else ()
    return (label, *gone, *((", ",) if gone and come else ()), *come)


def _affected(affected: Affected) -> Inline:
    parts = [f"hub {hub}: its own pods" for hub in affected.own_pods]
    by_hub = grouped((profile.hub, profile.name) for profile in affected.profiles)
    parts += [f"hub {hub}: {_named('profile', names)}" for hub, names in by_hub.items()]
    if affected.courses:
        seats = f" ({affected.seats:,} seats)" if affected.seats else ""
        parts.append(f"{_named('course', affected.courses)}{seats}")
    if affected.jobs:
        parts.append(_named("job", affected.jobs))
    return _lines((part,) for part in parts) or ("nobody in this stack",)


def _named(kind: str, names: Sequence[str]) -> str:
    return f"{kind}{'' if len(names) == 1 else 's'} {names_of(names)}"


# --- where images run


def _runs(review: Review) -> Iterator[Block]:
    """Changed image-pool pairs, what would make them run, and what is new."""
    cells = review.cells
    if cells.changed or cells.pairs or cells.fresh:
        yield Heading("Where images run")
    if cells.changed:
        yield Table(("image", "pools", "change", "why"), tuple(_cell_rows(cells.changed)))
        # A policy that refuses the image already says what to change.
        covered = {finding.about for finding in review.findings if finding.rule == RUN_RULE}
        ways = {cell.image: _way(cell) for cell in reversed(cells.broken) if image_subject(cell.image) not in covered}
        if bullets := tuple(((Code(name), f": {way}"),) for name, way in ways.items() if way):
            yield _paragraph("What would make it run:")
            yield Bullets(bullets)
    elif cells.pairs:
        run = f"{cells.running:,} of {counted(cells.pairs, 'pair')} of image and pool run"
        yield _paragraph(f"Nothing changes: {run}, as before." if cells.has_before else f"{run}.")
    if cells.fresh:
        yield _paragraph(f"New: {'; '.join(_fresh(cells.fresh))}.")
    if cells.not_compared:
        yield _paragraph(f"Not compared: {'; '.join(cells.not_compared)}.")


def _way(cell: Cell) -> str:
    """The remedies, nearest first: going back."""
    remedy = f", or {cell.remedy[:1].lower()}{cell.remedy[1:]}" if cell.remedy else "."
    return f"{_sentence(cell.back)}{remedy}" if cell.back else cell.remedy


def _cell_rows(cells: Sequence[Cell]) -> Iterator[tuple[Inline, ...]]:
    """Pools on which an image does the same for the same reason share a row."""
    same = grouped(((cell.image, cell.before, cell.after, cell.reason, cell.is_broken), cell) for cell in cells)
    for group in same.values():
        cell = group[0]
        now = _RUNS[cell.after]
        change = f"new: {now}" if cell.before is None else f"{_RUNS[cell.before]} → {now}"
        uses = sorted({use for each in group for use in each.uses})
        started = f"Started there by {names_of(uses)}" if uses else "Nobody in this stack starts it there"
        why = (f"{cell.reason.rstrip('.')}.", BREAK) if cell.reason else ()
        pools = [word for each in group[:_MOST_NAMES] for word in (", ", Code(each.pool))][1:]
        more = (f" and {len(group) - _MOST_NAMES} more",) if len(group) > _MOST_NAMES else ()
        yield (Code(cell.image),), (*pools, *more), (change,), (*why, f"{started}.")


def _fresh(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """`ml runs on a, b`: groups images with the same pools."""
    by_pools = grouped((tuple(pools), image) for image, pools in grouped(pairs).items())
    for where, names in by_pools.items():
        yield f"{names_of(names)} {'runs' if len(names) == 1 else 'run'} on {names_of(where)}"


# --- findings


def _findings(review: Review) -> Iterator[Block]:
    now = [each for each in review.findings if each.since is not Since.RESOLVED]
    routine = [each for each in now if each.is_routine and each.since is not Since.STANDING]
    if len(review.findings) > len(routine):
        yield Heading("Findings")
        yield from _compared_findings(review, [each for each in now if each not in routine])
    if routine:
        number = statements(routine)
        waits = f"{counted(number, 'check')} {'waits' if number == 1 else 'wait'} for a build"
        yield _bullets(routine, fold=f"{waits}; the update decides before it touches what depends on it")


def _compared_findings(review: Review, now: Sequence[Finding]) -> Iterator[Block]:
    ways = {image_subject(cell.image): cell.back for cell in review.cells.changed if cell.back}
    if not review.knows_base:
        yield _bullets(now, ways=ways)
        return
    fresh = [finding for finding in now if finding.since is Since.NEW]
    standing = [finding for finding in now if finding.since is Since.STANDING]
    resolved = [finding for finding in review.findings if finding.since is Since.RESOLVED]
    as_before = f"{statements(standing):,} as on the base branch"
    yield _paragraph(f"{statements(fresh):,} new, {statements(resolved):,} resolved, {as_before}.")
    if fresh:
        yield _bullets(fresh, "New, ", ways)
    if resolved:
        yield _bullets(resolved, "Resolved, ")
    if standing:
        yield _bullets(standing, fold=as_before)


def _bullets(
    findings: Sequence[Finding], since: str = "", ways: Mapping[str, str] = MappingProxyType({}), fold: str = ""
) -> Bullets:
    """Things that share a finding are listed with it. `ways`: how an image gets back to what ran."""
    found: list[tuple[Inline, ...]] = []
    groups = grouped(((finding.level, finding.rule, finding.text), finding.about) for finding in findings)
    for (level, rule, text), about in groups.items():
        first, *more = text.splitlines() or [""]
        nearest = [f"nearest: {ways[each]}" for each in about if rule == RUN_RULE and each in ways]
        line = f"{_sentence(since + _LEVELS[level])}: ", Code(rule), f" {names_of(list(dict.fromkeys(about)))}: {first}"
        found.append((line, *((below.strip(),) for below in (*nearest, *more) if below.strip())))
    return Bullets(tuple(found), fold)


# --- waivers, costs


def _waivers(review: Review, today: dt.date) -> Iterator[Block]:
    rows: list[tuple[Inline, ...]] = []
    for waiver in review.waivers:
        until = waiver.until.isoformat() if waiver.until else "?" if waiver.has_end else ""
        why = f"{waiver.reason} ({waiver.owner})" if waiver.owner else waiver.reason
        state = ", ".join(filter(None, (until, waiver.state(today))))
        rows.append(((waiver.subject,), (waiver.allows,), (state,), (why,)))
    if rows:
        yield Heading("Waivers")
        yield Table(("for", "allows", "until the end of", "why"), tuple(rows))


def _costs(review: Review) -> Iterator[Block]:
    if not review.costs:
        return
    rows = tuple(
        ((Code(cost.name),), (cost.before or "–",), (cost.after or "–",), (_dollars(cost.least_usd, cost.most_usd),))  # noqa: RUF001
        for cost in review.costs
    )
    yield Heading("Cost")
    yield Table(("nodes", "before", "after", "US$ a month"), rows)
    if days := sorted({price.date for cost in review.costs for price in cost.prices}):
        yield _paragraph(
            f"On demand, Linux, us-east-1, {HOURS_PER_MONTH} hours a month; prices of {', '.join(days)}. "
            "Disks and traffic are not counted."
        )


def _dollars(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return "no price is known"
    low, high = sorted((least, most))
    return f"{low:+,.0f}" if round(low) == round(high) else f"{low:+,.0f} to {high:+,.0f}"
