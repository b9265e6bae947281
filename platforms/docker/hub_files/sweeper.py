"""Removes containers and networks of users without a server, left behind by a hub that was killed.

A service of the hub, which starts it and gives it its address and a token. docker SDK 7.
"""

from __future__ import annotations

import json
import logging
import os
import time
import urllib.request
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from docker.errors import DockerException, NotFound
from requests import RequestException

from .engine import Engine, made_by, remove, remove_network
from .names import HUB, USER, earlier_slug, slug

EVERY_S = 60
ANSWER_WITHIN_S = 30
LOG = logging.getLogger("sweeper")


def orphans(made: Iterable[Mapping[str, Any]], active: Collection[str]) -> list[Mapping[str, Any]]:
    """What belongs to nobody who has a server, or whose server starts or ends; `active` are names of users."""
    slugs = {of(name) for name in active for of in (slug, earlier_slug)}
    return [each for each in made if each["user"] not in slugs]


def active_users() -> list[str]:
    """Users with a server, as the hub knows it, page by page. Raises OSError."""
    names: list[str] = []
    following: Mapping[str, Any] | None = {"offset": 0}
    while following:
        request = urllib.request.Request(  # noqa: S310 - http, as the hub says
            f"{os.environ['JUPYTERHUB_API_URL']}/users?state=active&offset={following['offset']}",
            headers={
                "Accept": "application/jupyterhub-pagination+json",
                "Authorization": f"token {os.environ['JUPYTERHUB_API_TOKEN']}",
            },
        )
        with urllib.request.urlopen(request, timeout=ANSWER_WITHIN_S) as answer:  # noqa: S310 - the same
            page = json.load(answer)
        names += [user["name"] for user in page["items"]]
        following = page["_pagination"]["next"]
    return names


def sweep(engine: Engine, hub: str) -> None:
    """One round. What is there is read before who is active: a server that starts meanwhile is not looked at."""
    containers = made_by(engine, hub)
    networks = [
        {"name": each["Name"], "user": (each.get("Labels") or {}).get(USER, "")}
        for each in engine.networks(filters={"label": f"{HUB}={hub}"})
    ]
    active = active_users()
    for each in orphans(containers, active):
        if _is_still(engine, each):
            LOG.warning("removing %s, whose user has no server", each["name"])
            remove(engine, each["name"])
    for each in orphans((one for one in networks if one["user"]), active):
        remove_network(engine, each["name"])


def _is_still(engine: Engine, container: Mapping[str, Any]) -> bool:
    """Not another of that name: its user may have started anew."""
    try:
        return bool(engine.inspect_container(container["name"])["Id"] == container["id"])
    except NotFound:
        return False


def main() -> None:
    """Sweep for as long as the hub runs."""
    logging.basicConfig(level=logging.INFO, format="[sweeper] %(message)s")
    hub = json.loads(Path(__file__).parent.with_name("hub.json").read_text())
    while True:
        try:
            with closing(Engine(hub["engine"]["hub"])) as engine:
                sweep(engine, hub["hub"])
        except (DockerException, RequestException, OSError, ValueError, KeyError) as error:
            LOG.warning("nothing swept: %s", error)
        time.sleep(EVERY_S)


if __name__ == "__main__":
    main()
