"""R-EKS: machine image by instance type by driver."""

from __future__ import annotations

import re
from functools import lru_cache

from components.compat import tables
from components.compat.model import Change, Fact, Finding, ImageFacts, PoolFacts, Severity
from components.compat.rules.rule import Rule, note, refuse, unknown
from components.compat.tables import Row
from components.compat.versions import DriverVersion, VersionError

ID = "R-EKS"
_G7 = "github:awslabs/amazon-eks-ami doc/usage/g7-ami.md"
_LINUX = "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html"


def image_row(pool: PoolFacts) -> Row | None:
    """The row of the machine image that the case names, at its release or the newest one before; None without one."""
    return row_of(pool.ami_release, arm=pool.cpu_architecture == "arm64") if pool.ami_release else None


@lru_cache(1024)
def row_of(release: str, *, arm: bool) -> Row | None:
    """The row of a machine image by what people write for it; AL2023 where no type is said."""
    kind, number = read_release(release)
    wanted = kind or ("AL2023_ARM_64_NVIDIA" if arm else "AL2023_x86_64_NVIDIA")
    rows = [
        row
        for row in tables.by_key("eks_ami", "ami_type").get(wanted, ())
        if row["release"] and row["release"] <= number
    ]
    return max(rows, key=lambda row: row["release"], default=None)


def read_release(text: str) -> tuple[str, str]:
    """AMI type (empty: not said) and release of `AL2023_x86_64_NVIDIA 1.33-20251023`, `20251023`, `1.33-20251023`."""
    kinds = [kind for kind in tables.by_key("eks_ami", "ami_type") if kind.lower() in text.lower()]
    number = re.search(r"20\d{6}|Bottlerocket 1\.\d+\.\d+|(?<=v)1\.\d+\.\d+", text)
    return max(kinds, key=len, default=""), number[0] if number else text.strip()


def driver_of(row: Row) -> DriverVersion | None:
    """Driver that a machine image carries; None where the table has none or two."""
    try:
        return tables.parse_driver_floor(row["nvidia_driver"].removesuffix(".x"))
    except VersionError:
        return None


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:  # noqa: ARG001 - every rule has this shape
    if not pool.instance_type and not pool.ami_release:
        return ()
    found: list[Finding] = []
    rows = tables.by_key("ec2_gpu_instances", "instance_type").get(pool.instance_type, ())
    if pool.instance_type and not rows:
        fact = Fact(f"no table has the instance type {pool.instance_type}", _LINUX, "", verified=False)
        found.append(unknown(ID, f"it is not known which GPUs {pool.instance_type} has", fact))
    if rows:
        found += _instance(rows[0], pool)
    if (row := image_row(pool)) is not None:
        found += _machine_image(row, rows[0] if rows else None, pool)
    return tuple(found)


def _instance(row: Row, pool: PoolFacts) -> list[Finding]:
    driver, name = pool.driver, row["instance_type"]
    origin = tables.origin(row)
    if driver is None:
        return []
    if row["min_driver"]:
        lowest = tables.parse_driver_floor(row["min_driver"])
        if driver < lowest:
            fact = origin.fact(f"{name} needs driver {row['min_driver']} or newer", "min_driver")
            return [refuse(ID, f"{fact.text}; this one is {driver}", fact, Change("driver", str(driver), str(lowest)))]
    if row["max_driver_branch"] and driver.branch > int(row["max_driver_branch"]):
        fact = origin.fact(f"the last driver branch for {name} is {row['max_driver_branch']}", "max_driver_branch")
        return [
            refuse(
                ID, f"{fact.text}; this one is {driver}", fact, Change("driver", str(driver), row["max_driver_branch"])
            )
        ]
    if name.partition(".")[0] in {"g6f", "gr6f"} and driver.branch >= 590:
        fact = Fact("the 595 machine image is not for p3, p3dn and g6f", _G7, "2026-11-20")
        return [
            refuse(ID, f"{name} is not driven by branch {driver.branch}", fact, Change("driver", str(driver), "580"))
        ]
    return []


def _machine_image(ami: Row, instance: Row | None, pool: PoolFacts) -> list[Finding]:
    kind, origin = ami["ami_type"], tables.origin(ami)
    fact = origin.fact(
        f"{kind} {ami['release']} carries driver {ami['nvidia_driver'] or 'none that is recorded'}", "nvidia_driver"
    )
    if ami["nvidia_driver"] == "none":
        return [
            refuse(
                ID,
                f"the machine image {kind} carries no NVIDIA driver",
                fact,
                Change("ami_release", kind, "an NVIDIA AMI type"),
            )
        ]
    if instance is not None and instance["host_arch"] == "arm64" and "x86_64" in kind:
        return [
            refuse(
                ID,
                f"{kind} is for amd64; {instance['instance_type']} is arm64",
                fact,
                Change("ami_release", kind, "AL2023_ARM_64_NVIDIA"),
            )
        ]
    if pool.driver is not None:
        return [note(ID, fact.text, fact)]
    return []


RULE = Rule(
    id=ID,
    title="EKS machine images and instances",
    says=(
        "A GPU machine image carries one driver: it must fit the instance's GPU (g7 needs 595, p3 ends at 580, g6f has "
        "its own limits) and its processor. AL2023 and AL2 images hold no device plugin."
    ),
    sources=(_G7, _LINUX, "github:awslabs/amazon-eks-ami CHANGELOG.md"),
    severity=Severity.REFUSE,
    check=check,
    reads=(
        "instance_type",
        "ami_release",
    ),
    passing={"instance_type": "g4dn.xlarge", "driver": "580.95.05", "cuda": "12.4", "host": "kubernetes"},
    failing={"instance_type": "g7.2xlarge", "driver": "580.159.03", "cuda": "12.8", "host": "kubernetes"},
    undecided={"gpu": "T4", "instance_type": "g99.xlarge", "driver": "580.95.05", "cuda": "12.4"},
)
