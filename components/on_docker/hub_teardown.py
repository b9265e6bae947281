"""Stops everything a hub on a Docker host started. Safe to repeat: objects already gone are skipped."""

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from docker import APIClient
from docker.errors import APIError, NotFound

from components.on_docker.engine import connected
from errors.problems import listing
from fleet import labels

# In this order: a gateway starts kernels, and no gateway starts once the hub and the servers are gone.
KINDS: Final = ("server", "gateway", "kernel")
STOP_WITHIN_S: Final = 10  # afterwards the engine kills it
_AT_ONCE: Final = 8
_ROUNDS: Final = 3  # with a pause: something was starting or being removed meanwhile


class ServersLeft(Exception):  # noqa: N818 - the name states the fault
    """Parts of the hub could not be stopped; the message says why."""


def end_servers(hub: str, address: str, certificates: str | None = None) -> None:
    """Stop servers, gateways and kernels of a hub, then remove its user networks.

    Matches objects with the hub's label and one of its names. Raises EngineUnreachable, and ServersLeft if something
    remains.
    """
    left: list[str] = []
    reasons: list[str | None] = []
    with connected(address, certificates) as client, ThreadPoolExecutor(_AT_ONCE) as pool:
        for number in range(_ROUNDS):
            time.sleep(number)
            reasons = []
            for kind in KINDS:
                reasons += pool.map(partial(_end, client.api), _containers(client.api, hub, kind))
            reasons += pool.map(partial(_remove_network, client.api), _networks(client.api, hub))
            left = [name for kind in KINDS for name in _containers(client.api, hub, kind)]
            left += _networks(client.api, hub)
            if not left:
                return
    why = "; ".join(dict.fromkeys(filter(None, reasons))) or "something starts them again: is the hub still running?"
    raise ServersLeft(f"hub {hub}: {listing(left)} could not be removed: {why}; run the command again")


def _containers(api: APIClient, hub: str, kind: str) -> list[str]:
    found = api.containers(all=True, filters={"label": f"{labels.HUB}={hub}"})
    return [*_names(found, f"{hub}-{kind}-")]


def _networks(api: APIClient, hub: str) -> list[str]:
    found = api.networks(filters={"label": f"{labels.HUB}={hub}"})
    return [*_names(found, f"{hub}-user-")]


def _names(found: Iterable[Mapping[str, Any]], beginning: str) -> Iterator[str]:
    """Names with this prefix: of a network, or of a container, where each begins with a slash."""
    for each in found:
        names = [str(name).removeprefix("/") for name in each.get("Names") or (each.get("Name"),)]
        yield from (name for name in names if name.startswith(beginning) and "/" not in name)


def _end(api: APIClient, container: str) -> str | None:
    """Stop and remove a container; returns the engine's error, if any."""
    with contextlib.suppress(APIError):  # may already be stopped or gone
        api.stop(container, timeout=STOP_WITHIN_S)
    try:
        api.remove_container(container, force=True, v=True)  # with anonymous volumes: homes are named
    except NotFound:
        return None
    except APIError as error:
        return str(error.explanation or error)
    return None


def _remove_network(api: APIClient, network: str) -> str | None:
    try:
        # Foreign containers would keep it, and so would an endpoint that an engine of 20.10 left of a removed
        # container, which it only knows by the container's name.
        for each in (api.inspect_network(network).get("Containers") or {}).values():
            api.disconnect_container_from_network(each["Name"], network, force=True)
        api.remove_network(network)
    except NotFound:
        return None
    except APIError as error:
        return str(error.explanation or error)
    return None
