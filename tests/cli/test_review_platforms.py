"""What a comment says of a change, platform by platform, and what it does not say."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rows import each_row

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here

import previews
import test_review_hosts as hosts
import test_review_instances as instances
import test_review_nodes as nodes
import test_review_slurm as slurm
from previews import step

NODE_DRIVER = {**nodes.OLD, "node_drivers": {"n02": "580.95.05"}}
FLATCAR = {**instances.L4, "flatcar_release": "4593.2.5", "max_unavailable": 2}
SAME_SITE = step(slurm.RECORD, "stack", slurm.record(slurm.K80), slurm.record(slurm.K80))
OF_AN_HOUR = {"profiles": [{**slurm.SERVER, "time_min": 60}]}


def replaced(part: str) -> str:
    """The comment where one container of a hub on a host is replaced."""
    return hosts.comment(hosts.container(f"dcsg-{part}", "replace", parents=hosts.HUB))


COMES = {**slurm.K80, "name": "shared-k80", "partition": "gpu-shared", "nodes": 3}
# platform: change -> the comment, what it says, and what it does not say
CHANGES: dict[str, tuple[Callable[[], str], list[str], list[str]]] = {
    "cluster: a driver on one node": (
        lambda: nodes.markdown(step(nodes.POOL, "rtx", nodes.OLD, NODE_DRIVER), nodes.STAYS),
        [
            "### ⚠️ made: 8 GPUs in 1 node restart; 30 seats; install driver 580.95.05\n",
            "| driver of n02: `418.88` → `580.95.05` | hub datahub: profile a<br>course ML (30 seats) |",
            "install driver 580.95.05 on 1 node (8 GPUs)",
            "sessions and jobs on n02 end as each one drains; up to 8 sessions",
        ],
        [],
    ),
    "cluster: the driver of the nodes that are left": (
        lambda: nodes.markdown(
            step(nodes.POOL, "rtx", NODE_DRIVER, previews.pool("rtx", "580.95.05", nodes=nodes.NODES)), nodes.STAYS
        ),
        [
            "### ⚠️ made: 16 GPUs in 2 nodes restart; 30 seats; install driver 580.95.05\n",
            "sessions and jobs on n01, n03 end",
        ],
        ["driver of n02"],
    ),
    "instances: a driver": (
        lambda: nodes.markdown(
            step(instances.EKS, "l4", instances.L4, instances.OLDER),
            instances.released("1.34.9-20260714", "1.34.1-20251002"),
            instances.STAYS,
        ),
        [
            "pool l4 rolls: up to 8 instances of g6.2xlarge replaced with driver 570.195.03",
            "driver: `580.159.03` → `570.195.03`",
            "machine image's release: `1.34.9-20260714` → `1.34.1-20251002`",
            "hub datahub: profile a<br>course ML (30 seats)",
            "EKS drains 1 of its instances at a time",
        ],
        ["install driver"],
    ),
    "instances: a driver, above the whole diff": (
        lambda: nodes.markdown(
            step(instances.EKS, "l4", instances.L4, instances.OLDER),
            instances.released("1.34.9-20260714", "1.34.1-20251002"),
            instances.STAYS,
        ).split("Whole diff")[0],
        [],
        ["R570"],
    ),
    "instances: a release of Flatcar": (
        lambda: nodes.markdown(
            step(instances.FLATCAR, "l4", FLATCAR, {**FLATCAR, "flatcar_release": "4593.2.6"}),
            instances.below(instances.FLATCAR, instances.TEMPLATE, {"imageId": "ami-1"}, {"imageId": "ami-2"}),
            instances.STAYS,
        ),
        [
            "Pool l4 rolls: an instance refresh ends 2 of its instances at a time without draining them",
            "Flatcar: `4593.2.5` → `4593.2.6`",
        ],
        [],
    ),
    "instances: how many there may be": (
        lambda: nodes.markdown(step(instances.EKS, "l4", instances.L4, {**instances.L4, "max": 4}), instances.STAYS),
        [],
        ["rolls", "drain"],
    ),
    "instances: tags": (
        lambda: nodes.markdown(
            step(instances.EKS, "l4", instances.L4, {**instances.L4, "tags": {"a": "b"}}), instances.STAYS
        ),
        [],
        ["rolls", "drain"],
    ),
    "instances: a group that goes": (
        lambda: nodes.markdown(step(instances.EKS, "l4", instances.L4, None), instances.STAYS),
        ["The instances of pool l4 end"],
        [],
    ),
    "instances: a group that comes": (
        lambda: nodes.markdown(step(instances.EKS, "l4", None, instances.L4), instances.STAYS),
        ["0 to 8 instances of g6.2xlarge with 1 NVIDIA L4 each, driver 580.159.03"],
        [],
    ),
    "Slurm: the driver of a partition": (
        lambda: slurm.changed({**slurm.K80, "driver": "418.88"}, slurm.P100),
        [
            "**torch will not run on gpu-k80, where this stack starts it.**",
            "| pool `gpu-k80` | driver: `470.256.02` → `418.88` | job train |",
            "| `torch` | `gpu-k80` | ✓ runs → ✕ does not run | CUDA 11.8 needs driver 450.80.02 or newer",
            "This update changes what images are proved for: it installs nothing on a node",
        ],
        [],
    ),
    "Slurm: the cards of a partition": (
        lambda: slurm.changed(slurm.K80, {**slurm.P100, "gpu": "H100 80GB HBM3", "driver": "535.309.01"}),
        ["| pool `gpu-p100` |", "GPU: `Tesla P100-PCIE-16GB` → `H100 80GB HBM3`"],
        [],
    ),
    "Slurm: a partition that comes": (
        lambda: slurm.changed(
            slurm.K80, slurm.P100, {**slurm.K80, "name": "shared-k80", "partition": "gpu-shared", "nodes": 3}
        ),
        ["3 nodes with 4 Tesla K80 each, driver 470.256.02"],
        [],
    ),
    "Slurm: a job": (
        lambda: slurm.comment(SAME_SITE, step(slurm.JOB, "train", slurm.TRAIN, {**slurm.TRAIN, "gpus": 2})),
        ["| job `train` |"],
        [],
    ),
    "Slurm: the time of a hub's server": (
        lambda: slurm.comment(SAME_SITE, step(slurm.HUB, "quest", {"profiles": [slurm.SERVER]}, OF_AN_HOUR)),
        ["| hub `quest` |", "`240` → `60`"],
        [],
    ),
    "Docker: the driver of a host": (
        lambda: hosts.comment(
            step(hosts.HOST, "box", hosts.BOX, {**hosts.BOX, "driver_version": "580.95.05"}),
            step(hosts.CONTAINER, "train", hosts.TRAIN, hosts.TRAIN),
        ),
        ["2 GPUs in 1 node restart; install driver 580.95.05", "train"],
        [],
    ),
    "Docker: a host that comes": (
        lambda: hosts.comment(step(hosts.HOST, "box", None, hosts.BOX)),
        ["1 node with 2 Tesla V100-SXM2-16GB each, driver 418.88"],
        [],
    ),
    "Docker: a container": (
        lambda: hosts.comment(
            step(hosts.HOST, "box", hosts.BOX, hosts.BOX),
            step(hosts.CONTAINER, "train", hosts.TRAIN, {**hosts.TRAIN, "gpus": 2}),
        ),
        ["container train"],
        [],
    ),
    "Docker: containers that are replaced": (
        lambda: hosts.comment(
            hosts.container("tensorboard", "replace"), hosts.container("train", "replace", ends=True)
        ),
        [
            "Container tensorboard is replaced: what runs in it ends, and files outside its volumes and folders",
            "Container train is replaced: a run in progress ends, and it starts from the beginning",
        ],
        [],
    ),
    "Docker: a container that is changed in place": (
        lambda: hosts.comment(hosts.container("tensorboard", "update")),
        [],
        ["is replaced"],
    ),
    "Docker: the container of a hub": (
        lambda: replaced("hub"),
        ["The hub container of dcsg restarts: notebook sessions keep running, because they are containers of"],
        ["is replaced"],
    ),
    "Docker: the proxy of a hub": (
        lambda: replaced("proxy"),
        ["The proxy of hub dcsg restarts: open notebooks lose their connection until it is back"],
        ["is replaced"],
    ),
    "Docker: the filter of a hub": (
        lambda: replaced("engine"),
        ["The filter of hub dcsg restarts: notebook sessions keep running; no server and no kernel can start"],
        ["is replaced"],
    ),
}


@each_row(("comment", "says", "says_not"), [pytest.param(*row, id=change) for change, row in CHANGES.items()])
def test_a_comment_says_what_a_change_does_on_its_platform(
    comment: Callable[[], str], says: list[str], says_not: list[str]
) -> None:
    text = comment()
    assert [words for words in says if words not in text] == []
    assert [words for words in says_not if words in text] == []
