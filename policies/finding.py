"""One statement of one rule, and how much it weighs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a finding weighs."""

    REFUSE = "refuse"
    WARN = "warn"
    UNPROVED = "unproved"  # a value is not known yet: not a pass, not a refusal


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of one rule about one workload, or about `subject` where the rule looks at all of them."""

    message: str
    level: Level = Level.REFUSE
    remedy: str = ""  # what to change, where the rule knows better than its own remedy
    is_own: bool = False  # about an image that the stack builds: an update could have read it
    subject: str = ""  # pool gtx1080ti
    is_waived: bool = False
    names_gpus: bool = False  # of a path of the node: it is NVIDIA's, so no exemption is for it
    is_runtime: bool = False  # of a path of the node: its container runtime answers there
    about: frozenset[tuple[str, str, str]] = frozenset()  # image, pool, why: reported about the image once
