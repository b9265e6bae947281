"""SlurmHub under mocks: what it hands to the resource that runs it, and when that one has something to do."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from components.on_slurm.hub_processes import RunsHub
from components.on_slurm.slurm_hub import SlurmHub
from platforms.slurm.controllers import hub_service

IMAGE = f"registry.example.edu/notebook@sha256:{'0' * 64}"
SITE: dict[str, Any] = {
    "access": {"kind": "ssh", "address": "ops@login.example.edu"},
    "program": "singularity",
    "image_store": "/projects/images",
    "hubs": {
        "access": {"kind": "ssh", "address": "jupyter@login.example.edu"},
        "inside": "login-1",
        "identity": "/var/lib/jupyter/.ssh/hubs",
        "accounts": {"ada": "ada01", "bob": "bob02"},
    },
}
ARGS: dict[str, Any] = {
    "site": SITE,
    "hub_image": IMAGE,
    "hub_sif": "/projects/images/slurm-hub/1.sif",
    "proxy_image": IMAGE,
    "proxy_sif": "/projects/images/proxy/1.sif",
    "expose": {"kind": "login_node"},
    "authenticator": {"kind": "dummy"},
    "profiles": [
        {
            "name": "one-gpu", "title": "One GPU", "image": IMAGE, "image_name": "notebook",
            "sif": "/projects/images/notebook/1.sif", "gpus": 1, "cpu": 2, "memory_gib": 8, "time_min": 240,
            "partitions": [{"pool": "gpu", "partition": "gpu"}],
        }
    ],
}  # fmt: skip
# What Pulumi's SDK 3.259.0 wrote into the state for the first version of the provider.
FIRST = "gASVNAAAAAAAAACMIWNvbXBvbmVudHMub25fc2x1cm0uaHViX3Byb2Nlc3Nlc5SMB1J1bnNIdWKUk5QpgZQu"


def made() -> None:
    SlurmHub("quest", ARGS)  # type: ignore[arg-type]


def test_it_runs_what_the_stack_wrote_and_the_policies_see_each_profile_as_its_job(
    recorded: Callable[..., Any],
) -> None:
    inputs = recorded(made).only(":HubProcess").inputs
    assert json.loads(inputs["files"]["quest/jobs.json"])["profiles"].keys() == {"one-gpu"}
    (profile,) = inputs["profiles"]
    assert (profile["name"], profile["image_name"], profile["pools"], profile["gpus"]) == (
        "one-gpu", "notebook", ["gpu"], 1,
    )  # fmt: skip
    assert profile["text"] == inputs["files"]["quest/profiles/one-gpu.sbatch"]
    assert "/projects/images/notebook/1.sif batchspawner-singleuser" in profile["text"]


def test_what_cannot_be_written_is_refused_before_anything_is_made(recorded: Callable[..., Any]) -> None:
    def wrong() -> None:
        SlurmHub("quest", {**ARGS, "site": {**SITE, "hubs": None}})  # type: ignore[typeddict-item]

    with pytest.raises(pulumi.RunError, match="what hubs need here"):
        recorded(wrong)


def test_a_hub_that_does_not_run_is_a_change_although_the_stack_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"hub": "quest", "site": SITE, "files": {}, "profiles": []}
    monkeypatch.setattr(hub_service, "is_right", lambda *_: True)
    assert not RunsHub().diff("quest", known, known).changes
    monkeypatch.setattr(hub_service, "is_right", lambda *_: False)
    found = RunsHub().diff("quest", known, known)
    assert (found.changes, found.replaces) == (True, [])


def test_who_loses_the_account_loses_the_server_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[list[str]] = []
    monkeypatch.setattr(hub_service, "start", lambda *_: "/var/lib/jupyter/.gpu-commons/hubs/quest")
    monkeypatch.setattr(hub_service, "end_servers", lambda _site, _hub, accounts: ended.append([*accounts]))
    before = {"hub": "quest", "site": SITE, "files": {}, "profiles": []}
    after = {**before, "site": {**SITE, "hubs": {**SITE["hubs"], "accounts": {"bob": "bob02"}}}}
    RunsHub().update("quest", before, after)
    assert ended == [["ada01"]]


def test_the_state_keeps_the_name_of_the_providers_class_and_nothing_else() -> None:
    loaded = pickle.loads(base64.b64decode(FIRST))  # noqa: S301 - written above
    assert type(loaded) is RunsHub
    assert base64.b64encode(pickle.dumps(RunsHub())).decode() == FIRST
    assert RunsHub.serialize_as_secret_always is False
