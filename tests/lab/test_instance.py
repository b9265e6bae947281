"""An instance keeps its folder, ports and addresses; two instances share none of them."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab.__main__ import main
from lab.instance import LabError, check_ports, forget_instance, open_instance
from lab.steps import ports_to_take


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_an_instance_is_the_same_when_it_is_opened_again() -> None:
    assert open_instance("one") == open_instance("one")


def test_two_instances_share_no_port_and_no_address() -> None:
    one, two = open_instance("one"), open_instance("two")
    assert set(one.ports.values()).isdisjoint(two.ports.values())
    assert one.networks.node_address != two.networks.node_address
    ranges = {
        getattr(instance.networks, name)
        for instance in (one, two)
        for name in ("pod_cidr", "service_cidr", "simulated_pod_cidr")
    }
    assert len(ranges) == 6


def test_an_instance_of_a_lab_with_fewer_servers_gets_the_ports_that_it_lacks(state: Path) -> None:
    old = open_instance("one").ports
    record = state / "gpu-commons" / "one" / "instance.json"
    stored = json.loads(record.read_text())
    del stored["ports"]["aws"]
    record.write_text(json.dumps(stored))
    new = open_instance("one").ports
    assert {name: new[name] for name in stored["ports"]} == stored["ports"]
    assert len({*new.values()}) == len(old) == len(new)
    assert open_instance("one").ports == new


def test_a_taken_port_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        first = open_instance("one")
        assert taken.getsockname()[1] not in first.ports.values()


def test_a_stored_port_that_somebody_took_is_named() -> None:
    instance = open_instance("one")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", instance.ports["registry"]))
        taken.listen()
        with pytest.raises(LabError, match=f"port {instance.ports['registry']} of the lab's registry is taken"):
            check_ports(instance, ["registry"])


PORTS = ("registry", "etcd", "apiserver", "aws")
IMAGES_ONLY = {"registry", "buildkitd"}


@pytest.mark.parametrize(
    ("running", "needs", "taken"),
    [
        (set(), "images", ("registry",)),
        (set(), "a cluster", ("registry", "etcd", "apiserver")),
        (set(), "aws", PORTS),
        (IMAGES_ONLY, "images", ()),
        (IMAGES_ONLY, "a cluster", ("etcd", "apiserver")),
        ({*IMAGES_ONLY, "etcd", "kubelet"}, "a cluster", ()),
        ({*IMAGES_ONLY, "etcd", "kubelet"}, "aws", ("aws",)),
        ({*IMAGES_ONLY, "etcd", "aws"}, "aws", ()),
        ({"etcd"}, "a cluster", ("registry",)),
    ],
)
def test_only_ports_of_servers_that_are_about_to_start_must_be_free(
    running: set[str], needs: str, taken: tuple[str, ...]
) -> None:
    is_on_aws = needs == "aws"
    assert ports_to_take(running, PORTS, has_cluster=needs != "images", is_on_aws=is_on_aws) == taken


def test_only_the_user_can_read_the_folders() -> None:
    instance = open_instance("one")
    for folder in (instance.home, instance.run, instance.logs, instance.config, instance.data):
        assert folder.stat().st_mode & 0o077 == 0


def test_a_forgotten_instance_leaves_no_folder_and_its_slot_is_free(state: Path) -> None:
    instance = open_instance("one")
    forget_instance(instance)
    assert not instance.home.exists()
    assert open_instance("two").slot == instance.slot
    assert json.loads((state / "gpu-commons" / "two" / "instance.json").read_text())["name"] == "two"


@pytest.mark.parametrize("name", ["..", ".", "", "one/two", "../one", "/tmp", "-one", "One", "a b", "a" * 31, "one\n"])
@pytest.mark.parametrize("command", ["clean", "down", "status", "env", "preview"])
def test_a_name_that_leads_elsewhere_touches_nothing(state: Path, name: str, command: str) -> None:
    (state / "precious").mkdir()
    result = CliRunner().invoke(main, ["--instance", name, command])
    assert result.exit_code == 1
    assert "is not a name for a lab" in result.stderr
    assert [path.name for path in state.rglob("*")] == ["precious"]


@pytest.mark.parametrize("command", ["status", "env", "preview"])
def test_looking_at_a_lab_that_is_not_there_makes_none(state: Path, command: str) -> None:
    open_instance("one")
    result = CliRunner().invoke(main, ["--instance", "two", command])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert 'there is no lab "two"' in result.stderr
    assert "there are: one" in result.stderr
    assert [path.name for path in (state / "gpu-commons").iterdir()] == ["one"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"name": "one"}'])
@pytest.mark.parametrize("name", ["one", "two"])
def test_a_record_that_cannot_be_read_is_named_and_stays(state: Path, name: str, text: str) -> None:
    open_instance("one")
    record = state / "gpu-commons" / "one" / "instance.json"
    record.write_text(text)
    result = CliRunner().invoke(main, ["--instance", name, "up"])
    assert result.exit_code == 1
    assert f"{record} is damaged" in result.stderr
    assert record.read_text() == text
