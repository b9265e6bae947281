"""Facts with their sources, and the presence of things in an image."""

from dataclasses import dataclass
from enum import StrEnum

THE_CASE = "the case"  # as the source of a fact: the case itself states it


@dataclass(frozen=True, slots=True)
class Fact:
    """A deciding statement, its source, and when it was read. An unverified one is from memory."""

    text: str
    source: str
    date: str
    verified: bool = True


class Present(StrEnum):
    """Is a thing in the image? `unknown` is an answer too."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


AS_GIVEN = Fact("as given", THE_CASE, "")
