"""Findings for a fleet with and without GPUs: who may land where, and which nodes need which driver."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stack_inputs import hub_args, runtime_args

from compat.values.versions import DriverVersion
from fleet.unknown import UNKNOWN
from platforms.kubernetes import runtime
from platforms.kubernetes.job import job_spec, parse_job
from policies.evaluate import IMAGE_TOKEN, STACK_TOKEN, evaluate
from policies.finding import Level
from policies.from_settings import site_of
from policies.model import Site
from policies.pod_workloads import HUB_TOKEN, workloads
from policies.scheduling import landing, possible_nodes, possible_pools
from settings.pools import NodeOverride
from settings.reading import Stack, load_stack

FILE = Path(__file__).parents[1] / "stacks" / "Pulumi.mixed.yaml"
REPORTED = frozenset({Level.REFUSE, Level.WARN})
ML = "scipy-ml-notebook"
JOB, DAEMON_SET = "kubernetes:batch/v1:Job", "kubernetes:apps/v1:DaemonSet"


@pytest.fixture(scope="module")
def stack() -> Stack:
    return load_stack(FILE)


@pytest.fixture(scope="module")
def site(stack: Stack) -> Site:
    return site_of(stack)


def refs(stack: Stack) -> dict[str, Any]:
    return {image.name: f"{stack.site.registry}/{image.name}@sha256:{'0' * 64}" for image in stack.images}


def hub_inputs(stack: Stack) -> dict[str, Any]:
    return {**hub_args(stack, stack.hubs[0], refs(stack))}


def job(stack: Stack, *, gpus: int = 0, pool: str | None = None, **pod: Any) -> dict[str, Any]:
    image = refs(stack)["datahub-base-notebook"]
    args = {"image": image, "image_name": "datahub-base-notebook", "command": ["true"], "cpu": 1, "memory_gib": 1}
    spec = job_spec("tidy", parse_job("tidy", {**args, "gpus": gpus, "pool": pool}))
    spec["template"]["spec"] |= pod
    return {"spec": spec}


def test_a_profile_without_gpus_lands_on_the_core_pool_and_one_with_gpus_on_its_own(stack: Stack, site: Site) -> None:
    landed = {each.name: possible_pools(each, site) for each in workloads(HUB_TOKEN, "datahub", hub_inputs(stack))}
    assert landed == {
        "profile cpu of hub datahub": ["cpu"],
        "profile gpu of hub datahub": ["gtx1080ti"],
        "profile any-gpu of hub datahub": ["gtx1080ti", "rtx2080ti"],
    }
    assert list(evaluate(HUB_TOKEN, "datahub", hub_inputs(stack), site, REPORTED)) == []


def test_a_job_without_gpus_and_pool_may_land_everywhere_and_one_with_gpus_not_on_nodes_without(
    stack: Stack, site: Site
) -> None:
    (plain,) = workloads(JOB, "tidy", job(stack))
    (hungry,) = workloads(JOB, "train", job(stack, gpus=1))
    assert possible_pools(plain, site) == ["cpu", "gtx1080ti", "rtx2080ti"]
    assert possible_pools(hungry, site) == ["gtx1080ti", "rtx2080ti"]
    (message,) = evaluate(JOB, "train", job(stack, gpus=1, pool="cpu"), site, frozenset({Level.REFUSE}))
    assert message.startswith("P-HOST: Job train: no pool can host it (cpu: it requests 1 nvidia.com/gpu, ")


def test_a_pod_that_tolerates_nothing_lands_on_nodes_without_gpus_alone(stack: Stack, site: Site) -> None:
    (plain,) = workloads(JOB, "tidy", job(stack, tolerations=[]))
    assert possible_pools(plain, site) == ["cpu"]


def test_no_finding_names_the_driver_of_nodes_without_gpus(site: Site) -> None:
    found = list(evaluate(STACK_TOKEN, "mixed", {}, site, frozenset(Level)))
    assert found
    assert all(message.startswith("P-DRIVER: stack: pools gtx1080ti, rtx2080ti: ") for message in found)
    assert "(n02)" not in "".join(found), "its driver is mended"


def test_the_daemons_of_the_runtime_land_on_nodes_with_gpus_alone(stack: Stack, site: Site) -> None:
    args = runtime_args(stack)
    assert args is not None
    pod = runtime.device_plugin_pod(args["device_plugin_image"], args["pools"])
    inputs = {"spec": runtime.daemon_set_spec("device-plugin", pod)}
    (daemon,) = workloads(DAEMON_SET, "device-plugin", inputs)
    assert possible_pools(daemon, site) == ["gtx1080ti", "rtx2080ti"]


def with_driver(stack: Stack, name: str, node: str, driver: str) -> Stack:
    """The stack with this driver on one node of a pool."""
    override = NodeOverride.model_validate({"nodes": (node,), "driver": driver})
    pools = [
        pool.model_copy(update={"node_overrides": (override,)}) if pool.name == name else pool
        for pool in stack.fleet.pools
    ]
    return stack.model_copy(update={"fleet": stack.fleet.model_copy(update={"pools": tuple(pools)})})


def test_an_image_must_run_on_every_node_of_its_pool_and_the_finding_names_those_where_it_does_not(
    stack: Stack,
) -> None:
    newer = with_driver(stack, "gtx1080ti", "n02", "595.71.05")  # the branch that dropped these GPUs
    found = list(evaluate(HUB_TOKEN, "datahub", hub_inputs(newer), site_of(newer), frozenset({Level.REFUSE})))
    messages = [each for each in found if each.startswith("P-RUN: profile gpu of hub datahub: ")]
    (message,) = messages
    assert "does not run on pool gtx1080ti (n02), driver 595.71.05" in message
    assert "Or keep it to" not in message, "a profile cannot name nodes of a pool"
    (image,) = evaluate(IMAGE_TOKEN, ML, {"image": ML}, site_of(newer), frozenset({Level.REFUSE}))
    assert "does not run on pool gtx1080ti (n02), driver 595.71.05" in image
    assert "profiles gpu, any-gpu of hub datahub" in image
    assert "Or restrict it to pool rtx2080ti." in image


def test_a_pod_that_asks_for_a_driver_lands_on_the_nodes_that_have_it(stack: Stack, site: Site) -> None:
    (found,) = workloads(JOB, "train", job(stack, gpus=1, nodeSelector={"gpu-commons.org/driver": "580.95.05"}))
    assert possible_nodes(found, site) == ["gtx1080ti (n02)"]
    assert possible_pools(found, site) == ["gtx1080ti"]


def test_the_driver_of_one_node_that_dropped_its_gpus_is_refused_by_its_name(stack: Stack) -> None:
    newer = with_driver(stack, "gtx1080ti", "n02", "595.71.05")
    (message,) = evaluate(STACK_TOKEN, "mixed", {}, site_of(newer), frozenset({Level.REFUSE}))
    assert message.startswith("P-DRIVER: stack: pool gtx1080ti (n02): driver 595.71.05 no longer supports")


def test_what_the_disk_of_a_pool_holds_is_reported_once_whatever_its_drivers(stack: Stack, site: Site) -> None:
    (found,) = workloads(JOB, "tidy", job(stack))
    assert possible_pools(found, site) == ["cpu", "gtx1080ti", "rtx2080ti"]
    assert set(site.machines) == set(site.room) == {"cpu", "gtx1080ti", "rtx2080ti"}


def test_a_driver_that_is_assumed_for_a_node_is_reported_as_such_for_this_node_alone(stack: Stack) -> None:
    pools = [pool.model_copy(update={"assumptions": ("node_overrides",)}) for pool in stack.fleet.pools]
    site = site_of(stack.model_copy(update={"fleet": stack.fleet.model_copy(update={"pools": tuple(pools)})}))
    assert {name: sorted(gpus.assumed) for name, gpus in site.gpus.items()} == {
        "gtx1080ti": [],
        "gtx1080ti (n02)": ["container_toolkit", "driver"],
        "rtx2080ti": [],
    }


def test_a_pod_that_stays_on_nodes_without_gpus_takes_none_whatever_it_mounts(stack: Stack, site: Site) -> None:
    devices = {"volumes": [{"name": "dev", "hostPath": {"path": "/dev"}}]}

    def refused(pool: str | None) -> list[str]:
        found = evaluate(JOB, "tidy", job(stack, pool=pool, **devices), site, frozenset({Level.REFUSE}))
        return [message for message in found if message.startswith("P-GPU")]

    assert refused("cpu") == []
    assert len(refused(None)) == len(refused("gtx1080ti")) == 1


def test_a_course_counts_the_gpus_of_the_pools_that_have_some(stack: Stack) -> None:
    greedy = stack.courses[0].model_copy(update={"guaranteed_gpus": 25})
    site = site_of(stack.model_copy(update={"courses": (greedy,)}))
    (message,) = evaluate(STACK_TOKEN, "mixed", {}, replace(site, gpus={}), frozenset({Level.REFUSE}))
    assert message.startswith(
        "P-TERM: stack: Machine learning is promised 25 GPUs, but the pools that run its images (gtx1080ti) have 24"
    )


def test_a_course_counts_every_pool_that_its_profiles_may_land_on(stack: Stack) -> None:
    course = stack.courses[0].model_copy(update={"profiles": ("any-gpu",), "guaranteed_gpus": 29})
    site = site_of(stack.model_copy(update={"courses": (course,)}))
    (message,) = evaluate(STACK_TOKEN, "mixed", {}, site, frozenset({Level.REFUSE}))
    assert "promised 29 GPUs, but the pools that run its images (gtx1080ti, rtx2080ti) have 28" in message


def test_an_image_is_proved_on_every_pool_that_its_profile_names(stack: Stack) -> None:
    """Driver 396 knows the GTX 1080 Ti and not the RTX 2080 Ti."""
    pools = [pool.model_copy(update={"driver": DriverVersion.parse("396.37")}) for pool in stack.fleet.pools[1:]]
    fleet = stack.fleet.model_copy(update={"pools": (stack.fleet.pools[0], stack.fleet.pools[1], pools[1])})
    older = stack.model_copy(update={"fleet": fleet})
    found = list(evaluate(HUB_TOKEN, "datahub", hub_inputs(older), site_of(older), frozenset({Level.REFUSE})))
    (message,) = [each for each in found if "P-RUN" in each]
    assert "profile any-gpu of hub datahub: " in message
    assert "does not run on pool rtx2080ti (driver 396.37)" in message
    assert "Or restrict it to pool gtx1080ti." in message


def test_pools_of_a_profile_that_are_not_known_yet_leave_every_pool_open(stack: Stack, site: Site) -> None:
    inputs = hub_inputs(stack)
    inputs["profiles"] = [{**inputs["profiles"][2], "pools": UNKNOWN}]
    (found,) = workloads(HUB_TOKEN, "datahub", inputs)
    assert possible_pools(found, site) == ["gtx1080ti", "rtx2080ti"]
    assert "affinity" in landing(found, site).unknown
