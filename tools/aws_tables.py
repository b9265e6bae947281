"""Checks the tables in `platforms/aws/data`, which have compat's format: `python -m tools.aws_tables`."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from compat.facts.rows import Row
from platforms.aws.flatcar import releases
from platforms.aws.quotas import Market
from platforms.aws.tables import DATA
from tools.tables import Read, Table, cell, main, one_of


def _cells(read: Callable[[str], object], *columns: str) -> tuple[Read, ...]:
    """Readers of cells that may be empty."""
    return tuple(cell(column, read) for column in columns)


def _by_kubernetes(row: Row) -> Any:
    return [int(part) for part in row["kubernetes"].split(".")]


TABLES: Final = (
    Table(
        "instances",
        ("instance_type",),
        "vcpu memory_gib local_nvme_gb gpu_count_api gpu_memory_mib",
        (
            *_cells(int, "vcpu", "local_nvme_gb", "gpu_count_api", "gpu_memory_mib"),
            *_cells(Decimal, "memory_gib"),
        ),
    ),
    Table(
        "general_instances",
        ("instance_type",),
        "vcpu memory_gib host_arch",
        (*_cells(int, "vcpu"), *_cells(Decimal, "memory_gib"), one_of("host_arch", "amd64", "arm64")),
    ),
    Table(
        "ami_types",
        ("ami_type",),
        "architecture user_data device_plugin ended",
        (
            one_of("architecture", "amd64", "arm64"),
            one_of("user_data", "nodeadm", "bottlerocket"),
            one_of("device_plugin", "yes", "no"),
            *_cells(dt.date.fromisoformat, "ended"),
        ),
    ),
    Table(
        "eks_versions",
        ("kubernetes",),
        "released standard_until extended_until",
        _cells(dt.date.fromisoformat, "released", "standard_until", "extended_until"),
        _by_kubernetes,
    ),
    Table(
        "eks_releases",
        ("kubernetes", "release"),
        "patch",
        _cells(int, "patch"),
        refers=("kubernetes", "eks_versions"),
    ),
    Table(
        "ec2_prices",
        ("instance_type",),
        "usd_per_hour_us_east_1 priced_on",
        (lambda row: Decimal(row["usd_per_hour_us_east_1"]), lambda row: dt.date.fromisoformat(row["priced_on"])),
    ),
    Table("quotas", ("market", "families"), "name code", (one_of("market", *Market),)),
    Table("regions", ("region",), "name gpu_families listed_on", _cells(dt.date.fromisoformat, "listed_on")),
    Table(
        "flatcar_releases",
        ("release",),
        "channel published kernel containerd systemd sysext_branches sysext_drivers",
        (releases.read,),
        lambda row: [int(part) for part in row["release"].split(".")],
    ),
)

if __name__ == "__main__":
    sys.exit(main(DATA, TABLES))
