"""End of free security updates for Linux releases, and the release of an image.

Paid extensions (Ubuntu Pro, RHEL ELS, Debian ELTS) do not count: an image does not include them.
"""

import csv
import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).parent / "os_releases.csv"

# Text before the number, in `PRETTY_NAME` of os-release or in a reference, and its system.
_NAMES: Final[tuple[tuple[str, str], ...]] = (
    (r"debian(?: gnu/linux)?", "debian"),
    ("ubuntu", "ubuntu"),
    (r"red hat enterprise linux(?: server)?|rhel|ubi", "rhel"),
    (r"rocky ?linux|rocky", "rocky"),
    (r"centos stream|centos:stream", "centos-stream"),
    (r"centos(?: linux)?", "centos"),
    (r"amazon ?linux", "amazonlinux"),
    (r"alpine(?: linux)?", "alpine"),
)
_STEPS: Final = {"ubuntu": 2, "alpine": 2}  # numbers of a release; one for other systems
_WORDS: Final = {"debian": "Debian", "ubuntu": "Ubuntu", "rhel": "Red Hat Enterprise Linux", "rocky": "Rocky Linux"} | {
    "centos": "CentOS Linux",
    "centos-stream": "CentOS Stream",
    "amazonlinux": "Amazon Linux",
    "alpine": "Alpine Linux",
}


@dataclass(frozen=True, slots=True)
class Release:
    """One release and the last day of its support."""

    system: str
    number: str
    ends: dt.date
    what: str  # the kind of support that ends: standard support, long-term support
    source: str

    def __str__(self) -> str:
        return f"{_WORDS[self.system]} {self.number}"


def release_in(text: str) -> Release | None:
    """The release that a text names; None if the table lacks it.

    Takes `PRETTY_NAME` of os-release (`Ubuntu 22.04.5 LTS`), a label, or an image reference, whose tag may name
    the base's release: `python:3.9-slim-buster`, `nvidia/cuda:12.4.1-base-ubi8`.
    """
    plain = text.partition("@")[0].lower()
    for form, system in _NAMES:
        number = rf"(\d+(?:\.\d+){{{_STEPS.get(system, 1) - 1}}})"
        if match := re.search(rf"(?:^|[^a-z])(?:{form})[:/_ -]?v?{number}(?!\d*[a-z])", plain):
            return _table()[0].get((system, match[1]))
    words = re.findall(r"[a-z]+", plain)
    return next((_table()[1][word] for word in words if word in _table()[1]), None)


def supported_releases(system: str, today: dt.date) -> tuple[Release, ...]:
    """Supported releases of a system, by the end of their support."""
    known = (each for (name, _), each in _table()[0].items() if name == system)
    return tuple(sorted((each for each in known if each.ends >= today), key=lambda each: each.ends))


@cache
def _table() -> tuple[Mapping[tuple[str, str], Release], Mapping[str, Release]]:
    """Releases by system and number, and by codename."""
    with TABLE.open(newline="") as file:
        rows = [
            (row["codename"], Release(row["system"], row["release"], dt.date.fromisoformat(row["ends"]), *_rest(row)))
            for row in csv.DictReader(file)
        ]
    return {(each.system, each.number): each for _, each in rows}, {name: each for name, each in rows if name}


def _rest(row: Mapping[str, str]) -> tuple[str, str]:
    return row["what"], row["source"]
