"""Manifests as public projects set them are not refused on a fleet with GPUs, once their images are pinned."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from rows import each_row
from shown import ADVISED, DIGEST, REFUSED, shown, texts

from fleet.nodes import Node
from policies.model import Coverage, Site


@dataclass(frozen=True)
class Public:
    """One workload, as the table describes it. Lists of images and paths are separated by blanks."""

    name: str
    address: str
    images: str
    host: str = ""
    reads: str = ""
    kind: str = "DaemonSet"
    privileged: bool = False
    add: list[str] = field(default_factory=list)
    pod: dict[str, Any] = field(default_factory=dict)
    compared: str = ""


ROWS = yaml.safe_load((Path(__file__).parent / "cases" / "public_manifests.yaml").read_text())
PUBLIC = [Public(**row) for row in ROWS]
SITE = Site(
    nodes=(Node("n01", "gtx", {"kubernetes.io/os": "linux"}, [], {"nvidia.com/gpu": Decimal(8), "cpu": Decimal(64)}),),
    coverage=Coverage.WITH_GPUS,
    default_runtimes={"gtx": "runc"},
    allowed_registries=tuple(sorted({each.split("/")[0] for row in PUBLIC for each in row.images.split()})),
)


def inputs(row: Public, images: str = "") -> dict[str, Any]:
    context = {"privileged": row.privileged, "capabilities": {"add": row.add}}
    containers: list[dict[str, Any]] = [
        {"name": f"c{number}", "image": f"{each}@{DIGEST}", **({} if number else {"securityContext": context})}
        for number, each in enumerate((images or row.images).split())
    ]
    paths = list(enumerate(row.host.split()))
    volumes = [{"name": f"v{number}", "hostPath": {"path": path}} for number, path in paths]
    for container in containers:
        container["volumeMounts"] = [
            {"name": f"v{number}", "mountPath": f"/host/{number}", "readOnly": path in row.reads.split()}
            for number, path in paths
        ]
    pod = {"containers": containers, "volumes": volumes, "tolerations": [{"operator": "Exists"}], **row.pod}
    return {"metadata": {"name": row.name, "namespace": "kube-system"}, "spec": {"template": {"spec": pod}}}


@each_row("row", PUBLIC, ids=lambda row: row.name)
def test_what_a_public_project_sets_is_not_refused(row: Public) -> None:
    found = shown(SITE, f"kubernetes:apps/v1:{row.kind}", inputs(row))
    assert texts(found, REFUSED) == []
    assert row.address.count("/") >= 3  # below github.com


def test_what_a_row_says_is_only_read_is_among_its_paths() -> None:
    assert [row.name for row in PUBLIC if not set(row.reads.split()) <= set(row.host.split())] == []
    assert sum(bool(row.compared) for row in PUBLIC) >= 21


def test_there_are_sixty_and_those_that_reach_the_node_would_be_refused_with_another_image() -> None:
    assert len({row.name for row in PUBLIC}) >= 60
    let_through = 0
    for row in PUBLIC:
        token = f"kubernetes:apps/v1:{row.kind}"
        if not any("(exemption " in text for text in texts(shown(SITE, token, inputs(row)), ADVISED)):
            continue
        let_through += 1
        assert texts(shown(SITE, token, inputs(row, "docker.io/somebody/tool")), REFUSED, "P-GPU") != []
    assert let_through >= 25
