"""Spawn page content as plain data: a card for each image and pool, with one choice or several sizes. Pure.

Words are chosen here; templates only place them. Internal names (pools, images) do not appear.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

from imaging.spec.hub_description import Contents
from workloads.hub import Cull

_UNITS: Final = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


class Shown(Protocol):
    """As much of a profile as the page shows."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def page_size(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def gpus(self) -> int: ...
    @property
    def gpu(self) -> str: ...
    @property
    def gpu_memory_gb(self) -> float: ...
    @property
    def contents(self) -> Contents: ...
    @property
    def is_default(self) -> bool: ...
    @property
    def image_name(self) -> str: ...


class ShownHub(Protocol):
    """As much of a hub as the page shows."""

    @property
    def cull(self) -> Cull: ...
    @property
    def help_url(self) -> str | None: ...
    @property
    def site_name(self) -> str: ...


P = TypeVar("P", bound=Shown)


def page_of(hub: ShownHub, profiles: Sequence[P], place: Callable[[P], object]) -> dict[str, Any]:
    """What the templates of `hub_files` show. Profiles of one `place` differ only in size."""
    default = next((profile for profile in profiles if profile.is_default), profiles[0])
    return {
        "cards": [_card(group) for group in _grouped(profiles, place)],
        "default": default.name,
        "ends": ends_words(hub.cull),
        "help_url": hub.help_url,
        "site": hub.site_name,
    }


def ends_words(cull: Cull) -> str:
    """When servers end automatically, as a sentence."""
    oldest = f", and at the latest {duration_words(cull.max_age_s)} after it started" if cull.max_age_s else ""
    return f"Your server stops after {duration_words(cull.idle_s)} without activity{oldest}."


def duration_words(seconds: int) -> str:
    """`12 hours`, `1 hour 30 minutes`."""
    parts = []
    for word, length in _UNITS:
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count} {word}{'' if count == 1 else 's'}")
    return " ".join(parts)


def _grouped(profiles: Sequence[P], place: Callable[[P], object]) -> Iterable[list[P]]:
    """Groups profiles that differ only in size, in order of their first."""
    groups: dict[Any, list[P]] = {}
    for profile in profiles:
        # Choosing between a GPU and none is not a choice of size.
        same = (profile.image_name, place(profile), bool(profile.gpus))
        groups.setdefault(same, []).append(profile)
    return groups.values()


def _card(profiles: Sequence[Shown]) -> dict[str, Any]:
    first = profiles[0]
    contents = first.contents
    gpu = _gpu(first)
    return {
        # A single choice keeps the operator's title; several get what they share.
        "title": first.title if len(profiles) == 1 else gpu or contents.title or first.title,
        "gpu": gpu,
        "image": contents.title,
        "facts": [
            {"name": name, "values": list(values)}
            for name, values in (
                ("CUDA", contents.cuda_lines),
                ("Frameworks", contents.frameworks),
                ("Packages", contents.packages),
                ("Built on", [contents.stands_on] if contents.stands_on else []),
            )
            if values
        ],
        "missing": list(contents.missing),
        "missing_reason": contents.missing_reason,
        "choices": [_choice(profile) for profile in profiles],
    }


def _gpu(profile: Shown) -> str:
    if not profile.gpus:
        return ""
    memory = f", {profile.gpu_memory_gb:g} GB" if profile.gpu_memory_gb else ""
    return f"{profile.gpu}{memory}" if profile.gpu else ""


def _choice(profile: Shown) -> dict[str, Any]:
    return {
        "name": profile.name,
        "title": profile.title,
        "size": profile.page_size,
        "gpus": profile.gpus,
        "gpu": profile.gpu,
        "note": profile.note,
    }
