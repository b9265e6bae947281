"""What the lab's Slurm is for a stack of kind slurm, and what the overlay says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab import slurm_stack, slurm_summary, steps
from lab.instance import Instance
from lab.servers import slurm_files
from platforms.slurm.site_model import SlurmAccess
from settings.reading import Stack

COMET = Path(__file__).parents[2] / "stacks" / "Pulumi.comet.yaml"


@pytest.fixture
def comet() -> Stack:
    return steps.read_stack(COMET)


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    return Instance("x", 0, tmp_path, {"registry": 5001, "slurmctld": 1, "slurmdbd": 2, "sshd": 3})


def test_it_has_the_nodes_of_all_pools_and_needs_no_cluster(comet: Stack) -> None:
    found = slurm_stack.cluster(comet)
    nodes = {name: (group.partition, group.gres, group.gpus) for group in found.groups for name in group.node_names}
    assert nodes == {
        "gpu-k80-1": ("gpu", "k80", 4),
        "gpu-p100-1": ("gpu", "p100", 4),
        "shared-k80-1": ("gpu-shared", "k80", 4),
        "shared-p100-1": ("gpu-shared", "p100", 4),
    }
    assert found.driver == "470.256.02"
    assert not steps.needs_cluster(comet)


def test_accounts_and_limits_that_jobs_name_are_there(comet: Stack) -> None:
    job = comet.jobs[0]
    assert job.slurm
    keys = job.slurm.model_copy(update={"account": "teaching", "qos": "short"})
    named = job.model_copy(update={"slurm": keys})
    found = slurm_stack.cluster(comet.model_copy(update={"jobs": (named, *comet.jobs[1:])}))
    assert found.accounts == ["lab", "teaching"]
    assert [(each.name, each.max_gpus) for each in found.qos] == [("short", 4)]


def test_the_overlay_is_a_site_that_the_product_takes(comet: Stack, instance: Instance) -> None:
    access = SlurmAccess.model_validate_json(json.dumps(slurm_stack.access(instance, comet)))
    assert access.access.kind == "ssh"
    assert access.access.address == f"{slurm_files.account(instance)}@127.0.0.1"
    assert not any(access.image_store.startswith(f"{folder}/") for folder in access.scratch)
    assert access.insecure_registries == ("127.0.0.1:5001",)


def test_the_summary_names_partitions_and_what_is_a_stand_in(comet: Stack, instance: Instance) -> None:
    text = "\n".join(slurm_summary.lines(instance, comet, {"logs": {"whole-node": "seen 4 GPUs\n"}}))
    assert "gpu           1 x 4 Tesla K80, driver 470.256.02, whole nodes: gpu-k80-1" in text
    assert "    seen 4 GPUs" in text
    assert "the driver that --nv brings is a stand-in" in text


@pytest.mark.parametrize(
    ("running", "taken"),
    [
        ((), ("registry", "slurmctld", "slurmdbd", "sshd")),
        (("registry", "slurmctld", "slurmd-gpu-k80-1"), ("slurmdbd", "sshd")),
    ],
)
def test_only_ports_of_its_own_servers_must_be_free(running: tuple[str, ...], taken: tuple[str, ...]) -> None:
    ports = ("registry", "etcd", "slurmctld", "slurmdbd", "sshd")
    assert steps.ports_to_take(running, ports, has_cluster=False, kind="slurm") == taken
