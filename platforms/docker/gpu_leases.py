"""Leases the GPUs of a Docker host: each card is a network with room for one container. Pure.

Engines do not count devices: two containers that request device 0 both get it. But an engine assigns
each network address once, refuses a second request, also from other programs, and releases the address when
the container ends, in whatever way. So each card has its own internal network with one free address, and joining
it means holding the card. Nothing can be left behind, and `docker network inspect` shows the holders.
Decision 38 lists the alternatives tried.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from typing import Final

from errors.problems import listing

NETWORK: Final = "gpu-commons-card-"  # followed by the index of the card
CARD_NETWORK: Final = "10.99.0.0/24"  # default of a host
_ADDRESSES_OF_A_CARD: Final = 4  # a /30: the network, the bridge, one container, broadcast


@dataclass(frozen=True, slots=True)
class HostGpu:
    """One GPU of a host: its index in nvidia-smi, and its UUID if known."""

    host: str
    index: int
    uuid: str | None = None

    @property
    def device(self) -> str:
        """ID in container requests: after a card fails, an index means another card, a UUID never does."""
        return self.uuid or str(self.index)

    @property
    def network(self) -> str:
        """Name of the card's network; hosts are separate engines, so the index suffices."""
        return f"{NETWORK}{self.index}"


@dataclass(frozen=True, slots=True)
class Request:
    """Requested cards, by count or identity; `ends` marks a batch run, which frees them for others."""

    name: str
    count: int
    indices: tuple[int, ...] = ()
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Grant:
    """The cards of a container, and the containers that must end before it starts."""

    cards: tuple[HostGpu, ...]
    after: tuple[str, ...] = ()


class NoFreeGpu(ValueError):  # noqa: N818 - a refusal, with its words
    """The host has no card left for a container. `reason` continues after its name."""

    def __init__(self, name: str, reason: str, fix: str) -> None:
        super().__init__(f"{name} {reason}: {fix}")
        self.name, self.reason, self.fix = name, reason, fix


def network_index(name: str) -> int | None:
    """The index of the card with this network; None for any other network."""
    number = name.removeprefix(NETWORK)
    return int(number) if number != name and number.isdecimal() else None


def subnet(network: str, index: int) -> IPv4Network:
    """Address range of a card's network: the index-th /30 of the host's card network.

    Raises ValueError if that network is too small.
    """
    whole = ip_network(network)
    if not isinstance(whole, IPv4Network) or (index + 1) * _ADDRESSES_OF_A_CARD > whole.num_addresses:
        raise ValueError(f"{network} has no room for card {index}")
    return IPv4Network((int(whole.network_address) + index * _ADDRESSES_OF_A_CARD, 30))


def grant(
    cards: Sequence[HostGpu],
    requests: Iterable[Request],
    held: Mapping[int, str] | None = None,
    kept: Mapping[str, tuple[int, ...]] | None = None,
) -> dict[str, Grant]:
    """Assigns cards to every container of a stack on one host, by name.

    `held`: other holders by card index; `kept`: the cards that this stack's containers have had until now,
    by name. Requests for specific cards choose first, then services, then batch runs, and in each group those that
    keep their cards. Batch runs take turns on a card, in the order of the stack file.
    Raises NoFreeGpu.
    """
    held, kept = held or {}, kept or {}
    wanted = [each for each in requests if each.count]
    by_index = {card.index: card for card in cards}
    free = {index for index in by_index if index not in held}
    turns: dict[int, str] = {}  # last batch run on a card
    granted: dict[str, Grant] = {}
    for request in sorted(wanted, key=lambda each: (not each.indices, each.ends, each.name not in kept)):
        chosen = _chosen(request, by_index, free, turns, held, kept.get(request.name, ()))
        after = tuple(dict.fromkeys(turns[index] for index in chosen if index in turns))
        if request.ends:
            turns.update(dict.fromkeys(chosen, request.name))
        free -= set(chosen)
        granted[request.name] = Grant(tuple(by_index[index] for index in chosen), after)
    return granted


def shared_grant(cards: Sequence[HostGpu], request: Request) -> Grant:
    """Shareable cards. Raises NoFreeGpu if the host has too few."""
    by_index = {card.index: card for card in cards}
    empty: dict[int, str] = {}
    return Grant(tuple(by_index[index] for index in _chosen(request, by_index, {*by_index}, empty, empty, ())))


def _chosen(  # noqa: PLR0913, PLR0917 - a request, and all that it competes with
    request: Request,
    cards: Mapping[int, HostGpu],
    free: set[int],
    turns: Mapping[int, str],
    held: Mapping[int, str],
    kept: tuple[int, ...],
) -> tuple[int, ...]:
    if unknown := [index for index in request.indices if index not in cards]:
        fix = f"the host has {listing([str(index) for index in sorted(cards)])}"
        raise NoFreeGpu(request.name, f"names card {unknown[0]}, which is not there", fix)
    open_to_it = free | (turns.keys() if request.ends else set())
    if taken := [index for index in request.indices if index not in open_to_it]:
        who = held.get(taken[0], "another container of this stack")
        raise NoFreeGpu(request.name, f"names card {taken[0]}, which {who} holds", "choose another, or end that one")
    if request.indices:
        return request.indices
    if len(kept) == request.count and open_to_it.issuperset(kept):
        return kept
    # Unused cards come before cards it would wait for.
    best = sorted(open_to_it, key=lambda index: (index not in free, index))[: request.count]
    if len(best) < request.count:
        who = listing([f"card {index}: {holder}" for index, holder in sorted(held.items())])
        reason = f"needs {request.count} cards, and {len(best)} of {len(cards)} are free"
        raise NoFreeGpu(request.name, reason, "ask for fewer, or end what holds them" + (f" ({who})" if who else ""))
    return tuple(sorted(best))
