"""Pools on Flatcar in a stack file: what follows from the release, and what is refused with a way out."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from rows import each_row

from settings.instance_pools import InstancePool
from settings.instance_table import instance_rows
from settings.models import Stack
from settings.reading import SettingsError, load_stack
from settings.record import decisions
from settings.resolve import driver_containers

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.flatcar-ec2.yaml"
POOL = "fleet.pools[0]"


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_COMMONS_TODAY", "2026-11-23")


def read(tmp_path: Path, change: Any) -> Stack:
    data = deepcopy(yaml.safe_load(STACK.read_text()))
    change(data["config"]["gpu-commons:fleet"]["pools"][0])
    file = tmp_path / "Pulumi.flatcar.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return load_stack(file)


def pool_of(stack: Stack) -> InstancePool:
    found = stack.fleet.pool("t4")
    assert isinstance(found, InstancePool)
    return found


def test_driver_and_toolkit_of_a_pool_follow_from_its_release() -> None:
    pool = pool_of(load_stack(STACK))
    assert (pool.gpu and pool.gpu.name, str(pool.driver), pool.container_toolkit) == (
        "Tesla T4",
        "580.178.04",
        "1.17.8",
    )
    assert pool.labels_of("t4")["gpu-commons.org/driver"] == "580.178.04"
    assert pool.scale.desired >= 3


def test_the_table_names_release_and_driver_container_in_place_of_a_machine_image() -> None:
    rows = {row[0]: row[1:] for row in instance_rows(load_stack(STACK))}
    assert rows["t4"][3:5] == ("580.178.04", "Flatcar 4593.2.5, 580-6.12.102-flatcar-flatcar4593.2.5")


def _extension(pool: Any) -> None:
    del pool["flatcar"]["driver_container"]
    pool["driver"] = "570"


def test_the_table_names_the_extension_where_the_release_has_the_driver(tmp_path: Path) -> None:
    stack = read(tmp_path, _extension)
    rows = {row[0]: row[1:] for row in instance_rows(stack)}
    assert rows["t4"][3:5] == ("570.195.03", "Flatcar 4593.2.5, nvidia-drivers-570")
    assert driver_containers(stack) == ()


def test_the_runtime_runs_a_driver_container_that_is_named_by_its_image_and_none_that_is_a_key(tmp_path: Path) -> None:
    (container,) = driver_containers(load_stack(STACK))
    assert (container.pool, container.key.kernel, container.key.branch) == ("t4", "6.12.102-flatcar", 580)
    assert container.image.startswith(
        "registry.example.edu/drivers/nvidia:580-6.12.102-flatcar-flatcar4593.2.5@sha256:"
    )
    of_the_site = read(tmp_path, _flatcar(driver_container="580-6.12.102-flatcar-flatcar4593.2.5"))
    assert driver_containers(of_the_site) == ()
    assert str(pool_of(of_the_site).driver) == "580.178.04"


def test_who_may_log_in_is_recorded_as_a_reference() -> None:
    pools = decisions(load_stack(STACK))["fleet"]["pools"]
    assert pools[0]["flatcar"]["ssh_keys"] == ["ssm-parameter:/flatcar-ec2/ssh/operators"]


def _flatcar(**keys: Any) -> Any:
    return lambda pool: pool["flatcar"].update(keys)


def _pool(**keys: Any) -> Any:
    return lambda pool: pool.update(keys)


def _general(pool: Any) -> None:
    pool.update(instance_types=["m7i.large"])
    pool.pop("driver")


CONTAINER = "580-6.12.81-flatcar-flatcar4593.2.0"
DIGEST = "@sha256:" + "5" * 64


def _unnamed(pool: Any) -> None:
    del pool["flatcar"]["driver_container"]


def _other_driver(pool: Any) -> None:
    _unnamed(pool)
    pool["driver"] = "570.86.10"


@pytest.mark.slow
@each_row(
    ("change", "path", "reason", "fix"),
    [
        (_flatcar(release="4593.2.99"), "flatcar.release", "kernel and drivers are not known", "4593.2.5"),
        (_flatcar(release="newest"), "flatcar.release", "is not a Flatcar release", "4593.2.5"),
        (_flatcar(release=4593.2), "flatcar.release", "is a number", "quote it"),
        (_flatcar(release="4152.2.0"), "flatcar.release", "public until 2025-10-28", "4593.2.5"),
        (_flatcar(driver_container=CONTAINER), "flatcar.driver_container", "the nodes run kernel 6.12.102", "build"),
        (
            _flatcar(driver_container=f"registry/driver:{CONTAINER}{DIGEST}"),
            "flatcar.driver_container",
            "holds modules for kernel 6.12.81-flatcar; the nodes run kernel 6.12.102",
            "build 580-6.12.102-flatcar-flatcar4593.2.5",
        ),
        (_flatcar(driver_container="580"), "flatcar.driver_container", "is not a driver container", "the key alone"),
        (_flatcar(driver_container=f"registry/driver:{CONTAINER}"), "flatcar.driver_container", "digest", "@sha256:"),
        (_flatcar(driver_container=f"registry/driver:1{DIGEST}"), "flatcar.driver_container", "tag is its key", "580-"),
        (
            _unnamed,
            "flatcar.driver_container",
            "no extension of Flatcar 4593.2.5 has driver 580.178.04",
            "whose tag is",
        ),
        (_flatcar(ssh_keys=["ssh-ed25519 AAAAC3Nz ana"]), "flatcar.ssh_keys[0]", "is not a reference", "ssm-parameter"),
        (_flatcar(ssh_keys=["secret:ana"]), "flatcar.ssh_keys[0]", "no node group on AWS can read", "ssm-parameter"),
        (_flatcar(max_pods=0), "flatcar.max_pods", "is out of range", ""),
        (_pool(machine_image={"type": "AL2023_x86_64_NVIDIA"}), "machine_image", "beside flatcar", "or flatcar"),
        (
            _pool(driver="580"),
            "driver",
            "which driver the driver container 580-6.12.102",
            "the whole driver",
        ),
        (_pool(driver="570"), "flatcar.driver_container", "is of branch 580; the pool wants R570", "R580"),
        (_other_driver, "driver", "570.195.03", "R570"),
        (_pool(instance_types=["g2.2xlarge"]), "driver", "GRID K520", "g4dn"),
        (_pool(instance_types=["g2.x2large"]), "instance_types[0]", "is not a size of g2", "g2.2xlarge"),
        (_general, "instance_types", "has no GPU", "leave flatcar out"),
    ],
)
def test_nodes_that_could_not_start_are_refused_with_a_way_out(
    tmp_path: Path, change: Any, path: str, reason: str, fix: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, change)
    found = [(each.path, each.reason, each.fix) for each in caught.value.problems]
    assert any(each[0] == f"{POOL}.{path}" and reason in each[1] and fix in each[2] for each in found), found


@pytest.mark.parametrize("key", ["url", "sha256"])
def test_a_program_has_an_address_and_the_sum_that_it_must_have(tmp_path: Path, key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, lambda pool: pool["flatcar"]["programs"]["kubelet"].update({key: "http://x"}))
    assert [each.path for each in caught.value.problems] == [f"{POOL}.flatcar.programs.kubelet.{key}"]
