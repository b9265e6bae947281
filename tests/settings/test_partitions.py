"""Sites with Slurm in a stack file: what follows from them, and what is refused before a controller is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from rows import each_row

from compat import Case, Verdict, check_on
from errors.problems import SettingsError
from platforms.slurm.job_model import parse_slurm_job
from platforms.slurm.site_model import SshAccess
from settings.fleet import landing_pools, pools_gpus, usages
from settings.models import Stack
from settings.partition_pools import PartitionPool
from settings.reading import load_stack
from settings.record import decisions

STACKS = Path(__file__).parents[2] / "stacks"
STORE = "/projects/gpu-commons/images"
K80 = {
    "name": "gpu-k80", "partition": "gpu", "gres": "k80", "nodes": 2, "exclusive": True, "max_time_min": 2880,
    "glibc": "2.17", "gpu": "Tesla K80", "gpus_per_node": 4, "driver": "470.256.02", "cpu": 24, "memory_gib": 128,
    "root_disk_gib": 300,
}  # fmt: skip
P100 = {**K80, "name": "gpu-p100", "gres": "p100", "gpu": "Tesla P100-PCIE-16GB"}
SHARED = {**K80, "name": "shared-k80", "partition": "gpu-shared", "exclusive": False}
JOB = {
    "name": "smoke", "image": "cupy-notebook", "pool": "gpu-k80", "gpus": 1, "cpu": 6, "memory_gib": 16,
    "command": ["python", "train.py"], "deadline_s": 601,
}  # fmt: skip


def sections() -> dict[str, Any]:
    site = {
        "kind": "slurm",
        "registry": "registry.example.edu/gpu-commons",
        "allowed_registries": ["registry.example.edu"],
        "slurm": {
            "access": {"kind": "ssh", "address": "ops@login.example.edu"},
            "program": "singularity",
            "program_version": "3.8.0",
            "image_store": STORE,
            "scratch": ["/oasis/scratch"],
            "account": "teaching",
        },
    }
    return {
        "site": site,
        "fleet": fleet(K80, P100, SHARED),
        "images": [{"name": "cupy-notebook"}],
        "jobs": [JOB],
    }


def fleet(*pools: dict[str, Any]) -> dict[str, Any]:
    return {"total_gpus": sum(pool["nodes"] * pool.get("gpus_per_node", 0) for pool in pools), "pools": [*pools]}


def slurm(**changes: Any) -> dict[str, Any]:
    site = sections()["site"]
    found = {key: value for key, value in {**site["slurm"], **changes}.items() if value is not None}
    return {**site, "slurm": found}


def job(**changes: Any) -> list[dict[str, Any]]:
    return [{key: value for key, value in {**JOB, **changes}.items() if value is not None}]


def read(tmp_path: Path, *, overlay: Path | None = None, **changes: Any) -> Stack:
    file = tmp_path / "Pulumi.slurm.yaml"
    data = {key: value for key, value in {**sections(), **changes}.items() if value is not None}
    file.write_text(yaml.safe_dump({"config": {f"gpu-commons:{key}": value for key, value in data.items()}}))
    return load_stack(file, site=overlay)


def refused(tmp_path: Path, **changes: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, **changes)
    return str(caught.value)


def test_a_partition_is_a_pool_with_as_many_nodes_as_slurm_has_there(tmp_path: Path) -> None:
    stack = read(tmp_path)
    pool = stack.fleet.pool("gpu-k80")
    assert isinstance(pool, PartitionPool)
    assert (pool.node_names, pool.gpus) == (("gpu-k80-1", "gpu-k80-2"), 8)
    assert stack.site.slurm is not None
    assert isinstance(stack.site.slurm.access, SshAccess)
    assert [(each.kind, each.name, each.pools, each.gpus) for each in usages(stack)] == [
        ("job", "smoke", ("gpu-k80",), 1)
    ]


def test_a_job_may_land_on_each_of_its_pools(tmp_path: Path) -> None:
    stack = read(tmp_path, jobs=job(pool=None, pools=["gpu-k80", "shared-k80"]))
    assert landing_pools(stack, stack.jobs[0]) == ("gpu-k80", "shared-k80")


def test_an_image_is_judged_as_apptainer_starts_it_with_the_c_library_of_the_nodes(tmp_path: Path) -> None:
    host = pools_gpus(read(tmp_path).fleet.pools)["gpu-k80"].host
    assert host is not None
    assert (host.shown.host, host.shown.host_glibc, host.shown.driver) == ("apptainer", "2.17", "470.256.02")
    older = Case(cuda="11.4", sm_list="37", image_glibc="2.12", cuda_compat="no")
    assert any("glibc 2.12 is older than the host's 2.17" in each.message for each in check_on(older, host).findings)


def test_a_driver_that_nobody_looked_up_is_unknown_and_the_answer_says_what_brings_it(tmp_path: Path) -> None:
    unknown = {key: value for key, value in P100.items() if key not in {"driver", "glibc"}}
    host = pools_gpus(read(tmp_path, fleet=fleet(K80, unknown)).fleet.pools)["gpu-p100"].host
    assert host is not None
    answer = check_on(Case(cuda="11.4", sm_list="37;60", ptx="none", cuda_compat="no"), host)
    assert answer.verdict is Verdict.UNKNOWN
    assert "which gpu-commons probe --via-slurm gpu prints" in answer.findings[0].message


@pytest.mark.slow
@each_row(
    ("change", "words"),
    [
        ({"image_store": "/oasis/scratch/comet/ops/images"}, "is in /oasis/scratch, which is scratch"),
        ({"image_store": "/tmp/images"}, "is in /tmp, which each node has for itself"),
        ({"image_store": "images"}, "is not an absolute path"),
        ({"program": "singularity exec"}, "is not a program"),
        ({"program_version": 3.8}, "is a number"),
        ({"program_version": "newest"}, "is not a version"),
        ({"access": {"kind": "ssh", "address": "ops@login.example.edu:22"}}, "is not an address for ssh"),
        ({"access": {"kind": "telnet"}}, "is not a known kind"),
        ({"rest": {"url": "http://slurm.example.edu:6820", "version": "v0.0.42"}}, "its token in clear text"),
        ({"rest": {"url": "https://slurm.example.edu:6820", "version": "42"}}, "is not a version of Slurm's REST"),
        ({"rest": {"url": "https://slurm.example.edu:6820", "version": "v0.0.42", "user": "ops"}}, "token_file: is mi"),
        ({"modules": ["cuda/9.2", "load cuda"]}, "is not the name of a module"),
        ({"image_store": None}, "image_store: is missing"),
    ],
)
def test_a_site_that_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    assert words in refused(tmp_path, site=slurm(**change))


@each_row(
    ("pools", "words"),
    [
        ([{**K80, "gres": "gpu:k80:4"}], "is not a type of GPUs in Slurm"),
        ([K80, {**K80, "name": "again"}], "is that of pool gpu-k80, with the same gres"),
        ([K80, {**SHARED, "gpu": "Tesla P100-PCIE-16GB"}], "is Tesla K80 in pool gpu-k80"),
        ([{**K80, "container_toolkit": "1.17.8"}], "bind the driver's files themselves"),
        ([{**K80, "glibc": 2.17}], "is a number"),
        ([{**K80, "nodes": ["n01"]}], "nodes"),
        ([{**K80, "nodes": 0}], "is out of range"),
        ([{key: K80[key] for key in K80 if key not in {"gpu", "gpus_per_node", "driver"}}], "for a pool without gpu"),
        ([{**{key: K80[key] for key in K80 if key != "partition"}, "nodes": ["n01"]}], "partition: is missing"),
    ],
)
def test_a_partition_that_cannot_be_is_refused(tmp_path: Path, pools: list[dict[str, Any]], words: str) -> None:
    assert words in refused(tmp_path, fleet={"total_gpus": 8, "pools": pools}, jobs=None)


@each_row(
    ("change", "words"),
    [
        ({"pool": None}, "Slurm would take its default partition, for which nothing is proved"),
        ({"pool": "gpu-k8"}, "did you mean gpu-k80?"),
        ({"gpus": 5}, "GPUs are those of each node, and slurm.nodes says how many nodes: request at most 4"),
        ({"deadline_s": 172_801}, "is longer than pool gpu-k80 allows (2880 min)"),
        ({"slurm": {"nodes": 3}}, "is more than pool gpu-k80 has (2)"),
        ({"slurm": {"array": "0-9%0"}}, "is not an array of jobs"),
        ({"slurm": {"array": "9-0"}}, "ends before it begins"),
        ({"slurm": {"mail": {"to": "ops at example"}}}, "is not an address for mail"),
        ({"slurm": {"mail": {"to": "ops@example.edu", "on": ["always"]}}}, "is not allowed here"),
        ({"slurm": {"acount": "x"}}, "did you mean account?"),
        ({"namespace": "batch"}, "slurm.account names one"),
        ({"shm_gib": 1}, "a job sees /dev/shm of its node"),
    ],
)
def test_a_job_that_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    assert words in refused(tmp_path, jobs=job(**change))


def test_a_job_for_several_types_of_gpus_names_every_type_of_their_partitions(tmp_path: Path) -> None:
    shared = {**P100, "name": "shared-p100", "partition": "gpu-shared"}
    both = job(pool=None, pools=["gpu-k80", "shared-p100"])
    text = refused(tmp_path, fleet=fleet(K80, P100, shared), jobs=both)
    assert "jobs[0].pools: have GPUs of several types" in text
    assert "name gpu-p100 as well" in text
    assert read(tmp_path, fleet=fleet(K80, shared), jobs=both)


def test_what_other_sites_have_is_refused_with_what_to_write_instead(tmp_path: Path) -> None:
    text = refused(tmp_path, runtime={"device_plugin": "registry.example.edu/plugin:1"})
    assert "runtime: is given on a site of kind slurm" in text
    kubernetes = {key: value for key, value in sections()["site"].items() if key != "slurm"} | {"kind": "kubernetes"}
    text = refused(tmp_path, site=kubernetes, jobs=job(slurm={"qos": "gpu"}))
    assert "fleet.pools[0].partition: is given on a site without Slurm" in text
    assert "jobs[0].slurm: is given on a site without Slurm" in text
    assert "site.slurm: is missing" in refused(tmp_path, site={**kubernetes, "kind": "slurm"})


def test_a_lab_brings_its_own_slurm_to_a_stack_that_has_one_and_to_no_other(tmp_path: Path) -> None:
    overlay = tmp_path / "lab.yaml"
    overlay.write_text(
        yaml.safe_dump({"lab": True, "slurm": {"access": {"kind": "local"}, "image_store": "/srv/images"}})
    )
    site = read(tmp_path, overlay=overlay).site
    assert site.slurm is not None
    assert (site.slurm.access.kind, site.slurm.image_store, site.slurm.scratch) == ("local", "/srv/images", ())
    kubernetes = {key: value for key, value in sections()["site"].items() if key != "slurm"} | {"kind": "kubernetes"}
    nodes = {key: K80[key] for key in K80 if key not in {"partition", "gres", "exclusive", "max_time_min", "glibc"}}
    pool = {**nodes, "nodes": ["n01"], "container_toolkit": "1.17.8"}
    other = read(tmp_path, overlay=overlay, site=kubernetes, jobs=None, fleet={"total_gpus": 4, "pools": [pool]})
    assert other.site.slurm is None


def partition(name: str, gres: str) -> dict[str, Any]:
    return {"pool": name, "partition": name, "gres": gres}


def test_arguments_of_a_job_count_minutes_up_and_leave_the_type_to_slurm_where_there_are_two() -> None:
    args = {key: JOB[key] for key in JOB if key not in {"pool", "name", "image"}}
    args |= {"image": "registry.example.edu/cupy@sha256:0", "image_name": "cupy-notebook"}
    one = parse_slurm_job("smoke", {**args, "partitions": [partition("gpu", "k80"), partition("gpu-shared", "k80")]})
    assert (one.time_min, one.gres, one.partition_names) == (11, "gpu:k80:1", ("gpu", "gpu-shared"))
    two = parse_slurm_job("smoke", {**args, "partitions": [partition("gpu", "k80"), partition("gpu-shared", "p100")]})
    assert two.gres == "gpu:1"
    none = parse_slurm_job("smoke", {**args, "gpus": 0, "partitions": [partition("compute", "k80")]})
    assert none.gres is None


def test_a_job_that_chooses_its_devices_itself_is_refused() -> None:
    args = {key: JOB[key] for key in JOB if key not in {"pool", "name"}}
    args |= {"image_name": "cupy-notebook", "env": {"CUDA_VISIBLE_DEVICES": "0"}}
    with pytest.raises(SettingsError, match=r"smoke\.env\.CUDA_VISIBLE_DEVICES: is set by Slurm"):
        parse_slurm_job("smoke", {**args, "partitions": [partition("gpu", "k80")]})


def test_an_image_for_volta_alone_is_refused_for_k80_with_what_to_build(tmp_path: Path) -> None:
    host = pools_gpus(read(tmp_path).fleet.pools)["gpu-k80"].host
    assert host is not None
    answer = check_on(Case(cuda="10.2", sm_list="70", ptx="none", cuda_compat="no"), host)
    assert answer.verdict is Verdict.INCOMPATIBLE
    assert answer.remedy is not None
    assert answer.remedy.text == "Build it for sm_37 as well."


@pytest.mark.parametrize("name", ["comet", "quest"])
def test_every_value_that_the_reference_systems_do_not_state_is_an_assumption(name: str) -> None:
    stack = load_stack(STACKS / f"Pulumi.{name}.yaml")
    stated = {"comet": {"name", "partition"}, "quest": {"name"}}[name]
    for pool in stack.fleet.pools:
        assert pool.model_fields_set - {"assumptions"} == stated | set(pool.assumptions)
        assert {"driver", "host_glibc"} & pools_gpus([pool])[pool.name].assumed == {"driver"}


def test_partitions_are_recorded_whole_because_no_resource_is_about_their_nodes(tmp_path: Path) -> None:
    pools = decisions(read(tmp_path))["fleet"]["pools"]
    assert [(each["name"], each["gpu"], each["driver"], each["nodes"]) for each in pools][:2] == [
        ("gpu-k80", "Tesla K80", "470.256.02", 2),
        ("gpu-p100", "Tesla P100-PCIE-16GB", "470.256.02", 2),
    ]
