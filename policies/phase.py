"""Whether this run is a preview, and whether the engine reported that. Apart from the SDK, which imports slowly."""

from __future__ import annotations

_reported: dict[str, bool] = {}


def remember(*, is_preview: bool) -> None:
    """Record whether the engine runs a preview."""
    _reported["is_preview"] = is_preview


def is_preview() -> bool:
    """True also before the engine has reported it: facts that a preview cannot know then only warn."""
    return _reported.get("is_preview", True)


def is_surely_preview() -> bool:
    """True only if the engine reported it: then nothing is created, whatever a policy lets pass."""
    return _reported.get("is_preview", False)
