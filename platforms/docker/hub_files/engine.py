"""Client of the engine for hubs and gateways: through the filter, by object names, with docker SDK 7."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode
from contextlib import suppress
from pathlib import Path
from typing import Any

from docker import APIClient
from docker.errors import APIError, NotFound

from .names import HUB, PART, USER

ANSWER_WITHIN_S = 120  # a stop waits for the end of a container
KERNELS_KEY = Path("/run/engine/kernels.key")  # made by the filter, read by the hub: no gateway has it


class Engine(APIClient):
    """The SDK's client; what it sends has sorted keys, because the filter compares bodies letter by letter."""

    def __init__(self, address: str, user: str = "", token: str = "") -> None:
        # A version, so that the first call is made after these headers are there.
        super().__init__(base_url=address, version="1.24", timeout=ANSWER_WITHIN_S)
        if user:
            self.headers.update({"Gpu-Commons-User": user, "Gpu-Commons-Token": token})
        self._version = str(self.version(api_version=False)["ApiVersion"])

    def _post_json(self, url: str, data: Any, **kwargs: Any) -> Any:
        return super()._post_json(url, in_order(data or {}), **kwargs)  # type: ignore[misc]  # its stubs leave it out


def gateway_token(user: str, key: Path = KERNELS_KEY) -> str:
    """What the gateway of this user shows the filter, which lets it touch this user's kernels and no other's."""
    return hmac.digest(b64decode(key.read_text()), user.encode(), hashlib.sha256).hex().upper()


def in_order(value: Any) -> Any:
    """The same JSON value with the keys of every object in order, and without those that say nothing."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value) if value[key] is not None}
    return [in_order(each) for each in value] if isinstance(value, list) else value


def state_of(engine: Any, name: str) -> dict[str, Any] | None:
    """State of a container; None where there is none."""
    try:
        return dict(engine.inspect_container(name)["State"])
    except NotFound:
        return None


def remove(engine: Any, name: str) -> None:
    """End and remove a container, whatever its state; one that is gone or is being removed is fine."""
    try:
        engine.remove_container(name, v=True, force=True)
    except NotFound:
        pass
    except APIError as error:
        if error.status_code != 409:
            raise


def remove_network(engine: Any, name: str) -> None:
    """Remove a network that has no containers any more; one that is gone is fine."""
    with suppress(NotFound):
        engine.remove_network(name)


def made_by(engine: Any, hub: str, user: str | None = None, part: str | None = None) -> list[dict[str, Any]]:
    """Containers of a hub, ended ones too: name, user and id."""
    labels = [f"{HUB}={hub}", *([f"{USER}={user}"] if user else []), *([f"{PART}={part}"] if part else [])]
    return [
        {"name": each["Names"][0].lstrip("/"), "user": each["Labels"].get(USER, ""), "id": each["Id"]}
        for each in engine.containers(all=True, filters={"label": labels})
        if each.get("Names")
    ]


def holders(engine: Any, cards: Any) -> dict[int, str]:
    """Who holds which card: names of containers by the index of the card."""
    found = {}
    for card in cards:
        if card["network"] is not None:
            attached = engine.inspect_network(card["network"]).get("Containers") or {}
            for each in attached.values():
                found[card["index"]] = str(each["Name"])
    return found


def words(error: APIError) -> str:
    """What the engine says, without the wrapping of the SDK."""
    return re.sub(r"\s+", " ", str(error.explanation or error)).strip().rstrip(".")
