"""A rule's finding and its level."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """Severity of a finding."""

    REFUSE = "refuse"
    WARN = "warn"
    UNPROVED = "unproved"  # a value is not known yet: neither pass nor refusal


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's finding about one workload, or about `subject` if the rule judges all of them."""

    message: str
    level: Level = Level.REFUSE
    remedy: str = ""  # what to change, if more specific than the rule's remedy
    is_own: bool = False  # about an image the stack builds: an update could have read it
    subject: str = ""  # pool gtx1080ti
    is_waived: bool = False
    names_gpus: bool = False  # for a node path: it is NVIDIA's, so exemptions do not apply
    is_runtime: bool = False  # for a node path: the container runtime's socket
    about: frozenset[tuple[str, str, str]] = frozenset()  # image, pool, reason: reported once, about the image
