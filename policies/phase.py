"""Is this a preview, and was it the engine that said so? Kept apart from the engine's SDK, which is slow to import."""

from __future__ import annotations

_said: dict[str, bool] = {}


def remember(*, is_preview: bool) -> None:
    """Keep what the engine says of the run."""
    _said["is_preview"] = is_preview


def is_preview() -> bool:
    """True also where nobody said: what cannot be known in a preview then warns."""
    return _said.get("is_preview", True)


def is_surely_preview() -> bool:
    """True only where the engine said so: then nothing is made, whatever a policy lets pass."""
    return _said.get("is_preview", False)
