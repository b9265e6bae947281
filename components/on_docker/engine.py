"""Reads a Docker engine: its facts and the containers that hold GPUs. The only reader of engines."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import docker
import requests
from docker.errors import DockerException
from docker.tls import TLSConfig

from fleet import labels
from platforms.docker.facts import HostFacts, facts_of
from platforms.docker.gpu_leases import network_index

ASK_WITHIN_S: Final = 20
_WHOSE: Final = (labels.POOL, labels.HUB, labels.USER)
ENDED: Final = frozenset({"exited", "dead", "removing"})


class EngineUnreachable(Exception):  # noqa: N818 - the name states the fault
    """The engine does not answer; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A container that holds GPUs, found through the host's GPU networks."""

    name: str
    cards: tuple[int, ...]
    has_ended: bool
    since: str  # creation time, in seconds since 1970
    pool: str
    hub: str = ""  # for containers started by a hub: its name
    user: str = ""


@dataclass(frozen=True, slots=True)
class EngineState:
    """State of an engine."""

    facts: HostFacts
    holders: tuple[Holder, ...]


def read_engine(address: str, certificates: str | None = None) -> EngineState:
    """Facts and GPU holders. Raises EngineUnreachable."""
    with connected(address, certificates) as client:
        facts = facts_of(client.info(), client.version())
        containers = client.api.containers(all=True, filters={"label": labels.POOL})
    return EngineState(facts, tuple(_holders(containers)))


def _holders(containers: list[dict[str, Any]]) -> Iterator[Holder]:
    for each in containers:
        networks = (each.get("NetworkSettings") or {}).get("Networks") or {}
        cards = tuple(sorted(index for name in networks if (index := network_index(name)) is not None))
        if cards:
            name = str((each.get("Names") or [each.get("Id", "")])[0]).lstrip("/")
            pool, hub, user = (str((each.get("Labels") or {}).get(key, "")) for key in _WHOSE)
            yield Holder(name, cards, each.get("State") in ENDED, str(each.get("Created", "")), pool, hub, user)


@contextmanager
def connected(address: str, certificates: str | None) -> Iterator[docker.DockerClient]:
    """An engine client, closed at the end. Raises EngineUnreachable, also for failures during use."""
    folder = Path(certificates) if certificates else None
    try:
        # On Linux and macOS; the system's ssh knows its keys, hosts and jump hosts.
        client = docker.DockerClient(
            base_url=address,
            timeout=ASK_WITHIN_S,
            use_ssh_client=address.startswith("ssh:"),
            tls=TLSConfig(
                client_cert=(str(folder / "cert.pem"), str(folder / "key.pem")), ca_cert=str(folder / "ca.pem")
            )
            if folder
            else False,
            version="auto",
        )
    except (DockerException, requests.RequestException, OSError) as error:
        raise EngineUnreachable(_words(address, error)) from None
    try:
        yield client
    except (DockerException, requests.RequestException, OSError) as error:
        raise EngineUnreachable(_words(address, error)) from None
    finally:
        client.close()


def _words(address: str, error: Exception) -> str:
    """The innermost reason, without the wrappers of urllib3 and requests."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    cause: BaseException | None = error
    while cause is not None:
        if address.startswith("ssh:") and isinstance(cause, ConnectionError):
            text = "ssh ended, for the reason that it printed itself"
            break
        if isinstance(cause, OSError) and cause.strerror and cause.errno:
            text = cause.strerror
            break
        cause = cause.__cause__ or cause.__context__
    return f"the Docker engine at {address} does not answer: {text}; start it, or correct engine"
