"""Selects the GPUs that a container may take, words its request to the engine, and says why it gets none. Pure.

To hold a card is to be attached to its network (decision 38): there is no table, and nothing to clean up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

Object = Mapping[str, Any]  # a card as hub.json has it: index, device, network


class NoCard(Exception):  # noqa: N818 - a refusal, with its words for the user
    """No GPU is free for a container."""


def free_sets(
    cards: Sequence[Object], holders: Mapping[int, str], count: int, before: Iterable[int] = ()
) -> Iterator[tuple[Object, ...]]:
    """Sets of free cards to try, in order; first the cards that the container had `before`. None: an empty answer."""
    had = set(before)
    free = [card for card in cards if card["network"] is None or card["index"] not in holders]
    yield from combinations(sorted(free, key=lambda card: (card["index"] not in had, card["index"])), count)


def device_requests(cards: Sequence[Object], access: str) -> list[dict[str, Any]]:
    """Exactly these devices, as `HostConfig.DeviceRequests`; nothing for no card."""
    if not cards:
        return []
    if access == "cdi":
        return [{"Driver": "cdi", "DeviceIDs": [f"nvidia.com/gpu={card['device']}" for card in cards]}]
    return [{"Driver": "nvidia", "Capabilities": [["gpu"]], "DeviceIDs": [card["device"] for card in cards]}]


def refusal(title: str, cards: Sequence[Object], holders: Mapping[int, str], count: int) -> str:
    """Why a container got no cards: how many it needs, who has them, what to do."""
    needs = f"“{title}” needs {_gpus(count)}"
    if count > len(cards):
        return f"{needs}, and this host has {len(cards)}: choose another option."
    free = sum(card["index"] not in holders for card in cards)
    said = f"{needs}, and {free or 'none'} of {len(cards)} {'is' if free < 2 else 'are'} free"
    held = "; ".join(f"{name} has GPU {_indices(holders, name)}" for name in dict.fromkeys(holders.values()))
    return f"{said}{f' ({held})' if held else ''}. Try again when one of them has ended, or choose another option."


def _indices(holders: Mapping[int, str], name: str) -> str:
    return " and ".join(str(index) for index, holder in sorted(holders.items()) if holder == name)


def _gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count} GPUs"
