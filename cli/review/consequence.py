"""What people will notice of a change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Consequence:
    """What people will notice. `known` follows from the stack; `assumed` from how sites usually work."""

    known: str
    assumed: str = ""
    short: str = ""  # for the headline; empty where others say enough
    to_do: bool = False  # somebody has to do something about it
    before_update: bool = False  # and has to do it first
    is_heavy: bool = False  # sessions end, or people lose what they had
