"""A finding that many workloads share: reported in full for the first, and once more with all of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from policies.finding import Level
from policies.report import Message, Places, places

Place = tuple[str, str]  # the subject, and the URN of its resource


@dataclass(frozen=True, slots=True)
class Repeated:
    """Findings of a run, by rule, level and body.

    The first place is reported as soon as it is found, because a run that fails later never reaches its end.
    """

    _places: dict[tuple[str, Level, str], dict[Place, Message]] = field(default_factory=dict)  # in the engine's order

    def is_first(self, message: Message, urn: str) -> bool:
        """Whether this place is the one that is reported in full. Every place is remembered."""
        found = self._places.setdefault((message.rule, message.level, message.body), {})
        found[message.subject, urn] = message
        return next(iter(found)) == (message.subject, urn)

    def together(self) -> Iterator[Places]:
        """Each finding with more than one place, sorted: the order of the engine differs from run to run."""
        for _, found in sorted(self._places.items()):
            if len(found) > 1:
                yield places(next(iter(found.values())), [subject for subject, _ in sorted(found)])
