"""The verdict on a preview, first line of the comment: nothing looks green that was not proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from cli.review.cells import Cell
from cli.review.findings import PACK, Finding, Level, Since
from cli.review.stream import STACK, Stream
from cli.review.values import without_secrets


class Outcome(StrEnum):
    """How a preview ended, best first."""

    UNCHANGED = "unchanged"
    FINE = "fine"
    UNDECIDED = "undecided"  # something could not be proved yet
    REFUSED = "refused"
    FAILED = "failed"  # the preview itself
    NOT_PROVED = "not proved"  # no policy looked
    UNREADABLE = "unreadable"  # the events end too early, or are none

    @property
    def exit_code(self) -> int:
        if self in {Outcome.UNCHANGED, Outcome.FINE}:
            return 0
        return 2 if self is Outcome.UNREADABLE else 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome in a few words, and the sentences that explain it."""

    outcome: Outcome
    headline: str
    reasons: tuple[str, ...] = ()


def verdict_of(stream: Stream, findings: Sequence[Finding], broken: Sequence[Cell]) -> Verdict:
    """Judge a stream that could be read. What weighs most comes first."""
    if not stream.is_whole:
        return Verdict(Outcome.UNREADABLE, "no verdict", (_cut_short(stream),))
    now = [finding for finding in findings if finding.since is not Since.RESOLVED]
    refused = sum(finding.level is Level.REFUSED for finding in now)
    undecided = sum(finding.level is Level.UNDECIDED for finding in now)
    unproved = _unproved(stream)
    if stream.result != "succeeded" and not refused:
        return Verdict(Outcome.FAILED, "the preview failed", (*_failure(stream), *unproved))
    if refused or broken:
        told = [f"{_count(refused, 'finding')} {_verb(refused, 'refuses', 'refuse')} this change."] if refused else []
        if broken:
            pairs = _count(len(broken), "image and pool", "pairs of image and pool")
            told.append(f"{pairs} that somebody uses will not run.")
        return Verdict(Outcome.REFUSED, "refused", (*told, *unproved))
    if unproved:
        return Verdict(Outcome.NOT_PROVED, "NOT PROVED", unproved)
    if undecided:
        told = f"Nothing is refused, but {_count(undecided, 'finding')} could not be decided in a preview."
        return Verdict(Outcome.UNDECIDED, "not decided yet", (told,))
    if not any(stream.changed):
        return Verdict(Outcome.UNCHANGED, "nothing changes")
    return Verdict(Outcome.FINE, "nothing is refused")


def _cut_short(stream: Stream) -> str:
    if stream.damaged:
        return (
            f"{_count(stream.damaged, 'event')} of the stream cannot be read: it is damaged or cut short, "
            "so nothing here counts as proved. Run the preview again."
        )
    if stream.is_corrupt:
        return "The engine says that its summary may be incomplete, so nothing here counts as proved."
    return (
        "The event stream ends before the preview's summary: the preview was killed or is still running, "
        "so nothing here counts as proved. Run it again."
    )


def _unproved(stream: Stream) -> tuple[str, ...]:
    """Why a success would say nothing."""
    if stream.packs.keys() & {PACK} and stream.looked_at:
        return ()
    if stream.packs:
        loaded = ", ".join(sorted(stream.packs))
        return (f"The policy pack {PACK} took no part (there was {loaded}): nobody checked that images run.",)
    if any(stream.changed) and all(step.op == "delete" for step in stream.changed if step.type != STACK):
        return ("No policy looks at what is removed: whether anybody still needs it is yours to judge.",)
    return (
        "No policy pack looked at anything, so nothing was proved. Set PULUMI_OPTION_POLICY_PACK, or give "
        "--policy-pack, and run the preview again.",
    )


def _failure(stream: Stream) -> tuple[str, ...]:
    errors = [without_secrets(each.message) for each in stream.diagnostics if each.severity == "error"]
    if stream.resources == 0:
        first = "It failed before any resource: nothing was compared and nothing was proved."
    else:
        first = "What follows is only what the engine saw before it."
    return (first, *dict.fromkeys(errors or ["The engine gave no reason; it is in the log of the preview."]))


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
