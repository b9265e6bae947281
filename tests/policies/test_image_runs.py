"""P-RUN: images against the GPUs and drivers of the pools that they may land on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from image_facts import REGISTRY, contents, reference

from compat import Case, read_host
from fleet.courses import Usage, UsingCourse
from fleet.nodes import Node
from fleet.pools import PoolGpus
from fleet.unknown import UNKNOWN
from imaging.inspection.facts import Package
from imaging.spec.compat_cases import Use
from policies.enforcement import Strictness, Waiver
from policies.evaluate import ImageRefusals, evaluate
from policies.finding import Level
from policies.model import Site
from policies.stacks import site_of_stack

CUDA_12_4 = "docker.io/nvidia/cuda:12.4.1-runtime-ubuntu22.04@sha256:" + "c" * 64
ALL = frozenset(Level)


def node(name: str, pool: str) -> Node:
    amounts = {"cpu": Decimal(32), "memory": Decimal(64 * 1024**3), "nvidia.com/gpu": Decimal(8)}
    return Node(name, pool, {"pool": pool}, [], amounts)


def site(pools: Mapping[str, tuple[str, str]], **more: Any) -> Site:
    """Pools by name with their GPU and driver, one node each."""
    return Site(
        nodes=tuple(node(f"node-{pool}", pool) for pool in pools),
        allowed_registries=("docker.io", "registry.example.edu"),
        own_registry=REGISTRY,
        gpus={
            pool: PoolGpus(read_host(Case(gpu=gpu, driver=driver, host="kubernetes")))
            for pool, (gpu, driver) in pools.items()
        },
        **more,
    )


def pod(image: Any, gpus: Any = "1", **spec: Any) -> dict[str, Any]:
    limits = {} if gpus is None else {"nvidia.com/gpu": gpus}
    return {"spec": {"containers": [{"name": "c", "image": image, "resources": {"limits": limits}}], **spec}}


def messages(where: Site, inputs: Mapping[str, Any], level: Level = Level.REFUSE) -> list[str]:
    found = evaluate("kubernetes:core/v1:Pod", "web", inputs, where, frozenset({level}))
    return [message for message in found if message.startswith("P-RUN:")]


def with_env(tree: dict[str, Any], **variables: str) -> dict[str, Any]:
    (container,) = tree["spec"]["containers"]
    env = [{"name": name, "value": value} for name, value in variables.items()]
    return {"spec": {**tree["spec"], "containers": [{**container, "env": env}]}}


def of_image(
    where: Site, name: str = "ml", levels: frozenset[Level] = ALL, refusals: ImageRefusals | None = None
) -> list[str]:
    token = "gpu-commons:index:GpuImage"  # noqa: S105 - a resource type
    return list(evaluate(token, "anything", {"image": name}, where, levels, refusals))


def uses(cuda: str, where: str = "server") -> tuple[Use, ...]:
    return (Use(where, None, Case(cuda=cuda)),)


def own(pools: Mapping[str, tuple[str, str]], cuda: str, *usages: Usage) -> Site:
    return site(pools, own_images=frozenset({"ml"}), usages=usages, uses_of=lambda _: uses(cuda))


DEEP = UsingCourse("deep", "Deep learning", 120, dt.date(2020, 12, 18))


def profile(pools: Sequence[str], *courses: UsingCourse) -> Usage:
    return Usage("ml", "profile", "gpu", "datahub", tuple(pools), courses)


def test_an_image_of_another_team_is_known_by_its_name() -> None:
    volta = {"v100": ("Tesla V100", "595.45.04")}
    (message,) = messages(site(volta), pod(CUDA_12_4))
    assert message.startswith(f"P-RUN: Pod web: {CUDA_12_4} does not run on pool v100 (driver 595.45.04)\n")
    assert "the last driver branch for Volta (7.0) is 580 [R-DROP]" in message
    assert "  fact: " in message
    assert message.splitlines()[-1] == "  change: Use driver 580.x, the last branch for Tesla V100-SXM2-16GB."
    assert not messages(site({"v100": ("Tesla V100", "580.95.05")}), pod(CUDA_12_4))


def test_a_container_without_a_gpu_may_hold_whatever_it_likes() -> None:
    assert not messages(site({"v100": ("Tesla V100", "595.45.04")}), pod(CUDA_12_4, gpus=None))


@pytest.mark.parametrize("gpus", [UNKNOWN, "0"])
def test_whether_it_gets_a_gpu_decides(gpus: Any) -> None:
    where = site({"v100": ("Tesla V100", "595.45.04")})
    assert not messages(where, pod(CUDA_12_4, gpus))
    assert len(messages(where, pod(CUDA_12_4, gpus), Level.UNPROVED)) == (gpus is UNKNOWN)


def test_a_selector_keeps_it_off_the_pool_that_does_not_run_it() -> None:
    where = site({"v100": ("Tesla V100", "580.95.05"), "k80": ("Tesla K80", "470.256.02")})
    (message,) = messages(where, pod(CUDA_12_4))
    assert "does not run on pool k80" in message
    assert message.endswith("Or restrict it to pool v100.")
    assert not messages(where, pod(CUDA_12_4, nodeSelector={"pool": "v100"}))
    assert len(messages(where, pod(CUDA_12_4, nodeSelector=UNKNOWN), Level.UNPROVED)) == 1
    assert not messages(where, pod(CUDA_12_4, nodeSelector=UNKNOWN))


def test_what_other_pods_decide_may_put_it_on_any_pool_and_takes_no_refusal_away() -> None:
    where = site({"v100": ("Tesla V100", "580.95.05"), "k80": ("Tesla K80", "470.256.02")})
    spread = [{"whenUnsatisfiable": "DoNotSchedule"}]
    (message,) = messages(where, pod(CUDA_12_4, topologySpreadConstraints=spread))
    assert "does not run on pool k80" in message
    term = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
    assert len(messages(where, pod(CUDA_12_4, affinity={"podAntiAffinity": term}))) == 1


def test_what_nothing_is_known_of_is_not_proved_and_not_refused() -> None:
    where = site({"v100": ("Tesla V100", "580.95.05")})
    (message,) = messages(where, pod("docker.io/team/thing:1@sha256:" + "d" * 64), Level.UNPROVED)
    assert "may or may not run on pool v100" in message
    assert not messages(where, pod("docker.io/team/thing:1@sha256:" + "d" * 64))


def test_what_is_no_image_reference_is_not_repeated() -> None:
    where = site({"v100": ("Tesla V100", "580.95.05")})
    token, text = "kubernetes:core/v1:Pod", "https://bob:hunter2secret@registry.example.edu/ml"
    found = list(evaluate(token, "web", pod(text), where, ALL))
    (refused,) = (message for message in found if "containers[0].image" in message)
    assert "is not an image reference" in refused
    assert not any("hunter2secret" in message for message in found)


@pytest.mark.parametrize("text", [CUDA_12_4, "docker.io/somebody/ml:1@sha256:" + "e" * 64])
def test_an_image_of_somebody_else_is_not_judged_by_our_spec_of_that_name(text: str) -> None:
    where = own({"gtx": ("GeForce GTX 1080 Ti", "418.88")}, "10.1")
    annotated = {"metadata": {"annotations": {"gpu-commons.org/image": "ml"}}, **pod(text)}
    found = [*messages(where, annotated), *messages(where, annotated, Level.UNPROVED)]
    assert [text in message for message in found] == [True]


def test_what_was_read_of_an_image_counts_more_than_its_name() -> None:
    cupy = Package("cupy-cuda12x", "13.3.0", "wheel", "opt/venv", 0, "12")
    read = contents(1, 2, packages=(cupy,))
    named = reference("cuda-8-legacy")
    pools = {"old": ("GeForce GTX 1080 Ti", "418.88")}
    where = site(pools, contents_of=lambda _: read)
    (message,) = messages(where, pod(named))
    assert "525.60.13" in message


def test_what_could_not_be_read_of_an_image_may_use_a_gpu_as_well() -> None:
    read = contents(1, 2, left_out=("layer 2: lies elsewhere",))
    where = site({"v100": ("Tesla V100", "580.95.05")}, contents_of=lambda _: read)
    (message,) = messages(where, pod(reference("ml")), Level.UNPROVED)
    assert "that were not read may use a GPU: layer 2: lies elsewhere" in message
    whole = replace(where, contents_of=lambda _: contents(1, 2))
    assert not messages(whole, pod(reference("ml")), Level.UNPROVED)


def test_an_image_of_the_stack_is_refused_once_with_everybody_it_concerns() -> None:
    pools = {"gtx": ("GeForce GTX 1080 Ti", "418.88"), "rtx": ("GeForce RTX 2080 Ti", "418.88")}
    where = own(pools, "10.2", profile(["gtx", "rtx"], DEEP), Usage("ml", "job", "smoke", "", ("gtx",)))
    (message,) = of_image(where)
    head, *lines = message.splitlines()
    assert head == "P-RUN: image ml: does not run on pools gtx, rtx (driver 418.88)"
    assert "needs driver 440.33 or newer; this one is 418.88" in lines[0]
    assert lines[2] == "  who: profile gpu of hub datahub; job smoke; course Deep learning (120 seats)"
    assert lines[3:4] == ["  judged by: its spec"]
    assert lines[4].startswith("  change: ")
    assert not of_image(own(pools, "10.1", profile(["gtx"])))


def test_the_change_is_given_for_each_pool_if_one_does_not_serve_all() -> None:
    pools = {"k80": ("Tesla K80", "470.256.02"), "p100": ("Tesla P100", "470.256.02")}
    volta = Use("program", None, Case(cuda="10.2", sm_list="7.0", ptx="none"))
    where = replace(own(pools, "10.2", profile([*pools])), uses_of=lambda _: (volta,))
    (message,) = of_image(where)
    assert "change: On k80: Build it for sm_37 as well. On p100: Build it for sm_60 as well." in message


def test_its_workloads_do_not_repeat_the_refusal() -> None:
    where = own({"gtx": ("GeForce GTX 1080 Ti", "418.88")}, "10.2", profile(["gtx"]))
    annotated = {"metadata": {"annotations": {"gpu-commons.org/image": "ml"}}, **pod(UNKNOWN)}
    refusals = ImageRefusals()
    token = "kubernetes:core/v1:Pod"  # noqa: S105 - a resource type
    refused = frozenset({Level.REFUSE})
    alone = [m for m in evaluate(token, "web", annotated, where, refused, refusals) if m.startswith("P-RUN")]
    assert len(alone) == 1  # an update of this workload alone never judges the image
    of_image(where, refusals=refusals)
    again = [m for m in evaluate(token, "web", annotated, where, refused, refusals) if m.startswith("P-RUN")]
    assert again == []


def test_a_waived_refusal_of_an_image_is_reported_for_its_workloads_and_other_faults_are_refused() -> None:
    where = own({"gtx": ("GeForce GTX 1080 Ti", "418.88")}, "10.2", profile(["gtx"]))
    waiver = Waiver("P-RUN", "image ml", "the nodes get a new driver", "platform team", where.today)
    where = replace(where, strictness=Strictness(waivers=(waiver,)))
    refusals = ImageRefusals()
    (waived,) = of_image(where, refusals=refusals)
    assert waived.startswith("P-RUN: image ml: waived until ")
    token = "kubernetes:core/v1:Pod"  # noqa: S105 - a resource type
    annotated = {"metadata": {"annotations": {"gpu-commons.org/image": "ml"}}, **pod(UNKNOWN)}

    def of_pod(place: Site, level: Level) -> list[str]:
        found = evaluate(token, "web", annotated, place, frozenset({level}), refusals)
        return [message for message in found if message.startswith("P-RUN:")]

    assert not of_pod(where, Level.REFUSE)
    (waived_too,) = of_pod(where, Level.WARN)
    assert waived_too.startswith("P-RUN: Pod web: waived for image ml; ")
    (refused,) = of_pod(replace(where, uses_of=lambda _: uses("11.8")), Level.REFUSE)
    assert "this one is 418.88" in refused


def test_a_pool_that_the_image_was_not_refused_for_is_still_reported() -> None:
    where = own(dict.fromkeys(("gtx", "other"), ("GeForce GTX 1080 Ti", "418.88")), "10.2", profile(["gtx"]))
    refusals = ImageRefusals()
    of_image(where, refusals=refusals)
    annotated = {"metadata": {"annotations": {"gpu-commons.org/image": "ml"}}, **pod(UNKNOWN)}
    found = evaluate("kubernetes:core/v1:Pod", "web", annotated, where, frozenset({Level.REFUSE}), refusals)
    assert [message for message in found if "P-RUN" in message and "other" in message]


def test_a_refusal_that_rests_on_an_assumption_says_so() -> None:
    where = own({"gtx": ("GeForce GTX 1080 Ti", "418.88")}, "10.2", profile(["gtx"]))
    guessed = replace(where, gpus={"gtx": replace(where.gpus["gtx"], assumed=frozenset({"driver"}))})
    assert "assumed" not in of_image(where)[0]
    assert "  assumed: the stack file marks the driver of these pools as assumed" in of_image(guessed)[0]


def test_an_image_that_no_profile_or_job_gives_a_gpu_needs_none() -> None:
    assert not of_image(own({"gtx": ("GeForce GTX 1080 Ti", "418.88")}, "10.2"))


@pytest.mark.parametrize("stack", ["dsmlp-fall"])
def test_the_reference_stacks_images_run_on_all_pools_of_their_profiles(stack: str) -> None:
    where = site_of_stack(stack)
    assert {usage.image for usage in where.usages}
    assert [message for name in where.own_images for message in of_image(where, name, frozenset({Level.REFUSE}))] == []


def test_a_target_is_proved_by_the_name_that_its_workloads_use() -> None:
    token, args = "gpu-commons:index:GpuImage", {"image": "ml", "target": "batch"}
    usage = Usage("ml-batch", "job", "train", "", ("gtx1080ti",), ())
    names: list[str] = []

    def uses_of(name: str) -> tuple[Use, ...]:
        names.append(name)
        return uses("10.2")

    where = site({"gtx1080ti": ("GTX 1080 Ti", "418.88")}, usages=(usage,), uses_of=uses_of)
    found = [text for text in evaluate(token, "anything", args, where, ALL) if text.startswith("P-RUN:")]
    assert names == ["ml-batch"]
    assert "image ml-batch" in found[0]
    assert not [text for text in evaluate(token, "anything", {"image": "ml"}, where, ALL) if text.startswith("P-RUN:")]


def test_what_a_container_sets_counts_like_what_its_image_sets() -> None:
    where = site({"a": ("A100", "580.65.06")})
    compat = with_env(pod(CUDA_12_4), LD_LIBRARY_PATH="/usr/local/cuda/compat:/opt/lib")
    assert "error 803" in "".join(messages(where, compat))
    assert not messages(where, with_env(pod(CUDA_12_4), LD_LIBRARY_PATH="/opt/lib", HOME="/compat"))
    needs = {"NVIDIA_REQUIRE_CUDA": "cuda>=14.0"}
    assert "[R-REQ]" in "".join(messages(where, with_env(pod(CUDA_12_4), **needs), Level.WARN))
    off = with_env(pod(CUDA_12_4), **needs, NVIDIA_DISABLE_REQUIRE="true")
    assert "[R-REQ]" not in "".join(messages(where, off, Level.WARN))


def test_a_variable_that_is_not_known_yet_changes_nothing() -> None:
    where = site({"a": ("A100", "580.65.06")})
    unknown = with_env(pod(CUDA_12_4), LD_LIBRARY_PATH="")
    unknown["spec"]["containers"][0]["env"][0]["value"] = UNKNOWN
    assert messages(where, unknown) == messages(where, pod(CUDA_12_4))
