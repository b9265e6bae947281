"""Releases of EKS machine images: how people write them, which ones the tables list, and what EKS calls them.

EKS names a release with the patch version of its kubelet, `1.34.9-20260714`, and takes no other spelling.
Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
"""

from __future__ import annotations

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
    """`1.34` of `1.34.9-20260714` and of `1.34-20260714`; empty where the release names no Kubernetes version."""
    found = re.match(r"(1\.\d+)(?:\.\d+)?-v?20\d{6}", release.strip(), re.ASCII)
    return found[1] if found else ""


def listed_releases(ami_type: str) -> tuple[str, ...]:
    """Releases of an AMI type that some table has, oldest first; days of Amazon Linux, numbers of Bottlerocket."""
    found = {number_of(row["release"]) for row in rows_until(ami_type, "")} - {""}
    if ami_type.startswith("AL2023"):
        last = max(found, default="")
        found |= {row["release"] for row in tables.rows("eks_releases") if row["release"] <= last}
    return tuple(sorted(found, key=release_order))


def release_version(kubernetes: str, release: str, written: str = "") -> str:
    """What EKS calls a release: `1.34.9-20260714`; empty where no table has the patch version.

    `written` is what somebody pinned: a full name is kept. Patch versions only rise, so that a release between two
    with one patch version has it too.
    """
    if re.match(r"1\.\d+\.\d+-", written.strip()):
        return written.strip()
    if "." in release:
        return ""  # Bottlerocket's name ends with the commit of the build
    known = sorted(
        (row["release"], row["patch"]) for row in tables.rows("eks_releases") if row["kubernetes"] == kubernetes
    )
    before = [patch for day, patch in known if day <= release]
    after = [patch for day, patch in known if day >= release]
    return f"{kubernetes}.{before[-1]}-{release}" if before and after and before[-1] == after[0] else ""
