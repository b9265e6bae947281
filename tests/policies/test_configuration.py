"""The pack with a configuration, as the engine hands it over: stacks of other projects, and what can be wrong in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulumi.runtime import proto
from pulumi_policy import EnforcementLevel
from pulumi_policy import policy as sdk
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE
from rows import each_row

from fleet.labels import ALWAYS_DISCOVERED
from policies import sdk_handlers
from policies.configuration import POLICIES, PolicyConfig
from policies.crossguard import pack_policies
from policies.from_settings import site_of
from policies.report import for_people
from policies.stacks import DEFAULT_STACKS, configure, site_of_stack
from settings.reading import SettingsError, load_stack

Object = dict[str, Any]
Give = Callable[..., "Pack"]
JOB, DEPLOYMENT, STACK = "kubernetes:batch/v1:Job", "kubernetes:apps/v1:Deployment", "pulumi:pulumi:Stack"
CUDA = f"nvidia/cuda:12.4.1-runtime-ubuntu22.04@sha256:{'1' * 64}"
POOL = {
    "name": "v100",
    "gpu": "V100",
    "gpus_per_node": 4,
    "nodes": ["gpu1-gpu2"],
    "driver": "580.95.05",
    "container_toolkit": "1.17.8",
    "cpu": 64,
    "memory_gib": 256,
    "root_disk_gib": 500,
}
SITE = {"allowed_registries": ["docker.io/nvidia", "docker.io/library"]}
WAIVER = {"rule": "P-RUN", "resource": "Job train", "reason": "r", "owner": "team", "until": "2999-12-31"}
TAINT = {"key": "example.edu/course", "value": "x", "effect": "NoSchedule"}
TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


class RefusedError(Exception):
    """What the engine prints as the only error of the run."""


class Context:
    """Of a call of the engine."""

    def abort(self, _: object, text: str) -> NoReturn:
        raise RefusedError(text)


class Pack:
    """The pack as the SDK serves it to the engine."""

    def __init__(self) -> None:
        kind = sdk._PolicyAnalyzerServicer  # noqa: SLF001 - what the engine calls
        self._served = kind("pack", "1.0.0", pack_policies(site_of_stack), EnforcementLevel.ADVISORY)

    def configure(self, levels: dict[str, str], keys: dict[str, Object]) -> None:
        request = proto.ConfigureAnalyzerRequest()
        for policy, level in levels.items():
            request.policyConfig[policy].enforcementLevel = proto.EnforcementLevel.Value(level.upper())
            request.policyConfig[policy].properties.update(keys.get(policy, {}))
        self._served.Configure(request, Context())

    def says(self, token: str, name: str = "train", inputs: Object | None = None) -> list[str]:
        """Messages about one resource of stack `dev`, without what its policy is for."""
        urn = f"urn:pulumi:dev::training::{token}::{name}"
        request = proto.AnalyzeRequest(type=token, urn=urn, name=name)
        request.properties.update(inputs or {})
        diagnostics = self._served.Analyze(request, None).diagnostics
        return [for_people(each.message).partition("\n")[2] for each in diagnostics]


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Give]:
    """The pack with this under `workloads`, as the engine starts it. There is no stack file."""
    for handler in ("Configure", "ConfigureStack", "Analyze", "AnalyzeStack"):
        monkeypatch.setattr(sdk._PolicyAnalyzerServicer, handler, getattr(sdk._PolicyAnalyzerServicer, handler))  # noqa: SLF001 - put back after the test
    monkeypatch.setenv("GPU_COMMONS_STACKS", str(tmp_path))
    sdk_handlers.listen(configure)

    def start(workloads: Object | None = None, levels: dict[str, str] | None = None, **others: Object) -> Pack:
        usual = dict(zip(POLICIES, ("mandatory", "advisory", "advisory"), strict=True))
        pack = Pack()
        pack.configure({**usual, **(levels or {})}, {"workloads": workloads or {}, **others})
        return pack

    yield start
    configure({})


def fleet(*pools: Object, **keys: Any) -> Object:
    found = pools or (POOL,)
    return {"total_gpus": 8 * len(found), "pools": [*found], **keys}


def job(*, gpus: int = 1, **pod: Any) -> Object:
    resources = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
    container = {"name": "c", "image": CUDA, "resources": resources}
    return {"spec": {"template": {"spec": {"containers": [container], "tolerations": TOLERATES, **pod}}}}


def on_driver(driver: str, **keys: Any) -> Object:
    return {"site": SITE, "fleet": fleet({**POOL, "driver": driver}), **keys}


# --- what it gives


def test_the_policies_of_the_pack_are_those_that_a_configuration_may_name() -> None:
    assert tuple(policy.name for policy in pack_policies(site_of_stack)) == POLICIES


def test_an_image_is_refused_on_a_driver_that_dropped_the_gpu_and_passes_on_the_branch_before(give: Give) -> None:
    (message,) = give(on_driver("595.71.05")).says(JOB, inputs=job())
    assert message.startswith(f"P-RUN: Job train: {CUDA} does not run on pool v100 (driver 595.71.05)\n")
    assert "change: Use driver 580.x, the last branch for Tesla V100" in message
    assert give(on_driver("580.95.05")).says(JOB, inputs=job()) == []


def test_the_pool_itself_is_refused_once_where_its_driver_dropped_its_gpu(give: Give) -> None:
    (message,) = give(on_driver("595.71.05")).says(STACK, "training-dev")
    assert message.startswith("P-DRIVER: stack: pool v100: driver 595.71.05 no longer supports Tesla V100")


def test_registries_that_are_not_given_are_refused(give: Give) -> None:
    pack = give({"site": {"allowed_registries": ["registry.example.edu"]}, "fleet": fleet()})
    (message,) = pack.says(JOB, inputs=job())
    assert message.startswith(f"P-PIN: Job train: containers[0].image {CUDA} is not from an allowed registry")


def test_nodes_without_gpus_take_no_pod_that_asks_for_one_and_what_stays_there_takes_none(give: Give) -> None:
    small = {"name": "cpu", "nodes": ["c1"], "cpu": 64, "memory_gib": 256, "root_disk_gib": 500}
    pack = give({"site": SITE, "fleet": fleet(POOL, small, total_gpus=8)})
    there = {"gpu-commons.org/pool": "cpu"}
    (message,) = pack.says(JOB, inputs=job(nodeSelector=there))
    assert message.startswith("P-HOST: Job train: no pool can host it (")
    assert "cpu: it requests 1 nvidia.com/gpu, but a node of the pool has 0" in message
    assert pack.says(JOB, inputs=job()) == []
    devices = {"volumes": [{"name": "dev", "hostPath": {"path": "/dev"}}]}
    assert [message for message in pack.says(JOB, inputs=job(gpus=0, **devices)) if message.startswith("P-GPU")]
    assert not pack.says(JOB, inputs=job(gpus=0, nodeSelector=there, **devices))


def test_pods_without_gpus_may_run_on_nodes_that_no_pool_has(give: Give) -> None:
    pack = give({"site": SITE, "fleet": fleet()})
    assert pack.says(JOB, inputs=job(gpus=0, tolerations=[], nodeSelector={"role": "web"})) == []


PRIVILEGED = {"image": CUDA, "securityContext": {"privileged": True}}


@pytest.mark.parametrize("pod", [{"tolerations": []}, {"nodeSelector": {"role": "web"}}, {"nodeName": "web1"}])
def test_what_never_comes_to_a_node_with_gpus_takes_none(give: Give, pod: Object) -> None:
    pack = give({"site": SITE, "fleet": fleet({**POOL, "labels": {"role": "gpu"}})})
    assert pack.says(JOB, inputs=job(containers=[PRIVILEGED], **pod)) == []


@pytest.mark.parametrize(
    "pod", [{}, {"tolerations": [{"operator": "Exists"}]}, {"tolerations": [], "nodeName": "gpu1"}]
)
def test_what_may_come_to_a_node_with_gpus_takes_none_of_them(give: Give, pod: Object) -> None:
    (message,) = give({"site": SITE, "fleet": fleet()}).says(JOB, inputs=job(containers=[PRIVILEGED], **pod))
    assert message.startswith("P-GPU: Job train: containers[0] is privileged: it reaches every GPU")


def test_without_all_nodes_with_gpus_any_pod_may_come_to_one(give: Give) -> None:
    (message,) = give({"site": SITE}).says(JOB, inputs=job(containers=[PRIVILEGED], tolerations=[]))
    assert message.startswith("P-GPU: Job train: containers[0] is privileged")


@pytest.mark.parametrize("value", [UNKNOWN_STRING_VALUE, "web"])
def test_a_value_or_a_label_that_is_not_known_may_bring_it_to_a_node_with_gpus(give: Give, value: str) -> None:
    inputs = job(containers=[PRIVILEGED], nodeSelector={"role": value})
    messages = give({"site": SITE, "fleet": fleet()}).says(JOB, inputs=inputs)
    assert [message.partition(", but ")[0] for message in messages] == [
        "P-GPU: Job train: could not be proved: containers[0] is privileged: it reaches every GPU of the node"
    ]


def test_pods_with_gpus_need_a_pool_that_takes_them(give: Give) -> None:
    pack = give({"site": SITE, "fleet": fleet()})
    (message,) = pack.says(JOB, inputs=job(tolerations=[]))
    assert message.startswith("P-HOST: Job train: no pool can host it (v100: it does not tolerate the taint nvidia.com")


def test_pods_whose_gpus_are_not_known_yet_may_or_may_not_need_a_pool(give: Give) -> None:
    unknown = job(tolerations=[])
    unknown["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = UNKNOWN_STRING_VALUE
    messages = give({"site": SITE, "fleet": fleet()}).says(JOB, inputs=unknown)
    assert [each.partition(" (")[0] for each in messages if each.startswith("P-HOST")] == [
        "P-HOST: Job train: could not be proved: none of the described pools can host it"
    ]
    assert all(": could not be proved: " in each for each in messages)


@each_row(
    "resource", ["nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared", "rdma/hca", "hugepages-2Mi", "vpc.amazonaws.com/efa"]
)
def test_what_a_configuration_cannot_say_of_a_node_is_no_refusal_and_no_pass(give: Give, resource: str) -> None:
    inputs = job()
    inputs["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"][resource] = "1"
    messages = give({"site": SITE, "fleet": fleet()}).says(JOB, inputs=inputs)
    assert messages == [
        f"P-HOST: Job train: could not be proved: which pools can host it depends on the {resource} of nodes."
    ]


def test_an_image_that_runs_on_no_possible_pool_is_refused_whatever_else_a_node_has(give: Give) -> None:
    inputs = job()
    inputs["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] = "1"
    messages = give(on_driver("595.71.05")).says(JOB, inputs=inputs)
    assert messages[0].startswith(f"P-RUN: Job train: {CUDA} does not run on pool v100")


@pytest.mark.parametrize("as_affinity", [False, True])
def test_labels_of_nvidias_own_daemons_that_nobody_can_describe_are_no_refusal(give: Give, as_affinity: bool) -> None:
    key = "nvidia.com/gpu.deploy.driver"
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": ["true"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod = {"affinity": {"nodeAffinity": required}} if as_affinity else {"nodeSelector": {key: "true"}}
    (message,) = give({"site": SITE, "fleet": fleet()}).says(JOB, inputs=job(**pod))
    assert message.startswith(
        f"P-HOST: Job train: could not be proved: which pools can host it depends on the label {key}"
    )


def test_labels_that_can_be_described_are_and_the_refusal_says_where(give: Give) -> None:
    inputs = job(nodeSelector={"example.edu/disk": "ssd"})
    (message,) = give({"site": SITE, "fleet": fleet()}).says(JOB, inputs=inputs)
    assert message.startswith("P-HOST: Job train: no pool can host it (v100: nodeSelector example.edu/disk=ssd")
    assert message.endswith("If the nodes have these labels, add them to the pool in the pack's configuration.")
    assert (
        give({"site": SITE, "fleet": fleet({**POOL, "labels": {"example.edu/disk": "ssd"}})}).says(JOB, inputs=inputs)
        == []
    )


def test_a_label_that_gpu_feature_discovery_sets_decides(give: Give) -> None:
    inputs = job(nodeSelector={"nvidia.com/gpu.product": "Tesla-T4"})
    (message,) = give({"site": SITE, "fleet": fleet()}).says(JOB, inputs=inputs)
    assert message.startswith(
        "P-HOST: Job train: no pool can host it (v100: nodeSelector nvidia.com/gpu.product=Tesla-T4"
    )


@pytest.mark.parametrize("taint", [None, {"effect": "PreferNoSchedule"}])
def test_nodes_without_a_taint_take_pods_that_tolerate_none(give: Give, taint: Object | None) -> None:
    pack = give({"site": SITE, "fleet": fleet(gpu_taint=taint)})
    assert pack.says(JOB, inputs=job(tolerations=[])) == []


def test_another_value_of_the_taint_has_to_be_tolerated(give: Give) -> None:
    pack = give({"site": SITE, "fleet": fleet(gpu_taint={"value": "true"})})
    assert pack.says(JOB, inputs=job(tolerations=[{"key": "nvidia.com/gpu", "value": "true"}])) == []
    assert len(pack.says(JOB, inputs=job(tolerations=[{"key": "nvidia.com/gpu", "value": "present"}]))) == 1


def test_without_a_fleet_pods_with_gpus_get_the_finding_that_nothing_was_proved(give: Give) -> None:
    pack = give({"site": SITE})
    messages = pack.says(JOB, inputs=job())
    assert [message.partition(": could not be proved: ")[0] for message in messages] == ["P-HOST: Job train"]
    assert pack.says(JOB, inputs=job(gpus=0)) == []
    refusing = give({"site": SITE, "policies": {"unproved": "refuse"}})
    assert [message.partition(":")[0] for message in refusing.says(JOB, inputs=job())] == ["P-HOST"]


def test_daemons_of_the_site_may_see_every_gpu(give: Give) -> None:
    daemon = f"docker.io/nvidia/dcgm:1@sha256:{'3' * 64}"
    container = {"name": "c", "image": daemon, "securityContext": {"privileged": True}}
    spec = {"template": {"spec": {"containers": [container], "tolerations": TOLERATES}}}
    token = "kubernetes:apps/v1:DaemonSet"  # noqa: S105 - a resource type

    def says(site: Any, namespace: str, name: str) -> list[str]:
        inputs = {"metadata": {"namespace": namespace, "name": name}, "spec": spec}
        return give({"site": {**SITE, **site}}).says(token, inputs=inputs)

    assert len(says({}, "gpu", "dcgm")) == 1
    assert says({"runtime_daemons": {"gpu/dcgm": daemon}}, "gpu", "dcgm") == []
    assert len(says({"runtime_daemons": {"gpu/dcgm": daemon}}, "gpu", "miner")) == 1
    assert says({"runtime_images": [daemon]}, "gpu-runtime", "device-plugin") == []
    (message,) = says({"runtime_images": [daemon]}, "gpu", "dcgm")
    assert f"site.runtime_daemons: {{gpu/dcgm: {daemon}}}" in message


@pytest.mark.parametrize("name", ["dsmlp-fall", "dsmlp-next"])
def test_the_fleet_of_a_stack_file_is_the_fleet_of_a_configuration(give: Give, name: str) -> None:
    stack = load_stack(DEFAULT_STACKS / f"Pulumi.{name}.yaml")
    give({"site": SITE, "fleet": json.loads(stack.fleet.model_dump_json(by_alias=True))})
    found, expected = site_of_stack("dev"), site_of(stack)
    closed = tuple(
        replace(
            node,
            labels={key: value for key, value in node.labels.items() if key not in ALWAYS_DISCOVERED},
            open_labels=None,
            is_amount_open=False,
        )
        for node in found.nodes
    )
    assert (closed, found.gpus, found.machines) == (expected.nodes, expected.gpus, expected.machines)


def test_a_configuration_counts_before_a_stack_file_of_that_name_and_says_so(give: Give, tmp_path: Path) -> None:
    pack = give(on_driver("580.95.05"))
    assert pack.says(STACK, "training-dev") == []
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}")
    pack = give(on_driver("580.95.05"))
    note = f"P-SITE: stack: the configuration of the pack is used, not {tmp_path}/Pulumi.dev.yaml."
    assert pack.says(STACK, "training-dev") == [note]
    assert pack.says(JOB, inputs=job()) == []


# --- how strict


def test_a_waiver_lets_through_until_its_last_day_and_is_reported(give: Give) -> None:
    pack = give(on_driver("595.71.05", policies={"waivers": [WAIVER]}))
    (message,) = pack.says(JOB, inputs=job())
    assert message.startswith("P-RUN: Job train: waived until 2999-12-31 by team: r; ")
    notes = [each for each in pack.says(STACK, "training-dev") if each.startswith("P-WAIVER")]
    assert notes == ["P-WAIVER: stack: waived: P-RUN of Job train, until 2999-12-31, by team: r."]


def test_a_waiver_whose_time_is_over_refuses_again_and_is_reported(give: Give) -> None:
    pack = give(on_driver("595.71.05", policies={"waivers": [{**WAIVER, "until": "2026-01-01"}]}))
    (message,) = pack.says(JOB, inputs=job())
    assert message.startswith(f"P-RUN: Job train: {CUDA} does not run on pool v100")
    notes = [each for each in pack.says(STACK, "training-dev") if each.startswith("P-WAIVER")]
    assert notes == ["P-WAIVER: stack: no longer waived: P-RUN of Job train, until 2026-01-01, by team: r."]


# --- what can be wrong


def test_without_a_configuration_one_message_says_what_to_give(give: Give, tmp_path: Path) -> None:
    pack = give()
    (first,) = pack.says(JOB, "train", job())
    assert first.startswith(
        "P-SITE: Job train: the site of stack dev is not known, so nothing is proved: "
        f"{tmp_path}/Pulumi.dev.yaml does not exist, and the pack has no configuration\n  change: "
    )
    for word in ("--policy-pack-config FILE.json", '{"workloads": {"site": {', "GPU_COMMONS_STACKS"):
        assert word in first
    assert pack.says(DEPLOYMENT, "web", job(gpus=0)) == [
        "P-SITE: Deployment web: nothing is proved, for the reason given for Job train."
    ]
    assert pack.says(STACK, "training-dev") == []  # a stack without pods needs none


def test_the_example_of_that_message_can_be_filled_in(give: Give) -> None:
    (first,) = give().says(JOB, "train", job())
    example = first[first.index("{") : first.rindex("}") + 1].replace("[…]", '["docker.io/nvidia"]')
    filled = json.loads(example.replace("{…}", json.dumps(fleet())))
    assert give(**filled).says(JOB, "train", job()) == []


MISTAKES: dict[str, tuple[Object, str]] = {
    "a section that is none": (
        {"site": SITE, "fleets": fleet()},
        "fleets: is not a known key\n    did you mean fleet? known keys: fleet, policies, site",
    ),
    "no registries": (
        {"fleet": fleet()},
        "site: is missing\n    add site: Where the stacks run",
    ),
    "a fleet of another shape": (
        {"site": SITE, "fleet": 3},
        (
            "fleet: the value (not shown) is not a mapping\n    "
            "The pools with GPUs, as in a stack file; none: the Node resources of the stack are its pools"
        ),
    ),
    "a fleet without pools": (
        {"site": SITE, "fleet": {"total_gpus": 0, "pools": []}},
        "fleet.pools: a list of 0 is empty\n    give at least one: The pools whose nodes have GPUs",
    ),
    "two pools of one name": (
        {"site": SITE, "fleet": fleet(POOL, {**POOL, "nodes": ["gpu3-gpu4"]})},
        'fleet.pools[1].name: "v100" is taken by pools[0]\n    give each of the pools its own name',
    ),
    "a node in two pools": (
        {"site": SITE, "fleet": fleet(POOL, {**POOL, "name": "other", "nodes": ["gpu2-gpu3"]})},
        (
            'fleet.pools[1].nodes: "gpu2" belongs to pool v100 and to pool other\n    '
            "a node belongs to exactly one pool: remove it from one of the two (nodes_except takes it out of a range)"
        ),
    ),
    "fewer than no GPUs": (
        {"site": SITE, "fleet": {"total_gpus": -8, "pools": [{**POOL, "gpus_per_node": -4}]}},
        (
            "fleet.total_gpus: -8 is out of range: 0 or more is allowed\n"
            "    GPUs of the whole fleet; must be the sum of the pools, those of instances at their maximum\n"
            "  fleet.pools[0].gpus_per_node: -4 is out of range: 0 or more is allowed\n"
            "    GPUs on each node of this pool; 0 without gpu"
        ),
    ),
    "a part of a GPU": (
        {"site": SITE, "fleet": fleet({**POOL, "gpus_per_node": 0.5})},
        "fleet.pools[0].gpus_per_node: 0.5 is not a whole number\n    GPUs on each node of this pool",
    ),
    "another sum of GPUs": (
        {"site": SITE, "fleet": {**fleet(), "total_gpus": 9}},
        (
            "fleet.total_gpus: 9 contradicts the pools, which have 8, not 9\n    "
            "write total_gpus: 8, or correct nodes or gpus_per_node of a pool (v100 2 nodes of 4)"
        ),
    ),
    "a driver that is none": (
        on_driver("12.4"),
        (
            'fleet.pools[0].driver: "12.4" is not a driver version such as 418.88\n    '
            'write it as nvidia-smi does: driver: "418.88"'
        ),
    ),
    "a driver before CUDA": (
        on_driver("100.10"),
        (
            'fleet.pools[0].driver: "100.10" is older than any CUDA release in the tables\n    '
            "correct it: gpu-commons facts driver_branch lists the branches"
        ),
    ),
    "a GPU that is none": (
        {"site": SITE, "fleet": fleet({**POOL, "gpu": "V1000"})},
        (
            'fleet.pools[0].gpu: "V1000" is not a GPU model of the tables\n'
            "    Known models: compat/facts/data/gpu_model.csv"
        ),
    ),
    "a rule that is none": (
        {"site": SITE, "policies": {"levels": {"P-RUNS": "warn"}}},
        'policies.levels.P-RUNS: "P-RUNS" is not a rule\n    did you mean P-RUN? known rules: ',
    ),
    "an id that no rule can have": (
        {"site": SITE, "policies": {"levels": {"run": "warn"}}},
        'policies.levels.run: "run" is not the id of a rule\n    write what messages begin with: P-START',
    ),
    "a level that is none": (
        {"site": SITE, "policies": {"levels": {"P-RUN": "off"}}},
        'policies.levels.P-RUN: "off" is not allowed here\n    known values: refuse, warn',
    ),
    "a waiver of a rule that is none": (
        {"site": SITE, "policies": {"waivers": [{**WAIVER, "rule": "P-PINNED"}]}},
        'policies.waivers[0].rule: "P-PINNED" is not a rule\n    did you mean P-PIN? known rules: ',
    ),
    "a waiver without an end": (
        {"site": SITE, "policies": {"waivers": [{k: v for k, v in WAIVER.items() if k != "until"}]}},
        "policies.waivers[0].until: is missing\n    add until: Last day of the waiver",
    ),
    "a rule that only advises": (
        {"site": SITE, "policies": {"levels": {"P-ROOM": "refuse"}}},
        'policies.levels.P-ROOM: "P-ROOM" only advises, so there is nothing to refuse or to waive\n    leave it out',
    ),
}


@each_row(("wrong", "text"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_ends_the_run_with_one_message(give: Give, wrong: Object, text: str) -> None:
    with pytest.raises(RefusedError) as refused:
        give(wrong)
    assert str(refused.value).startswith("configuration of the policy pack")
    assert f"\n  {text}" in str(refused.value)
    assert str(refused.value).count("\n    ") == text.count("\n    ")  # what to change, once for each mistake


def values() -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
    return scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.text(max_size=8), scalars, max_size=2)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


WHOLE: Object = {
    "site": {**SITE, "image_limits": {"warn_compressed_gb": 1}, "runtime_images": ["docker.io/nvidia/dcgm:1"]},
    "fleet": fleet({**POOL, "labels": {"role": "x"}, "taints": [TAINT]}, gpu_taint={"value": "true"}),
    "policies": {"levels": {"P-BASE": "refuse"}, "unproved": "warn", "waivers": [WAIVER]},
}


@given(place=st.sampled_from([place for place in places(WHOLE) if place]), value=values())
def test_any_value_anywhere_is_taken_or_explained(place: tuple[str | int, ...], value: Any) -> None:
    keys: Any = deepcopy(WHOLE)
    target = keys
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    try:
        configure({"workloads": PolicyConfig(keys=keys)})
        found = None
    except SettingsError as error:
        found = error.problems
    configure({})
    assert found is None or (found and all(problem.path and problem.reason and problem.fix for problem in found))


def test_all_mistakes_are_reported_at_once_in_the_words_of_a_stack_file(give: Give, tmp_path: Path) -> None:
    wrong = deepcopy(fleet(POOL, {**POOL, "gpu": "V1000", "driver": "12.4"}))
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(json.dumps({"config": {"gpu-commons:fleet": wrong}}))
    with pytest.raises(RefusedError) as refused:
        give({"site": SITE, "fleet": wrong})
    with pytest.raises(SettingsError) as of_file:
        load_stack(file)
    expected = {problem.path: (problem.value, problem.reason, problem.fix) for problem in of_file.value.problems}
    del expected["site"]  # a stack file needs more of it
    assert len(expected) == 4
    for path, (value, reason, fix) in expected.items():
        assert f"  {path}: {value} {reason}\n    {fix}" in str(refused.value)


@each_row(
    ("levels", "keys", "text"),
    [
        (
            {"workloads": "advisory"},
            {},
            'workloads.enforcementLevel: "advisory" would let everything through\n    leave it out: policies.levels',
        ),
        ({"workloads": "disabled"}, {}, 'workloads.enforcementLevel: "disabled" would let everything through\n'),
        (
            {"workloads-advice": "disabled"},
            {},
            'workloads-advice.enforcementLevel: "disabled" would hide what could not be proved\n    leave it out',
        ),
        (
            {"workload": "mandatory"},
            {},
            "workload: is not a policy of this pack\n    did you mean workloads or workloads-advice? ",
        ),
        (
            {},
            {"fleet-advice": {"site": SITE}},
            "fleet-advice: reads no configuration\n    write it under workloads: it applies to all policies",
        ),
    ],
)
def test_no_key_of_the_engine_switches_the_rules_off(
    give: Give, levels: dict[str, str], keys: dict[str, Object], text: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        give({"site": SITE}, levels, **keys)
    assert f"configuration of the policy pack: 1 problem\n  {text}" in str(refused.value)


def test_advice_may_be_made_a_refusal(give: Give) -> None:
    assert give({"site": SITE}, {"workloads-advice": "mandatory"}).says(JOB, inputs=job(gpus=0)) == []


def test_what_was_wrong_once_counts_no_more(give: Give) -> None:
    give({"site": SITE, "fleet": fleet()})
    with pytest.raises(SettingsError):
        configure({"workloads": PolicyConfig(keys={"fleet": 3})})
    assert give().says(JOB, inputs=job())[0].startswith("P-SITE: ")


# --- nodes of the stack itself

NODE = "kubernetes:core/v1:Node"
PARTS = {"major": "595", "minor": "71", "rev": "05"}
PRODUCT, FULL = "nvidia.com/gpu.product", "nvidia.com/cuda.driver-version.full"


def node(**found: str) -> Object:
    """A Node with labels of GPU feature discovery: its GPU, its driver."""
    known = {PRODUCT: found.get("gpu"), FULL: found.get("driver")}
    return {"metadata": {"name": "gpu1", "labels": {key: value for key, value in known.items() if value}}}


def of_nodes(give: Give, *nodes: Object, **pod: Any) -> list[str]:
    """Findings about a job if the configuration has no fleet and these nodes came before it."""
    pack = give({"site": SITE})
    for index, each in enumerate(nodes):
        assert pack.says(NODE, f"gpu{index}", each) == []
    return pack.says(JOB, inputs=job(**pod))


def test_nodes_of_the_stack_are_its_pools_where_no_fleet_is_given(give: Give) -> None:
    (message,) = of_nodes(give, node(gpu="Tesla-V100-SXM2-16GB", driver="595.71.05"))
    assert message.startswith(f"P-RUN: Job train: {CUDA} does not run on pool Tesla-V100-SXM2-16GB 595.71.05 (driver")
    assert of_nodes(give, node(gpu="Tesla-V100-SXM2-16GB", driver="580.95.05")) == []


def test_the_driver_is_also_read_from_the_older_labels(give: Give) -> None:
    old = node(gpu="Tesla-V100-SXM2-16GB")
    old["metadata"]["labels"] |= {f"nvidia.com/cuda.driver.{part}": value for part, value in PARTS.items()}
    (message,) = of_nodes(give, old)
    assert "does not run on pool Tesla-V100-SXM2-16GB 595.71.05" in message


@each_row(
    ("found", "says"),
    [
        ({}, "the labels of its nodes are not enough: gpu is missing"),
        ({"gpu": "Tesla-V100-SXM2-16GB"}, "it depends on the driver"),
        ({"driver": "595.71.05"}, "the labels of its nodes are not enough: gpu is missing"),
        ({"gpu": "Some-Other-GPU", "driver": "595.71.05"}, 'gpu "Some-Other-GPU" is not a GPU model of the tables'),
        (
            {"gpu": "Some-Other-GPU", "driver": "nvidia"},
            'gpu "Some-Other-GPU" is not a GPU model of the tables; driver "nvidia" is not a driver version',
        ),
    ],
    ids=["no label", "no driver", "no GPU", "an unknown GPU", "an unknown GPU and driver"],
)
def test_what_no_label_says_could_not_be_proved(give: Give, found: dict[str, str], says: str) -> None:
    (message,) = of_nodes(give, node(**found))
    assert message.startswith("P-RUN: Job train: could not be proved: ")
    assert says in message


def test_nodes_that_keep_the_pods_away_leave_it_open_where_they_land(give: Give) -> None:
    tainted = {**node(gpu="Tesla-V100-SXM2-16GB", driver="595.71.05"), "spec": {"taints": [TAINT]}}
    (message,) = of_nodes(give, tainted)
    assert message == (
        "P-HOST: Job train: could not be proved: none of the described pools can host it (Tesla-V100-SXM2-16GB"
        " 595.71.05:"
        " it does not tolerate the taint example.edu/course=x:NoSchedule); others may."
    )
    assert len(of_nodes(give, tainted, tolerations=[{"operator": "Exists"}])) == 1


def test_what_a_node_has_counts_and_what_it_does_not_say_keeps_nobody_away(give: Give) -> None:
    small = node(gpu="Tesla-V100-SXM2-16GB", driver="595.71.05")
    small["metadata"]["labels"]["nvidia.com/gpu.count"] = "2"
    assert of_nodes(give, small, gpus=2)[0].startswith("P-RUN: ")
    assert of_nodes(give, small, gpus=4)[0].startswith(
        "P-HOST: Job train: could not be proved: none of the described pools"
    )


def test_a_cordoned_node_takes_no_pods(give: Give) -> None:
    cordoned = {**node(gpu="Tesla-V100-SXM2-16GB", driver="595.71.05"), "spec": {"unschedulable": True}}
    (message,) = of_nodes(give, cordoned)
    assert "it is cordoned" in message


def test_a_fleet_that_is_given_counts_before_nodes_of_the_stack(give: Give) -> None:
    pack = give(on_driver("580.95.05"))
    pack.says(NODE, "gpu1", node(gpu="Tesla-V100-SXM2-16GB", driver="595.71.05"))
    assert pack.says(JOB, inputs=job()) == []


@each_row("odd", [{}, {"metadata": "x"}, {"metadata": {"labels": [1]}}, {"status": {"capacity": {"cpu": "x"}}}])
def test_odd_nodes_end_nothing(give: Give, odd: Object) -> None:
    (message,) = of_nodes(give, odd)
    assert message.startswith("P-RUN: Job train: could not be proved: ")
