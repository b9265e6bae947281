"""Ranges of node names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from fleet.node_names import NodeNameError, expand, expand_all


@each_row(
    ("entry", "names"),
    [
        ("n18", ["n18"]),
        ("n01-n03", ["n01", "n02", "n03"]),
        ("n08-n11", ["n08", "n09", "n10", "n11"]),
        ("n8-n11", ["n8", "n9", "n10", "n11"]),
        ("n099-n101", ["n099", "n100", "n101"]),
        ("n1-n1", ["n1"]),
        ("01-03", ["01", "02", "03"]),
        ("gpu-rack-01-gpu-rack-02", ["gpu-rack-01", "gpu-rack-02"]),
        ("gpu-node-1", ["gpu-node-1"]),
        ("rack1-node2", ["rack1-node2"]),
        ("n01.cluster.example.edu", ["n01.cluster.example.edu"]),
    ],
)
def test_an_entry_expands(entry: str, names: list[str]) -> None:
    assert list(expand(entry)) == names


@given(prefix=st.from_regex(r"[a-z]{1,4}", fullmatch=True), first=st.integers(0, 300), size=st.integers(0, 300))
def test_a_range_has_every_name_between_its_ends_all_of_one_width(prefix: str, first: int, size: int) -> None:
    names = expand(f"{prefix}{first:04d}-{prefix}{first + size:04d}")
    assert [int(name.removeprefix(prefix)) for name in names] == list(range(first, first + size + 1))
    assert {len(name) for name in names} == {len(prefix) + 4}
    assert all(expand(name) == (name,) for name in names)


@each_row(
    ("entry", "message"),
    [
        ("n12-n01", "runs backwards: write n01-n12"),
        ("n01-n5", "ends of different length"),
        ("n1-n9999999", "more than 5000 nodes"),
        ("", "is not a node name"),
        ("N01", "is not a node name"),
        ("n_1", "is not a node name"),
        ("n01 - n12", "is not a node name"),
        ("-n1", "is not a node name"),
        ("n" * 254, "is not a node name"),
        ("n" + "1" * 9000 + "-n" + "2" * 9000, "is not a node name"),
    ],
)
def test_what_is_no_name_and_no_range_is_refused_with_a_fix(entry: str, message: str) -> None:
    with pytest.raises(NodeNameError, match=message) as caught:
        expand(entry)
    assert caught.value.reason
    assert caught.value.fix


def test_entries_keep_their_order_and_doubles() -> None:
    assert expand_all(["n3", "n1-n2", "n1"]) == ("n3", "n1", "n2", "n1")
