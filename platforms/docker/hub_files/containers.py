"""Creates and starts containers that lease GPUs; pulls missing images. It blocks: call it in threads."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from docker.errors import APIError, ImageNotFound, NotFound

from .cards import NoCard, device_requests, free_sets, refusal
from .engine import holders, remove, words
from .start_messages import image_missing

TRIES = 4  # where others are faster each time
PAUSE_S = 0.5
TAKEN = "no available IPv4 addresses"  # of the network of a card, which has one address


class ImageMissing(Exception):  # noqa: N818 - a refusal, with its words for the user
    """An image is neither on the host nor can be had."""


@dataclass(frozen=True)
class Wish:
    """A container: its name, its body for the engine, and what it is given beside. `networks`: the first is its own."""

    name: str
    title: str  # as the user knows it
    body: Mapping[str, Any]
    networks: Sequence[str]
    labels: Mapping[str, str]
    env: Mapping[str, str] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)  # more of HostConfig
    more: Mapping[str, Any] = field(default_factory=dict)  # more of the body
    volumes: Mapping[str, str] = field(default_factory=dict)  # name → where it is mounted
    volume_labels: Mapping[str, str] = field(default_factory=dict)  # of those that are new
    gpus: int = 0
    had: Sequence[int] = ()  # cards that it had until now

    def rendered(self, cards: Sequence[Mapping[str, Any]], access: str) -> dict[str, Any]:
        """The whole body of `POST /containers/create`."""
        body = {**deepcopy(dict(self.body)), **self.more}
        kept = [each for each in body.get("Env") or () if each.partition("=")[0] not in self.env]
        host = {**(body.get("HostConfig") or {}), **self.host, "NetworkMode": self.networks[0]}
        mounts = [{"Type": "volume", "Source": name, "Target": target} for name, target in self.volumes.items()]
        if both := [*(host.get("Mounts") or ()), *mounts]:
            host["Mounts"] = both
        if requests := device_requests(cards, access):
            host["DeviceRequests"] = requests
        return {
            **body,
            "Env": [*kept, *(f"{name}={value}" for name, value in sorted(self.env.items()))],
            "HostConfig": host,
            "Labels": {**(body.get("Labels") or {}), **self.labels},
        }


def run(engine: Any, wish: Wish, host: Mapping[str, Any], prepare: Callable[[], Any] = lambda: None) -> list[int]:
    """Start the container with cards that nobody holds; their indices. `host` is hub.json: its cards and its access.

    What had the name before is removed. `prepare` runs between making and starting it. Raises NoCard, ImageMissing,
    APIError; nothing is left then.
    """
    remove(engine, wish.name)
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S * attempt * random.uniform(0.5, 1.5))  # noqa: S311 - so that two do not meet again
        held = holders(engine, host["cards"]) if wish.gpus else {}
        sets = free_sets(host["cards"], held, wish.gpus, wish.had)
        for cards in sets:
            if _started(engine, wish, cards, str(host["access"]), prepare):
                return [card["index"] for card in cards]
        if not any(True for _ in free_sets(host["cards"], held, wish.gpus)):
            break
    raise NoCard(refusal(wish.title, host["cards"], holders(engine, host["cards"]), wish.gpus))


def _started(
    engine: Any, wish: Wish, cards: Sequence[Mapping[str, Any]], access: str, prepare: Callable[[], Any]
) -> bool:
    """False where somebody else took one of the cards first."""
    if wish.volume_labels:  # the engine's own would have none
        for name in wish.volumes:
            engine.create_volume(name, labels=dict(wish.volume_labels))
    try:
        engine.create_container_from_config(wish.rendered(cards, access), wish.name)
    except NotFound:
        raise ImageMissing(image_missing(wish.title, wish.body["Image"], "not found")) from None
    try:
        for network in [*wish.networks[1:], *(card["network"] for card in cards if card["network"] is not None)]:
            engine.connect_container_to_network(wish.name, network)
        prepare()
        engine.start(wish.name)
    except BaseException as error:
        remove(engine, wish.name)
        if isinstance(error, APIError) and cards and TAKEN in str(error):
            return False
        raise
    return True


def bring(engine: Any, image: str, title: str, begins: Callable[[], Any]) -> None:
    """Have an image on the host: pull it where it is missing; `begins` is called before. Raises ImageMissing."""
    try:
        engine.inspect_image(image)
    except ImageNotFound:
        begins()
        repository, _, digest = image.partition("@")
        try:
            said = engine.pull(repository, tag=digest or None)
            engine.inspect_image(image)
        except APIError as error:
            reason = words(error) if not isinstance(error, ImageNotFound) else _error_in(said)
            raise ImageMissing(image_missing(title, image, reason)) from None


def _error_in(stream: str) -> str:
    """The engine reports a failed pull within its answer, which is lines of JSON."""
    errors = [json.loads(line).get("error") for line in stream.splitlines() if '"error"' in line]
    return str(errors[-1]) if errors else "not found"
