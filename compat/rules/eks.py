"""R-EKS: machine image by instance type by driver."""

from __future__ import annotations

import re

from compat import tables
from compat.model import Fact, Finding, ImageFacts, PoolFacts, Setting, Severity
from compat.rows import Origin, Row, read_floor
from compat.rules.rule import Rule, note, refuse, said, unknown
from compat.versions import DriverVersion

ID = "R-EKS"
_LEFT_AFTER = 45  # days without a row after which a Kubernetes version is taken to have left the release notes
_NVIDIA = {False: "AL2023_x86_64_NVIDIA", True: "AL2023_ARM_64_NVIDIA"}  # machine images with a driver, by arm64
_G7 = "github:awslabs/amazon-eks-ami doc/usage/g7-ami.md"
_LINUX = "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html"


def image_row(pool: PoolFacts) -> Row | None:
    """The row of the machine image that the case names, at its release or the newest one before; None without one.

    Where a release has several, the one with the pool's driver.
    """
    rows = rows_of(pool.ami_release, arm=pool.cpu_architecture == "arm64") if pool.ami_release else ()
    return next((row for row in rows if pool.driver in _drivers_in(row)), rows[0] if rows else None)


def rows_of(release: str, *, arm: bool) -> tuple[Row, ...]:
    """Rows of a machine image by what people write for it: more than one where its drivers differ.

    They differ by the Kubernetes version, and by the AMI type where that is not said. The newest row of each version
    counts, unless it is so old that the version had left by then.
    """
    kind, number = read_release(release)
    version = re.search(r"\b(1\.\d\d)-20\d{6}", release)
    found: dict[tuple[str, str], Row] = {}
    for each in (kind,) if kind else _kinds(number, arm=arm):
        rows = _until(each, number)
        for row in rows:
            if _age(rows[-1]) - _age(row) <= _LEFT_AFTER:
                for name in row["k8s_versions"].split("|"):
                    if version is None or name == version[1] or not name.startswith("1."):
                        found[each, name] = row
    by_driver = {(row["ami_type"], row["nvidia_driver"]): row for row in found.values()}
    return tuple(by_driver.values())


def _kinds(number: str, *, arm: bool) -> tuple[str, ...]:
    """AMI types that a bare release may mean: AL2 only as long as it was made."""
    if arm:
        return ("AL2023_ARM_64_NVIDIA",)
    last = max(_order(row["release"]) for row in tables.by_key("eks_ami", "ami_type")["AL2_x86_64_GPU"])
    return ("AL2023_x86_64_NVIDIA", "AL2_x86_64_GPU") if _order(number) <= last else ("AL2023_x86_64_NVIDIA",)


def _until(kind: str, number: str) -> list[Row]:
    """Rows of an AMI type up to a release, all where none is named, oldest first; they are a log of changes."""
    rows = tables.by_key("eks_ami", "ami_type").get(kind, ())
    known = [row for row in rows if not number or _order(row["release"]) <= _order(number)]
    return sorted(known, key=lambda row: _order(row["release"]))


def _order(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", release))


def _age(row: Row) -> int:
    """Days since the year 0, about; Bottlerocket counts releases instead, of which there are two a month."""
    if day := re.fullmatch(r"(\d{4})(\d\d)(\d\d)", row["release"]):
        return int(day[1]) * 365 + int(day[2]) * 30 + int(day[3])
    return _order(row["release"])[1] * 15 if len(_order(row["release"])) > 1 else 0


def read_release(text: str) -> tuple[str, str]:
    """AMI type and release of `AL2023_x86_64_NVIDIA 1.33-20251023`, `20251023`, `1.33-20251023`; empty: not said.

    Who names a type alone gets its newest release, as EKS gives it.
    """
    kinds = [kind for kind in tables.by_key("eks_ami", "ami_type") if kind.lower() in text.lower()]
    number = re.search(r"20\d{6}|Bottlerocket 1\.\d+\.\d+|(?<=v)1\.\d+\.\d+", text)
    kind = max(kinds, key=len, default="")
    if number is None:
        return kind, "" if kind else text.strip()
    return kind, number[0]


def drivers_of(release: str, *, arm: bool) -> tuple[DriverVersion, ...]:
    """Drivers that a machine image may carry, oldest first; none where the table has none."""
    found = {each for row in rows_of(release, arm=arm) for each in _drivers_in(row)}
    return tuple(each.given_as(str(each)) for each in sorted(found))


def _drivers_in(row: Row) -> tuple[DriverVersion, ...]:
    """Two where a release has an image for each branch; of `580.x` the branch is all that is known."""
    found = []
    for text in row["nvidia_driver"].split("|"):
        try:
            found.append(read_floor(text.removesuffix(".x")))
        except ValueError:
            continue  # none, or unknown
    return tuple(found)


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
    about = Origin.of(row)
    if driver is None:
        return []
    if row["min_driver"]:
        lowest = read_floor(row["min_driver"])
        if driver < lowest:
            fact = about.fact(f"{name} needs driver {row['min_driver']} or newer", "min_driver")
            message = fact.text + (f"; this one is {said(driver)}" if said(driver) else "")
            return [refuse(ID, message, fact, lowest)]
    if row["max_driver_branch"] and driver.branch > int(row["max_driver_branch"]):
        fact = about.fact(f"the last driver branch for {name} is {row['max_driver_branch']}", "max_driver_branch")
        message = fact.text + (f"; this one is {said(driver)}" if said(driver) else "")
        return [refuse(ID, message, fact, DriverVersion.start_of(int(row["max_driver_branch"])))]
    return []


def _machine_image(ami: Row, instance: Row | None, pool: PoolFacts) -> list[Finding]:
    kind = ami["ami_type"]
    named = f"{kind} {ami['release']}".strip()
    fact = Origin.of(ami).fact(
        f"{named} carries driver {ami['nvidia_driver'] or 'none that is recorded'}", "nvidia_driver"
    )
    if ami["nvidia_driver"] == "none":
        return [
            refuse(
                ID,
                f"the machine image {kind} carries no NVIDIA driver",
                fact,
                Setting("ami_release", _NVIDIA[pool.cpu_architecture == "arm64" or "_ARM_" in kind]),
            )
        ]
    if instance is not None and instance["host_arch"] == "arm64" and "x86_64" in kind:
        return [
            refuse(
                ID,
                f"{kind} is for amd64; {instance['instance_type']} is arm64",
                fact,
                Setting("ami_release", _NVIDIA[True]),
            )
        ]
    if pool.driver is not None:
        return [note(ID, fact.text, fact)]
    return []


RULE = Rule(
    id=ID,
    title="EKS machine images and instances",
    says=(
        "A GPU machine image carries one driver: it must fit the instance's GPU (g7 needs 595, p3 stops at 580, g6f "
        "has its own limits) and its processor. AL2023 and AL2 images include no device plugin."
    ),
    sources=(_G7, _LINUX, "github:awslabs/amazon-eks-ami CHANGELOG.md"),
    severity=Severity.REFUSE,
    check=check,
    of_pool=("gpu", "driver", "instance_type", "ami_release", "cpu_architecture"),
    passing={"instance_type": "g4dn.xlarge", "driver": "580.95.05", "cuda": "12.4", "host": "kubernetes"},
    failing={"instance_type": "g7.2xlarge", "driver": "580.159.03", "cuda": "12.8", "host": "kubernetes"},
    undecided={"gpu": "T4", "instance_type": "g99.xlarge", "driver": "580.95.05", "cuda": "12.4"},
)
