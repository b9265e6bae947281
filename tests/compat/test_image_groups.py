"""How few images serve a set of pools, with the CUDA line and the code of each."""

from __future__ import annotations

import pytest

from compat import Pool
from compat.evidence.host import host_of
from compat.evidence.names.gpu_names import find_gpu
from compat.values.versions import DriverVersion
from compat.verdict.image_groups import Groups, image_groups

K80 = ("Tesla K80", "470.256.02")
P100 = ("Tesla P100-PCIE-16GB", "470.256.02")
NEWER_P100 = ("Tesla P100-PCIE-16GB", "535.183.01")
H100 = ("NVIDIA H100 80GB HBM3", "535.183.01")
B200 = ("NVIDIA B200", "570.133.20")


def groups(*nodes: tuple[str, str | None]) -> Groups:
    """Of pools that are called 0, 1, …"""
    return image_groups([
        Pool(str(number), host_of(find_gpu(gpu), DriverVersion.parse(driver) if driver else None, host="apptainer"))
        for number, (gpu, driver) in enumerate(nodes)
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        # Both end with CUDA 11.8 under branch 470.
        ((K80, P100), [("11.8", "3.7 6.0", "0 1", "0 1")]),
        # A newer driver alone asks for no image of its own.
        ((K80, NEWER_P100), [("11.8", "3.7 6.0", "0 1", "0")]),
        # CUDA 11.8 makes code for the oldest and for Hopper.
        ((H100, K80), [("11.8", "3.7 9.0", "0 1", "1")]),
        # No CUDA makes code for both: K80 ends with 11.8, and B200 begins with 12.8.
        ((K80, B200, P100), [("11.8", "3.7 6.0", "0 2", "0 2"), ("12.9", "10.0", "1", "1")]),
    ],
)
def test_pools_that_have_a_cuda_in_common_are_one_group(
    nodes: tuple[tuple[str, str], ...], expected: list[tuple[str, str, str, str]]
) -> None:
    found = groups(*nodes).groups
    assert [
        (str(each.cuda), " ".join(map(str, each.targets)), " ".join(each.pools), " ".join(each.held_by))
        for each in found
    ] == expected


def test_a_pool_whose_driver_nobody_knows_is_in_no_group() -> None:
    found = groups(K80, ("Tesla P100-PCIE-16GB", None))
    assert [each.pools for each in found.groups] == [("0",)]
    assert found.undecided == ("1",)


def test_a_gpu_that_its_driver_does_not_drive_is_in_no_group() -> None:
    assert groups(("Tesla K80", "535.183.01")).without == ("0",)
