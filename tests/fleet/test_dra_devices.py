"""GPUs as NVIDIA's driver for claims publishes them, compared with what people recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from compat.evidence.names.gpu_names import find_gpus
from compat.values.versions import DriverVersion
from fleet.dra_devices import WHOLE_GPU, device_of
from fleet.quantities import quantity
from fleet.unknown import UNKNOWN

RECORDED = yaml.safe_load((Path(__file__).parent / "recorded" / "resource_slices.yaml").read_text())


@pytest.mark.parametrize("slice_", RECORDED, ids=lambda each: each["model"])
def test_a_device_is_what_the_driver_published(slice_: dict[str, Any]) -> None:
    (model,) = find_gpus(slice_["model"])
    device = device_of(model, DriverVersion.parse(slice_["driver"]))
    there = {name: next(iter(value.values())) for name, value in slice_["device"]["attributes"].items()}
    assert device.driver_version == there["driverVersion"]
    assert device.cuda_version == there["cudaDriverVersion"]
    assert device.compute_capability == there["cudaComputeCapability"]
    assert there.get("productName", device.product) == device.product
    assert there.get("type", WHOLE_GPU) == WHOLE_GPU
    for capacity in slice_["device"].get("capacity", {}).values():
        memory = quantity(capacity["value"])
        assert memory is not UNKNOWN
        assert int(memory) // 2**20 in device.memory_mib  # type: ignore[arg-type]
