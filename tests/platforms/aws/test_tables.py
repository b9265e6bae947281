"""The tables of what only AWS needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from compat.facts import csv_files
from platforms.aws import tables as own
from tools.aws_tables import TABLES
from tools.tables import TableError, check


def test_the_tables_have_no_mistake(tmp_path: Path) -> None:
    check(own.DATA, TABLES)
    copy = Path(shutil.copytree(own.DATA, tmp_path / "data"))
    text = (copy / "ami_types.csv").read_text()
    (copy / "ami_types.csv").write_text(text.replace(",nodeadm,", ",cloud-init,", 1))
    with pytest.raises(TableError, match=r"user_data is 'cloud-init', not nodeadm or bottlerocket"):
        check(copy, TABLES)


def test_every_instance_type_and_every_image_with_a_driver_is_in_the_tables_of_both_floors() -> None:
    types = {row["instance_type"] for row in csv_files.rows("ec2_gpu_instances")}
    assert set(own.by_first_column("instances")) == types
    images = csv_files.rows("eks_ami")
    with_driver = {row["ami_type"] for row in images if row["nvidia_driver"] not in {"none", "unknown"}}
    assert set(own.by_first_column("ami_types")) == with_driver


def test_a_release_names_the_kubernetes_versions_of_its_row() -> None:
    versions = {row["kubernetes"] for row in own.rows("eks_versions")}
    named = {version for row in csv_files.rows("eks_ami") for version in row["k8s_versions"].split("|")}
    assert {each for each in named if each.startswith("1.")} & versions == versions
