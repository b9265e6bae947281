"""Hubs on sites with Slurm in a stack file: what is refused before anything runs."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from errors.problems import SettingsError
from settings.models import Stack
from settings.reading import load_stack

QUEST = Path(__file__).parents[2] / "stacks" / "Pulumi.quest.yaml"


@pytest.fixture
def sections() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(QUEST.read_text())
    return found


def load(document: dict[str, Any], folder: Path) -> Stack:
    file = folder / "Pulumi.quest.yaml"
    file.write_text(yaml.safe_dump(document))
    return load_stack(file)


def hub_of(document: dict[str, Any]) -> dict[str, Any]:
    hub: dict[str, Any] = document["config"]["gpu-commons:hubs"][0]
    return hub


def refused(document: dict[str, Any], folder: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        load(document, folder)
    return str(caught.value)


def test_a_hub_of_the_stacks_is_sound(sections: dict[str, Any], tmp_path: Path) -> None:
    (hub,) = load(sections, tmp_path).hubs
    assert [(each.pool, each.gpus, each.time_min) for each in hub.profiles] == [("gpu", 1, 240), ("gpu", 2, 60)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"time_min": 2881}, "is longer than pool gpu allows (2880 min)"),
        ({"time_min": None}, "time_min is missing"),
        ({"pool": None}, "Slurm would take its default partition"),
        ({"pool": "other"}, "is not a pool of the fleet"),
        ({"gpus": 3}, "is more than any node of pool gpu has (2)"),
        ({"shm_gib": 1}, "sees /dev/shm of its node"),
    ],
)
def test_a_profile_that_no_partition_can_start_is_refused(
    sections: dict[str, Any], tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    profile = hub_of(sections)["profiles"][0]
    hub_of(sections)["profiles"][0] = {key: value for key, value in {**profile, **changes}.items() if value is not None}
    assert words in refused(sections, tmp_path).replace("time_min: is missing", "time_min is missing")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"expose": {"kind": "host_port"}}, "is not for a hub on a site with Slurm"),
        ({"expose": {"kind": "login_node", "port": 443}}, "443"),
        ({"expose": {"kind": "login_node", "hub_port": 8000}}, "is taken on the login node"),
        ({"expose": {"kind": "login_node", "certificate": "/etc/hub.pem"}}, "is missing beside certificate"),
        ({"storage": {"homes": {"size_gib": 3}}}, "homes are those of the cluster"),
        ({"filter_image": "proxy"}, "the hub reaches Slurm by its agent alone"),
    ],
)
def test_keys_of_other_hubs_are_refused_with_what_to_do(
    sections: dict[str, Any], tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    hub_of(sections).update(changes)
    assert words in refused(sections, tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (None, "add access, inside, identity and accounts"),
        ({"accounts": {"ada": "root"}}, "is root, which no job runs as"),
        ({"accounts": {"Ada": "ada01"}}, "write ada"),
        ({"accounts": {"ada": "ada01", "bob": "ada01"}}, "is that of ada too"),
        ({"accounts": {"ada": "jupyter"}}, "is the account of hubs"),
        ({"accounts": {"ada": "ops"}}, "is the account of the stack"),
        ({"access": {"kind": "ssh", "address": "root@login.quest.example.edu"}}, "is root"),
        (
            {"access": {"kind": "ssh", "address": "ops@login.quest.example.edu"}},
            "must not be able to change what their users' jobs are",
        ),
    ],
)
def test_a_site_says_who_hubs_and_their_users_are_and_nobody_is_root(
    sections: dict[str, Any], tmp_path: Path, changes: dict[str, Any] | None, words: str
) -> None:
    slurm = sections["config"]["gpu-commons:site"]["slurm"]
    if changes is None:
        del slurm["hubs"]
    else:
        slurm["hubs"].update(changes)
    assert words in refused(sections, tmp_path)


def test_an_administrator_has_an_account_on_the_cluster(sections: dict[str, Any], tmp_path: Path) -> None:
    sections["config"]["gpu-commons:site"]["authenticator"]["admins"] = ["cleo"]
    assert "has no account on the cluster" in refused(sections, tmp_path)


def test_the_keys_of_such_a_hub_are_for_no_other_site(sections: dict[str, Any], tmp_path: Path) -> None:
    site = sections["config"]["gpu-commons:site"]
    other = copy.deepcopy(sections)
    other["config"]["gpu-commons:site"] = {key: value for key, value in site.items() if key not in {"kind", "slurm"}}
    message = refused(other, tmp_path)
    assert "is for a hub on a site with Slurm" in message
    assert "time_min" in message
