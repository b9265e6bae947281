"""Temporarily lifted limits, from the stack's configuration."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cli.review.recorded import full_name, settings
from cli.review.values import items, known_text, mapping, without_secrets

SOON_DAYS: Final = 14


@dataclass(frozen=True, slots=True)
class Waiver:
    """What is allowed, why, and its last day; None if it never ends or the day cannot be read."""

    subject: str
    allows: str
    reason: str
    owner: str
    until: dt.date | None
    has_end: bool = True

    def state(self, today: dt.date) -> str:
        """`expired`, `expires in 12 days`, or nothing while there is time."""
        if not self.has_end:
            return "never expires"
        if self.until is None:
            return "its last day cannot be read"
        left = (self.until - today).days
        if left < 0:
            return "expired"
        if left <= SOON_DAYS:
            return "expires today" if left == 0 else f"expires in {left} day{'s' if left > 1 else ''}"
        return ""


def waivers_of(config: Mapping[str, str]) -> tuple[Waiver, ...]:
    """Waivers of images (`images[].limit`) and rules (`policies.waivers[]`), next to end first.

    Rules that only warn here (`policies.levels`) come last: they never expire.
    """
    dated = sorted([*_of_images(config), *_of_rules(config)], key=lambda waiver: waiver.until or dt.date.min)
    return (*dated, *_of_levels(config))


def _of_images(config: Mapping[str, str]) -> Iterator[Waiver]:
    for image in items(settings(config, "images")):
        limit = mapping(image.get("limit"))
        if limit:
            allows = f"up to {limit.get('compressed_gb')} GB compressed"
            name = full_name(known_text(image.get("name")), known_text(image.get("target")))
            yield _waiver(f"image {name}", allows, limit)


def _of_rules(config: Mapping[str, str]) -> Iterator[Waiver]:
    for waiver in items(mapping(settings(config, "policies")).get("waivers")):
        yield _waiver(known_text(waiver.get("resource")), f"what {known_text(waiver.get('rule'))} refuses", waiver)


def _of_levels(config: Mapping[str, str]) -> Iterator[Waiver]:
    for rule, level in mapping(mapping(settings(config, "policies")).get("levels")).items():
        if level == "warn":
            yield Waiver("everything", f"what {rule} refuses", "the site only warns about it", "", None, has_end=False)


def _waiver(subject: str, allows: str, terms: Mapping[str, object]) -> Waiver:
    reason, owner = without_secrets(known_text(terms.get("reason"))), known_text(terms.get("owner"))
    try:
        until = dt.date.fromisoformat(known_text(terms.get("until"))[:10])
    except ValueError:
        until = None
    return Waiver(subject, allows, reason, owner, until)
