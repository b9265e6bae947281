"""Explains why a group gets no EKS machine image, and what to change."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from compat.evidence.machine_images import LEFT_AFTER, age_in_days, release_order, rows_until, serves
from compat.facts import tables as facts
from compat.facts.rows import Row
from compat.values.versions import DriverVersion
from errors.problems import listing, nearest
from platforms.aws import tables
from platforms.aws.driver_request import WantedDriver
from platforms.aws.image_releases import kubernetes_of, listed_releases, number_of
from platforms.aws.instances import GroupShape
from platforms.aws.kubernetes_versions import is_version, known_versions, supported_versions

REFRESH: Final = "python -m tools.eks_images reads newer ones into the tables"


@dataclass(frozen=True, slots=True)
class Refusal:
    """`reason` is a sentence; `is_unknown`: a table lacks the fact rather than denying it."""

    reason: str
    fix: str
    is_unknown: bool = False


def by_version(kubernetes: str, today: dt.date) -> Refusal | None:
    """Does EKS support the Kubernetes version on that day?"""
    known = known_versions()
    if not is_version(kubernetes):
        return Refusal(f'"{kubernetes}" is not a Kubernetes version', 'write major and minor, such as "1.34"')
    if kubernetes not in known:
        reason = f"no table has Kubernetes {kubernetes} on EKS"
        return Refusal(reason, nearest(kubernetes, supported_versions(today), what="version"), is_unknown=True)
    version = known[kubernetes]
    if version.has_ended(today):
        reason = f"EKS ended all support for Kubernetes {kubernetes} on {version.extended_until}"
        return Refusal(reason, f"use a supported one: {listing(supported_versions(today), most=9)}")
    return None


def by_type(shape: GroupShape, ami_type: str) -> Refusal | None:
    """Are there machine images for the group, and of the pinned type, if any?"""
    if not shape.ami_types:
        why = f", which takes no driver after branch {shape.max_branch}" if shape.max_branch else ""
        why = why or (f", which needs driver {shape.min_driver}" if shape.min_driver else "")
        return Refusal(f"EKS publishes no machine image for {shape}{why}", "take another instance type")
    if ami_type and (reason := _why_not(shape, ami_type)):
        return Refusal(reason, f"{shape} can have {listing(shape.ami_types)}")
    return None


def _why_not(shape: GroupShape, ami_type: str) -> str:
    """Why a group cannot use images of a type; empty if it can."""
    types = tables.by_first_column("ami_types")
    row = types.get(ami_type)
    if row is None:
        is_known = ami_type in facts.by_key("eks_ami", "ami_type")
        return f"{ami_type} carries no NVIDIA driver" if is_known else f"{ami_type} is not a type of EKS machine image"
    if row["ended"]:
        return f"EKS ended support for {ami_type} images on {row['ended']}"
    if row["architecture"] != shape.architecture:
        return f"{ami_type} is for {row['architecture']}; {shape} is {shape.architecture}"
    is_paired = ami_type.removesuffix("_FIPS") in shape.ami_types
    return "" if is_paired else f"EKS does not pair {ami_type} with {shape}"


def by_driver(shape: GroupShape, wanted: WantedDriver) -> Refusal | None:
    """Do the group's GPUs support the requested driver?"""
    if wanted.branch is None:
        return None
    lowest, last = shape.min_driver, shape.max_branch
    too_old = lowest is not None and (wanted.driver or DriverVersion.end_of(wanted.branch)) < lowest
    if too_old:
        return Refusal(f"{shape} needs driver {lowest} or newer; {wanted} is older", f"ask for {lowest} or newer")
    if last is not None and wanted.branch > last:
        return Refusal(f"the last driver branch for {shape} is {last}; {wanted} is newer", f"ask for R{last}")
    return None


def by_release(release: str, kubernetes: str) -> Refusal | None:
    """Is a pinned release well-formed and for this Kubernetes version?"""
    if not release:
        return None
    number = number_of(release)
    if not number:
        reason = f'"{release}" is not a release of a machine image'
        return Refusal(reason, "write the day of the release, such as 20260714, or 1.68.0 of Bottlerocket")
    version = kubernetes_of(release)
    if version and version != kubernetes:
        reason = f"{release} is for Kubernetes {version}; the cluster has {kubernetes}"
        return Refusal(reason, f"pin the day alone, {number}, or a release for {kubernetes}")
    return None


def without_rows(shape: GroupShape, ami_type: str, kubernetes: str, number: str) -> Refusal:
    """Why no row matches the type and the Kubernetes version, up to the pinned release."""
    rows = rows_until(ami_type, "")
    if not any(row["release"] for row in rows):
        fix = f"take {shape.ami_types[0]}"
        return Refusal(f"no table has the releases of {ami_type}", fix, is_unknown=True)
    serving = [row for row in rows if serves(row, kubernetes)]
    if serving and number:
        reason = f"{ami_type} had no release for Kubernetes {kubernetes} by {number}"
        return Refusal(reason, f"the first that the tables know is {serving[0]['release']}")
    reason = f"no table has a release of {ami_type} for Kubernetes {kubernetes}"
    versions = dict.fromkeys(name for row in rows[-1:] for name in row["k8s_versions"].split("|"))
    return Refusal(reason, f"the newest ones are for {listing(tuple(versions), most=9)}; {REFRESH}", is_unknown=True)


def off_the_table(ami_type: str, row: Row, kubernetes: str, number: str) -> Refusal | None:
    """Is the pinned release missing from the tables, or no longer listed for this Kubernetes version?"""
    listed = listed_releases(ami_type)
    if release_order(number) > release_order(listed[-1]):
        reason = f"the tables end with release {listed[-1]} of {ami_type}; {number} is newer"
        return Refusal(reason, f"pin a known release; {REFRESH}", is_unknown=True)
    if number not in listed:
        near = [each for each in listed if release_order(each) < release_order(number)][-1:]
        near += [each for each in listed if release_order(each) > release_order(number)][:1]
        reason = f"no table has a release {number} of {ami_type}"
        return Refusal(reason, f"pin one that is known, such as {' or '.join(near)}; {REFRESH}", is_unknown=True)
    if age_in_days(rows_until(ami_type, number)[-1]) - age_in_days(row) > LEFT_AFTER:
        reason = f"{ami_type} {number} is not for Kubernetes {kubernetes}, whose last release is {row['release']}"
        return Refusal(reason, "take a newer Kubernetes version, or an older release")
    return None
