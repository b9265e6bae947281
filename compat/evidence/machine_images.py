"""Machine images of EKS: what people write for one, and the rows of the table that it means.

The table is a log of changes: an image has the driver of the newest row up to its release that is about its type and
its Kubernetes version.
"""

from __future__ import annotations

import re
from functools import lru_cache

from compat.facts import tables
from compat.facts.rows import Row, read_floor
from compat.values.hosts import PoolFacts
from compat.values.versions import DriverVersion

LEFT_AFTER = 45  # days without a row after which a Kubernetes version is taken to have left the release notes


def image_row(pool: PoolFacts) -> Row | None:
    """The row of the machine image that the case names, at its release or the newest one before; None without one.

    Where a release has several, the one with the pool's driver.
    """
    rows = rows_of(pool.ami_release, arm=pool.cpu_architecture == "arm64") if pool.ami_release else ()
    return next((row for row in rows if pool.driver in drivers_in(row)), rows[0] if rows else None)


@lru_cache(256)  # each image that is tried on a pool asks for the pool's again
def rows_of(release: str, *, arm: bool) -> tuple[Row, ...]:
    """Rows of a machine image by what people write for it: more than one where its drivers differ.

    They differ by the Kubernetes version, and by the AMI type where that is not stated. The newest row of each
    version counts, unless it is so old that the version had left by then.
    """
    kind, number = read_release(release)
    version = re.search(r"\b(1\.\d\d)(?:\.\d+)?-20\d{6}", release)
    found: dict[tuple[str, str], Row] = {}
    for each in (kind,) if kind else _kinds(number, arm=arm):
        rows = rows_until(each, number)
        for row in rows:
            if age_in_days(rows[-1]) - age_in_days(row) <= LEFT_AFTER:
                for name in row["k8s_versions"].split("|"):
                    if version is None or name == version[1] or not name.startswith("1."):
                        found[each, name] = row
    by_driver = {(row["ami_type"], row["nvidia_driver"]): row for row in found.values()}
    return tuple(by_driver.values())


def _kinds(number: str, *, arm: bool) -> tuple[str, ...]:
    """AMI types that a bare release may mean: AL2 only as long as it was made."""
    if arm:
        return ("AL2023_ARM_64_NVIDIA",)
    last = max(release_order(row["release"]) for row in tables.by_key("eks_ami", "ami_type")["AL2_x86_64_GPU"])
    return ("AL2023_x86_64_NVIDIA", "AL2_x86_64_GPU") if release_order(number) <= last else ("AL2023_x86_64_NVIDIA",)


def serves(row: Row, kubernetes: str) -> bool:
    """Does the row apply to images for this Kubernetes version? Some rows apply to all images of a release."""
    return kubernetes in row["k8s_versions"].split("|") or row["k8s_versions"] == "all variants of that release"


def rows_until(kind: str, number: str) -> list[Row]:
    """Rows of an AMI type up to a release, all where none is named, oldest first; they are a log of changes."""
    rows = tables.by_key("eks_ami", "ami_type").get(kind, ())
    known = [row for row in rows if not number or release_order(row["release"]) <= release_order(number)]
    return sorted(known, key=lambda row: release_order(row["release"]))


def release_order(release: str) -> tuple[int, ...]:
    """Releases of one AMI type compare by this: days of AL2023, numbers of Bottlerocket."""
    return tuple(int(part) for part in re.findall(r"\d+", release))


def age_in_days(row: Row) -> int:
    """Days since the year 0, about; Bottlerocket counts releases instead, of which there are two a month."""
    if day := re.fullmatch(r"(\d{4})(\d\d)(\d\d)", row["release"]):
        return int(day[1]) * 365 + int(day[2]) * 30 + int(day[3])
    return release_order(row["release"])[1] * 15 if len(release_order(row["release"])) > 1 else 0


def read_release(text: str) -> tuple[str, str]:
    """AMI type and release of `AL2023_x86_64_NVIDIA 1.33-20251023`, `20251023`, `1.33-20251023`; empty: not stated.

    A type without a release means its newest release, as on EKS.
    """
    kinds = [kind for kind in tables.by_key("eks_ami", "ami_type") if kind.lower() in text.lower()]
    number = re.search(r"20\d{6}|Bottlerocket 1\.\d+\.\d+|(?<=v)1\.\d+\.\d+", text)
    kind = max(kinds, key=len, default="")
    if number is None:
        return kind, "" if kind else text.strip()
    return kind, number[0]


def drivers_of(release: str, *, arm: bool) -> tuple[DriverVersion, ...]:
    """Drivers that a machine image may carry, oldest first; none where the table has none."""
    found = {each for row in rows_of(release, arm=arm) for each in drivers_in(row)}
    return tuple(each.given_as(str(each)) for each in sorted(found))


def drivers_in(row: Row) -> tuple[DriverVersion, ...]:
    """Two where a release has an image for each branch; of `580.x` the branch is all that is known."""
    found = []
    for text in row["nvidia_driver"].split("|"):
        try:
            found.append(read_floor(text.removesuffix(".x")))
        except ValueError:
            continue  # none, or unknown
    return tuple(found)
