"""GPUs that stand in for a node's: NVIDIA's own programs find them, and say of them what the fleet's data says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from compat.facts import tables
from compat.values.versions import DriverVersion
from fleet.labels import gfd_labels
from fleet.pools import NodeGpus
from lab import processes
from lab.instance import Instance
from lab.machine import stand_in_gpus
from lab.toolchain import Toolchain

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="device files need root")]
USE = "node"
# What the machine says and NVML does not: its own name, and the class of a card in its list of PCI devices.
OF_THE_MACHINE = {"nvidia.com/gpu.machine", "nvidia.com/gpu.mode"}
OF_OTHER_CARDS = {"nvidia.com/vgpu.present": "false", "nvidia.com/mps.capable": "false"}


@pytest.fixture
def instance(tmp_path: Path, new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    made = new_instance(tmp_path / "lab")
    yield made
    stand_in_gpus.remove(made, USE)


def node_gpus(model: str, count: int, driver: str) -> NodeGpus:
    (found,) = [each for each in tables.gpu_models() if each.name == model]
    return NodeGpus(found, count, DriverVersion.parse(driver), container_toolkit="1.20.1")


def spec(instance: Instance) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((stand_in_gpus.cdi(instance, USE) / "nvidia.yaml").read_text())
    return found


def discovered(instance: Instance) -> dict[str, str]:
    """The labels that GPU feature discovery finds."""
    root = stand_in_gpus.root(instance, USE)
    argv = [str(Toolchain().path("gpu-feature-discovery")), "--oneshot", "--no-timestamp", "--output-file="]
    env = {"LD_LIBRARY_PATH": str(root / stand_in_gpus.LIBRARIES), "GPU_COMMONS_DEV": str(root / "dev")}
    pairs = (line.partition("=") for line in processes.run(argv, env=env, timeout_s=60).splitlines())
    return {key: value for key, _, value in pairs if key.startswith("nvidia.com/")}


@pytest.mark.parametrize(
    ("model", "count", "driver"),
    [
        ("GeForce GTX 1080 Ti", 8, "418.88"),
        ("GeForce RTX 2080 Ti", 2, "580.95.05"),
        ("Tesla T4", 1, "580.95.05"),
        ("Tesla V100-SXM2-16GB", 4, "470.256.02"),
        ("NVIDIA A100-SXM4-40GB", 2, "580.95.05"),
    ],
)
def test_feature_discovery_says_of_a_node_what_the_fleet_expects_of_it(
    instance: Instance, model: str, count: int, driver: str
) -> None:
    gpus = node_gpus(model, count, driver)
    stand_in_gpus.make(instance, Toolchain(), USE, stand_in_gpus.played(gpus, "n01"))
    found = discovered(instance)
    assert gpus.driver is not None
    expected = gfd_labels(gpus.model, count, gpus.driver)
    assert {key: found[key] for key in found.keys() - OF_THE_MACHINE} == {
        **{key: value for key, value in expected.items() if key not in OF_THE_MACHINE},
        **OF_OTHER_CARDS,
    }


def test_each_gpu_is_a_device_by_index_and_uuid_with_a_file_of_its_own(instance: Instance) -> None:
    gpus = stand_in_gpus.played(node_gpus("Tesla T4", 2, "580.95.05"), "host", ["GPU-of-the-stack-file"])
    stand_in_gpus.make(instance, Toolchain(), USE, gpus)
    devices = {
        each["name"]: [node["path"] for node in each["containerEdits"]["deviceNodes"]]
        for each in spec(instance)["devices"]
    }
    first, second = gpus.uuids
    assert first == "GPU-of-the-stack-file"
    assert devices == {
        "0": ["/dev/nvidia0"],
        "1": ["/dev/nvidia1"],
        first: ["/dev/nvidia0"],
        second: ["/dev/nvidia1"],
        "all": ["/dev/nvidia0", "/dev/nvidia1"],
    }


def test_a_second_start_touches_nothing_and_another_driver_leaves_nothing_of_the_one_before(instance: Instance) -> None:
    def files() -> dict[str, int]:
        root = stand_in_gpus.root(instance, USE)
        return {
            str(path.relative_to(root)): path.lstat().st_mtime_ns
            for path in root.rglob("*")
            if not path.is_dir() and path.name != "features"
        }

    for driver, count in (("470.256.02", 3), ("580.95.05", 1)):
        gpus = stand_in_gpus.played(node_gpus("Tesla T4", count, driver), "n01")
        stand_in_gpus.make(instance, Toolchain(), USE, gpus)
        before = files()
        stand_in_gpus.make(instance, Toolchain(), USE, gpus)
        assert files() == before
    names = {Path(name).name for name in files()}
    assert "libnvidia-ml.so.580.95.05" in names
    assert "nvidia0" in names
    assert not {"libnvidia-ml.so.470.256.02", "libcuda.so.470.256.02", "nvidia1", "nvidia2"} & names
    stand_in_gpus.make(instance, Toolchain(), USE, None)
    assert not (instance.run / "gpus").exists()
