"""What the rules say of a fleet with and without GPUs: who may land where, and what is asked of which node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components import wiring
from components.compat.versions import DriverVersion
from components.manifests import runtime
from components.manifests.job import JobShape, job_spec
from components.placement import UNKNOWN
from components.settings import Stack, load_stack
from policies.finding import Level
from policies.from_settings import site_of
from policies.judging import STACK_TOKEN, evaluate
from policies.model import Site
from policies.pod_images import possible_pools
from policies.workloads import HUB_TOKEN, workloads

FILE = Path(__file__).parents[1] / "stacks" / "Pulumi.mixed.yaml"
SAID = frozenset({Level.REFUSE, Level.WARN})
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
    return {**wiring.hub_args(stack, stack.hubs[0], refs(stack))}


def job(stack: Stack, *, gpus: int = 0, pool: str | None = None, **pod: Any) -> dict[str, Any]:
    image = refs(stack)["datahub-base-notebook"]
    shape = JobShape(image, "datahub-base-notebook", ["true"], gpus, 1, 1, pool=pool)
    spec = job_spec("tidy", shape)
    spec["template"]["spec"] |= pod
    return {"spec": spec}


def test_a_profile_without_gpus_lands_on_the_core_pool_and_one_with_gpus_on_its_own(stack: Stack, site: Site) -> None:
    landed = {each.name: possible_pools(each, site) for each in workloads(HUB_TOKEN, "datahub", hub_inputs(stack))}
    assert landed == {
        "profile cpu of hub datahub": ["cpu"],
        "profile gpu of hub datahub": ["gtx1080ti"],
        "profile any-gpu of hub datahub": ["gtx1080ti", "rtx2080ti"],
    }
    assert list(evaluate(HUB_TOKEN, "datahub", hub_inputs(stack), site, SAID)) == []


def test_a_job_without_gpus_and_pool_may_land_everywhere_and_one_with_gpus_not_on_nodes_without(
    stack: Stack, site: Site
) -> None:
    (plain,) = workloads(JOB, "tidy", job(stack))
    (hungry,) = workloads(JOB, "train", job(stack, gpus=1))
    assert possible_pools(plain, site) == ["cpu", "gtx1080ti", "rtx2080ti"]
    assert possible_pools(hungry, site) == ["gtx1080ti", "rtx2080ti"]
    (message,) = evaluate(JOB, "train", job(stack, gpus=1, pool="cpu"), site, frozenset({Level.REFUSE}))
    assert message.startswith("P-HOST: Job train: no pool can host it (cpu: it asks for 1 nvidia.com/gpu, ")


def test_a_pod_that_tolerates_nothing_lands_on_nodes_without_gpus_alone(stack: Stack, site: Site) -> None:
    (plain,) = workloads(JOB, "tidy", job(stack, tolerations=[]))
    assert possible_pools(plain, site) == ["cpu"]


def test_nothing_is_asked_of_the_driver_of_nodes_without_gpus(site: Site) -> None:
    said = list(evaluate(STACK_TOKEN, "mixed", {}, site, frozenset(Level)))
    assert said
    assert all(message.startswith("P-DRIVER: stack: pools gtx1080ti, rtx2080ti: ") for message in said)


def test_the_daemons_of_the_runtime_land_on_nodes_with_gpus_alone(stack: Stack, site: Site) -> None:
    args = wiring.runtime_args(stack)
    assert args is not None
    pod = runtime.device_plugin_pod(args["device_plugin_image"], args["pools"])
    inputs = {"spec": runtime.daemon_set_spec("device-plugin", pod)}
    (daemon,) = workloads(DAEMON_SET, "device-plugin", inputs)
    assert possible_pools(daemon, site) == ["gtx1080ti", "rtx2080ti"]


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
        "P-TERM: stack: Machine learning is promised 25 GPUs, and the pools that run its images (gtx1080ti) have 24"
    )


def test_a_course_counts_every_pool_that_its_profiles_may_land_on(stack: Stack) -> None:
    course = stack.courses[0].model_copy(update={"profiles": ("any-gpu",), "guaranteed_gpus": 29})
    site = site_of(stack.model_copy(update={"courses": (course,)}))
    (message,) = evaluate(STACK_TOKEN, "mixed", {}, site, frozenset({Level.REFUSE}))
    assert "promised 29 GPUs, and the pools that run its images (gtx1080ti, rtx2080ti) have 28" in message


def test_an_image_is_proved_on_every_pool_that_its_profile_names(stack: Stack) -> None:
    """Driver 396 knows the GTX 1080 Ti and not the RTX 2080 Ti."""
    pools = [pool.model_copy(update={"driver": DriverVersion.parse("396.37")}) for pool in stack.fleet.pools[1:]]
    fleet = stack.fleet.model_copy(update={"pools": (stack.fleet.pools[0], stack.fleet.pools[1], pools[1])})
    older = stack.model_copy(update={"fleet": fleet})
    found = list(evaluate(HUB_TOKEN, "datahub", hub_inputs(older), site_of(older), frozenset({Level.REFUSE})))
    (message,) = [each for each in found if "P-RUN" in each]
    assert "profile any-gpu of hub datahub: " in message
    assert "does not run on pool rtx2080ti (driver 396.37)" in message
    assert "Or keep it to pool gtx1080ti." in message


def test_pools_of_a_profile_that_are_not_known_yet_leave_every_pool_open(stack: Stack, site: Site) -> None:
    inputs = hub_inputs(stack)
    inputs["profiles"] = [{**inputs["profiles"][2], "pools": UNKNOWN}]
    (found,) = workloads(HUB_TOKEN, "datahub", inputs)
    assert possible_pools(found, site) == ["gtx1080ti", "rtx2080ti"]
    assert "affinity" in found.landing(site).unknown
