"""The whole config of a node: what is in it, in which order it starts, and what it cannot be. Golden file: ignition."""

from __future__ import annotations

import base64
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from rows import each_row

sys.path.insert(0, str(Path(__file__).parent))  # for flatcar_nodes.py: folders of tests are no packages here
import flatcar_nodes as nodes

from platforms.aws.flatcar import units
from platforms.aws.flatcar.ignition import Config, render
from platforms.aws.flatcar.joining import Joining, Program, Programs
from platforms.aws.flatcar.releases import release_of
from platforms.aws.flatcar_node import node_config

if TYPE_CHECKING:
    from tests.conftest import GoldenFile


def document(config: Config) -> dict[str, Any]:
    return json.loads(render(config, keys={nodes.KEY: nodes.PUBLIC}))


def text_of(config: Config, path: str) -> str:
    (file,) = (each for each in document(config)["storage"]["files"] if each["path"] == path)
    return unquote(file["contents"]["source"].removeprefix("data:,"))


def unit_text(config: Config, name: str) -> str:
    (unit,) = (each for each in config.units if each.name == name)
    return unit.contents or ""


def after(config: Config, name: str) -> set[str]:
    """Units that have ended before this one starts."""
    return {
        word for line in re.findall(r"^After=(.*)$", unit_text(config, name), re.MULTILINE) for word in line.split()
    }


def paths(config: Config) -> set[str]:
    return {each.path for each in config.files}


@pytest.mark.parametrize(("wanted", "case"), [("newest", "extension"), ("R580", "container")])
def test_a_node_is_this_config(wanted: str, case: str, golden: Callable[[str], GoldenFile]) -> None:
    text = render(nodes.config(wanted), keys={nodes.KEY: nodes.PUBLIC}, indent=2)
    golden(f"ignition/{case}.json").equals(text + "\n")


def test_modules_are_loaded_in_their_order_each_after_the_one_before() -> None:
    config = nodes.config()
    loading = [each.name for each in config.units if each.name.startswith("load-")]
    assert loading == ["load-nvidia.service", "load-nvidia-uvm.service", "load-nvidia-modeset.service"]
    for before, name in itertools.pairwise(loading):
        assert before in after(config, name)
        assert f"Requires={before}" in unit_text(config, name)
    assert loading[-1] in after(config, units.PERSISTENCE)


def test_each_unit_loads_the_module_that_it_is_named_after() -> None:
    config = nodes.config()
    for module in units.MODULES:
        assert f"ExecStart=/usr/sbin/modprobe {module}\n" in unit_text(config, units.unit_of(module))


def test_a_node_joins_only_after_its_driver_and_its_scratch_space() -> None:
    config = nodes.config()
    awaited = {units.PERSISTENCE, "load-nvidia-modeset.service", units.CHECK_SCRATCH, "containerd.service"}
    assert awaited <= after(config, "kubelet.service")
    required = re.search(r"^Requires=(.*)$", unit_text(config, "kubelet.service"), re.MULTILINE)
    assert required is not None
    assert awaited <= set(required[1].split())


def test_units_wait_in_no_circle() -> None:
    config = nodes.config()
    order = [each.name for each in config.units]
    for each in config.units:
        own = {name for name in after(config, each.name) if name in order} if each.contents else set()
        assert all(order.index(name) < order.index(each.name) for name in own), each.name


def test_scratch_space_is_never_in_memory() -> None:
    config = nodes.config()
    masked = {each.name for each in config.units if each.mask}
    assert "tmp.mount" in masked
    assert "tmpfs|ramfs) echo" in unit_text(config, units.CHECK_SCRATCH)
    assert units.SCRATCH in {each.path for each in config.directories}
    (containerd,) = (each for each in config.units if each.name == "containerd.service")
    assert f"TMPDIR={units.SCRATCH}" in containerd.dropins[0].contents


def ran(unit: str, folder: Path, **programs: str) -> subprocess.CompletedProcess[str]:
    """What the shell line of a unit does where these programs print these words."""
    for name, word in programs.items():
        (folder / name).write_text(f"#!/bin/sh\necho {word}\n")
        (folder / name).chmod(0o755)
    line = re.search(r"^Exec\w+=/bin/sh -c '(.*)'$", unit_text(nodes.config(), unit), re.MULTILINE)
    assert line is not None
    command = ["/bin/sh", "-c", line[1].replace("$$", "$")]  # as systemd hands it over
    path = {"PATH": f"{folder}:/usr/bin:/bin"}
    return subprocess.run(command, env=path, capture_output=True, text=True, check=False)


def test_a_node_whose_scratch_is_in_memory_says_so_and_stays_away(tmp_path: Path) -> None:
    assert ran(units.CHECK_SCRATCH, tmp_path, findmnt="ext4").returncode == 0
    found = ran(units.CHECK_SCRATCH, tmp_path, findmnt="tmpfs")
    assert (found.returncode, found.stderr) == (1, "/tmp lies in memory: builds and downloads would fill it\n")


@pytest.mark.slow
def test_a_kernel_that_modules_are_not_for_is_named_with_theirs(tmp_path: Path) -> None:
    assert ran("load-nvidia.service", tmp_path, uname="6.12.102-flatcar").returncode == 0
    found = ran("load-nvidia.service", tmp_path, uname="6.12.95-flatcar")
    assert found.returncode == 1
    assert found.stderr == "the driver of this node is for kernel 6.12.102-flatcar, and it runs 6.12.95-flatcar\n"


@pytest.mark.parametrize(
    ("programs", "expected"),
    [({"nvidia-persistenced": "daemon", "nvidia-smi": "older"}, "daemon"), ({"nvidia-smi": "older"}, "older")],
)
def test_gpus_stay_initialised_by_the_daemon_or_the_older_way(
    programs: dict[str, str], expected: str, tmp_path: Path
) -> None:
    assert ran(units.PERSISTENCE, tmp_path, **programs).stdout.split()[-1] == expected


def test_the_image_neither_updates_itself_nor_compiles_a_driver() -> None:
    masked = {each.name for each in nodes.config().units if each.mask}
    assert {"update-engine.service", "locksmithd.service", "nvidia.service"} <= masked


@pytest.mark.parametrize(
    ("instance", "extension", "without_gsp"),
    [("g4dn.xlarge", "nvidia-drivers-570\n", True), ("g6.xlarge", "nvidia-drivers-570-open\n", False)],
)
def test_the_extension_is_enabled_with_what_its_module_needs(
    instance: str, extension: str, *, without_gsp: bool
) -> None:
    config = nodes.config(instance=instance)
    assert text_of(config, units.ENABLED_EXTENSIONS) == extension
    assert ("/etc/modprobe.d/nvidia-gsp.conf" in paths(config)) is without_gsp


def test_where_a_container_brings_the_driver_the_node_loads_nothing_and_joins_first() -> None:
    config = nodes.config("R580")
    assert not [each.name for each in config.units if "load-" in each.name or "persistence" in each.name]
    assert units.ENABLED_EXTENSIONS not in paths(config)
    assert 'root = "/run/nvidia/driver"' in text_of(config, units.RUNTIME_CONFIG)
    assert units.CHECK_SCRATCH in after(config, "kubelet.service")


def test_pods_get_gpus_by_a_runtime_class_and_not_by_default() -> None:
    text = text_of(nodes.config(), units.CONTAINERD_CONFIG)
    assert 'default_runtime_name = "runc"' in text
    assert "runtimes.nvidia]" in text


def test_a_node_is_called_by_the_name_that_its_access_entry_has() -> None:
    text = unit_text(nodes.config(), "kubelet.service")
    assert "--hostname-override=${COREOS_EC2_HOSTNAME}" in text
    assert "--provider-id=aws:///${COREOS_EC2_AVAILABILITY_ZONE}/${COREOS_EC2_INSTANCE_ID}" in text
    assert "--node-labels=gpu-commons.org/pool=g4dn,nvidia.com/gpu.product=Tesla-T4" in text


def test_the_kubelet_asks_for_a_token_and_keeps_no_secret() -> None:
    kubeconfig = json.loads(text_of(nodes.config(), "/var/lib/kubelet/kubeconfig"))
    user = kubeconfig["users"][0]["user"]
    assert list(user) == ["exec"]
    assert user["exec"]["args"] == ["token", "-i", "flatcar-ec2", "--region", "us-east-1"]
    assert text_of(nodes.config(), "/etc/kubernetes/pki/ca.crt") == nodes.PEM


@pytest.mark.slow
@each_row(
    ("vcpu", "max_pods", "cpu", "memory"),
    [(1, 8, "60m", "343Mi"), (2, 8, "70m", "343Mi"), (4, 29, "80m", "574Mi"), (16, 58, "110m", "893Mi")],
)
def test_a_node_reserves_what_nodeadm_would(vcpu: int, max_pods: int, cpu: str, memory: str) -> None:
    given = nodes.joining()
    joining = Joining(given.cluster, given.programs, vcpu, max_pods)
    config = node_config(nodes.RELEASE, nodes.driver(), joining)
    found = json.loads(text_of(config, "/etc/kubernetes/kubelet/config.json"))
    assert found["kubeReserved"] == {"cpu": cpu, "memory": memory, "ephemeral-storage": "1Gi"}
    assert found["maxPods"] == max_pods
    assert "registerWithTaints" not in found


def test_pods_have_two_minutes_to_end_when_their_node_is_shut_down_and_those_of_the_node_end_last() -> None:
    config = nodes.config()
    kubelet = json.loads(text_of(config, "/etc/kubernetes/kubelet/config.json"))
    whole, critical = (kubelet[f"shutdownGracePeriod{which}"].removesuffix("s") for which in ("", "CriticalPods"))
    assert int(whole) - int(critical) == 120
    # A shutdown waits no longer for the kubelet than logind lets it.
    assert text_of(config, "/etc/systemd/logind.conf.d/50-kubelet.conf") == f"[Login]\nInhibitDelayMaxSec={whole}\n"


def test_taints_are_there_when_the_node_joins() -> None:
    found = json.loads(text_of(nodes.config(), "/etc/kubernetes/kubelet/config.json"))
    assert found["registerWithTaints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]


def downloads(config: Config) -> Iterator[dict[str, Any]]:
    return (each for each in document(config)["storage"]["files"] if each["contents"]["source"].startswith("https"))


def test_everything_that_is_downloaded_has_a_sum() -> None:
    found = [*downloads(nodes.config())]
    assert len(found) == 4
    assert all(each["contents"]["verification"]["hash"].startswith("sha256-c0ffee") for each in found)


@pytest.mark.parametrize("sha256", ["", "c0ffee", "C0FFEE" + "0" * 58])
def test_a_program_without_a_whole_sum_is_refused(sha256: str) -> None:
    given = nodes.joining()
    bad = Programs(Program("https://example.edu/kubelet", sha256), *[nodes.program("x")] * 3)
    with pytest.raises(ValueError, match="should match pattern"):
        node_config(nodes.RELEASE, nodes.driver(), Joining(given.cluster, bad, 4, 29))


def test_a_driver_for_another_release_makes_no_config() -> None:
    with pytest.raises(ValueError, match=r"holds modules for kernel 6\.12\.102-flatcar; .* kernel 6\.12\.95-flatcar"):
        node_config(release_of("4593.2.4"), nodes.driver(), nodes.joining())


@each_row(
    ("part", "value", "reason"),
    [
        ("name", "a b", "is not the name of an EKS cluster"),
        ("endpoint", "http://eks.example.edu", "is not the endpoint"),
        ("certificate_authority", "LS0t!", "is not base64 of a certificate"),
        ("certificate_authority", base64.b64encode(b"-----BEGIN RSA PRIVATE KEY-----").decode(), "is not base64"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(part: str, value: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        nodes.cluster(**{part: value})


def test_a_node_with_many_labels_still_fits_into_user_data() -> None:
    assert len(render(nodes.config(), keys={nodes.KEY: nodes.PUBLIC}).encode()) < 12_000
