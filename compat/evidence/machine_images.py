"""EKS machine images: reads people's names for one, and finds its rows in the table.

The table is a log of changes: an image has the driver of the newest row up to its release for its type and its
Kubernetes version.
"""

import re
from functools import lru_cache

from compat.facts import tables
from compat.facts.rows import Row, read_floor
from compat.values.hosts import PoolFacts
from compat.values.versions import DriverVersion

LEFT_AFTER = 45  # days without a row: the Kubernetes version then counts as gone from the release notes


def image_row(pool: PoolFacts) -> Row | None:
    """The row of the case's machine image, at its release or the newest one before; None without one.

    If a release has several, the one with the pool's driver.
    """
    rows = rows_of(pool.ami_release, arm=pool.cpu_architecture == "arm64") if pool.ami_release else ()
    return next((row for row in rows if pool.driver in drivers_in(row)), rows[0] if rows else None)


@lru_cache(256)  # each image tried on a pool reads the pool's rows again
def rows_of(release: str, *, arm: bool) -> tuple[Row, ...]:
    """Rows of a machine image by the name people write: several if its drivers differ.

    They differ by the Kubernetes version, and by the AMI type if it is not stated. The newest row of each
    version counts, unless it is so old that the version was gone by then.
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
    """Possible AMI types of a bare release: AL2 only while it was published."""
    if arm:
        return ("AL2023_ARM_64_NVIDIA",)
    last = max(release_order(row["release"]) for row in tables.by_key("eks_ami", "ami_type")["AL2_x86_64_GPU"])
    return ("AL2023_x86_64_NVIDIA", "AL2_x86_64_GPU") if release_order(number) <= last else ("AL2023_x86_64_NVIDIA",)


def serves(row: Row, kubernetes: str) -> bool:
    """Does the row apply to images for this Kubernetes version? Some rows apply to all images of a release."""
    return kubernetes in row["k8s_versions"].split("|") or row["k8s_versions"] == "all variants of that release"


def rows_until(kind: str, number: str) -> list[Row]:
    """Rows of an AMI type up to a release, or all if none is named, oldest first: a log of changes."""
    rows = tables.by_key("eks_ami", "ami_type").get(kind, ())
    known = [row for row in rows if not number or release_order(row["release"]) <= release_order(number)]
    return sorted(known, key=lambda row: release_order(row["release"]))


def release_order(release: str) -> tuple[int, ...]:
    """Sort key for releases of one AMI type: days of AL2023, numbers of Bottlerocket."""
    return tuple(int(part) for part in re.findall(r"\d+", release))


def age_in_days(row: Row) -> int:
    """Approximate days since the year 0; Bottlerocket numbers its releases, about two a month."""
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
    """Possible drivers of a machine image, oldest first; none if the table has none."""
    found = {each for row in rows_of(release, arm=arm) for each in drivers_in(row)}
    return tuple(each.given_as(str(each)) for each in sorted(found))


def drivers_in(row: Row) -> tuple[DriverVersion, ...]:
    """Two if a release has an image for each branch; for `580.x` only the branch is known."""
    found = []
    for text in row["nvidia_driver"].split("|"):
        try:
            found.append(read_floor(text.removesuffix(".x")))
        except ValueError:
            continue  # none, or unknown
    return tuple(found)
