"""The same finding of many workloads: told in full once, at once, and at the end with all its places. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from messages.problems import listing
from policies.finding import Level
from policies.judging import Message

SAME = "  the same: "  # what the line begins with that says of what the places are
NAMED = 50  # a pull request's comment tells each of them; more would hide what they have in common

Place = tuple[str, str]  # whom it is about, and the URN of the resource


@dataclass(frozen=True, slots=True)
class Repeated:
    """Findings of a run. What is equal but for its place (the same rule, level, words and remedy) is one of them.

    The first place is told as soon as it is found, because a run that fails later never comes to its end.
    """

    _places: dict[tuple[str, Level, str], dict[Place, None]] = field(default_factory=dict)  # in the order of the engine

    def is_first(self, message: Message, urn: str) -> bool:
        """Whether this place is the one where it is told in full; each place is remembered."""
        places = self._places.setdefault((message.rule, message.level, message.body), {})
        places[message.subject, urn] = None
        return next(iter(places)) == (message.subject, urn)

    def together(self) -> Iterator[str]:
        """Each finding that has more places than one, with all of them, in an order that is not the engine's."""
        for (rule, _, body), places in sorted(self._places.items()):
            if len(places) > 1:
                names = listing([subject for subject, _ in sorted(places)], most=NAMED)
                yield f"{rule}: {len(places)} places: {names}\n{SAME}{body.splitlines()[0]}"
