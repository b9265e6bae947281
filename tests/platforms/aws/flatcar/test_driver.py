"""Where a Flatcar node's driver comes from, and why it cannot come."""

from __future__ import annotations

import re

import pytest
from rows import each_row

from fleet.driver_key import DriverKey
from platforms.aws.driver_request import WantedDriver
from platforms.aws.flatcar.driver import Driver, NoDriver, Way, choose
from platforms.aws.flatcar.releases import Release, release_of, releases
from platforms.aws.instances import GroupShape, find_instance, group_of
from platforms.aws.machine_images import KernelModule

STABLE = release_of("4593.2.5")
BEFORE_EXTENSIONS = release_of("4230.2.4")


def shape(*types: str) -> GroupShape:
    return group_of([find_instance(each) for each in types or ("g4dn.xlarge",)])


def chosen(instance: str = "g4dn.xlarge", wanted: str = "newest", release: Release = STABLE, pin: str = "") -> Driver:
    found = choose(shape(instance), release, WantedDriver.parse(wanted), DriverKey.parse(pin) if pin else None)
    assert isinstance(found, Driver), found
    return found


def refused(
    instance: str = "g4dn.xlarge", wanted: str = "newest", release: Release = STABLE, pin: str = ""
) -> NoDriver:
    found = choose(shape(instance), release, WantedDriver.parse(wanted), DriverKey.parse(pin) if pin else None)
    assert isinstance(found, NoDriver), found
    return found


def test_an_extension_is_taken_where_there_is_one() -> None:
    found = chosen()
    assert found.way is Way.EXTENSION
    assert (found.extension, str(found.driver)) == ("nvidia-drivers-570", "570.195.03")
    assert found.key.misfit("6.12.102-flatcar", "flatcar4593.2.5") == ""


@each_row(
    ("instance", "module", "extension"),
    [
        ("g4dn.xlarge", KernelModule.PROPRIETARY, "nvidia-drivers-570"),  # its GPU's own processor has to be off
        ("g6.xlarge", KernelModule.OPEN, "nvidia-drivers-570-open"),
        ("p3.2xlarge", KernelModule.PROPRIETARY, "nvidia-drivers-570"),  # Volta has no open module
        ("p6-b200.48xlarge", KernelModule.OPEN, "nvidia-drivers-570-open"),  # Blackwell has no other
    ],
)
def test_the_extension_has_the_module_that_drives_the_gpu(instance: str, module: KernelModule, extension: str) -> None:
    found = chosen(instance)
    assert (found.module, found.extension) == (module, extension)


@pytest.mark.parametrize(
    ("wanted", "extension", "driver"),
    [
        ("R535", "nvidia-drivers-535", "535.274.02"),
        ("570.195.03", "nvidia-drivers-570", "570.195.03"),
        ("R550", "nvidia-drivers-550", "None"),  # of which the release notes name no driver
    ],
)
def test_the_wanted_driver_chooses_the_extension(wanted: str, extension: str, driver: str) -> None:
    found = chosen(wanted=wanted)
    assert (found.extension, str(found.driver)) == (extension, driver)


def test_the_same_branch_is_another_driver_with_another_release() -> None:
    assert chosen(wanted="R570").driver != chosen(wanted="R570", release=release_of("4459.2.4")).driver


def test_without_an_extension_the_driver_is_a_container_for_this_very_kernel() -> None:
    found = chosen(wanted="580.126.09")
    assert found.way is Way.CONTAINER
    assert (str(found), found.extension) == ("580-6.12.102-flatcar-flatcar4593.2.5", "")
    assert str(chosen("g5g.xlarge", "R580")) == str(found)  # there are no extensions for arm64
    assert str(chosen(wanted="R580", release=BEFORE_EXTENSIONS)) == "580-6.6.110-flatcar-flatcar4230.2.4"


def test_modules_for_another_kernel_are_refused_and_both_kernels_are_named() -> None:
    answer = refused(wanted="R580", pin="580-6.12.95-flatcar-flatcar4593.2.4")
    assert "holds modules for kernel 6.12.95-flatcar; the nodes run kernel 6.12.102-flatcar" in answer.reason
    assert answer.fix.startswith("build 580-6.12.102-flatcar-flatcar4593.2.5, or take the Flatcar release")
    assert not answer.is_unknown


def test_a_container_that_fits_is_taken_in_place_of_the_extension() -> None:
    found = chosen(pin="580-6.12.102-flatcar-flatcar4593.2.5")
    assert found.way is Way.CONTAINER
    answer = refused(wanted="R570", pin="580-6.12.102-flatcar-flatcar4593.2.5")
    assert answer.reason.endswith("is of branch 580; the pool wants R570")


@each_row("release", releases(), ids=lambda each: each.version)
@each_row("wanted", ["newest", "R470", "R535", "R570", "R580"])
def test_g2_has_no_driver_on_any_release(release: Release, wanted: str) -> None:
    answer = refused("g2.2xlarge", wanted, release)
    assert "470" in answer.reason or answer.is_unknown
    assert wanted != "newest" or answer.is_unknown or "NVIDIA ended driver branch 470 in 2024-09" in answer.reason


def test_g2_is_refused_with_its_gpu_and_with_what_to_take() -> None:
    answer = refused("g2.2xlarge")
    assert answer.reason.startswith(
        "g2.2xlarge (GRID K520) takes no driver branch after 470; NVIDIA ended driver branch"
    )
    assert "g4dn" in answer.fix


@each_row(
    ("instance", "wanted", "reason"),
    [
        ("p3.2xlarge", "R595", r"the last driver branch for p3\.2xlarge .* is 580; R595 is newer"),
        ("p6-b200.48xlarge", "R535", r"needs driver 570\.\S+ or newer; R535 is older"),
        ("g6f.xlarge", "newest", "only NVIDIA's GRID module drives; Flatcar has none"),
        ("g5g.xlarge", "newest", "no driver extensions for arm64: its driver comes from a container"),
        ("g7e.2xlarge", "newest", r"of branch 535, 550, 570, and g7e\.2xlarge needs driver 575"),
        ("g4dn.xlarge", "570.181", r"nvidia-drivers-570 of Flatcar 4593\.2\.5 brings driver 570\.195\.03"),
        ("g5g.xlarge", "R418", "needs driver .* R418 is older|NVIDIA ended driver branch 418"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(instance: str, wanted: str, reason: str) -> None:
    answer = refused(instance, wanted)
    assert not answer.is_unknown
    assert re.search(reason, answer.reason), answer.reason


def test_a_driver_of_another_release_is_offered_with_that_release() -> None:
    assert refused(wanted="570.181").fix == "ask for R570, or take Flatcar 4459.2.4, which brings it"


def test_what_no_table_says_is_unknown() -> None:
    assert refused(release=release_of("4790.1.0")).is_unknown
    assert refused(wanted="550.163.01").is_unknown
    assert refused("g5g.xlarge", "R999").is_unknown


def test_before_extensions_a_branch_has_to_be_named() -> None:
    answer = refused(release=BEFORE_EXTENSIONS)
    assert answer.reason.startswith("Flatcar 4230.2.4 has no driver extensions: its driver comes from a container")
    assert answer.fix == "name a branch, such as R580"
