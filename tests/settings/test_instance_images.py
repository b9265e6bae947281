"""Root volumes of instances: derived from the images that land there, refused where those do not fit."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from settings.instance_table import HEAD, instance_rows
from settings.models import Stack
from settings.reading import SettingsError, load_stack

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.eks-g6.yaml"


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_COMMONS_TODAY", "2026-11-23")


def read(tmp_path: Path, given: dict[str, int], limits: dict[str, float] | None = None, **image: Any) -> Stack:
    data = deepcopy(yaml.safe_load(STACK.read_text()))
    config = {key.removeprefix("gpu-commons:"): value for key, value in data["config"].items()}
    for pool in config["fleet"]["pools"]:
        del pool["root_disk_gib"]
        pool["assumptions"].remove("root_disk_gib")
        pool.update({"root_disk_gib": given[pool["name"]]} if pool["name"] in given else {})
    if limits:
        config["site"]["image_limits"] = limits
    config["images"][-1] |= image
    file = tmp_path / "Pulumi.eks.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return load_stack(file)


def disks(stack: Stack) -> dict[str, str]:
    return {row[0]: row[HEAD.index("disk")] for row in instance_rows(stack)}


def test_a_disk_that_nobody_gives_holds_the_images_that_land_there_as_large_as_they_may_be(tmp_path: Path) -> None:
    assert disks(read(tmp_path, {})) == {"system": "80 GiB", "l4": "50 GiB", "l40s": "50 GiB"}
    assert disks(read(tmp_path, {"l4": 200})) == {"system": "80 GiB", "l4": "200 GiB", "l40s": "50 GiB"}


def test_larger_images_get_a_larger_disk(tmp_path: Path) -> None:
    assert disks(read(tmp_path, {}, {"refuse_compressed_gb": 12}))["l4"] == "90 GiB"
    waived = {"compressed_gb": 20, "reason": "it holds a data set", "until": "2027-06-30"}
    assert disks(read(tmp_path, {}, limit=waived)) == {"system": "80 GiB", "l4": "140 GiB", "l40s": "140 GiB"}


def test_an_image_takes_no_more_than_its_share_of_a_derived_disk(tmp_path: Path) -> None:
    assert disks(read(tmp_path, {}, {"unpacked_disk_share": 0.1}))["l4"] == "110 GiB"


def test_a_disk_that_cannot_hold_the_images_is_refused_with_one_that_can(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, {"l4": 20})
    (problem,) = caught.value.problems
    assert (problem.path, problem.value) == ("fleet.pools[1].root_disk_gib", "20")
    assert problem.reason == (
        "is not enough: a root volume of 20 GiB is too small for 1.0 GiB of images, packed and unpacked, and the system"
    )
    assert problem.fix == "give it 30 GiB, or leave the size out"
