"""Names: valid, short, unique."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kube.naming import dns_label

LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")  # RFC 1035
PARTS = st.lists(st.text(max_size=70), min_size=1, max_size=4).filter(lambda parts: bool("-".join(parts)))


@given(parts=PARTS, max_length=st.integers(20, 253), reserve=st.integers(0, 10))
@example(parts=["x" * 62], max_length=63, reserve=0)
@example(parts=["x" * 63], max_length=63, reserve=0)
@example(parts=["x" * 64], max_length=63, reserve=0)
@example(parts=["x" * 65], max_length=63, reserve=0)
@example(parts=["x" * 62, "y"], max_length=63, reserve=1)
def test_a_name_is_a_label_within_the_limit(parts: list[str], max_length: int, reserve: int) -> None:
    name = dns_label(*parts, max_length=max_length, reserve=reserve)
    assert LABEL.fullmatch(name)
    assert len(name) <= max_length - reserve


@given(text=st.from_regex(LABEL, fullmatch=True).filter(lambda text: len(text) <= 63))
def test_what_is_a_label_already_stays_as_it_is(text: str) -> None:
    assert dns_label(text) == text


@given(one=PARTS, other=PARTS)
def test_different_inputs_never_share_a_name(one: list[str], other: list[str]) -> None:
    assert (dns_label(*one) == dns_label(*other)) == ("-".join(one) == "-".join(other))


@pytest.mark.parametrize(("length", "is_kept"), [(62, True), (63, True), (64, False), (65, False)])
def test_only_what_is_too_long_is_cut(length: int, is_kept: bool) -> None:
    text = "a" * length
    assert (dns_label(text) == text) is is_kept
    assert len(dns_label(text)) == min(length, 63)


def test_names_that_differ_only_behind_the_limit_differ() -> None:
    assert dns_label("a" * 70 + "b") != dns_label("a" * 70 + "c")


def test_room_for_a_suffix_is_left() -> None:
    assert len(dns_label("a" * 63, reserve=8)) == 55


def test_a_name_reads_like_its_parts() -> None:
    assert dns_label("datahub", "hub") == "datahub-hub"
    assert re.fullmatch(r"course-cs-101-[0-9a-f]{8}", dns_label("Course", "CS_101"))
    assert re.fullmatch(r"x-[0-9a-f]{8}", dns_label("42"))


def test_no_name_at_all_and_no_room_for_one_are_errors_of_the_caller() -> None:
    with pytest.raises(ValueError, match="at least one character"):
        dns_label("")
    with pytest.raises(ValueError, match="too few"):
        dns_label("hub", max_length=12, reserve=5)
