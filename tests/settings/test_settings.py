"""Stack files: what they say, and the messages about wrong ones."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rows import each_row

from fleet.labels import Taint
from settings.reading import Problem, SettingsError, Stack, from_pulumi, json_schema, load_stack
from workloads.authenticator import Lti13Authenticator, OAuthAuthenticator
from workloads.exposure import NodePort

ROOT = Path(__file__).parents[2]
DSMLP = ROOT / "stacks" / "Pulumi.dsmlp-fall.yaml"
NEXT = ROOT / "stacks" / "Pulumi.dsmlp-next.yaml"
CUDA_12 = "scipy-ml-notebook-cu126"
TEXT = DSMLP.read_text(encoding="utf-8")
CPU_POOL = """\
      - name: cpu
        nodes: [c01]
        cpu: 64
        memory_gib: 256
        root_disk_gib: 480
"""
WITH_CPU_POOL = ("    pools:\n", f"    pools:\n{CPU_POOL}")
MIXED = ROOT / "tests" / "stacks" / "Pulumi.mixed.yaml"
OVERRIDE = """
        node_overrides:
          - nodes: [n07]
            driver: "580.95.05\""""
WITH_OVERRIDE = ('driver: "418.88"', f'driver: "418.88"{OVERRIDE}')
Write = Callable[..., Path]

OAUTH = """
      kind: oauth
      client_id: "hub"
      client_secret: {secret: datahub-oauth, key: client-secret}
      callback_url: https://hub.example.edu/hub/oauth_callback
      authorize_url: https://login.example.edu/authorize
      token_url: https://login.example.edu/token
      userdata_url: https://login.example.edu/userinfo
      allowed_users: [ada]
"""
LTI = TEXT[TEXT.index("      kind: lti13") : TEXT.index("    assumptions: [name, registry")]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """The DSMLP stack file with some of its text replaced, each piece once."""

    def write_with(*replacements: tuple[str, str]) -> Path:
        text = TEXT
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "Pulumi.bad.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_with


def problems(path: Path, site: Path | None = None) -> tuple[Problem, ...]:
    with pytest.raises(SettingsError) as caught:
        load_stack(path, site=site)
    return caught.value.problems


# --- the real stacks


def test_the_dsmlp_fleet_has_15_nodes_and_119_gpus_under_their_real_names() -> None:
    stack = load_stack(DSMLP)
    assert {pool.name: pool.node_names for pool in stack.fleet.pools} == {
        "gtx1080ti": ("n01", "n02", "n03", "n04", "n05", "n06", "n07", "n08", "n11", "n12"),
        "rtx2080ti": ("n18", "n21", "n22", "n24"),
        "gtx1070ti": ("n10",),
    }
    assert {pool.name: (pool.gpus_per_node, pool.gpus) for pool in stack.fleet.pools} == {
        "gtx1080ti": (8, 80),
        "rtx2080ti": (8, 32),
        "gtx1070ti": (7, 7),
    }
    assert len(stack.fleet.node_names) == 15
    assert stack.fleet.total_gpus == 119
    assert [pool.gpu.name for pool in stack.fleet.pools] == [
        "GeForce GTX 1080 Ti",
        "GeForce RTX 2080 Ti",
        "GeForce GTX 1070 Ti",
    ]
    assert {str(pool.driver) for pool in stack.fleet.pools} == {"418.88"}


@pytest.mark.parametrize(("file", "its_driver_is"), [(DSMLP, {"driver"}), (NEXT, set())], ids=["fall", "next"])
def test_what_the_site_did_not_state_is_marked_as_an_assumption(file: Path, its_driver_is: set[str]) -> None:
    stack = load_stack(file)
    stated = {"name", "gpu", "gpus_per_node", "nodes", "nodes_except", "assumptions"} | its_driver_is
    written = yaml.safe_load(file.read_text(encoding="utf-8"))["config"]
    for pool, raw in zip(stack.fleet.pools, written["gpu-commons:fleet"]["pools"], strict=True):
        assert set(pool.assumptions) == set(raw) - stated
    for section, part in (("site", stack.site), ("runtime", stack.runtime)):
        assert part is not None
        assert set(part.assumptions) == set(written[f"gpu-commons:{section}"]) - {"assumptions"}
    assert set(stack.hubs[0].assumptions) == set(written["gpu-commons:hubs"][0]) - {"assumptions"}
    assert set(stack.jobs[0].assumptions) == set(written["gpu-commons:jobs"][0]) - {"assumptions"}
    for course, raw in zip(stack.courses, written["gpu-commons:courses"], strict=True):
        assert set(course.assumptions) == set(raw) - {"assumptions"}


def test_the_dsmlp_hub_gives_a_gpu_only_to_those_who_choose_one() -> None:
    (hub,) = load_stack(DSMLP).hubs
    assert [(p.name, p.image, p.pool, p.gpus, p.is_default) for p in hub.profiles] == [
        ("cpu", "datahub-base-notebook", None, 0, True),
        ("gtx1080ti", "scipy-ml-notebook", "gtx1080ti", 1, False),
        ("rtx2080ti", "scipy-ml-notebook", "rtx2080ti", 1, False),
    ]
    assert hub.expose == NodePort(kind="node_port", port=30080)
    assert (hub.start_timeout_s, hub.cull.idle_s, hub.cull.max_age_s, hub.cull.every_s) == (600, 3600, 43200, 600)


def test_the_dsmlp_site_logs_people_in_from_their_learning_platform() -> None:
    authenticator = load_stack(DSMLP).site.authenticator
    assert isinstance(authenticator, Lti13Authenticator)
    assert authenticator.client_ids == ("10000000000001",)


def test_workloads_call_a_target_by_the_name_of_its_image_and_its_own(write: Write) -> None:
    added = ("gpu-commons:images:\n", "gpu-commons:images:\n    - {name: cupy-notebook, target: batch}\n")
    stack = load_stack(write(added, ("image: datahub-base-notebook", "image: cupy-notebook-batch")))
    assert [image.full_name for image in stack.images[:2]] == ["cupy-notebook-batch", "hub"]
    assert stack.hubs[0].profiles[0].image == "cupy-notebook-batch"
    (problem,) = problems(write(added, ("image: datahub-base-notebook", "image: cupy-notebook")))
    assert "did you mean cupy-notebook-batch" in problem.fix


def test_dsmlp_next_is_dsmlp_fall_with_another_driver_and_images_for_it() -> None:
    fall, following = load_stack(DSMLP), load_stack(NEXT)
    alike = {"driver", "container_toolkit", "assumptions"}  # all but these
    assert [pool.model_dump(exclude=alike) for pool in following.fleet.pools] == [
        pool.model_dump(exclude=alike) for pool in fall.fleet.pools
    ]
    assert {str(pool.driver) for pool in following.fleet.pools} == {"580.178.04"}
    assert (following.site, following.runtime) == (fall.site, fall.runtime)
    assert [image.name for image in following.images] == [image.name for image in fall.images] + [CUDA_12]


def test_in_dsmlp_next_every_profile_has_its_new_image_and_an_older_course_keeps_the_old_one() -> None:
    (fall,), (following,) = load_stack(DSMLP).hubs, load_stack(NEXT).hubs
    assert following.model_copy(update={"profiles": fall.profiles}) == fall
    assert [(p.name, p.image, p.pool, p.gpus) for p in following.profiles] == [
        ("cpu", "datahub-base-notebook", None, 0),
        ("gtx1080ti", CUDA_12, "gtx1080ti", 1),
        ("rtx2080ti", CUDA_12, "rtx2080ti", 1),
        ("gtx1080ti-2020", "scipy-ml-notebook", "gtx1080ti", 1),
    ]
    assert [(job.name, job.pool, job.image) for job in load_stack(NEXT).jobs] == [("gpu-smoke", "gtx1080ti", CUDA_12)]


def test_the_cupy_stack_builds_the_images_of_one_spec_and_has_no_fleet() -> None:
    stack = load_stack(ROOT / "stacks" / "Pulumi.cupy.yaml")
    assert [image.full_name for image in stack.images] == [
        "cupy-notebook",
        "cupy-notebook-gateway-client",
        "cupy-notebook-kernel",
        "cupy-notebook-batch",
    ]
    assert (stack.fleet.total_gpus, stack.fleet.pools, stack.hubs, stack.jobs, stack.runtime) == (0, (), (), (), None)


def test_no_committed_stack_file_holds_a_secret() -> None:
    files = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
    assert len(files) >= 2
    assert not [file.name for file in files if "secure:" in file.read_text(encoding="utf-8")]


def test_whole_numbers_stay_whole(write: Write) -> None:
    stack = load_stack(write(("cpu: 32", "cpu: 32.5")))
    assert [repr(pool.cpu) for pool in stack.fleet.pools] == ["32.5", "32", "32"]


def test_a_stack_prints_and_reads_back_equal() -> None:
    stack = load_stack(DSMLP)
    assert Stack.model_validate_json(stack.model_dump_json(by_alias=True)) == stack


def test_a_pool_carries_the_labels_and_taints_of_its_site(write: Write) -> None:
    own = "labels: {example.edu/row: b}\n        taints: [{key: example.edu/course, value: cs101, effect: NoSchedule}]"
    pool = load_stack(write(("cpu: 32", f"cpu: 32\n        {own}"))).fleet.pool("gtx1080ti")
    assert pool.labels == {"example.edu/row": "b"}
    assert pool.taints == (Taint("example.edu/course", "cs101", "NoSchedule"),)


def test_a_pool_without_gpus_has_nodes_and_counts_no_gpu() -> None:
    stack = load_stack(MIXED)
    cpu, *others = stack.fleet.pools
    assert (cpu.node_names, cpu.gpus, cpu.gpus_of_node) == (("c01", "c02"), 0, None)
    assert [(each.name, each.node_names, each.gpus) for each in cpu.variants()] == [("cpu", ("c01", "c02"), None)]
    assert stack.fleet.total_gpus == sum(pool.gpus for pool in others) == 28
    assert stack.site.core_pool == "cpu"


def test_nodes_of_a_pool_with_another_driver_are_a_part_of_it_that_is_named() -> None:
    pool = load_stack(MIXED).fleet.pool("gtx1080ti")
    found = [
        (each.name, each.node_names, str(each.gpus.driver), each.gpus.container_toolkit)
        for each in pool.variants()
        if each.gpus
    ]
    assert found == [
        ("gtx1080ti", ("n01", "n03"), "418.88", "1.7.0"),
        ("gtx1080ti (n02)", ("n02",), "580.95.05", "1.17.8"),
    ]
    assert {each.pool for each in pool.variants()} == {"gtx1080ti"}
    assert pool.gpus == 24


def test_nodes_that_got_the_same_driver_one_after_the_other_are_one_part(write: Write) -> None:
    more = OVERRIDE.removeprefix("\n        node_overrides:").replace("n07", "n01")
    pool = load_stack(write(('driver: "418.88"', f'driver: "418.88"{OVERRIDE}{more}'))).fleet.pool("gtx1080ti")
    assert [each.name for each in pool.variants()] == ["gtx1080ti", "gtx1080ti (n01, n07)"]


def test_profiles_and_jobs_may_name_several_pools_and_the_core_pool_carries_those_that_name_none() -> None:
    stack = load_stack(MIXED)
    assert {each.name: stack.profile_pools(each) for each in stack.hubs[0].profiles} == {
        "cpu": ("cpu",),
        "gpu": ("gtx1080ti",),
        "any-gpu": ("gtx1080ti", "rtx2080ti"),
    }
    assert [job.named_pools for job in stack.jobs] == [("gtx1080ti", "rtx2080ti"), ("cpu",)]


def test_daemons_for_gpus_are_refused_on_a_fleet_that_has_none(write: Write) -> None:
    pools = TEXT[TEXT.index("      - name: gtx1080ti\n") : TEXT.index("  gpu-commons:runtime:")]
    hubs = TEXT[TEXT.index("  gpu-commons:hubs:") :]
    file = write(
        (hubs, ""), (pools, "\n"), WITH_CPU_POOL, ("total_gpus: 119", "total_gpus: 0"), ("pool: gtx1080ti", "pool: cpu")
    )
    (problem,) = problems(file)
    assert (problem.path, problem.reason) == ("runtime", "has no node to run on")
    assert "no pool of the fleet has a gpu" in problem.fix


def test_a_stack_on_a_fleet_of_somebody_else_knows_the_same_pools(write: Write) -> None:
    runtime = TEXT[TEXT.index("  gpu-commons:runtime:") : TEXT.index("  gpu-commons:images:")]
    stack = load_stack(write((runtime, ""), ("    total_gpus: 119", "    managed_by: dsmlp-core\n    total_gpus: 119")))
    assert stack.fleet.managed_by == "dsmlp-core"
    assert stack.fleet.pools == load_stack(DSMLP).fleet.pools
    assert stack.runtime is None


def test_an_oauth_site_refers_to_its_secret_and_never_holds_it(write: Write) -> None:
    authenticator = load_stack(write((LTI, OAUTH.lstrip("\n")))).site.authenticator
    assert isinstance(authenticator, OAuthAuthenticator)
    assert (authenticator.client_secret.secret, authenticator.client_secret.key) == ("datahub-oauth", "client-secret")


def test_a_login_for_administrators_only_lets_them_in(write: Write) -> None:
    authenticator = load_stack(write((LTI, OAUTH.replace("allowed_users", "admins").lstrip("\n")))).site.authenticator
    assert authenticator is not None
    assert authenticator.admins == ("ada",)


# --- mistakes: one problem each, with path, value, reason and fix

# Each: its name, the replacements in the text of the DSMLP stack (old => new), and the problem as it is printed; `…` is
# any text.
MISTAKES = r"""
# unknown config key
gpu-commons:jobs: => gpu-commons:job:
    gpu-commons:job: is not a known key; did you mean jobs?…
# unknown key inside
homes: { storage_class: campus-files, access: ReadWriteMany, size_gib: 10 } => homes: { size_gb: 10 }
    hubs[0].storage.homes.size_gb: is not a known key; did you mean size_gib?…
# key of an earlier release
start_timeout_s: 600 => volume_gib: 10
start_timeout_s,  =>
    hubs[0].volume_gib: is not a known key; write it as storage.homes.size_gib
# size of an export
storage_class: campus-files, access: ReadWriteMany => nfs: { server: nfs.example.edu, path: /export/homes }
    hubs[0].storage.homes.size_gib: is given beside nfs; leave it out: an export has no size, class or access mode
# export without a path
storage_class: campus-files, access: ReadWriteMany => nfs: { server: nfs.example.edu, path: homes }
, size_gib: 10 =>
    hubs[0].storage.homes.nfs.path: "homes" is not an absolute path; …
# malformed driver
nodes: [n10]\n        driver: "418.88" => nodes: [n10]\n        driver: "418.8x"
    fleet.pools[2].driver: "418.8x" is not a driver version such as 418.88; …driver: "418.88"
# driver before CUDA
driver: "418.88" => driver: "100.10"
    fleet.pools[0].driver: "100.10" is older than any CUDA release in the tables; …facts driver_branch…
# driver without quotes
driver: "418.88" => driver: 418.88
    fleet.pools[0].driver: 418.88 is a number; YAML reads 470.10 as 470.1; quote it: driver: "418.88"
# driver that lost its zero
driver: "418.88" => driver: 470.10
    fleet.pools[0].driver: 470.1 is a number; YAML reads 470.10 as 470.1; quote it: driver: "470.1"
# toolkit without quotes
container_toolkit: "1.7.0" => container_toolkit: 1.7
    fleet.pools[0].container_toolkit: 1.7 is a number; YAML reads 470.10 as 470.1; quote it: container_toolkit: "1.7"
# toolkit that is no version
container_toolkit: "1.7.0" => container_toolkit: "latest"
    fleet.pools[0].container_toolkit: "latest" is not a container toolkit version…; …nvidia-ctk…
# GPU that nobody knows
gpu: GeForce GTX 1080 Ti => gpu: GTX 1085 Ti
    fleet.pools[0].gpu: "GTX 1085 Ti" is not a GPU model of the tables; did you mean GeForce GTX 10…
# GPU name of several models
gpu: GeForce GTX 1080 Ti => gpu: H100
    fleet.pools[0].gpu: "H100" is more than one GPU model; …NVIDIA H100 80GB HBM3…
# total of the headline
total_gpus: 119 => total_gpus: 120
    fleet.total_gpus: 120 …119, not 120: n10 of pool gtx1070ti has 7; write total_gpus: 119…
# forgotten exception changes the total
nodes_except: [n09, n10] => nodes_except: [n10]
    fleet.total_gpus: 119 …which have 127, not 119…; …gtx1080ti 11 nodes of 8…
# pool with no nodes
nodes: [n10] => nodes: []
    fleet.pools[2].nodes: leaves the pool without a node; list at least one, or drop the pool
# pool whose nodes are all excepted
nodes: [n10] => nodes: [n10]\n        nodes_except: [n10]
    fleet.pools[2].nodes: leaves the pool without a node; list at least one, or drop the pool
# node of two pools
nodes: [n18, n21, n22, n24] => nodes: [n18, n21, n22, n12]
    fleet.pools[1].nodes: "n12" belongs to pool gtx1080ti and to pool rtx2080ti; …exactly one pool…
# node twice in one pool
total_gpus: 119 => total_gpus: 127
nodes: [n18, n21, n22, n24] => nodes: [n18, n21-n22, n22, n24]
    fleet.pools[1].nodes: "n22" is listed twice in pool rtx2080ti; …exactly one pool…
# range that runs backwards
nodes: [n01-n12] => nodes: [n12-n01]
    fleet.pools[0].nodes[0]: "n12-n01" runs backwards; write n01-n12
# exception that is no node
nodes_except: [n09, n10] => nodes_except: [n09, n10, n13]
    fleet.pools[0].nodes_except: "n13" is not among the nodes of its pool; …n01, n02…
# two pools of one name
- name: rtx2080ti\n        gpu => - name: gtx1070ti\n        gpu
pool: rtx2080ti => pool: gtx1070ti
    fleet.pools[2].name: "gtx1070ti" is taken by pools[1]; give each of the pools its own name
# no GPUs on a node
gpus_per_node: 7 => gpus_per_node: 0
total_gpus: 119 => total_gpus: 112
    fleet.pools[2].gpus_per_node: 0 …1 or more is allowed with gpu; …leave gpu out as well
# nobody says how many GPUs
        gpus_per_node: 7\n =>
total_gpus: 119 => total_gpus: 112
    fleet.pools[2].gpus_per_node: is missing; add gpus_per_node: GPUs on each node of this pool
# GPUs of no model
        gpu: GeForce GTX 1070 Ti\n =>
    fleet.pools[2].gpu: is missing; …for nodes without GPUs, remove gpus_per_node
# GPUs without a driver
nodes: [n10]\n        driver: "418.88"\n => nodes: [n10]\n
    fleet.pools[2].driver: is missing; add driver: NVIDIA driver on these nodes, quoted: "418.88"
# GPUs without a container toolkit
        container_toolkit: "1.7.0" # the oldest that the device plugin accepts\n =>
assumptions: [container_toolkit, cpu, => assumptions: [cpu,
    fleet.pools[0].container_toolkit: is missing; add container_toolkit: NVIDIA container toolkit…
# a driver for no GPU
WITH_CPU_POOL
nodes: [c01] => nodes: [c01]\n        driver: "418.88"
    fleet.pools[0].driver: "418.88" is given for a pool without gpu; …or leave driver out…
# a container toolkit for no GPU
WITH_CPU_POOL
nodes: [c01] => nodes: [c01]\n        container_toolkit: "1.17.8"
    fleet.pools[0].container_toolkit: "1.17.8" is given for a pool without gpu; …or leave container_toolkit out…
# a profile with a GPU on a pool without
WITH_CPU_POOL
pool: rtx2080ti => pool: cpu
    hubs[0].profiles[2].gpus: 1 is more than any node of pool cpu has (0); choose pool gtx1080ti or rtx2080ti…
# missing key
        root_disk_gib: 480\n =>
memory_gib, root_disk_gib] => memory_gib]
    fleet.pools[0].root_disk_gib: is missing; add root_disk_gib: Disk of one node…
# number in quotes
memory_gib: 192 => memory_gib: "192"
    fleet.pools[0].memory_gib: "192" is not a number; write memory_gib: 192, without quotes
# name without quotes
nodes: [n10] => nodes: [10]
    fleet.pools[2].nodes[0]: 10 is not text; put it in quotes: "10"
# mapping instead of a list
gpu-commons:images:\n    - name: hub\n    - name: proxy\n => gpu-commons:images: {}\n  other:x:\n    - name: x\n
    images: a mapping is not a list; Images that this stack builds
# label that is not the site's
cpu: 32 => cpu: 32\n        labels: {nvidia.com/gpu.product: x}
    fleet.pools[0].labels["nvidia.com/gpu.product"]: "nvidia.com/gpu.product" is not yours to set; …use another
# assumption about nothing
assumptions: [container_toolkit, cpu => assumptions: [container_tool, cpu
    fleet.pools[0].assumptions[0]: "container_tool" is not a key that is set…; did you mean container_toolkit…
# core pool that is none
core_pool: gtx1080ti => core_pool: gtx1080
    site.core_pool: "gtx1080" is not a pool of the fleet; did you mean gtx1080ti…
# an override of a node of another pool
WITH_OVERRIDE
nodes: [n07] => nodes: [n10]
    fleet.pools[0].node_overrides[0].nodes: "n10" is not among the nodes of its pool; …n01, n02…
# an override of no node
WITH_OVERRIDE
nodes: [n07] => nodes: []
    fleet.pools[0].node_overrides[0].nodes: a list of 0 is empty; …Nodes of this pool…
# an override of a node twice
WITH_OVERRIDE
nodes: [n07] => nodes: [n07-n08, n07]
    fleet.pools[0].node_overrides[0].nodes: "n07" is overridden twice; state once what the node has
# an override with what the pool has
WITH_OVERRIDE
driver: "580.95.05" => driver: "418.88.00"
    fleet.pools[0].node_overrides[0].driver: "418.88.00" is the driver of pool gtx1080ti; …leave it out
# an override with nothing
WITH_OVERRIDE
            driver: "580.95.05" =>
    fleet.pools[0].node_overrides[0]: overrides nothing; give the driver or the container_toolkit…
# an override with a driver that is none
WITH_OVERRIDE
driver: "580.95.05" => driver: 580.95
    fleet.pools[0].node_overrides[0].driver: 580.95 is a number…; quote it: driver: "580.95"
# an override of every node
WITH_OVERRIDE
nodes: [n07] => nodes: [n01-n08, n11-n12]
    fleet.pools[0].node_overrides: overrides every node of pool gtx1080ti; change the pool itself…
# an override for no GPU
WITH_CPU_POOL
nodes: [c01] => nodes: [c01]{OVERRIDE}
    fleet.pools[0].node_overrides: is given for a pool without gpu; leave it out…
# a pool and several
pool: rtx2080ti => pool: rtx2080ti\n          pools: [rtx2080ti, gtx1080ti]
    hubs[0].profiles[2].pools: is given beside pool; keep one of the two: pool for one pool, pools for several
# several pools of none
pool: rtx2080ti => pools: []
    hubs[0].profiles[2].pools: a list of 0 is empty; …Several pools in place of pool…
# several pools that are no list
pool: rtx2080ti => pools: rtx2080ti
    hubs[0].profiles[2].pools: "rtx2080ti" is not a list; write pools: [rtx2080ti]
# one of several pools that is none
pool: rtx2080ti => pools: [rtx2080ti, gtx1080]
    hubs[0].profiles[2].pools[1]: "gtx1080" is not a pool of the fleet; did you mean gtx1080ti…
# one of several pools twice
pool: rtx2080ti => pools: [rtx2080ti, gtx1080ti, rtx2080ti]
    hubs[0].profiles[2].pools[2]: "rtx2080ti" is listed twice; name each pool once
# one of several pools with too few GPUs
pool: rtx2080ti\n          gpus: 1 => pools: [rtx2080ti, gtx1070ti]\n          gpus: 8
    hubs[0].profiles[2].pools[1]: "gtx1070ti" has 7 GPUs on each node, but 8 are requested; …at most 7
# a job with a pool and several
      pool: gtx1080ti\n      gpus: 1 =>       pool: gtx1080ti\n      pools: [gtx1080ti]\n      gpus: 1
    jobs[0].pools: is given beside pool; keep one of the two: pool for one pool, pools for several
# no core pool
    core_pool: gtx1080ti =>     #
allowed_registries, core_pool, => allowed_registries,
    site.core_pool: is missing; …gtx1070ti, gtx1080ti, rtx2080ti
# a base that is maybe refused
    core_pool: gtx1080ti =>     image_limits: {refuse_unsupported_base: maybe}\n    core_pool: gtx1080ti
    site.image_limits.refuse_unsupported_base: "maybe" is not true or false; write true or false, without quotes
# a warning that comes after the refusal
    core_pool: gtx1080ti =>     image_limits: {warn_compressed_gb: 7}\n    core_pool: gtx1080ti
    site.image_limits.warn_compressed_gb: 7 is above refuse_compressed_gb; …6 or less…
# a bigger limit for ever
- name: scipy-ml-notebook => - {name: scipy-ml-notebook, limit: {compressed_gb: 9, reason: CUDA 13}}
    images[3].limit.until: is missing; add until: Last day of this limit…
# a bigger limit until some day
- name: scipy-ml-notebook => - {name: scipy-ml-notebook, limit: {compressed_gb: 9, reason: CUDA 13, until: summer}}
    images[3].limit.until: "summer" is not a day; write year, month and day: 2027-06-30
# registry with a tag
registry: registry.example.edu/gpu-commons => registry: registry.example.edu/gpu-commons:1
    site.registry: "registry.example.edu/gpu-commons:1" is not a registry; …host[:port] and a folder…
# registry without a host
registry: registry.example.edu/gpu-commons => registry: gpu-commons
    site.registry: "gpu-commons" is not a registry; write host[:port] and a folder: registry.example.edu/gpu-commons
# registry that is not allowed
[registry.example.edu, nv => [registry.example.education, nv
    site.registry: "registry.example.edu/gpu-commons" …in none of the allowed…; add registry.example.edu…
# dummy login outside the lab
{LTI} =>       kind: dummy\n
    site.authenticator.kind: "dummy" is allowed in the lab only; choose oauth or lti13…
# dummy login with a list, which only other logins have
{LTI} =>       kind: dummy\n      allow_all: false\n
    assumptions: [name, registry =>     lab: true\n    assumptions: [name, registry
    site.authenticator.allow_all: is not a known key; known keys: admins, kind
# dummy login where the lab is denied
{LTI} =>       kind: dummy\n
    name: dsmlp\n =>     name: dsmlp\n    lab: false\n
    site.authenticator.kind: "dummy" is allowed in the lab only; choose oauth or lti13…
# authenticator of an unknown kind
kind: lti13 => kind: lti11
    site.authenticator.kind: "lti11" is not a known kind; did you mean lti13? known kinds: dummy, lti13, oauth
# authenticator without a kind
      kind: lti13\n =>
    site.authenticator.kind: is missing; add kind: one of dummy, lti13, oauth
# no authenticator
    authenticator:\n{LTI} =>
core_pool, authenticator] => core_pool]
    site.authenticator: is missing; a hub needs one: add kind oauth or lti13 with its settings
# a job in the namespace of a hub
namespace: batch => namespace: datahub
    jobs[0].namespace: "datahub" is the namespace of hub datahub, which holds people's homes; …such as batch…
# a job that leaves its namespace out, where a hub has that name
- name: datahub\n => - name: batch\n
hub: datahub\n      profiles: [cpu => hub: batch\n      profiles: [cpu
hub: datahub\n      profiles: [gtx => hub: batch\n      profiles: [gtx
      namespace: batch\n =>
assumptions: [name, namespace, image, pool => assumptions: [name, image, pool
    jobs[0].namespace: "batch" is the namespace of hub batch…; …only jobs use…
# certificates that are none
{LTI} => {OAUTH}      ca_certificates: /etc/ssl/ca.pem\n
    site.authenticator.ca_certificates: "/etc/ssl/ca.pem" is not a list of PEM certificates; …as a block…
# a private key among the certificates
{LTI} => {OAUTH}      ca_certificates: "-----BEGIN PRIVATE KEY-----\\nhunter2"\n
    site.authenticator.ca_certificates: the value (not shown) holds a private key; …the version history too…
# login for nobody
{LTI} => {OAUTH_FOR_NOBODY}
    site.authenticator: lets nobody log in; list allowed_users, or set allow_all: true
# address without TLS
issuer: https:// => issuer: http://
    site.authenticator.issuer: "http://canvas.example.edu" is not an https address; …https://host…
# reference that is none
device_plugin: nvcr.io/nvidia/ => device_plugin: https://nvcr.io/nvidia/
    runtime.device_plugin: "https://nvcr.io/nvidia/k8s-device-plugin:v0.17.1… is not an image reference…; …tag…
# runtime on a fleet of somebody else
    total_gpus: 119 =>     managed_by: dsmlp-core\n    total_gpus: 119
    runtime: is set, but dsmlp-core manages the fleet; leave the section runtime out…
# fleet of nobody in particular
    total_gpus: 119 =>     managed_by: ""\n    total_gpus: 119
    fleet.managed_by: "" is empty; …Who labels these nodes…
# two images of one name
- name: proxy\n => - name: proxy\n    - name: hub\n
    images[2].name: "hub" is taken by images[0]; give each of the images its own name
# two images of one name and target
- name: proxy\n => - name: proxy\n    - {name: x, target: batch}\n    - {name: x, target: batch}\n
    images[3].name: "x" is taken by images[2]; give each of the images its own name
# an image called like a target of another
- name: proxy\n => - name: proxy\n    - {name: x, target: batch}\n    - name: x-batch\n
    images[3].name: "x-batch" is taken by images[2]; give each of the images its own name
# profile with a missing image
image: datahub-base-notebook => image: datahub-base
    hubs[0].profiles[0].image: "datahub-base" is not an image of this stack; did you mean datahub-base-note…
# profile with a missing pool
pool: rtx2080ti => pool: rtx2080
    hubs[0].profiles[2].pool: "rtx2080" is not a pool of the fleet; did you mean rtx2080ti…
# hub with a missing image
proxy_image: proxy => proxy_image: proxi
    hubs[0].proxy_image: "proxi" is not an image of this stack; did you mean proxy…
# profile with more GPUs than a node of its pool
pool: gtx1080ti\n          gpus: 1 => pool: gtx1070ti\n          gpus: 8
    hubs[0].profiles[1].gpus: 8 …more than any node of pool gtx1070ti has (7); …gtx1080ti or rtx2080ti
# profile without a pool and more GPUs than the core pool
core_pool: gtx1080ti => core_pool: gtx1070ti
memory_gib: 2\n          is_default => memory_gib: 2\n          gpus: 8\n          is_default
    hubs[0].profiles[0].gpus: 8 …more than any node of pool gtx1070ti has (7); …request at most 7…
# job with more GPUs than any node
pool: gtx1080ti\n      gpus: 1 => gpus: 9
image, pool, gpus => image, gpus
    jobs[0].gpus: 9 is more than any node of the fleet has (8); one pod runs on one node: request at most 8
# job with a missing image
namespace: batch\n      image: scipy-ml-notebook => namespace: batch\n      image: scipy-ml
    jobs[0].image: "scipy-ml" is not an image of this stack; did you mean scipy-ml-notebook…
# job in a namespace of Kubernetes
namespace: batch => namespace: kube-system
    jobs[0].namespace: "kube-system" is a namespace of Kubernetes itself; choose another: the stack…
# command that is one text
{COMMAND} =>       command: python train.py --key hunter2\n
    jobs[0].command: the value (not shown) is not a list; Program and its arguments, one list item each
# no default profile
is_default: true => is_default: false
    hubs[0].profiles: have no default; set is_default: true on one of cpu, gtx1080ti, rtx2080ti
# two default profiles
gpus: 1\n => gpus: 1\n          is_default: true\n
    hubs[0].profiles: have 2 defaults; keep is_default: true on one of cpu, gtx1080ti
# two profiles of one name
- name: rtx2080ti\n          title => - name: gtx1080ti\n          title
profiles: [gtx1080ti, rtx2080ti] => profiles: [gtx1080ti]
    hubs[0].profiles[2].name: "gtx1080ti" is taken by profiles[1]; give each of the profiles its own name
# node port out of range
port: 30080 => port: 80
    hubs[0].expose.port: 80 is out of range: 30000 or more is allowed; Node port, 30000 to 32767
# culling that looks too rarely
every_s: 600 => every_s: 7200
    hubs[0].cull.every_s: 7200 is longer than idle_s; …once in 3600 s…
# name that Kubernetes refuses
- name: datahub\n => - name: Data_Hub\n
hub: datahub\n => hub: Data_Hub\n
hub: datahub\n => hub: Data_Hub\n
    hubs[0].name: "Data_Hub" is not a name; …lower-case letters…
# course of a hub that is not there
title: Deep learning\n      hub: datahub => title: Deep learning\n      hub: datahob
    courses[1].hub: "datahob" is not a hub of this stack; did you mean datahub? known hubs: datahub
# course with a profile that its hub does not have
profiles: [cpu, gtx1080ti] => profiles: [cpu, gtx1080]
    courses[0].profiles[1]: "gtx1080" is not a profile of hub datahub; did you mean gtx1080ti…
# course that ends before it begins
last_day: "2020-12-18" => last_day: "2020-09-18"
    courses[0].last_day: "2020-09-18" is before first_day; …begins on 2020-10-01…
# more servers than seats
peak_share: 0.2 => peak_share: 1.2
    courses[0].peak_share: 1.2 is out of range: at most 1.0…; Share of the seats…
# encrypted value
username_key: email => username_key: {secure: v1:c2VjcmV0}
    site.authenticator.username_key: is an encrypted value; …Kubernetes Secret…
# key twice
total_gpus: 119 => total_gpus: 119\n    total_gpus: 120
    config["gpu-commons:fleet"].total_gpus: is written twice, first in line 24; keep one of the two
# key without a namespace
gpu-commons:runtime: => runtime:
    config.runtime: has no namespace; keys have a namespace: gpu-commons:runtime
# unknown key beside config
encryptionsalt: => encryptionsault:
    encryptionsault: is not a known key; did you mean encryptionsalt…
# empty section
  gpu-commons:fleet:\n =>   gpu-commons:site2: {}\n  gpu-commons:fleet:\n
    gpu-commons:site2: is not a known key; did you mean site…
"""
WHOLE = {"WITH_CPU_POOL": WITH_CPU_POOL, "WITH_OVERRIDE": WITH_OVERRIDE}
TEXTS = {
    "{LTI}": LTI,
    "{OAUTH}": OAUTH.lstrip("\n"),
    "{OAUTH_FOR_NOBODY}": OAUTH.replace("      allowed_users: [ada]\n", "").lstrip("\n"),
    "{OVERRIDE}": OVERRIDE,
    "{COMMAND}": TEXT[TEXT.index("      command:") : TEXT.index("      retries: 1")],
}


def replacement(line: str) -> tuple[str, str]:
    if line in WHOLE:
        return WHOLE[line]
    old, _, new = line.partition(" =>")
    texts = [part.replace("\\n", "\n") for part in (old, new.removeprefix(" "))]
    for name, text in TEXTS.items():
        texts = [part.replace(name, text) for part in texts]
    return texts[0], texts[1]


CASES = [case.splitlines() for case in MISTAKES.strip().removeprefix("# ").split("\n# ")]


@pytest.mark.slow
@each_row(
    ("replacements", "message"),
    [([replacement(line) for line in lines], message.strip()) for _, *lines, message in CASES],
    ids=[name for name, *_ in CASES],
)
def test_a_mistake_is_one_problem_with_path_value_reason_and_fix(
    write: Write, replacements: list[tuple[str, str]], message: str
) -> None:
    file = write(*replacements)
    (problem,) = problems(file)
    printed = f"{problem.path}: {f'{problem.value} ' if problem.value else ''}{problem.reason}; {problem.fix}"
    assert re.fullmatch(".*".join(map(re.escape, message.split("…"))), printed), printed
    assert problem.file == str(file)


def test_a_problem_names_its_line(write: Write) -> None:
    file = write(("gpus_per_node: 7", "gpus_per_node: 65"), ("total_gpus: 119", "total_gpus: 177"))
    (problem,) = problems(file)
    assert file.read_text(encoding="utf-8").splitlines()[(problem.line or 0) - 1].strip() == "gpus_per_node: 65"


def test_all_mistakes_come_at_once_in_the_order_of_the_file(write: Write) -> None:
    file = write(
        ("core_pool: gtx1080ti", "core_pool: gtx1180ti"),
        ('driver: "418.88"', "driver: 418.88"),
        ("gpu: GeForce RTX 2080 Ti", "gpu: GeForce RTX 2085 Ti"),
        ("- name: proxy", "- name: Proxy"),
        ("image: datahub-base-notebook", "image: datahub-base"),
        ("memory_gib: 16", "memory_gib: -16"),
        ("retries: 1\n", "retry: 1\n"),
    )
    assert [problem.path for problem in problems(file)] == [
        "site.core_pool",
        "fleet.pools[0].driver",
        "fleet.pools[1].gpu",
        "images[1].name",
        "hubs[0].proxy_image",
        "hubs[0].profiles[0].image",
        "hubs[0].profiles[1].memory_gib",
        "jobs[0].retry",
        "jobs[0].assumptions[8]",
    ]


def test_the_text_for_people_is_whole_and_has_no_traceback(write: Write) -> None:
    file = write(('nodes: [n10]\n        driver: "418.88"', 'nodes: [n10]\n        driver: "418.8x"'))
    with pytest.raises(SettingsError) as caught:
        load_stack(file)
    assert str(caught.value) == (
        f"{file}: 1 problem\n"
        '  fleet.pools[2].driver: "418.8x" is not a driver version such as 418.88 (line 51)\n'
        '    write it as nvidia-smi does: driver: "418.88"'
    )


def test_two_hubs_do_not_share_a_node_port_or_a_name(write: Write) -> None:
    hub = TEXT[TEXT.index("    - name: datahub\n") : TEXT.index("  gpu-commons:jobs:")]
    found = problems(write((hub, hub + hub)))
    assert [(problem.path, problem.value) for problem in found] == [
        ("hubs[1].name", '"datahub"'),
        ("hubs[1].expose.port", "30080"),
    ]


def test_two_hubs_do_not_share_the_host_of_an_ingress(write: Write) -> None:
    hub = TEXT[TEXT.index("    - name: datahub\n") : TEXT.index("  gpu-commons:jobs:")]
    behind = hub.replace("kind: node_port, port: 30080", "kind: ingress, host: hub.example.edu")
    assert behind != hub
    (first, second) = problems(write((hub, behind + behind)))
    assert (first.path, second.path) == ("hubs[1].name", "hubs[1].expose.host")
    assert second.reason == "is the host of another hub"


@each_row("given", ["hunter2", "https://hunter2@x", '"hunter2"', "[hunter2]", "{value: hunter2}", "{secret: hunter2}"])
def test_a_secret_in_the_wrong_place_is_never_printed(write: Write, given: str) -> None:
    oauth = OAUTH.replace("{secret: datahub-oauth, key: client-secret}", given).lstrip("\n")
    with pytest.raises(SettingsError) as caught:
        load_stack(write((LTI, oauth)))
    assert "site.authenticator.client_secret" in str(caught.value)
    assert "hunter2" not in str(caught.value)


# --- files that are no stack files

NO_STACK = {
    "empty": ("", "(top)", "is not a mapping"),
    "list": ("- a\n", "(top)", "is not a mapping"),
    "no config": ("encryptionsalt: x\n", "config", "is not a mapping"),
    "config is text": ("config: hello\n", "config", "is not a mapping"),
    "no site": ("config: {aws:region: us-east-1}\n", "site", "is missing"),
    "site is empty": ("config:\n  gpu-commons:site:\n", "site", "is not a mapping"),
    "indentation": ("config:\n  a:b: 1\n c: 2\n", "(syntax)", "is not YAML"),
    "tab": ("config:\n\ta:b: 1\n", "(syntax)", "is not YAML"),
    "loop": ("config: &a\n  b: *a\n", "config.b", "contains itself"),
    "odd key": ("config:\n  ? [a]\n  : 1\n", "config", "has a key that is not a name"),
    "deep": ("config: " + "[" * 5000 + "\n", "(syntax)", "nested too deep"),
}


@each_row(("text", "path", "reason"), NO_STACK.values(), ids=NO_STACK.keys())
def test_a_file_that_is_no_stack_file_is_one_problem(tmp_path: Path, text: str, path: str, reason: str) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text(text, encoding="utf-8")
    (problem,) = problems(file)
    assert problem.path == path
    assert reason in problem.reason
    assert "hunter2" not in str(problem)


@pytest.mark.slow
def test_aliases_of_aliases_end_before_the_memory_does(tmp_path: Path) -> None:
    bomb = ["config:", "  a: &a [x, x, x, x, x, x, x, x, x, x]"]
    bomb += [f"  {b}: &{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text("\n".join(bomb), encoding="utf-8")
    assert "is too large" in problems(file)[0].reason


@pytest.mark.parametrize("kind", ["missing", "folder", "latin-1"])
def test_a_file_that_cannot_be_read_is_one_problem(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "x.yaml"
    if kind == "folder":
        file.mkdir()
    elif kind == "latin-1":
        file.write_bytes("config: {a:b: Übung}".encode("latin-1"))
    (problem,) = problems(file)
    assert (problem.path, problem.value) == ("stack file", f'"{file}"')
    assert problem.reason.startswith("cannot be read: ")


def test_plain_words_mean_what_they_mean_to_the_engine(write: Write) -> None:
    text = "      retries: 1\n"
    for word in ("yes", "2026-01-02", "1:30"):
        (problem,) = problems(write((text, f"      retries: {word}\n")))
        assert problem.value == f'"{word}"'
        assert problem.reason == "is not a whole number"


def scalars() -> st.SearchStrategy[Any]:
    return st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just([]) | st.just({})


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def sections(file: Path) -> dict[str, Any]:
    config = yaml.safe_load(file.read_text(encoding="utf-8"))["config"]
    return {key.removeprefix("gpu-commons:"): value for key, value in config.items()}


def change(raw: Any, place: Sequence[str | int], value: Any) -> None:
    for step in place[:-1]:
        raw = raw[step]
    raw[place[-1]] = value


RAW = {file.name: sections(file) for file in (ROOT / "stacks").glob("Pulumi.*.yaml")}


# Each: what is set where in the DSMLP stack, by the path at which it is refused.
@each_row(
    "changes",
    [
        {"jobs[0].assumptions[0]": 7, "jobs[0].assumptions[1]": "gpu"},
        {
            "fleet.pools": "none",
            "hubs[0].profiles[0].image": "a",
            "hubs[0].profiles[1].image": "b",
            "jobs[0].image": "c",
        },
        {"hubs[0].profiles": 7, "jobs[0].pool": "cpu"},
        {"fleet.pools[1]": 7, "site.core_pool": None},
        {"fleet.pools[1]": 7, "hubs[0].profiles[1].gpus": 9},
        {"fleet.pools[1].gpu": 7, "jobs[0].pool": "cpu"},
        {"fleet.pools[1].gpu": 7, "fleet.total_gpus": 120},
        {"hubs[0].profiles[1]": 7, "courses[0].profiles": "cpu", "courses[1].hub": "other"},
    ],
)
def test_a_mistake_hides_no_other_one(tmp_path: Path, changes: dict[str, Any]) -> None:
    raw = sections(DSMLP)
    for path, value in changes.items():
        change(raw, [int(step) if step.isdigit() else step for step in re.findall(r"\w+", path)], value)
    file = tmp_path / "Pulumi.bad.yaml"
    file.write_text(yaml.safe_dump({"config": {f"gpu-commons:{key}": part for key, part in raw.items()}}))
    assert {problem.path for problem in problems(file)} == changes.keys()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.sampled_from([(file, *place) for file, raw in RAW.items() for place in places(raw)]),
    value=scalars() | st.lists(scalars(), max_size=3),
)
def test_any_value_anywhere_is_accepted_or_explained(
    monkeypatch: pytest.MonkeyPatch, place: tuple[str, *tuple[str | int, ...]], value: Any
) -> None:
    file, *inside = place
    raw = copy.deepcopy(RAW[file])
    change(raw, inside, value)
    monkeypatch.setenv(
        "PULUMI_CONFIG", json.dumps({f"gpu-commons:{key}": json.dumps(part) for key, part in raw.items()})
    )
    try:
        from_pulumi()
        found = None
    except SettingsError as error:
        found = error.problems
    assert found is None or (found and all(problem.path and problem.reason and problem.fix for problem in found))


# --- the site overlay

LAB = """
lab: true
name: lab-default
registry: 127.0.0.1:5000/gpu-commons
allowed_registries: ["127.0.0.1:5000"]
builder: gpu-commons
authenticator: {kind: dummy}
substitutes:
  - reference: nvcr.io/nvidia/k8s-device-plugin:v0.17.1
    with: 127.0.0.1:5000/lab/device-plugin@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    reason: not reachable from this machine
"""


def overlay(tmp_path: Path, text: str = LAB) -> Path:
    path = tmp_path / "site.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_overlay_replaces_keys_of_the_site_and_leaves_the_rest(tmp_path: Path) -> None:
    stack = load_stack(DSMLP, site=overlay(tmp_path))
    assert stack.site.lab
    assert stack.site.registry == "127.0.0.1:5000/gpu-commons"
    assert stack.site.core_pool == "gtx1080ti"
    assert stack.fleet == load_stack(DSMLP).fleet


def test_a_reference_is_substituted_with_its_reason_or_stays(tmp_path: Path) -> None:
    stack = load_stack(DSMLP, site=overlay(tmp_path))
    plugin, reason = stack.substitute("nvcr.io/nvidia/k8s-device-plugin:v0.17.1")
    assert plugin.startswith("127.0.0.1:5000/lab/device-plugin@sha256:")
    assert reason == "not reachable from this machine"
    assert stack.substitute("quay.io/a/b:1") == ("quay.io/a/b:1", None)


def test_the_hubs_pool_in_a_labs_overlay_is_of_the_stack_that_was_last_brought_up_there(tmp_path: Path) -> None:
    assert load_stack(DSMLP, site=overlay(tmp_path, f"{LAB}core_pool: gtx1070ti\n")).site.core_pool == "gtx1070ti"
    assert load_stack(DSMLP, site=overlay(tmp_path, f"{LAB}core_pool: l4\n")).site.core_pool == "gtx1080ti"
    (problem,) = problems(DSMLP, overlay(tmp_path, "core_pool: l4\n"))
    assert problem.reason == "is not a pool of the fleet"


@each_row(
    ("old", "new", "path", "reason"),
    [
        ("name: lab-default", "nam: lab-default", "nam", "is not a known key"),
        ("lab: true", "lab: 1", "lab", "is not true or false"),
        ("reason: not", "why: not", "substitutes[0].why", "is not a known key"),
        ("with: 127.0.0.1:5000/lab", "with: ftp://lab", "substitutes[0].with", "is not an image reference"),
        ("registry: 127.0.0.1:5000/", "registry: 127.0.0.1:5001/", "registry", "is in none of the allowed registries"),
    ],
)
def test_a_mistake_in_the_overlay_is_shown_by_the_overlays_own_path_and_line(
    tmp_path: Path, old: str, new: str, path: str, reason: str
) -> None:
    site = overlay(tmp_path, LAB.replace(old, new))
    found = next(problem for problem in problems(DSMLP, site) if problem.path == path)
    assert reason in found.reason
    assert found.file == str(site)
    word = new.partition(" ")[0]
    lines = site.read_text(encoding="utf-8").splitlines()
    assert found.line == next(number for number, line in enumerate(lines, start=1) if word in line)


def test_an_overlay_that_is_not_there_is_one_problem(tmp_path: Path) -> None:
    (problem,) = problems(DSMLP, tmp_path / "gone.yaml")
    assert problem.path == "GPU_COMMONS_SITE"
    assert "cannot be read" in problem.reason


def test_an_overlay_that_is_no_mapping_is_one_problem_and_an_empty_one_is_none(tmp_path: Path) -> None:
    (problem,) = problems(DSMLP, overlay(tmp_path, "- lab\n"))
    assert problem.reason == "is not a mapping"
    (problem,) = problems(DSMLP, overlay(tmp_path, "hunter2\n"))
    assert (problem.value, problem.reason) == ("the value (not shown)", "is not a mapping")
    assert load_stack(DSMLP, site=overlay(tmp_path, "\n")) == load_stack(DSMLP)


# --- Pulumi


def config(monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], secret: tuple[str, ...] = ()) -> None:
    """Sets the variables that the language host sets: objects as JSON text."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps(texts))
    monkeypatch.setenv("PULUMI_CONFIG_SECRET_KEYS", json.dumps(secret))
    for name in ("GPU_COMMONS_SITE", "PULUMI_CONFIG_PASSPHRASE"):  # a shell that talks to a lab has them
        monkeypatch.delenv(name, raising=False)


CONFIG = yaml.safe_load(TEXT)["config"]


def test_the_engines_configuration_gives_the_same_stack_as_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    config(monkeypatch, {**CONFIG, "kubernetes:context": "dsmlp", "aws:region": "us-west-2"})
    assert from_pulumi() == load_stack(DSMLP)


def test_a_sum_that_was_forgotten_names_the_node_that_was_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    first, rtx, last = CONFIG["gpu-commons:fleet"]["pools"]
    pools = [first, {**rtx, "nodes": ["n18", "n21", "n22"]}, last]
    config(monkeypatch, {**CONFIG, "gpu-commons:fleet": {**CONFIG["gpu-commons:fleet"], "pools": pools}})
    deployed = {"rtx2080ti": ["n18", "n21", "n22", "n24"], "gtx1070ti": ["n10"]}
    with pytest.raises(SettingsError) as caught:
        from_pulumi(lambda: deployed)
    (problem,) = caught.value.problems
    assert problem.reason.startswith("contradicts the pools, which have 111, not 119")
    assert problem.reason.endswith("; since the last update n24 left pool rtx2080ti")
    with pytest.raises(SettingsError) as caught:
        from_pulumi()  # nothing is deployed
    assert "since the last update" not in str(caught.value)


def test_the_deployed_nodes_are_only_read_where_the_gpus_do_not_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> dict[str, Any]:
        raise AssertionError

    config(monkeypatch, CONFIG)
    assert from_pulumi(read)


def test_a_day_that_the_engine_took_for_a_time_is_that_day(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = {"compressed_gb": 9, "reason": "CUDA 13"}
    for text in ("2027-06-30", "2027-06-30 00:00:00 +0000 UTC"):
        images = [*CONFIG["gpu-commons:images"][:-1], {"name": "scipy-ml-notebook", "limit": {**limit, "until": text}}]
        config(monkeypatch, {**CONFIG, "gpu-commons:images": images})
        waiver = from_pulumi().images[-1].limit
        assert waiver is not None
        assert waiver.until == date(2027, 6, 30)


def test_the_engines_configuration_takes_the_overlay_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config(monkeypatch, CONFIG)
    monkeypatch.setenv("GPU_COMMONS_SITE", str(overlay(tmp_path)))
    assert from_pulumi().site.lab
    monkeypatch.setenv("GPU_COMMONS_SITE", "")
    assert not from_pulumi().site.lab


def test_a_key_of_ours_that_nobody_knows_is_refused_and_foreign_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    config(monkeypatch, {**CONFIG, "gpu-commons:flet": {}, "other:flet": "x"})
    with pytest.raises(SettingsError) as caught:
        from_pulumi()
    (problem,) = caught.value.problems
    assert (problem.path, problem.reason) == ("gpu-commons:flet", "is not a known key")
    assert "did you mean fleet?" in problem.fix


def test_a_section_that_is_a_bare_word_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    config(monkeypatch, {**CONFIG, "gpu-commons:images": "hub"})
    with pytest.raises(SettingsError) as caught:
        from_pulumi()
    assert ("images", "the value (not shown)", "is not a list") in [
        (p.path, p.value, p.reason) for p in caught.value.problems
    ]


def test_settings_that_are_secret_are_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    config(monkeypatch, {**CONFIG, "gpu-commons:runtime": {"device_plugin": "hunter2 x"}}, ("gpu-commons:runtime",))
    with pytest.raises(SettingsError) as caught:
        from_pulumi()
    (problem,) = caught.value.problems
    assert (problem.path, problem.reason) == ("runtime", "is an encrypted value")
    assert "hunter2" not in str(caught.value)


def test_a_stack_that_holds_secrets_refuses_the_empty_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    config(monkeypatch, {**CONFIG, "aws:secretKey": "hunter2"}, ("aws:secretKey",))
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "")
    with pytest.raises(SettingsError) as caught:
        from_pulumi()
    assert "aws:secretKey: is a secret that the empty passphrase decrypts" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "of our own")
    assert from_pulumi().fleet.total_gpus == 119


@pytest.mark.slow
def test_stack_files_are_read_without_pulumi() -> None:
    program = "import sys; from pathlib import Path; from settings.reading import load_stack;"
    program += f"load_stack(Path({str(DSMLP)!r})); print([name for name in sys.modules if name.startswith('pulumi')])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# --- the schema


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


def test_every_key_has_a_description_that_ends_with_a_full_stop() -> None:
    bare = [
        key
        for item in objects(json_schema())
        for key, field in item["properties"].items()
        if not str(field.get("description", "")).endswith(".") and not (item is json_schema() and key == "config")
    ]
    assert bare == []


def test_no_object_of_the_schema_takes_unknown_keys() -> None:
    ours = [item for item in json_schema()["$defs"].values() if item.get("type") == "object"]
    assert len(ours) >= 15
    assert all(item["additionalProperties"] is False for item in ours)


def test_the_committed_schema_is_the_one_of_these_models() -> None:
    committed = (ROOT / "docs" / "reference" / "stack.schema.json").read_text(encoding="utf-8")
    assert json.loads(committed) == json_schema()
    assert committed == json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def test_every_stack_file_points_editors_to_the_schema() -> None:
    for file in (ROOT / "stacks").glob("Pulumi.*.yaml"):
        first = file.read_text(encoding="utf-8").splitlines()[0]
        assert first == "# yaml-language-server: $schema=../docs/reference/stack.schema.json"
