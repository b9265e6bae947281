"""Whose home a volume is, and whose gateway a call comes from."""

from __future__ import annotations

import hmac
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from docker.errors import NotFound

from platforms.docker.hub_files import homes
from platforms.docker.hub_files.engine import gateway_token
from platforms.docker.hub_files.homes import NotYours, own_slug, owner
from platforms.docker.hub_files.names import HUB, LOGIN, Names, earlier_slug, slug


class Volumes:
    """The volumes of an engine: what homes ask of it."""

    def __init__(self, **labels: dict[str, str] | None) -> None:
        self.made = {name.replace("_", "-"): each for name, each in labels.items()}

    def inspect_volume(self, name: str) -> dict[str, Any]:
        if name not in self.made:
            raise NotFound(name)
        return {"Name": name, "Labels": self.made[name], "CreatedAt": "2026-09-01T10:00:00+02:00"}

    def create_volume(self, name: str, labels: dict[str, str]) -> None:
        self.made[name] = labels

    def volumes(self, filters: dict[str, list[str]]) -> dict[str, Any]:
        wanted = [each.split("=", 1) for each in filters["label"]]
        found = [name for name, its in self.made.items() if all((its or {}).get(key) == value for key, value in wanted)]
        return {"Volumes": found}


BEFORE, AFTER = (datetime(2026, month, 1, tzinfo=UTC) for month in (8, 10))
ANN, EVE = "ann@example.edu", "eve@example.edu"


def old_home(login: str) -> str:
    return Names("dcsg", earlier_slug(login)).home


def test_a_home_that_names_its_user_is_found_again() -> None:
    engine = Volumes()
    for login in (ANN, "bob"):
        assert own_slug(engine, "dcsg", login, AFTER) == slug(login)
        engine.create_volume(Names("dcsg", slug(login)).home, owner("dcsg", login))
        assert own_slug(engine, "dcsg", login, AFTER) == slug(login)


def test_a_home_made_before_homes_had_labels_stays_its_users() -> None:
    engine = Volumes(dcsg_home_bob=None)
    engine.made[old_home(ANN)] = None
    assert own_slug(engine, "dcsg", "bob", BEFORE) == "bob"
    assert [own_slug(engine, "dcsg", ANN, BEFORE) for _ in range(2)] == [earlier_slug(ANN)] * 2
    assert len(engine.made) == 3


def test_an_account_younger_than_an_unlabelled_home_needs_a_word_of_the_people_who_run_the_hub() -> None:
    engine = Volumes()
    engine.made[old_home(ANN)] = None
    with pytest.raises(NotYours, match="older than your account") as refused:
        own_slug(engine, "dcsg", ANN, AFTER)
    *words, name = shlex.split(str(refused.value).rpartition(": docker volume create ")[2])
    engine.create_volume(name, dict(each.split("=", 1) for each in words if each != "--label"))
    assert own_slug(engine, "dcsg", ANN, AFTER) == earlier_slug(ANN)


def test_a_home_goes_to_one_user_though_two_had_the_same_short_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "earlier_slug", lambda _: earlier_slug(ANN))  # as if the 40 bits were the same
    engine = Volumes()
    engine.made[old_home(ANN)] = None
    assert own_slug(engine, "dcsg", ANN, BEFORE) == earlier_slug(ANN)
    with pytest.raises(NotYours, match="another user has it"):
        own_slug(engine, "dcsg", EVE, BEFORE)


def test_a_home_whose_label_names_another_user_is_refused() -> None:
    engine = Volumes()
    engine.made[Names("dcsg", slug(ANN)).home] = {HUB: "dcsg", LOGIN: EVE}
    with pytest.raises(NotYours, match="belongs to another user"):
        own_slug(engine, "dcsg", ANN, BEFORE)


def test_a_gateways_token_is_made_of_its_user_and_the_filters_key(tmp_path: Path) -> None:
    key = tmp_path / "kernels.key"
    key.write_text("a2V5")
    assert gateway_token("ann", key) == hmac.new(b"key", b"ann", "sha256").hexdigest().upper()
    assert gateway_token("ann", key) != gateway_token("bob", key)
