"""Checks the owner of a home: the volume's label names the login, and each start compares them. Needs docker SDK 7.

A user whose name is no plain one is a digest on the engine. Homes of an earlier, shorter digest have no label: one goes
to an account that is older than the home, once, by a record: an empty volume of the user's present name whose label
names the home. All that belongs to such a user keeps its earlier name.
"""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Any

from docker.errors import NotFound

from .names import HOME_OF, HUB, LOGIN, Names, earlier_slug, slug

_ONE_AT_A_TIME = threading.Lock()


class NotYours(Exception):  # noqa: N818 - a refusal, with its words for the user
    """The home of this name belongs to somebody else, or nobody knows whose it is."""


def own_slug(engine: Any, hub: str, login: str, created: datetime) -> str:
    """What a user is called on the engine: a home of that name is the user's, or there is none yet.

    `created`: when the account was made, with a time zone. Raises NotYours, APIError.
    """
    with _ONE_AT_A_TIME:
        names, earlier = Names(hub, slug(login)), Names(hub, earlier_slug(login))
        found = _volume(engine, names.home)
        if found is not None:
            return _checked(found, names, earlier, login)
        old = _volume(engine, earlier.home)
        if old is None:
            return names.user
        holders = engine.volumes(filters={"label": [f"{HUB}={hub}", f"{HOME_OF}={earlier.home}"]})["Volumes"]
        if holders or created > datetime.fromisoformat(old["CreatedAt"]):
            raise NotYours(_unclear(names, earlier, login))
        engine.create_volume(names.home, labels=_record(names, earlier, login))
        return earlier.user


def owner(hub: str, login: str) -> dict[str, str]:
    """Labels of a new home."""
    return {HUB: hub, LOGIN: login}


def _checked(found: dict[str, Any], names: Names, earlier: Names, login: str) -> str:
    labels = found.get("Labels") or {}
    if labels.get(LOGIN, login) != login:
        raise NotYours(f"The home {names.home} belongs to another user. Tell the people who run this hub.")
    return earlier.user if labels.get(HOME_OF) == earlier.home else names.user


def _unclear(names: Names, earlier: Names, login: str) -> str:
    labels = " ".join(f"--label '{key}={value}'" for key, value in _record(names, earlier, login).items())
    return (
        f"The home {earlier.home} is older than your account, or another user has it, so your server was not started. "
        "If it is yours, ask the people who run this hub to run on its host: "
        f"docker volume create {labels} {names.home}"
    )


def _record(names: Names, earlier: Names, login: str) -> dict[str, str]:
    return {**owner(names.hub, login), HOME_OF: earlier.home}


def _volume(engine: Any, name: str) -> dict[str, Any] | None:
    try:
        return dict(engine.inspect_volume(name))
    except NotFound:
        return None
