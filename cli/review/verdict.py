"""The verdict on a preview, first line of the comment: nothing unproved looks green."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from cli.review.cells import Cell
from cli.review.findings import PACK, Finding, Level, Since
from cli.review.stream import STACK, Stream
from cli.review.values import names_of, without_secrets
from cli.words import counted

_MOST_REASONS: Final = 6


class Outcome(StrEnum):
    """How a preview ended, best first."""

    UNCHANGED = "unchanged"
    FINE = "fine"
    UNDECIDED = "undecided"  # something could not be proved yet
    REFUSED = "refused"
    FAILED = "failed"  # the preview itself
    NOT_PROVED = "not proved"  # no policy looked
    UNREADABLE = "unreadable"  # the events end too early, or there are none

    @property
    def exit_code(self) -> int:
        # The update decides whatever a preview cannot know before it changes any dependent: no reason to stop.
        if self in {Outcome.UNCHANGED, Outcome.FINE, Outcome.UNDECIDED}:
            return 0
        return 2 if self is Outcome.UNREADABLE else 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome in a few words, and the sentences that explain it."""

    outcome: Outcome
    headline: str
    reasons: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()  # as the program and the engine wrote them


def verdict_of(stream: Stream, findings: Sequence[Finding], broken: Sequence[Cell]) -> Verdict:
    """Judge a readable stream. The worst reason comes first."""
    if not stream.is_whole:
        return Verdict(Outcome.UNREADABLE, "no verdict", (_cut_short(stream),))
    now = [finding for finding in findings if finding.since is not Since.RESOLVED]
    refused = statements(finding for finding in now if finding.level is Level.REFUSED)
    unproved = _unproved(stream)
    if stream.result != "succeeded" and (not refused or not stream.resources):
        return Verdict(Outcome.FAILED, "the preview failed", _failure(stream), _errors(stream))
    if refused or broken:
        lines = [f"{counted(refused, 'finding')} {_verb(refused, 'refuses', 'refuse')} this change."] if refused else []
        headline = "refused" if refused else "will not run where it is used"
        return Verdict(Outcome.REFUSED, headline, (*lines, *islice(_broken(broken), _MOST_REASONS), *unproved))
    if unproved:
        return Verdict(Outcome.NOT_PROVED, "NOT PROVED", unproved)
    return _of_what_is_allowed(stream, now)


def statements(findings: Iterable[Finding]) -> int:
    """How many statements to read: one about several resources counts once."""
    return len({(each.level, each.rule, each.text) for each in findings})


def _of_what_is_allowed(stream: Stream, findings: Sequence[Finding]) -> Verdict:
    # Findings that the base branch also leaves open do not count against this change.
    left = [each for each in findings if each.level is Level.UNDECIDED and each.since is not Since.STANDING]
    if left and all(each.is_routine for each in left):
        return Verdict(Outcome.UNDECIDED, "nothing is refused")
    if open_ := statements(each for each in left if not each.is_routine):
        reason = (
            f"Nothing is refused, but {counted(open_, 'finding')} could not be decided in a preview. "
            "The update decides each before it touches what depends on it."
        )
        return Verdict(Outcome.UNDECIDED, "not decided yet", (reason,))
    if not any(stream.changed):
        return Verdict(Outcome.UNCHANGED, "nothing changes")
    return Verdict(Outcome.FINE, "nothing is refused")


def _cut_short(stream: Stream) -> str:
    if stream.damaged:
        return (
            f"{counted(stream.damaged, 'event')} of the stream cannot be read: it is damaged or cut short, "
            "so nothing here counts as proved. Run the preview again."
        )
    if stream.is_corrupt:
        return "The engine says that its summary may be incomplete, so nothing here counts as proved."
    return (
        "The event stream ends before the preview's summary: the preview was killed or is still running, "
        "so nothing here counts as proved. Run it again."
    )


def _unproved(stream: Stream) -> tuple[str, ...]:
    """Why a success would prove nothing."""
    if stream.packs.keys() & {PACK} and stream.looked_at:
        return ()
    if stream.packs:
        loaded = ", ".join(sorted(stream.packs))
        return (f"The policy pack {PACK} did not run (only {loaded} did): nothing checked that images run.",)
    if any(stream.changed) and all(step.op == "delete" for step in stream.changed if step.type != STACK):
        return ("Policies do not check what is removed: whether anybody still needs it is for you to judge.",)
    return ("No policy pack looked at anything: nothing was proved. Set PULUMI_OPTION_POLICY_PACK and preview again.",)


def _failure(stream: Stream) -> tuple[str, ...]:
    if stream.resources == 0:
        return ("The preview failed before any resource: nothing was compared and nothing was proved.",)
    return ("The preview failed: what follows is only what the engine saw before that, and proves nothing.",)


def _errors(stream: Stream) -> tuple[str, ...]:
    """Error messages, without those that only follow from another one."""
    messages = (without_secrets(each.message) for each in stream.diagnostics if each.severity == "error")
    errors = tuple(dict.fromkeys(message for message in messages if "context canceled" not in message))
    return errors or ("The engine gave no reason; see the log of the preview.",)


def _broken(cells: Sequence[Cell]) -> Iterator[str]:
    """One sentence for each image."""
    for image in dict.fromkeys(cell.image for cell in cells):
        pools = [cell.pool for cell in cells if cell.image == image]
        yield f"{image} will not run on {names_of(pools)}, where this stack starts it."


def _verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
