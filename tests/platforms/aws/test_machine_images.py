"""Which machine image a group gets, and why it gets none."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from rows import each_row

from compat.values.versions import VersionError
from platforms.aws.driver_request import NEWEST, WantedDriver
from platforms.aws.instances import find_instance, group_of
from platforms.aws.machine_images import KernelModule, MachineImage, NoMachineImage, Pin, choose

TODAY = dt.date(2026, 11, 23)
BOTTLEROCKET = "BOTTLEROCKET_x86_64_NVIDIA"
NEWER = "580.159.03"  # of the newest release


def answer_for(
    types: str = "g6.xlarge", kubernetes: str = "1.34", wanted: str = "newest", ami_type: str = "", release: str = ""
) -> MachineImage | NoMachineImage:
    shape = group_of([find_instance(name) for name in types.split()])
    return choose(shape, kubernetes, WantedDriver.parse(wanted), Pin(ami_type, release), today=TODAY)


def image(*args: str, **named: str) -> MachineImage:
    found = answer_for(*args, **named)
    assert isinstance(found, MachineImage), found
    return found


def refusal(*args: str, **named: str) -> NoMachineImage:
    found = answer_for(*args, **named)
    assert isinstance(found, NoMachineImage), found
    return found


def test_without_a_wish_it_is_the_newest_image_of_amazon_linux() -> None:
    found = image()
    assert str(found) == "AL2023_x86_64_NVIDIA 1.34.9-20260714"
    assert (str(found.driver), found.container_toolkit) == ("580.159.03", "1.19.1")
    assert not found.has_device_plugin


def test_an_arm_group_gets_an_arm_image() -> None:
    assert image("g5g.xlarge").ami_type == "AL2023_ARM_64_NVIDIA"


@each_row(
    ("wanted", "release", "driver"),
    [
        ("R580", "20260714", "580.159.03"),
        ("580.159.03", "20260714", "580.159.03"),
        ("580.126.09", "20260318", "580.126.09"),
        ("R570", "20251002", "570.195.03"),
        ("570.172.08", "20250915", "570.172.08"),
    ],
)
def test_a_wanted_driver_decides_the_release(wanted: str, release: str, driver: str) -> None:
    found = image(wanted=wanted)
    assert (found.release, str(found.driver)) == (release, driver)


def test_the_lowest_driver_that_the_gpus_can_have_is_one_of_them() -> None:
    assert image("g7e.2xlarge", "1.33", "575.57.08").release == "20250715"


def test_of_releases_with_the_wanted_driver_one_that_eks_can_be_asked_for_is_taken() -> None:
    # 20260403 has this driver too, but no table says with which patch version of Kubernetes.
    assert image(wanted="580.126.09").release_version == "1.34.4-20260318"
    assert image(wanted="570.195.03").release_version == ""


def test_two_toolkits_in_the_notes_of_a_release_are_none_that_is_known() -> None:
    assert image(release="20260318").container_toolkit == ""
    assert image(release="20260403").container_toolkit == "1.19.0"


def test_a_release_belongs_to_the_kubernetes_version_of_its_row() -> None:
    # The release of 2025-10-23 brought driver 580 to 1.34 alone.
    assert image(release="20251023").branch == 580
    assert image(kubernetes="1.33", release="20251023").branch == 570


def test_a_pinned_release_between_two_changes_has_the_driver_of_the_one_before() -> None:
    found = image(release="1.34.9-20260625")
    assert (str(found.driver), found.release_version) == ("580.159.03", "1.34.9-20260625")


def test_a_release_between_two_of_one_patch_version_has_it_too() -> None:
    assert image(kubernetes="1.33", release="20260714").release_version == "1.33.13-20260714"


@each_row(
    ("types", "expected"),
    [
        ("g6.xlarge", KernelModule.OPEN),
        ("g7e.2xlarge", KernelModule.OPEN),
        ("p4d.24xlarge", KernelModule.OPEN),
        ("g4dn.xlarge", KernelModule.PROPRIETARY),  # forced, though Turing has the open one
        ("g5.xlarge", KernelModule.PROPRIETARY),
        ("g5g.xlarge", KernelModule.PROPRIETARY),
        ("p3.2xlarge", KernelModule.PROPRIETARY),
        ("g6f.large", KernelModule.GRID),
    ],
)
def test_the_kernel_module_follows_the_instance(types: str, expected: KernelModule) -> None:
    assert image(types).kernel_module is expected


def test_bottlerocket_drives_a_part_of_a_gpu_by_grid_as_well() -> None:
    assert image("g6f.large", ami_type=BOTTLEROCKET).kernel_module is KernelModule.GRID


@each_row(
    ("kubernetes", "wanted", "release", "setting"),
    [
        ("1.37", "newest", "1.68.0", "pb"),
        ("1.37", "R580", "1.68.0", "lts"),
        ("1.37", "newest", "1.66.0", "pb"),
        ("1.34", "newest", "1.68.0", "lts"),
        ("1.34", "newest", "1.66.0", ""),  # of this version the release before has one driver alone
        ("1.34", "newest", "1.61.0", ""),
    ],
)
def test_bottlerocket_with_two_branches_has_a_setting_for_the_branch(
    kubernetes: str, wanted: str, release: str, setting: str
) -> None:
    found = image("g6.xlarge", kubernetes, wanted, BOTTLEROCKET, release)
    assert found.branch_setting == setting


def test_the_newest_driver_of_bottlerocket_is_of_its_newer_branch() -> None:
    newest = image(kubernetes="1.37", ami_type=BOTTLEROCKET)
    assert (str(newest.driver), newest.has_device_plugin, newest.container_toolkit) == ("595.91.07", True, "")


def test_amazon_linux_has_no_setting_for_the_branch() -> None:
    assert not image().branch_setting


def test_the_branch_that_a_gpu_can_have_is_taken_from_an_image_with_two() -> None:
    assert image("p3.2xlarge", "1.37", ami_type=BOTTLEROCKET).branch == 580


@each_row(
    ("case", "reason", "fix", "nearest"),
    [
        (("g7e.2xlarge", "1.34", "R570"), "g7e.2xlarge needs driver 575.57.08 or newer", "575.57.08", NEWER),
        (("p3.2xlarge", "1.34", "595.91.07"), "the last driver branch for p3.2xlarge is 580", "R580", NEWER),
        (("g6f.large", "1.34", "R595"), "the last driver branch for g6f.large is 580", "R580", NEWER),
        (("g6.xlarge", "1.34", "580.126.20"), "no such image has driver 580.126.20", "R580", NEWER),
        (("g6.xlarge", "1.34", "R595"), "no such image has driver R595", "newest", NEWER),
        (("g2.2xlarge",), "EKS publishes no machine image for g2.2xlarge", "another instance type", ""),
        (("g7.2xlarge",), "which needs driver 595", "another instance type", ""),
        (("g6.xlarge", "1.30"), "EKS ended all support for Kubernetes 1.30 on 2026-07-23", "1.31, 1.32", ""),
        (("g6.xlarge", "1.34.2"), '"1.34.2" is not a Kubernetes version', '"1.34"', ""),
        (("g5g.xlarge", "1.34", "newest", "AL2023_x86_64_NVIDIA"), "is for amd64", "AL2023_ARM_64_NVIDIA", NEWER),
        (("p6e-gb200.36xlarge", "1.34", "newest", "BOTTLEROCKET_ARM_64_NVIDIA"), "does not pair", "AL2023_ARM", NEWER),
        (("g6.xlarge", "1.34", "newest", "AL2023_x86_64_STANDARD"), "carries no NVIDIA driver", BOTTLEROCKET, NEWER),
        (("g6.xlarge", "1.34", "newest", "AL2023_x86_64_NVIDA"), "is not a type of EKS", BOTTLEROCKET, NEWER),
        (("g6.xlarge", "1.32", "newest", "AL2_x86_64_GPU", "20251209"), "on 2025-11-26", BOTTLEROCKET, NEWER),
        (("g6.xlarge", "1.34", "newest", "", "20260631"), "is not a release of a machine image", "20260714", NEWER),
        (("g6.xlarge", "1.34", "newest", "", "newest"), "is not a release of a machine image", "20260714", NEWER),
        (("g6.xlarge", "1.34", "newest", "", "1.33.13-20260714"), "is for Kubernetes 1.33", "20260714", NEWER),
        (("g6.xlarge", "1.36", "newest", "", "20250519"), "had no release for Kubernetes 1.36", "20260610", NEWER),
        (("p6-b200.48xlarge", "1.32", "newest", "", "20250203"), "carries 560.35.05", "another release", NEWER),
        (("g6.xlarge", "1.34", "R580", "", "20250915"), "carries 570.172.08", "ask for one", "570.172.08"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_the_reason_and_what_can_be(
    case: tuple[str, ...], reason: str, fix: str, nearest: str
) -> None:
    found = refusal(*case)
    assert reason in found.reason
    assert fix in found.fix
    assert str(found.nearest.driver if found.nearest else "") == nearest
    assert not found.is_unknown


@each_row(
    ("case", "reason"),
    [
        (("g6.xlarge", "1.44"), "no table has Kubernetes 1.44"),
        (("g6.xlarge", "1.37"), "no table has a release of AL2023_x86_64_NVIDIA for Kubernetes 1.37"),
        (("g6.xlarge", "1.34", "newest", "", "20260715"), "the tables end with release 20260714"),
        (("g6.xlarge", "1.34", "newest", "", "20260615"), "no table has a release 20260615"),
        (("g6.xlarge", "1.34", "newest", BOTTLEROCKET, "1.50.0"), "no table has a release 1.50.0"),
        (("g5g.xlarge", "1.34", "newest", "BOTTLEROCKET_ARM_64_NVIDIA"), "no table has the releases of BOTTLEROCKET"),
    ],
)  # fmt: skip
def test_what_no_table_says_is_unknown_and_not_denied(case: tuple[str, ...], reason: str) -> None:
    found = refusal(*case)
    assert reason in found.reason
    assert found.is_unknown


def test_a_pinned_release_without_the_kubernetes_version_any_more_is_refused() -> None:
    shape = group_of([find_instance("g6.xlarge")])
    found = choose(shape, "1.29", NEWEST, Pin(release="20260610"), today=dt.date(2026, 1, 1))
    assert isinstance(found, NoMachineImage)
    assert found.reason == "AL2023_x86_64_NVIDIA 20260610 is not for Kubernetes 1.29, whose last release is 20260318"


def test_an_unknown_kubernetes_version_names_its_neighbours() -> None:
    assert "did you mean 1.34?" in refusal("g6.xlarge", "1.44").fix


@each_row(
    ("text", "printed"),
    [("newest", "newest"), ("R580", "R580"), ("580", "R580"), ("580.x", "R580"), (" 580.126.09 ", "580.126.09")],
)
def test_a_wanted_driver_is_read_as_people_write_it(text: str, printed: str) -> None:
    assert str(WantedDriver.parse(text)) == printed
    assert WantedDriver.parse(str(WantedDriver.parse(text))) == WantedDriver.parse(text)


@each_row("text", ["", "R58", "driver", "580.1", "12.4"])
def test_what_is_no_driver_is_refused(text: str) -> None:
    with pytest.raises(VersionError, match="is not a driver such as"):
        WantedDriver.parse(text)


def test_nodes_without_gpus_get_an_image_without_a_driver_under_the_name_that_eks_has_for_it() -> None:
    shape = group_of([find_instance("m7g.large")])
    found = choose(shape, "1.34", today=TODAY)
    assert isinstance(found, MachineImage)
    assert (found.ami_type, found.driver, found.has_device_plugin) == ("AL2023_ARM_64_STANDARD", None, False)
    assert re.fullmatch(r"1\.34\.\d+-20\d{6}", found.release_version)
    refused = choose(shape, "1.34", WantedDriver.parse("580"), today=TODAY)
    assert isinstance(refused, NoMachineImage)
    assert "has no GPU" in refused.reason
