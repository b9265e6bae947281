"""Pools that give their GPUs by claims (DRA), in a stack file."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from stack_inputs import job_args, runtime_args

from settings.models import Stack
from settings.reading import SettingsError, load_stack

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.eks-g6.yaml"
FIXED = {"gpus_by": "claims", "min": 4, "desired": 4, "max": 4}


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_COMMONS_TODAY", "2026-11-23")


def read(tmp_path: Path, pool: dict[str, Any], *, pools: Any = ("l40s",), hub: bool = False, **cluster: Any) -> Stack:
    data = deepcopy(yaml.safe_load(STACK.read_text()))
    config = {key.removeprefix("gpu-commons:"): value for key, value in data["config"].items()}
    config["fleet"]["pools"][2].update(pool)
    config["cluster"].update(cluster)
    job, profiles = config["jobs"][0], config["hubs"][0]["profiles"]
    job.update(pools=list(pools)) if pools else job.pop("pools")
    if not hub:
        profiles[:] = [each for each in profiles if each.get("pool") != "l40s"]
    file = tmp_path / "Pulumi.claims.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return load_stack(file)


def test_a_job_on_such_a_pool_requests_its_gpus_by_their_product(tmp_path: Path) -> None:
    stack = read(tmp_path, FIXED)
    refs: Any = {image.full_name: "registry.example.edu/x@sha256:" + "0" * 64 for image in stack.images}
    assert job_args(stack, stack.jobs[0], refs)["claimed_products"] == ["NVIDIA-L40S"]
    ours = load_stack(STACK)
    assert "claimed_products" not in job_args(ours, ours.jobs[0], refs)


def test_the_device_plugin_keeps_off_its_nodes(tmp_path: Path) -> None:
    args = runtime_args(read(tmp_path, FIXED))
    assert args is not None
    assert args["pools"] == ["l4"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "path", "reason", "fix"),
    [
        ({"pool": {**FIXED, "min": 0}}, "fleet.pools[2].gpus_by", "needs a fixed size", "write min: 4"),
        ({"pool": FIXED, "kubernetes": "1.33"}, "fleet.pools[2].gpus_by", "needs Kubernetes 1.34", "device_plugin"),
        (
            {"pool": {**FIXED, "instance_types": ["m7i.large"]}},
            "fleet.pools[2].gpus_by",
            "without GPUs",
            "leave it out",
        ),
        ({"pool": {**FIXED, "instance_types": ["g6f.large"]}}, "fleet.pools[2].gpus_by", "whole GPUs", "device_plugin"),
        ({"pool": FIXED, "pools": ["l4", "l40s"]}, "jobs[0].pools", "mixes pools", "in the same way"),
        ({"pool": FIXED, "pools": None}, "jobs[0].pools", "is missing", "in the same way"),
        ({"pool": FIXED, "hub": True}, "hubs[0].profiles[2].pool", "servers of a hub cannot create", "device_plugin"),
    ],
)
def test_what_could_not_work_is_refused_with_a_way_out(
    tmp_path: Path, change: dict[str, Any], path: str, reason: str, fix: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, **change)
    found = [(each.path, each.reason, each.fix) for each in caught.value.problems]
    assert any(each[0] == path and reason in each[1] and fix in each[2] for each in found), found
