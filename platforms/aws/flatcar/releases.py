"""Flatcar releases with the kernel and the driver extensions of each.

    kernel_release = release_of("4593.2.5").kernel_release  # 6.12.102-flatcar

A release missing from the table is unknown, never guessed from its neighbours: kernels change in point releases.
"""

import datetime as dt
import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from typing import Final

from packaging.version import Version

from compat.facts.rows import Origin, Row
from compat.values.versions import DriverVersion
from platforms.aws import tables

OWNER: Final = "075585003325"  # the account that publishes Flatcar's machine images, as in many public stacks
# flatcar.org, Running on AWS EC2: "releases will remain available as public AMIs on AWS for 9 months"
MONTHS_PUBLIC: Final = 9
_VERSION = re.compile(r"[1-9]\d{3}\.[0-3]\.\d{1,2}", re.ASCII)


class Channel(StrEnum):
    """A release channel, given by the second number of a version."""

    ALPHA = "alpha"
    BETA = "beta"
    STABLE = "stable"
    LTS = "lts"


class UnknownRelease(ValueError):  # noqa: N818 - the name states the fault
    """The table has no such release. `nearest` are the closest ones it has, best first."""

    def __init__(self, text: str, reason: str, nearest: tuple[str, ...]) -> None:
        super().__init__(f'"{text}" {reason}; nearest: {", ".join(nearest)}')
        self.text = text
        self.reason = reason
        self.nearest = nearest


@dataclass(frozen=True, slots=True)
class Release:
    """One release. Extensions of None were never looked up; an empty list means there are none.

    Extensions are named after a branch, `nvidia-drivers-570` and `nvidia-drivers-570-open`, and exist for amd64 only.
    """

    version: str
    channel: Channel
    published: dt.date
    kernel: str  # Linux version: 6.12.102
    containerd: Version
    systemd: int
    sysext_branches: frozenset[int] | None
    sysext_drivers: tuple[DriverVersion, ...] | None  # oldest first; the driver of a missing branch is unknown
    origin: Origin

    @property
    def kernel_release(self) -> str:
        """Output of `uname -r` on a node: modules must be built for exactly this."""
        return f"{self.kernel}-flatcar"

    @property
    def os(self) -> str:
        """ID and VERSION_ID of /etc/os-release, joined as in driver container tags: flatcar4593.2.5."""
        return f"flatcar{self.version}"

    @property
    def public_until(self) -> dt.date:
        """Day until which instances can start from its public machine image."""
        months = self.published.month - 1 + MONTHS_PUBLIC
        first = dt.date(self.published.year + months // 12, months % 12 + 1, 1)
        return first + dt.timedelta(days=min(self.published.day, 28) - 1)

    def image_name(self) -> str:
        """Name pattern of the machine image in EC2, in the account `OWNER`."""
        return f"Flatcar-{self.channel.value}-{self.version}-*"


def release_of(text: str) -> Release:
    """The release of a version such as 4593.2.5. Raises UnknownRelease."""
    version = text.strip().lower().removeprefix("flatcar").strip(" -")
    if found := _releases().get(version):
        return found
    known = tuple(_releases())
    near = tuple(get_close_matches(version, reversed(known), n=3, cutoff=0.5)) or (newest().version,)
    if not _VERSION.fullmatch(version):
        raise UnknownRelease(text, "is not a Flatcar release such as 4593.2.5", near)
    raise UnknownRelease(text, "is not in the table of Flatcar releases, so its kernel and drivers are not known", near)


def releases(channel: Channel | None = None) -> tuple[Release, ...]:
    """All listed releases, or those of one channel, oldest first by day of publication."""
    found = [each for each in _releases().values() if channel in {None, each.channel}]
    return tuple(sorted(found, key=lambda each: (each.published, Version(each.version))))


def newest(channel: Channel = Channel.STABLE) -> Release:
    """The newest release of a channel in the table; there may be newer ones."""
    return releases(channel)[-1]


@cache
def _releases() -> dict[str, Release]:
    return {row["release"]: read(row) for row in tables.rows("flatcar_releases")}


def read(row: Row) -> Release:
    """A typed row; raises ValueError for an unreadable cell."""
    return Release(
        version=row["release"],
        channel=Channel(row["channel"]),
        published=dt.date.fromisoformat(row["published"]),
        kernel=row["kernel"],
        containerd=Version(row["containerd"]),
        systemd=int(row["systemd"]),
        sysext_branches=None if (found := _listed(row["sysext_branches"])) is None else frozenset(map(int, found)),
        sysext_drivers=(
            None
            if (found := _listed(row["sysext_drivers"])) is None
            else tuple(sorted(DriverVersion.parse(each) for each in found))
        ),
        origin=Origin.of(row),
    )


def _listed(text: str) -> list[str] | None:
    """`535;570` → both; `none` → nothing; empty → None, not looked up."""
    if not text:
        return None
    return [] if text == "none" else text.split(";")
