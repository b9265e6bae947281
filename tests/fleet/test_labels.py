"""Labels of GPU feature discovery and of our own."""

from __future__ import annotations

import pytest
from rows import each_row

from compat.evidence.drivers import UnknownFact
from compat.evidence.names.gpu_names import find_gpu
from compat.values.versions import DriverVersion
from fleet import labels

DRIVER_418 = DriverVersion.parse("418.88")

EVERYWHERE = {
    "nvidia.com/cuda.driver-version.full": "418.88",
    "nvidia.com/cuda.driver-version.major": "418",
    "nvidia.com/cuda.driver-version.minor": "88",
    "nvidia.com/cuda.driver-version.revision": "",
    "nvidia.com/cuda.driver.major": "418",
    "nvidia.com/cuda.driver.minor": "88",
    "nvidia.com/cuda.driver.rev": "",
    "nvidia.com/cuda.runtime-version.full": "10.1",
    "nvidia.com/cuda.runtime-version.major": "10",
    "nvidia.com/cuda.runtime-version.minor": "1",
    "nvidia.com/cuda.runtime.major": "10",
    "nvidia.com/cuda.runtime.minor": "1",
    "nvidia.com/gpu.mode": "compute",
    "nvidia.com/gpu.sharing-strategy": "none",
    "nvidia.com/mig.capable": "false",
}


@pytest.mark.parametrize(
    ("gpu", "gpus", "own"),
    [
        ("1080 Ti", 8, {"product": "GeForce-GTX-1080-Ti", "family": "pascal", "memory": "11264", "compute": "6.1"}),
        ("2080 Ti", 8, {"product": "GeForce-RTX-2080-Ti", "family": "turing", "memory": "11264", "compute": "7.5"}),
        ("1070 Ti", 7, {"product": "GeForce-GTX-1070-Ti", "family": "pascal", "memory": "8192", "compute": "6.1"}),
    ],
)
def test_a_dsmlp_node_has_exactly_the_labels_of_driver_418(gpu: str, gpus: int, own: dict[str, str]) -> None:
    major, minor = own["compute"].split(".")
    assert labels.gfd_labels(find_gpu(gpu), gpus, DRIVER_418) == {
        **EVERYWHERE,
        "nvidia.com/gpu.product": own["product"],
        "nvidia.com/gpu.family": own["family"],
        "nvidia.com/gpu.memory": own["memory"],
        "nvidia.com/gpu.compute.major": major,
        "nvidia.com/gpu.compute.minor": minor,
        "nvidia.com/gpu.count": str(gpus),
        "nvidia.com/gpu.replicas": "1",
    }


@each_row(
    ("gpu", "driver", "product"),
    [
        ("1080 Ti", "460.32.03", "GeForce-GTX-1080-Ti"),
        ("1080 Ti", "465.19.01", "NVIDIA-GeForce-GTX-1080-Ti"),
        ("1080 Ti", "580.95.05", "NVIDIA-GeForce-GTX-1080-Ti"),
        ("A100-SXM4-40GB", "450.80.02", "A100-SXM4-40GB"),
        ("A100-SXM4-40GB", "535.54.03", "NVIDIA-A100-SXM4-40GB"),
        ("T4", "418.88", "Tesla-T4"),
        ("T4", "580.95.05", "Tesla-T4"),
    ],
)
def test_the_product_label_follows_the_driver(gpu: str, driver: str, product: str) -> None:
    assert labels.gfd_product(find_gpu(gpu), DriverVersion.parse(driver)) == product


def test_a_newer_driver_labels_its_revision_and_its_cuda() -> None:
    found = labels.gfd_labels(find_gpu("2080 Ti"), 8, DriverVersion.parse("580.95.05"))
    assert found["nvidia.com/cuda.driver-version.revision"] == "05"
    assert found["nvidia.com/cuda.driver-version.full"] == "580.95.05"
    assert found["nvidia.com/cuda.runtime-version.full"] == "13.0"


def test_families_are_called_as_feature_discovery_calls_them() -> None:
    families = {
        gpu: labels.gfd_labels(find_gpu(gpu), 1, DriverVersion.parse("580.95.05"))["nvidia.com/gpu.family"]
        for gpu in ("L4", "A10G", "Tesla V100-PCIE-16GB")
    }
    assert families == {"L4": "ada-lovelace", "A10G": "ampere", "Tesla V100-PCIE-16GB": "volta"}


def test_a_mig_capable_card_says_so() -> None:
    found = labels.gfd_labels(find_gpu("NVIDIA A30"), 4, DriverVersion.parse("580.95.05"))
    assert found["nvidia.com/mig.capable"] == "true"


def test_a_driver_older_than_every_cuda_has_no_labels() -> None:
    with pytest.raises(UnknownFact):
        labels.gfd_labels(find_gpu("1080 Ti"), 8, DriverVersion.parse("173.14"))


def test_our_words_are_the_documented_ones() -> None:
    assert labels.pool_labels("gtx1070ti", DRIVER_418, "1.7.0") == {
        "gpu-commons.org/pool": "gtx1070ti",
        "gpu-commons.org/driver": "418.88",
        "gpu-commons.org/container-toolkit": "1.7.0",
    }
    assert str(labels.GPU_TAINT) == "nvidia.com/gpu=present:NoSchedule"
    assert labels.GPU_RESOURCE == "nvidia.com/gpu"
    assert labels.IMAGE == "gpu-commons.org/image"
