"""Which container gets which GPU of a host: exclusive, stable from run to run, and refused with the holder's name."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from platforms.docker.gpu_leases import HostGpu, NoFreeGpu, Request, grant, network_index, shared_grant, subnet

TWO = (HostGpu("box", 0, "GPU-a"), HostGpu("box", 1, "GPU-b"))


def indices(granted: dict[str, object]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(card.index for card in each.cards) for name, each in granted.items()}  # type: ignore[attr-defined]


def test_two_services_get_two_cards() -> None:
    granted = grant(TWO, [Request("one", 1), Request("two", 1)])
    assert indices(granted) == {"one": (0,), "two": (1,)}
    assert granted["two"].cards[0].device == "GPU-b"


def test_a_card_without_a_uuid_is_asked_for_by_its_index() -> None:
    assert HostGpu("box", 3).device == "3"


def test_a_container_without_gpus_holds_nothing() -> None:
    assert grant(TWO, [Request("tensorboard", 0)]) == {}


def test_what_names_its_card_chooses_before_what_takes_any() -> None:
    assert indices(grant(TWO, [Request("any", 1), Request("first", 1, (0,))])) == {"any": (1,), "first": (0,)}


def test_a_container_keeps_its_card_although_a_lower_one_is_free_by_now() -> None:
    assert indices(grant(TWO, [Request("one", 1)], kept={"one": (1,)})) == {"one": (1,)}


def test_a_card_that_another_holds_is_not_given_away_even_if_it_was_ours() -> None:
    assert indices(grant(TWO, [Request("one", 1)], held={1: "container theirs"}, kept={"one": (1,)})) == {"one": (0,)}


def test_jobs_take_turns_on_the_card_that_services_leave() -> None:
    granted = grant(TWO, [Request("first", 1, ends=True), Request("second", 1, ends=True), Request("service", 1)])
    assert indices(granted) == {"service": (0,), "first": (1,), "second": (1,)}
    assert granted["second"].after == ("first",)
    assert granted["first"].after == ()


def test_jobs_run_side_by_side_while_there_are_cards() -> None:
    granted = grant(TWO, [Request("first", 1, ends=True), Request("second", 1, ends=True)])
    assert indices(granted) == {"first": (0,), "second": (1,)}
    assert all(not each.after for each in granted.values())


def test_a_job_that_needs_both_cards_waits_for_whoever_has_one() -> None:
    granted = grant(TWO, [Request("small", 1, ends=True), Request("big", 2, ends=True)])
    assert indices(granted)["big"] == (0, 1)
    assert granted["big"].after == ("small",)


def test_too_few_free_cards_are_refused_with_who_holds_them() -> None:
    with pytest.raises(NoFreeGpu, match=r"big needs 2 cards, and 1 of 2 are free: .*\(card 1: container theirs\)"):
        grant(TWO, [Request("big", 2)], held={1: "container theirs"})


def test_a_card_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(NoFreeGpu, match="one names card 7, which is not there: the host has 0, 1"):
        grant(TWO, [Request("one", 1, (7,))])


def test_a_named_card_that_is_held_is_refused_with_its_holder() -> None:
    with pytest.raises(NoFreeGpu, match="one names card 1, which container theirs holds"):
        grant(TWO, [Request("one", 1, (1,))], held={1: "container theirs"})


def test_shared_cards_are_given_to_everybody_who_asks() -> None:
    both = [shared_grant(TWO, Request(name, 2)) for name in ("one", "two")]
    assert [[card.index for card in each.cards] for each in both] == [[0, 1], [0, 1]]


def test_the_network_of_a_card_has_one_address_to_give_away() -> None:
    found = subnet("10.99.0.0/24", 2)
    assert found == IPv4Network("10.99.0.8/30")
    assert len(list(found.hosts())) == 2  # the bridge has the first
    with pytest.raises(ValueError, match="has no room for card 64"):
        subnet("10.99.0.0/24", 64)


def test_a_network_says_whose_card_it_holds() -> None:
    assert [network_index(name) for name in (HostGpu("box", 12).network, "bridge", "gpu-commons-card-")] == [
        12,
        None,
        None,
    ]


requests = st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6).map(
    lambda each: [Request(f"c{number}", count, ends=ends) for number, (count, ends) in enumerate(each)]
)


@given(requests=requests, held=st.sets(st.integers(0, 3)))
def test_whatever_is_asked_for_no_card_has_two_holders_at_a_time(requests: list[Request], held: set[int]) -> None:
    cards = [HostGpu("box", index) for index in range(4)]
    try:
        granted = grant(cards, requests, held=dict.fromkeys(held, "theirs"))
    except NoFreeGpu:
        assert sum(each.count for each in requests) > len(cards) - len(held)
        return
    by_name = {each.name: each for each in requests}
    assert {name: len(each.cards) for name, each in granted.items()} == {
        each.name: each.count for each in requests if each.count
    }
    taken = Counter(card.index for name, each in granted.items() for card in each.cards if not by_name[name].ends)
    assert not held & {card.index for each in granted.values() for card in each.cards}
    assert all(times == 1 for times in taken.values())
    last: dict[int, str] = {}
    for name, each in granted.items():  # in the order in which they were given
        for card in each.cards:
            assert taken.get(card.index, 0) == (0 if by_name[name].ends else 1)
            if card.index in last:
                assert last[card.index] in each.after
            last[card.index] = name
