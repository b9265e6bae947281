"""Deduplicates findings of many workloads: full text for the first, then one summary of all. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from policies.finding import Level
from policies.report import Message, Places, places

Place = tuple[str, str]  # the subject and its resource's URN


@dataclass(frozen=True, slots=True)
class Repeated:
    """Findings of a run, by rule, level and body.

    The first place is reported at once, because a failing run never reaches its end.
    """

    _places: dict[tuple[str, Level, str], dict[Place, Message]] = field(default_factory=dict)  # in engine order

    def is_first(self, message: Message, urn: str) -> bool:
        """Whether this place is reported in full. Every place is recorded."""
        found = self._places.setdefault((message.rule, message.level, message.body), {})
        found[message.subject, urn] = message
        return next(iter(found)) == (message.subject, urn)

    def together(self) -> Iterator[Places]:
        """Each finding with several places, sorted: the engine's order differs from run to run."""
        for _, found in sorted(self._places.items()):
            if len(found) > 1:
                yield places(next(iter(found.values())), [subject for subject, _ in sorted(found)])
