"""Spawn page content as plain data: a card for each image and pool, with one choice or several sizes. Pure.

Words are chosen here; templates only place them. Internal names (pools, images) do not appear.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from platforms.kubernetes.user_servers import AVAILABILITY_URL
from workloads.hub import Cull, Hub, Profile

PAGE_FILE = "page.json"
_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def render_page(hub: Hub) -> str:
    """Text of `page.json`."""
    default = next((profile for profile in hub.profiles if profile.is_default), hub.profiles[0])
    page = {
        "availability_url": AVAILABILITY_URL if hub.availability else None,
        "cards": [_card(profiles) for profiles in _grouped(hub)],
        "default": default.name,
        "ends": ends_words(hub.cull),
        "help_url": hub.help_url,
        "site": hub.site_name,
    }
    return json.dumps(page, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


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


def _grouped(hub: Hub) -> Iterable[list[Profile]]:
    """Groups profiles that differ only in size, in order of their first."""
    groups: dict[Any, list[Profile]] = {}
    for profile in hub.profiles:
        tolerations = json.dumps([each.manifest() for each in profile.tolerations], sort_keys=True)
        # Choosing between a GPU and none is not a choice of size.
        nodes = (hub.pools_of(profile), tuple(sorted(hub.selector_of(profile).items())), tolerations)
        same = (profile.image_name, nodes, bool(profile.gpus))
        groups.setdefault(same, []).append(profile)
    return groups.values()


def _card(profiles: Sequence[Profile]) -> dict[str, Any]:
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


def _gpu(profile: Profile) -> str:
    if not profile.gpus:
        return ""
    memory = f", {profile.gpu_memory_gb:g} GB" if profile.gpu_memory_gb else ""
    return f"{profile.gpu}{memory}" if profile.gpu else ""


def _choice(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "title": profile.title,
        "size": profile.size,
        # Operator text beyond the size.
        "gpus": profile.gpus,
        "gpu": profile.gpu,
        "note": "" if profile.second_line == profile.size else profile.second_line,
    }
