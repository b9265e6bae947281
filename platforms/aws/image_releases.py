"""EKS machine image releases: how people write them, which the tables list, and their names in EKS.

EKS names a release by its kubelet's patch version, `1.34.9-20260714`, and accepts no other spelling.
Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
"""

import datetime as dt
import re

from compat.evidence.machine_images import release_order, rows_until
from platforms.aws import tables


def number_of(release: str) -> str:
    """`20260714` of `1.34.9-20260714`, `1.68.0` of `Bottlerocket 1.68.0` and `1.68.0-bcf71a47`; empty: neither."""
    if day := re.fullmatch(r"(?:1\.\d+(?:\.\d+)?-)?v?(20\d{6})", release.strip(), re.ASCII):
        return day[1] if _is_day(day[1]) else ""
    number = re.fullmatch(r"(?:Bottlerocket )?v?(1\.\d+\.\d+)(?:-[0-9a-f]{8})?", release.strip(), re.ASCII)
    return number[1] if number else ""


def _is_day(text: str) -> bool:
    try:
        return bool(dt.date.fromisoformat(text))
    except ValueError:
        return False


def kubernetes_of(release: str) -> str:
    """`1.34` of `1.34.9-20260714` and of `1.34-20260714`; empty if the release has no Kubernetes version."""
    found = re.match(r"(1\.\d+)(?:\.\d+)?-v?20\d{6}", release.strip(), re.ASCII)
    return found[1] if found else ""


def listed_releases(ami_type: str) -> tuple[str, ...]:
    """All listed releases of an AMI type, oldest first; days for Amazon Linux, numbers for Bottlerocket."""
    found = {number_of(row["release"]) for row in rows_until(ami_type, "")} - {""}
    if ami_type.startswith("AL2023"):
        last = max(found, default="")
        found |= {row["release"] for row in tables.rows("eks_releases") if row["release"] <= last}
    return tuple(sorted(found, key=release_order))


def release_version(kubernetes: str, release: str, written: str = "") -> str:
    """EKS's name of a release: `1.34.9-20260714`; empty if no table has the patch version.

    `written` is the pin: a full name is kept. Patch versions only rise, so a release between two
    with the same patch version has it too.
    """
    if re.match(r"1\.\d+\.\d+-", written.strip()):
        return written.strip()
    if "." in release:
        return ""  # Bottlerocket names end with the build's commit
    known = sorted(
        (row["release"], row["patch"]) for row in tables.rows("eks_releases") if row["kubernetes"] == kubernetes
    )
    before = [patch for day, patch in known if day <= release]
    after = [patch for day, patch in known if day >= release]
    return f"{kubernetes}.{before[-1]}-{release}" if before and after and before[-1] == after[0] else ""
