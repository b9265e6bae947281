"""Stores whether this run is a preview, as reported by the engine. Avoids importing the slow SDK."""

_reported: dict[str, bool] = {}


def remember(*, is_preview: bool) -> None:
    """Record whether the engine runs a preview."""
    _reported["is_preview"] = is_preview


def is_preview() -> bool:
    """Also True before the engine's report: facts unknown in a preview then only warn."""
    return _reported.get("is_preview", True)


def is_surely_preview() -> bool:
    """True only after the engine's report: then nothing is created, whatever a policy allows."""
    return _reported.get("is_preview", False)
