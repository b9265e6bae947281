"""One effect of a change on people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Consequence:
    """What people will notice. `known` follows from the stack; `assumed` from how sites usually work."""

    known: str
    assumed: str = ""
    short: str = ""  # for the headline; empty if others say enough
    to_do: bool = False  # somebody has to act
    before_update: bool = False  # and has to act first
    is_heavy: bool = False  # sessions end, or people lose what they had
