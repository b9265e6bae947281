"""Parses the arguments of DockerHub: keys shared with stack files, and its own. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from errors.problems import Fault, Loc
from platforms.docker.hub_agreements import of_docker_hub, of_hub_name
from platforms.docker.hub_model import Hub
from workloads.agreements import of_hub, of_login
from workloads.arguments import plain, read
from workloads.raw import Raw, is_count, items


def parse_hub(name: str, args: Mapping[str, Any]) -> Hub:
    """Arguments of DockerHub as a Hub. Raises SettingsError with every problem of the plain arguments."""
    raw = plain(args)
    if isinstance(given := raw.get("authenticator"), Mapping) and given.get("allowed_users"):
        # A user list names everyone who may log in.
        raw["authenticator"] = {"allow_all": False, **given}
    return read(
        Hub,
        f"DockerHub {name}",
        name,
        raw,
        (*of_hub_name((), name), *of_hub((), raw), *of_login((), raw), *of_docker_hub((), raw), *_possible(raw)),
    )


def _possible(hub: Raw) -> Iterator[Fault]:
    """Values that the engine's filter rejects or that no user could ever get."""
    cards = hub.get("cards")
    there = len(cards) if isinstance(cards, tuple) else 0
    for loc, profile in items(hub, "profiles"):
        if profile.get("pools") is not None or profile.get("pool", hub.get("pool")) != hub.get("pool"):
            fix = "leave it out: a hub, its servers and its kernels are on one host"
            yield Fault((*loc, "pool"), "is not the host of its hub", fix)
    for loc, each in _started(hub):
        gpus = each.get("gpus", 0)
        if is_count(gpus) and gpus > there:
            yield Fault((*loc, "gpus"), f"is more than the host has ({there})", f"request at most {there}", gpus)
        if each.get("ipc") == "host":
            fix = "take it out of the image's runtime: users would share memory with everything on the host"
            yield Fault((*loc, "ipc"), "is host, which no user's container may have", fix)


def _started(hub: Raw) -> Iterator[tuple[Loc, Raw]]:
    for loc, profile in items(hub, "profiles"):
        yield loc, profile
        yield from items(profile, "kernels", at=loc)
