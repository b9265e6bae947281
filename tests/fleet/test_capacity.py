"""Who can be served at the same time."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from fleet.capacity import Shortage, Want, shortage

POOLS = "abcd"
wants = st.lists(
    st.builds(
        Want,
        st.uuids().map(str),
        st.integers(0, 9),
        st.sets(st.sampled_from(POOLS)).map(frozenset),
    ),
    max_size=5,
)
rooms = st.fixed_dictionaries({pool: st.integers(0, 9) for pool in POOLS})


def is_too_much(some: tuple[Want, ...], room: dict[str, int]) -> bool:
    pools = {pool for want in some for pool in want.pools}
    return sum(want.gpus for want in some) > sum(room[pool] for pool in pools)


@given(wants, rooms)
def test_wants_are_met_exactly_where_no_set_of_them_wants_more_than_its_pools_have(
    these: list[Want], room: dict[str, int]
) -> None:
    sets = (some for size in range(1, len(these) + 1) for some in combinations(these, size))
    assert (shortage(these, room) is not None) == any(is_too_much(some, room) for some in sets)


@given(wants, rooms)
def test_the_set_that_is_named_does_want_more_than_its_pools_have(these: list[Want], room: dict[str, int]) -> None:
    short = shortage(these, room)
    if short is not None:
        some = tuple(want for want in these if want.name in short.names)
        assert is_too_much(some, room)
        assert short.gpus == sum(want.gpus for want in some)
        assert set(short.pools) == {pool for want in some for pool in want.pools}
        assert short.room == sum(room[pool] for pool in short.pools) < short.gpus


def test_one_that_can_go_elsewhere_makes_room() -> None:
    flexible, picky = Want("flexible", 5, frozenset("ab")), Want("picky", 5, frozenset("a"))
    assert shortage([flexible, picky], {"a": 5, "b": 5}) is None
    assert shortage([flexible, picky], {"a": 5, "b": 4}) == Shortage(("flexible", "picky"), 10, ("a", "b"), 9)


def test_a_want_without_a_pool_is_short_by_itself() -> None:
    assert shortage([Want("fine", 1, frozenset("a")), Want("lost", 1, frozenset())], {"a": 9}) == Shortage(
        ("lost",), 1, (), 0
    )
