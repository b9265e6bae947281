"""Versions: what parses, what prints, what comes before what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.values.versions import ComputeCapability, CudaVersion, DriverVersion, Target, VersionError

DRIVERS = st.from_regex(r"[1-9][0-9]{2}\.([0-9]{2}|[1-9][0-9]{2})(\.[0-9]{2})?", fullmatch=True)
KINDS = (
    (DriverVersion, DRIVERS),
    (CudaVersion, st.from_regex(r"[1-9][0-9]?\.(0|[1-9][0-9]?)(\.(0|[1-9][0-9]{0,3}))?", fullmatch=True)),
    (ComputeCapability, st.from_regex(r"[1-9][0-9]?\.[0-9]", fullmatch=True)),
    (Target, st.from_regex(r"[1-9][0-9]?\.[0-9][af]?", fullmatch=True)),
)
each_kind = pytest.mark.parametrize(("kind", "texts"), KINDS, ids=[kind.__name__ for kind, _ in KINDS])


@pytest.mark.slow
@each_kind
@given(data=st.data())
def test_a_version_prints_as_it_was_written_and_reads_back_equal(
    kind: type[Target], texts: st.SearchStrategy[str], data: st.DataObject
) -> None:
    text = data.draw(texts)
    value = kind.parse(text)
    assert str(value) == text
    assert kind.parse(str(value)) == value
    assert hash(kind.parse(str(value))) == hash(value)


@each_kind
@given(data=st.data())
def test_the_order_of_versions_is_total(kind: type[Target], texts: st.SearchStrategy[str], data: st.DataObject) -> None:
    one, two, three = sorted(kind.parse(text) for text in data.draw(st.lists(texts, min_size=3, max_size=3)))
    assert one <= two <= three
    assert one <= three  # transitive
    for left, right in ((one, two), (two, three), (three, one)):
        assert (left < right) + (left == right) + (left > right) == 1  # exactly one of the three


@given(drivers=st.lists(DRIVERS.map(DriverVersion.parse), min_size=2, max_size=5))
def test_drivers_are_ordered_by_number_and_not_by_text(drivers: list[DriverVersion]) -> None:
    numbers = [(driver.branch, driver.minor, driver.patch) for driver in sorted(drivers)]
    assert numbers == sorted(numbers)


def test_a_longer_minor_is_newer_than_a_bigger_digit() -> None:
    assert DriverVersion.parse("570.26") < DriverVersion.parse("570.124.06")
    assert CudaVersion.parse("9.2") < CudaVersion.parse("10.1")


def test_a_release_written_with_and_without_its_zero_patch_is_one_release() -> None:
    assert DriverVersion.parse("418.87") == DriverVersion.parse("418.87.00")
    assert str(DriverVersion.parse("418.87.00")) == "418.87.00"


def test_a_driver_of_a_case_prints_as_the_case_writes_it_and_compares_by_its_numbers() -> None:
    lowest = DriverVersion.parse("367.27").given_as("367")
    assert (str(lowest), lowest == DriverVersion.parse("367.27"), lowest.given) == ("367", True, True)
    assert str(DriverVersion.start_of(615)) == "615"
    assert DriverVersion.start_of(615) < DriverVersion.parse("615.36.02")


def test_parts_keep_the_zeros_that_labels_carry() -> None:
    assert DriverVersion.parse("580.95.05").parts == ("580", "95", "05")
    assert DriverVersion.parse("418.88").parts == ("418", "88", "")


def test_a_version_made_from_numbers_prints_its_patch() -> None:
    assert str(DriverVersion(450, 80, 2)) == "450.80.02"
    assert str(CudaVersion(10, 1, 243)) == "10.1.243"
    assert str(CudaVersion(10, 1, 243).line) == "10.1"


@pytest.mark.parametrize(
    "text",
    ["", "418", "418.8", "418.8x", "418.88.1", "418.88.001", "18.88", "418.088", "418,88", "٤١٨.٨٨", "418.88.05.1"],
)
def test_what_is_no_driver_version_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(VersionError, match=r"is not a driver version such as 418\.88") as caught:
        DriverVersion.parse(text)
    assert caught.value.text == text


@pytest.mark.parametrize("text", ["", "10", "10.1.2.3", "10.x", "010.1", "10.01", "cu101"])
def test_what_is_no_cuda_version_is_refused(text: str) -> None:
    with pytest.raises(VersionError, match="is not a CUDA version"):
        CudaVersion.parse(text)


def test_a_compute_capability_reads_and_prints() -> None:
    assert str(ComputeCapability.parse("6.1")) == "6.1"
    assert ComputeCapability.parse("7.5") < ComputeCapability.parse("10.0")
    with pytest.raises(VersionError, match="is not a compute capability"):
        ComputeCapability.parse("sm_61")
