"""Who holds which GPU of a Docker host: a card is a network with room for one container. Pure.

An engine has no count of devices that it takes from: two containers that ask for device 0 both get it. It does give
each address of a network once, refuses who comes second, also from another program, and takes the address back when
the container ends, however it ends. So each card has a network of its own, internal and with one free address, and to
hold the card is to be attached to it. Nothing can be left behind, and `docker network inspect` says who holds what.
Decision 38 has what else was tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from typing import Final

from errors.problems import listing

NETWORK: Final = "gpu-commons-card-"  # with the index of the card behind it
CARD_NETWORK: Final = "10.99.0.0/24"  # of a host whose stack says no other
_ADDRESSES_OF_A_CARD: Final = 4  # a /30: the network, the bridge, one container, broadcast


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU of a host: its index in the order of nvidia-smi, its UUID where it is known."""

    host: str
    index: int
    uuid: str | None = None

    @property
    def device(self) -> str:
        """How a container requests it: an index means another card after one has failed, a UUID never does."""
        return self.uuid or str(self.index)

    @property
    def network(self) -> str:
        """Name of the network that holds the card; hosts are separate engines, so the index is enough."""
        return f"{NETWORK}{self.index}"


@dataclass(frozen=True, slots=True)
class Request:
    """How many cards a container needs, or which; `ends` where it runs to its end, and others have them after it."""

    name: str
    count: int
    indices: tuple[int, ...] = ()
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Grant:
    """The cards of a container, and which containers must have ended before it starts."""

    cards: tuple[Card, ...]
    after: tuple[str, ...] = ()


class NoCard(ValueError):  # noqa: N818 - a refusal, with its words
    """A container for which a host has no card left. `reason` reads on after its name."""

    def __init__(self, name: str, reason: str, fix: str) -> None:
        super().__init__(f"{name} {reason}: {fix}")
        self.name, self.reason, self.fix = name, reason, fix


def network_index(name: str) -> int | None:
    """The index of the card whose network that is; None for any other network."""
    number = name.removeprefix(NETWORK)
    return int(number) if number != name and number.isdecimal() else None


def subnet(network: str, index: int) -> IPv4Network:
    """Addresses of a card's network: the index-th /30 of the host's network for cards.

    Raises ValueError where that network is too small.
    """
    whole = ip_network(network)
    if not isinstance(whole, IPv4Network) or (index + 1) * _ADDRESSES_OF_A_CARD > whole.num_addresses:
        raise ValueError(f"{network} has no room for card {index}")
    return IPv4Network((int(whole.network_address) + index * _ADDRESSES_OF_A_CARD, 30))


def grant(
    cards: Sequence[Card],
    requests: Iterable[Request],
    held: Mapping[int, str] | None = None,
    kept: Mapping[str, tuple[int, ...]] | None = None,
) -> dict[str, Grant]:
    """Cards for every container of a stack on one host, by its name.

    `held`: what else runs with a card, by index; `kept`: the cards that containers of this stack have had until now,
    by their names. Those that name their cards choose first, then services, then what runs to its end, and of each
    kind those that keep their cards. What runs to its end takes turns on a card, in the order of the stack file.
    Raises NoCard.
    """
    held, kept = held or {}, kept or {}
    wanted = [each for each in requests if each.count]
    by_index = {card.index: card for card in cards}
    free = {index for index in by_index if index not in held}
    turns: dict[int, str] = {}  # who was given a card last, and ends
    granted: dict[str, Grant] = {}
    for request in sorted(wanted, key=lambda each: (not each.indices, each.ends, each.name not in kept)):
        chosen = _chosen(request, by_index, free, turns, held, kept.get(request.name, ()))
        after = tuple(dict.fromkeys(turns[index] for index in chosen if index in turns))
        if request.ends:
            turns.update(dict.fromkeys(chosen, request.name))
        free -= set(chosen)
        granted[request.name] = Grant(tuple(by_index[index] for index in chosen), after)
    return granted


def shared_grant(cards: Sequence[Card], request: Request) -> Grant:
    """Cards that others may use as well. Raises NoCard where the host has not as many."""
    by_index = {card.index: card for card in cards}
    empty: dict[int, str] = {}
    return Grant(tuple(by_index[index] for index in _chosen(request, by_index, {*by_index}, empty, empty, ())))


def _chosen(  # noqa: PLR0913, PLR0917 - a request, and all that it competes with
    request: Request,
    cards: Mapping[int, Card],
    free: set[int],
    turns: Mapping[int, str],
    held: Mapping[int, str],
    kept: tuple[int, ...],
) -> tuple[int, ...]:
    if unknown := [index for index in request.indices if index not in cards]:
        fix = f"the host has {listing([str(index) for index in sorted(cards)])}"
        raise NoCard(request.name, f"names card {unknown[0]}, which is not there", fix)
    open_to_it = free | (turns.keys() if request.ends else set())
    if taken := [index for index in request.indices if index not in open_to_it]:
        who = held.get(taken[0], "another container of this stack")
        raise NoCard(request.name, f"names card {taken[0]}, which {who} holds", "choose another, or end that one")
    if request.indices:
        return request.indices
    if len(kept) == request.count and open_to_it.issuperset(kept):
        return kept
    # A card that nobody had comes before one on which it would wait.
    best = sorted(open_to_it, key=lambda index: (index not in free, index))[: request.count]
    if len(best) < request.count:
        who = listing([f"card {index}: {holder}" for index, holder in sorted(held.items())])
        reason = f"needs {request.count} cards, and {len(best)} of {len(cards)} are free"
        raise NoCard(request.name, reason, "ask for fewer, or end what holds them" + (f" ({who})" if who else ""))
    return tuple(sorted(best))
