"""How the summary of `make up` says to log in, and what it says of images at the end."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Self

import psutil
import pytest
from click.testing import CliRunner

from lab import processes, summary
from lab.__main__ import main
from lab.cluster import wait_until
from lab.instance import Instance, open_instance
from lab.processes import Server
from lab.servers import docker

URL = "http://127.0.0.1:30080/"


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return open_instance("summary")


def with_secrets(monkeypatch: pytest.MonkeyPatch, **secrets: dict[str, str]) -> None:
    """A cluster whose namespace datahub has those Secrets."""

    class FakeCluster:
        def __init__(self, _: Instance) -> None:
            pass

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def get(self, path: str) -> dict[str, Any] | None:
            found = secrets.get(path.removeprefix("/api/v1/namespaces/datahub/secrets/").replace("-", "_"))
            return found and {"data": {key: base64.b64encode(text.encode()) for key, text in found.items()}}

    monkeypatch.setattr(summary, "Cluster", FakeCluster)


def test_a_stack_of_images_says_where_they_are_and_how_big() -> None:
    outputs = {
        "images": {"b": "127.0.0.1:5000/gpu-commons/b@sha256:2", "a": "127.0.0.1:5000/gpu-commons/a@sha256:1"},
        "image_sizes": {"a": {"compressed_mb": 234.1, "unpacked_mb": 780.4}, "b": {}},
    }
    assert summary.images(outputs) == [
        "",
        "  2 images:",
        "    127.0.0.1:5000/gpu-commons/a@sha256:1, 234.1 MB compressed",
        "    127.0.0.1:5000/gpu-commons/b@sha256:2",
    ]
    assert summary.images({}) == []


@pytest.mark.parametrize(
    ("kind", "named"),
    [("kubernetes", None), ("eks", "aws"), ("docker", None), ("slurm", None)],
)
def test_only_stand_ins_that_the_stack_uses_are_named(kind: str, named: str | None) -> None:
    origins = {"kubernetes": "built", "aws": "stand-in", "docker-build": "built", "docker": "built"}
    line = f"  provider plugins that are stand-ins of this project: {named}"
    assert summary.stand_ins(kind, origins) == ([line] if named else [])


def test_users_and_the_administrator_have_a_line_each(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    users, admins = {"dummy-password": "one-word"}, {"admin-password": "another-word"}
    with_secrets(monkeypatch, hub_credentials=users, hub_admin=admins)
    assert summary.logins(instance, "datahub", URL) == [
        "log in with any user name and the password one-word",
        "as administrator: user admin, password another-word (page: http://127.0.0.1:30080/hub/admin)",
    ]


def test_a_hub_without_administrators_promises_none(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    with_secrets(monkeypatch, hub_credentials={"dummy-password": "one-word"})
    assert summary.logins(instance, "datahub", URL) == ["log in with any user name and the password one-word"]


def test_a_hub_with_accounts_of_its_own_shows_no_password(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    with_secrets(monkeypatch, hub_credentials={"proxy-token": "not for people"})
    assert summary.logins(instance, "datahub", URL) == ["log in with your account"]


def test_images_are_listed_by_name_and_only_where_something_differs() -> None:
    assert summary.notices([]) == []
    assert summary.notices(["proxy: a stand-in for debian", "hub: a stand-in for debian"]) == [
        "",
        "  images that are not what their specs ask for:",
        "    hub: a stand-in for debian",
        "    proxy: a stand-in for debian",
    ]


def test_a_limit_that_the_machine_cannot_give_is_named_once_with_what_was_asked_for(instance: Instance) -> None:
    assert summary.limits(instance) == []
    lines = [
        f"2026-11-23T19:00:0{each}Z container {each}b2d39e33574: memlock unlimited lowered to 8388608"
        for each in (1, 2)
    ]
    docker.clamp_log(instance).write_text(
        "\n".join([*lines, "2026-11-23T19:00:03Z container 1: nofile 65536 lowered to 20000"])
    )
    lowered = "memlock unlimited lowered to 8388608, nofile 65536 lowered to 20000"
    assert summary.limits(instance) == [f"  limits of containers that this machine cannot give: {lowered}"]


def test_a_printed_command_names_what_a_bare_one_would_not_mean(instance: Instance) -> None:
    assert instance.make("up") == "make up INSTANCE=summary"
    assert instance.make("up", "dcsg") == "make up STACK=dcsg INSTANCE=summary"
    assert open_instance().make("down") == "make down"


def test_the_status_of_a_lab_says_what_to_do_unless_all_of_it_runs(instance: Instance) -> None:
    def status() -> tuple[int, str]:
        found = CliRunner().invoke(main, ["--instance", "summary", "status"])
        return found.exit_code, found.output

    code, text = status()
    assert code == 1
    assert "nothing runs; to start the lab, with its STACK if it is another one: make up INSTANCE=summary" in text
    server = Server("sleeper", ("sleep", "60"), ready=lambda: True)
    processes.start(instance, server)
    code, text = status()
    assert code == 0
    assert "to start the lab" not in text
    found = processes.read_record(instance, "sleeper")
    assert found is not None
    psutil.Process(found.pid).kill()
    wait_until(lambda: {"it"} if found.process() else set(), within_s=10, what="still running")
    code, text = status()
    assert code == 1
    assert "some have ended; to start the lab" in text
    processes.stop(instance, "sleeper")
