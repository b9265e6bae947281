"""Pools of instances in a stack file: what follows from them, and what is refused before AWS would refuse it."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from rows import each_row

from fleet.labels import GPU_TAINT
from fleet.machines import Machine
from settings.fleet import landing_pools, machine_of, nodes_of
from settings.instance_pools import InstancePool
from settings.instance_table import instance_rows, remarks
from settings.models import Stack
from settings.reading import SettingsError, load_stack

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.eks-g6.yaml"
ON_PREMISES = {
    "name": "own", "gpu": "Tesla T4", "gpus_per_node": 1, "nodes": ["n01"], "driver": "580.95.05",
    "container_toolkit": "1.17.8", "cpu": 8, "memory_gib": 32, "root_disk_gib": 100,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_COMMONS_TODAY", "2026-11-23")


def read(tmp_path: Path, change: Any) -> Stack:
    data = deepcopy(yaml.safe_load(STACK.read_text()))
    change({key.removeprefix("gpu-commons:"): value for key, value in data["config"].items()}, data["config"])
    file = tmp_path / "Pulumi.eks.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return load_stack(file)


def problems(tmp_path: Path, change: Any) -> list[tuple[str, str, str]]:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, change)
    return [(each.path, each.reason, each.fix) for each in caught.value.problems]


def pool_of(stack: Stack, name: str) -> InstancePool:
    found = stack.fleet.pool(name)
    assert isinstance(found, InstancePool)
    return found


def test_what_an_instance_is_follows_from_its_type_and_its_driver_from_the_machine_image() -> None:
    pool = pool_of(load_stack(STACK), "l4")
    assert (pool.gpu and pool.gpu.name, pool.gpus_per_node, pool.cpu, pool.memory_gib) == ("NVIDIA L4", 1, 8, 32)
    assert (str(pool.driver), pool.machine_image.ami_type) == ("580.159.03", "AL2023_x86_64_NVIDIA")
    assert pool.node_names == tuple(f"l4-{number}" for number in range(1, 9))
    assert pool.node_taints == (GPU_TAINT,)
    assert pool.labels_of("l4") == {
        "gpu-commons.org/pool": "l4",
        "gpu-commons.org/driver": "580.159.03",
        "gpu-commons.org/container-toolkit": "1.19.1",
        "k8s.amazonaws.com/accelerator": "nvidia-l4",
    }


def test_a_machine_image_whose_container_toolkit_nobody_knows_is_proved_without_it(tmp_path: Path) -> None:
    def older(keys: Any, _: Any) -> None:
        keys["fleet"]["pools"][1]["driver"] = "580.126.09"

    pool = pool_of(read(tmp_path, older), "l4")
    assert str(pool.machine_image) == "AL2023_x86_64_NVIDIA 1.34.4-20260318"
    assert pool.container_toolkit is None
    assert pool.gpus_of_node is not None
    assert pool.gpus_of_node.host.shown.container_toolkit == ""
    assert "gpu-commons.org/container-toolkit" not in pool.labels_of("l4")


def test_instances_without_gpus_have_neither_driver_nor_taint() -> None:
    pool = pool_of(load_stack(STACK), "system")
    assert (pool.gpu, pool.gpus_per_node, pool.driver, pool.gpus_of_node, pool.node_taints) == (None, 0, None, None, ())


@pytest.mark.slow
def test_the_volume_of_an_instance_says_how_fast_it_unpacks_and_whether_parallel_pulls_wait_for_it(
    tmp_path: Path,
) -> None:
    def machine(**keys: Any) -> Machine:
        return machine_of(read(tmp_path, lambda own, _: own["fleet"]["pools"][1].update(keys)).fleet.pool("l4"))

    assert (machine().rates.disk_mb_per_s, machine().are_rates_planned, machine().slow_disk) == (131, True, "")
    assert machine(parallel_pulls=True).rates.disk_mb_per_s == 629
    assert machine(disk_mb_per_s=90).rates.disk_mb_per_s == 90
    assert machine(parallel_pulls=True, volume_throughput=300).slow_disk == (
        "parallel pulls want 600 MiB/s of the volume, which has 300: give it 600 MiB/s, or pull one after the other"
    )


ECR = "123456789012.dkr.ecr.us-east-1.amazonaws.com"


def test_nodes_without_a_way_out_pull_from_ecr_alone(tmp_path: Path) -> None:
    def closed(sections: Any, _: Any) -> None:
        sections["cluster"]["network"]["egress"] = "endpoints"

    assert [path for path, reason, _ in problems(tmp_path, closed) if "only endpoints" in reason] == [
        "site.registry",
        "runtime.device_plugin",
    ]

    def with_ecr(sections: Any, config: Any) -> None:
        closed(sections, config)
        sections["site"].update(registry=f"{ECR}/gpu-commons", allowed_registries=[ECR])
        plugin = sections["runtime"]["device_plugin"]
        sections["runtime"]["device_plugin"] = f"{ECR}/{plugin.partition('/')[2]}"

    cluster = read(tmp_path, with_ecr).cluster
    assert cluster
    assert cluster.network
    assert cluster.network.egress == "endpoints"


def test_a_job_lands_on_the_pools_of_instances_that_it_names() -> None:
    stack = load_stack(STACK)
    assert landing_pools(stack, stack.jobs[0]) == ("l4", "l40s")


def test_the_table_shows_what_a_reader_of_a_bill_wants_to_know() -> None:
    stack = load_stack(STACK)
    rows = {row[0]: row[1:] for row in instance_rows(stack)}
    assert rows["l40s"] == (
        "g6e.2xlarge", "0–4, 0 at first", "1 x NVIDIA L40S", "580.159.03",  # noqa: RUF001 - a range
        "AL2023_x86_64_NVIDIA 1.34.9-20260714", "200 GiB", "$2.2421/h", "32 vCPUs",
    )  # fmt: skip
    assert [*remarks(stack)] == [
        "prices: Linux, US East (N. Virginia), on demand, of 2026-01-19, 2026-07-20",
        "a week costs $231.98 with the initial instances, $3,023.79 with the maximum",
        "the account must allow 96 vCPUs of Running On-Demand G and VT instances (L-DB2E81BA)",
        (
            "AL2023_x86_64_NVIDIA: the newest release in the tables is 20260714, 132 days old; "
            "python -m tools.eks_images adds newer ones"
        ),
        (
            "Kubernetes 1.34: its standard support ends on 2026-12-02, after which EKS updates a cluster without "
            "extended support by itself"
        ),
    ]


def test_a_stack_with_courses_says_what_its_term_costs(tmp_path: Path) -> None:
    def taught(_: Any, config: Any) -> None:
        config["gpu-commons:courses"] = [
            {
                "name": "vision", "title": "Vision", "profiles": ["l4"], "seats": 8, "hub": "eks-hub",
                "peak_share": 0.5, "guaranteed_gpus": 0, "first_day": "2027-01-11", "last_day": "2027-03-19",
            }
        ]  # fmt: skip

    found = "\n".join(remarks(read(tmp_path, taught)))
    assert "the term from 2027-01-11 to 2027-03-19 (10 weeks) costs $2,319.75 with the initial instances" in found


def test_the_nodes_have_the_kubernetes_version_of_the_cluster_unless_the_pool_has_its_own(tmp_path: Path) -> None:
    def lagging(sections: Any, _: Any) -> None:
        sections["fleet"]["pools"][1]["kubernetes"] = "1.33"

    pools = read(tmp_path, lagging).fleet.pools
    assert [each.machine_image.kubernetes for each in pools if isinstance(each, InstancePool)] == [
        "1.34",
        "1.33",
        "1.34",
    ]


GROUP, DRIVER, IMAGE = (f"fleet.pools[1].{key}" for key in ("instance_types", "driver", "machine_image"))


def _pool(index: int, **keys: Any) -> Any:
    return lambda sections, _: sections["fleet"]["pools"][index].update(keys)


def _section(name: str, **keys: Any) -> Any:
    return lambda sections, _: sections[name].update(keys)


@pytest.mark.slow
@each_row(
    ("change", "path", "reason", "fix"),
    [
        (_pool(1, instance_types=["g6.2xlage"]), f"{GROUP}[0]", "not a size of g6", "g6.2xlarge"),
        (_pool(1, instance_types=["g6.2xlarge", "g6e.2xlarge"]), GROUP, "different GPU", "two"),
        (_pool(1, instance_types=["g5g.xlarge", "g4dn.xlarge"]), GROUP, "architectures", "two"),
        (_pool(1, instance_types=["g5g.2xlarge"]), GROUP, "are arm64, but images of a stack are", "amd64"),
        (_pool(0, instance_types=["m7g.large"]), "fleet.pools[0].instance_types", "are arm64", "name other pools"),
        (_pool(1, instance_types=["g4ad.xlarge"]), GROUP, "has no NVIDIA GPU", "another type"),
        (_pool(1, driver="470"), DRIVER, "leaves no machine image", "available: AL2023_x86_64"),
        (_pool(1, driver="five"), DRIVER, "is not a driver", "newest"),
        (_pool(1, driver=580), DRIVER, "is not text", 'quoted: "580"'),
        (_pool(1, driver=["580"]), DRIVER, "is not text", "newest"),
        (_pool(1, max=10**12), "fleet.pools[1].max", "at most 10000", "Maximum number"),
        (_pool(1, driver="570"), IMAGE, "1.34.PATCH-20251002", "the console of EKS"),
        (_pool(0, driver="580"), "fleet.pools[0].driver", "has no GPU", "leave driver out"),
        (
            _pool(1, machine_image={"type": "AL2023_ARM_64_NVIDIA"}),
            IMAGE,
            "is for arm64",
            "AL2023_x86_64_NVIDIA",
        ),
        (
            _pool(1, machine_image={"type": "AL2023_x86_64_NVIDIA", "release": "20260102"}),
            IMAGE,
            "no table has a release 20260102",
            "pin one that is known",
        ),
        (_pool(1, min=9), "fleet.pools[1].min", "is above max, 8", "write 8 or less"),
        (_pool(1, desired=9), "fleet.pools[1].desired", "is not between min and max", "from 0 to 8"),
        (_pool(1, kubernetes="1.3"), "fleet.pools[1].kubernetes", "is not a version of Kubernetes", '"1.34"'),
        (_pool(1, kubernetes="1.24"), "fleet.pools[1].kubernetes", "no table has Kubernetes 1.24", "1.34"),
        (_pool(1, nodes=["n01"]), "fleet.pools[1].nodes", "is not a known key", ""),
        (_section("site", kind="kubernetes"), "cluster", "without EKS", "site.kind: eks"),
        (_section("cluster", network=None), "cluster.network", "is missing", "subnets"),
        (_section("cluster", subnets=["subnet-01234567"]), "cluster.subnets", "beside network", "keep one"),
        (_section("cluster", existing="a b"), "cluster.existing", "is not the name of an EKS cluster", "letters"),
        (_section("cluster", existing="campus"), "cluster.network", "is given beside existing", "leave it out"),
        (_section("cluster", existing="campus", network=None), "cluster.subnets", "is missing", "private subnets"),
        (_section("cluster", region="eu-west-1"), "cluster.network.zones", "is not in region eu-west-1", "eu-west-1a"),
        (_section("cluster", kubernetes="1.24"), "cluster.kubernetes", "no table has Kubernetes 1.24", "1.34"),
        (_section("cluster", public_access=["192.0.2.7/24"]), "cluster.public_access[0]", "network", "192.0.2.0/24"),
        (_section("cluster", public_access=["192.0.2.7"]), "cluster.public_access[0]", "an address", "192.0.2.7/32"),
        (_section("cluster", public_access=["office"]), "cluster.public_access[0]", "not a network", "192.0.2.0/24"),
        (
            _section("cluster", network={"cidr": "10.0.1.0/16", "zones": ["us-east-1a", "us-east-1b"]}),
            "cluster.network.cidr",
            "is not a network",
            "10.0.0.0/16",
        ),
        (_section("cluster", admins=["ada"]), "cluster.admins[0]", "is not the ARN", "arn:aws:iam"),
        (_section("fleet", total_gpus=11), "fleet.total_gpus", "which have 12, not 11", "total_gpus: 12"),
        (lambda _, config: config.pop("gpu-commons:cluster"), "cluster", "is missing", "region, kubernetes"),
        (lambda _, config: config.pop("gpu-commons:runtime"), "runtime", "has no device plugin", "device_plugin"),
    ],
)  # fmt: skip
def test_what_aws_would_refuse_is_refused_with_a_way_out(
    tmp_path: Path, change: Any, path: str, reason: str, fix: str
) -> None:
    found = problems(tmp_path, change)
    assert any(each[0] == path and reason in each[1] and fix in each[2] for each in found), found


def test_a_pool_with_arm_processors_that_no_image_lands_on_is_no_mistake(tmp_path: Path) -> None:
    def unused(sections: Any, _: Any) -> None:
        sections["fleet"]["pools"][2]["instance_types"] = ["g5g.2xlarge"]
        sections["jobs"][0]["pools"] = ["l4"]
        sections["hubs"][0]["profiles"].pop()

    found = nodes_of([pool_of(read(tmp_path, unused), "l40s")], GPU_TAINT)
    assert {node.labels["kubernetes.io/arch"] for node in found} == {"arm64"}


def test_nodes_of_a_site_and_instances_are_two_stacks(tmp_path: Path) -> None:
    def mixed(sections: Any, _: Any) -> None:
        sections["fleet"]["pools"].append(ON_PREMISES)

    assert ("fleet.pools[3]", "two stack files") in [(path, fix[6:21]) for path, _, fix in problems(tmp_path, mixed)]
