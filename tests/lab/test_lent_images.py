"""A lab that uses the registry and BuildKit of another one, as the labs of a test run do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab import bases, site, steps
from lab.instance import Instance, LabError, open_instance
from lab.servers import buildkit
from lab.toolchain import Toolchain

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.cupy.yaml"


@pytest.fixture
def labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Instance, Instance]:
    """One that lends, and one that was made to borrow."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, second = open_instance("first"), open_instance("second")
    record = second.home / "instance.json"
    ports = {**second.ports, "registry": first.ports["registry"]}
    record.write_text(json.dumps({**json.loads(record.read_text()), "ports": ports, "lender": str(first.home)}))
    return first, open_instance("second")


def test_it_builds_with_the_others_builder_and_keeps_its_images_in_a_folder_of_its_own(
    labs: tuple[Instance, Instance],
) -> None:
    lending, borrowing = labs
    buildkit.write_docker_config(borrowing)
    builder = json.loads((buildkit.docker_config(borrowing) / "buildx/instances/gpu-commons").read_text())
    assert builder["Nodes"][0]["Endpoint"] == f"unix://{buildkit.socket_path(lending)}"
    registries = [site.overlay(each, [], ca_bundle=None)["registry"] for each in labs]
    assert registries == [f"{lending.registry_address}/gpu-commons", f"{lending.registry_address}/gpu-commons-second"]


def test_it_stays_one_when_it_is_opened_by_a_lab_with_more_servers(labs: tuple[Instance, Instance]) -> None:
    lending, borrowing = labs
    record = borrowing.home / "instance.json"
    stored = json.loads(record.read_text())
    del stored["ports"]["sshd"]
    record.write_text(json.dumps(stored))
    assert open_instance("second").lender == lending.home
    assert open_instance("second").registry_address == lending.registry_address


def test_what_one_of_them_found_out_about_the_network_is_not_asked_again(
    labs: tuple[Instance, Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answers(url: str) -> bool:
        asked.append(url)
        return True

    monkeypatch.setattr(bases, "answers_at", answers)
    for instance in labs:
        assert bases.ensure(instance, Toolchain(), print, drivers=None) == []
    assert asked
    assert len(asked) == len({*asked})


def test_where_the_other_does_not_run_it_is_named(
    labs: tuple[Instance, Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Toolchain, "ensure", lambda *_, **__: None)
    with pytest.raises(LabError, match=rf"uses the registry of the lab in {labs[0].home}, which does not run"):
        steps.start(labs[1], Toolchain(), STACK, steps.Nodes.SIMULATED, print)
