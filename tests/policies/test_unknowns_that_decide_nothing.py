"""A refusal is softened only by what can decide: each with a neighbour that does."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from rows import each_row
from shown import DIGEST, REFUSED, UNKNOWN, UNPROVED, shown, texts

from compat import Case, read_host
from fleet.labels import ALWAYS_DISCOVERED, DISCOVERED_PREFIXES
from fleet.nodes import Node
from fleet.pools import PoolGpus
from policies.model import Coverage, Site

CUDA_13 = f"docker.io/nvidia/cuda:13.0.0-runtime-ubuntu24.04@{DIGEST}"  # no code for Pascal
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODE = Node(
    "n01",
    "gtx",
    {**ALWAYS_DISCOVERED, "kubernetes.io/os": "linux"},
    [],
    {"nvidia.com/gpu": Decimal(8), "cpu": Decimal(8)},
    open_labels=DISCOVERED_PREFIXES,
    is_amount_open=True,
)
RUNS = replace(NODE, name="n02", pool="rtx")
SITE = Site(
    nodes=(NODE, RUNS),
    coverage=Coverage.WITH_GPUS,
    allowed_registries=("docker.io",),
    gpus={
        "gtx": PoolGpus(read_host(Case(gpu="GeForce GTX 1080 Ti", driver="580.95.05", host="kubernetes"))),
        "rtx": PoolGpus(read_host(Case(gpu="GeForce RTX 2080 Ti", driver="580.95.05", host="kubernetes"))),
    },
)


def runs(amounts: Any = None, site: Site = SITE, **pod: Any) -> tuple[int, int]:
    """How often P-RUN refuses an image that cannot run here, and how often it could not prove it."""
    resources = {"limits": {"nvidia.com/gpu": 1, **(amounts or {})}}
    spec = {"containers": [{"name": "c", "image": CUDA_13, "resources": resources}], **pod}
    found = shown(site, "kubernetes:core/v1:Pod", {"spec": spec})
    return len(texts(found, REFUSED, "P-RUN")), len(texts(found, UNPROVED, "P-RUN"))


def affinity(*terms: Any, **more: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}, **more}}}


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


LINUX = term("kubernetes.io/os", "In", "linux")


@each_row(
    "pod",
    [
        {"nodeSelector": {"nvidia.com/gpu.present": "true"}},
        {"nodeSelector": {"feature.node.kubernetes.io/pci-10de.present": "true"}},
        affinity(term("nvidia.com/gpu.present", "Exists")),
        affinity(LINUX, term("nvidia.com/odd", "In", "x")),
        affinity(term("nvidia.com/odd", "In", "x"), LINUX),
        affinity(LINUX, term("kubernetes.io/os", "In", UNKNOWN)),
        affinity(LINUX, {"matchExpressions": UNKNOWN}),
        affinity(term("nvidia.com/odd", "DoesNotExist")),
        affinity(term("nvidia.com/odd", "NotIn", "x")),
        {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "value": UNKNOWN}]},
        affinity(preferredDuringSchedulingIgnoredDuringExecution=UNKNOWN),
        {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": UNKNOWN}}},
    ],
)
def test_what_decides_nothing_softens_no_refusal(pod: dict[str, Any]) -> None:
    assert runs(**pod) == (1, 0)


@pytest.mark.parametrize("amounts", [{"nvidia.com/mig-1g.5gb": 0}, {"hugepages-2Mi": "0"}, {"example.org/x": "0.0"}])
def test_a_zero_of_another_resource_softens_no_refusal(amounts: dict[str, Any]) -> None:
    assert runs(amounts) == (1, 0)


@each_row(
    "pod",
    [
        {"nodeSelector": {"nvidia.com/odd": "x"}},
        {"nodeSelector": {"feature.node.kubernetes.io/cpu-cpuid.AVX2": "true"}},
        {"nodeSelector": {"kubernetes.io/os": UNKNOWN}},
        affinity(term("nvidia.com/odd", "In", "x")),
        affinity(term("nvidia.com/gpu.deploy.driver", "DoesNotExist")),
        affinity(term("nvidia.com/odd", "In", "x"), term("kubernetes.io/os", "In", UNKNOWN)),
        {"amounts": {"nvidia.com/mig-1g.5gb": 1}},
        {"amounts": {"cpu": UNKNOWN}},
    ],
)
def test_what_may_keep_it_off_softens(pod: dict[str, Any]) -> None:
    assert runs(**pod) == (0, 1)


def test_a_taint_that_an_unknown_toleration_may_open_softens_and_without_a_taint_it_does_not() -> None:
    tainted = replace(NODE, taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}])
    tolerations = [{"key": UNKNOWN, "operator": "Exists"}]
    assert runs(tolerations=tolerations) == (1, 0)
    assert runs(tolerations=tolerations, site=replace(SITE, nodes=(tainted, RUNS))) == (0, 1)
    both = [*tolerations, {"operator": "Exists"}]
    assert runs(tolerations=both, site=replace(SITE, nodes=(tainted, RUNS))) == (1, 0)


def test_a_pool_that_is_only_possible_softens_nothing_of_one_that_is_certain() -> None:
    site = replace(SITE, nodes=(NODE, replace(RUNS, labels={})))
    assert runs(site=site, nodeSelector={"nvidia.com/gpu.present": "true"}) == (1, 0)
