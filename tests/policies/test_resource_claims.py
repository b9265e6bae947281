"""P-CLAIM: claims for GPUs against the pools that give them by claims."""

from __future__ import annotations

from typing import Any

import pytest
from rows import each_row

from compat.evidence.names.gpu_names import find_gpus
from compat.values.versions import DriverVersion
from fleet.dra_devices import device_of
from fleet.unknown import UNKNOWN
from platforms.kubernetes.claims import template_spec
from policies.evaluate import evaluate
from policies.finding import Level
from policies.model import ClaimedGpus, Site

(L4,), (L40S,) = find_gpus("NVIDIA L4"), find_gpus("NVIDIA L40S")
DRIVER = DriverVersion.parse("580.159.03")
SITE = Site(
    nodes=(),
    allowed_registries=(),
    claimed={"l4": ClaimedGpus(device_of(L4, DRIVER), 1), "l40s": ClaimedGpus(device_of(L40S, DRIVER), 4)},
)
ATTRIBUTES, CAPACITY = 'device.attributes["gpu.nvidia.com"]', 'device.capacity["gpu.nvidia.com"]'
TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"


def messages(level: Level, request: Any, site: Site = SITE) -> list[str]:
    given = {"spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}}}
    found = evaluate(TEMPLATE, "t", {"metadata": {"name": "t"}, **given}, site, frozenset({level}))
    return [each for each in found if each.startswith("P-CLAIM")]


def asking(*expressions: Any, **more: Any) -> dict[str, Any]:
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return {"deviceClassName": "gpu.nvidia.com", "selectors": selectors, **more}


@pytest.mark.slow
@pytest.mark.parametrize(
    "request_",
    [
        asking(),
        asking(count=4),
        asking(f'{ATTRIBUTES}.productName == "NVIDIA L40S"'),
        asking(f'{ATTRIBUTES}.productName.lowerAscii().matches("^.*l4$")'),
        asking(f'{CAPACITY}.memory.compareTo(quantity("40Gi")) >= 0'),
        asking(f'{ATTRIBUTES}.driverVersion.compareTo(semver("580.95.5")) >= 0'),
        asking(f'{ATTRIBUTES}.cudaDriverVersion.isGreaterThan(semver("12.9.0"))', count=2),
        {"deviceClassName": "nic.example.org", "count": 99},
    ],
)
def test_a_claim_that_a_pool_can_meet_passes(request_: Any) -> None:
    assert messages(Level.REFUSE, request_) == messages(Level.UNPROVED, request_) == []


@each_row(
    ("request_", "reason"),
    [
        (asking(count=5), "it requests 5 GPUs, but a node has 4"),
        (
            asking(f'{ATTRIBUTES}.productName == "NVIDIA A100 80GB PCIe"'),
            "does not hold for NVIDIA L4, driver 580.159.3",
        ),
        (asking(f'{CAPACITY}.memory.compareTo(quantity("80Gi")) >= 0'), "does not hold for NVIDIA L40S"),
        (asking(f'{ATTRIBUTES}.driverVersion.isGreaterThan(semver("595.0.0"))'), "driver 580.159.3, CUDA 13.0.0"),
        (asking(f'{ATTRIBUTES}.productName == "NVIDIA L4"', count=2), "it requests 2 GPUs, but a node has 1"),
    ],
)
def test_a_claim_that_no_pool_can_meet_is_refused_with_what_each_pool_lacks(request_: Any, reason: str) -> None:
    (message,) = messages(Level.REFUSE, request_)
    assert message.startswith(
        "P-CLAIM: ResourceClaimTemplate t: no GPU of this stack meets spec.spec.devices.requests[0]"
    )
    assert reason in message
    assert "pool l4" in message
    assert "l40s" in message


@each_row(
    ("request_", "reason"),
    [
        (asking(f"{ATTRIBUTES}.index == 1"), "no such member in mapping: 'index'"),
        (asking("device."), "it is not CEL"),
        (asking(UNKNOWN), "a selector is not known yet"),
        (asking(count=UNKNOWN), "its count is not known yet"),
        (asking(f'{CAPACITY}.memory.compareTo(quantity("47Gi")) >= 0'), "depends on how much memory a GPU reports"),
        (UNKNOWN, "it is not known yet what"),
    ],
)
def test_what_is_not_known_of_a_claim_or_a_gpu_could_not_be_proved(request_: Any, reason: str) -> None:
    (message,) = messages(Level.UNPROVED, request_)
    assert reason in message
    assert messages(Level.REFUSE, request_) == []


def test_without_a_pool_that_gives_gpus_by_claims_nothing_is_known() -> None:
    (message,) = messages(Level.UNPROVED, asking(), Site(nodes=(), allowed_registries=()))
    assert "requests a GPU, but no pool is known to give GPUs by claims" in message


def test_the_claim_of_a_job_of_ours_is_met_by_its_pool_and_by_no_other() -> None:
    spec = template_spec(1, ["NVIDIA-L40S"])["spec"]["devices"]["requests"][0]["exactly"]
    assert messages(Level.REFUSE, spec) == messages(Level.UNPROVED, spec) == []
    only_l4 = Site(nodes=(), allowed_registries=(), claimed={"l4": SITE.claimed["l4"]})
    (message,) = messages(Level.REFUSE, spec, only_l4)
    assert 'replace(" ", "-") == "NVIDIA-L40S" does not hold for NVIDIA L4' in message
