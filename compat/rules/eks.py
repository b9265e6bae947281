"""R-EKS: machine image, instance type and driver."""

import re

from compat.evidence.machine_images import image_row
from compat.facts import tables
from compat.facts.rows import Origin, Row, read_floor
from compat.rules.rule import Rule, this_one
from compat.values.fact import Fact
from compat.values.findings import Finding, Setting, note, refuse, unknown
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import DriverVersion

ID = "R-EKS"
_TYPE = r"[a-z]{1,3}\d{1,2}[a-z-]*\.[a-z0-9-]+"  # of EC2: names of machines in other clouds do not match
_NVIDIA = {False: "AL2023_x86_64_NVIDIA", True: "AL2023_ARM_64_NVIDIA"}  # machine images with a driver, by arm64
_G7 = "github:awslabs/amazon-eks-ami doc/usage/g7-ami.md"
_LINUX = "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:  # noqa: ARG001 - every rule has this shape
    if not pool.instance_type and not pool.ami_release:
        return ()
    found: list[Finding] = []
    rows = tables.by_key("ec2_gpu_instances", "instance_type").get(pool.instance_type, ())
    if pool.instance_type and not rows and re.fullmatch(_TYPE, pool.instance_type):
        fact = Fact(f"no table has the instance type {pool.instance_type}", _LINUX, "", verified=False)
        found.append(
            unknown(ID, f"it is not known which GPUs {pool.instance_type} has: gpu-commons probe reads them", fact)
        )
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
            return [refuse(ID, f"{fact.text}{this_one(driver)}", fact, lowest)]
    if row["max_driver_branch"] and driver.branch > int(row["max_driver_branch"]):
        fact = about.fact(f"the last driver branch for {name} is {row['max_driver_branch']}", "max_driver_branch")
        return [
            refuse(ID, f"{fact.text}{this_one(driver)}", fact, DriverVersion.start_of(int(row["max_driver_branch"])))
        ]
    return []


def _machine_image(ami: Row, instance: Row | None, pool: PoolFacts) -> list[Finding]:
    kind = ami["ami_type"]
    named = f"{kind} {ami['release']}".strip()
    fact = Origin.of(ami).fact(
        f"{named} carries driver {ami['nvidia_driver'] or 'none that is recorded'}", "nvidia_driver"
    )
    if ami["nvidia_driver"] == "none":
        instead = Setting("ami_release", _NVIDIA[pool.cpu_architecture == "arm64" or "_ARM_" in kind])
        return [refuse(ID, f"the machine image {kind} carries no NVIDIA driver", fact, instead)]
    if instance is not None and instance["host_arch"] == "arm64" and "x86_64" in kind:
        message = f"{kind} is for amd64; {instance['instance_type']} is arm64"
        return [refuse(ID, message, fact, Setting("ami_release", _NVIDIA[True]))]
    if pool.driver is not None:
        return [note(ID, fact.text, fact)]
    return []


RULE = Rule(ID, check, sources=(_G7, _LINUX, "github:awslabs/amazon-eks-ami CHANGELOG.md"))
