"""Every rule of the pack with a resource that passes, one that fails, one that a preview cannot decide, and a waiver.

Where a column cannot be, the table says why. What a row says of images stands in a cache, written as `inspect` does.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "policies"))  # for image_facts.py: folders of tests are no packages
from image_facts import contents
from plain_stack import Config, Resource

from imaging.inspection.facts import Copies, DriverPart, ImageContents

UNKNOWN: Final = "<unknown>"  # what the program makes a value of that a preview cannot know
OWN: Final = "registry.example.edu/gpu-commons"
TOLERATES: Final = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
APART: Final = {"key": "example.edu/apart", "value": "yes", "effect": "NoSchedule"}  # of pools that others keep off
CUDA_13: Final = "docker.io/nvidia/cuda:13.0.0-runtime-ubuntu24.04"  # no code for Pascal
DEBIAN: Final = "Debian GNU/Linux 13 (trixie)"
DRIVER: Final = DriverPart("usr/lib/libcuda.so.535.104.05", 30_000_000, "driver 535.104.05", 0)
TWICE: Final = Copies("cublas", ("opt/venv/x/libcublas.so.12", "usr/local/cuda/lib64/libcublas.so.12"), 600_000_000)
FITS_ALONE: Final = contents(3, 8, system=DEBIAN)  # on a small node; two of them do not


@dataclass(frozen=True)
class Row:
    """One resource and whom the message is about. Without a resource it is the stack file that decides."""

    about: str = "stack"
    resource: Resource | None = None
    facts: tuple[ImageContents, ...] = ()
    beside: tuple[Row, ...] = ()  # what makes it fail, where it does not alone


@dataclass(frozen=True)
class Never:
    """Why a column cannot be."""

    why: str


@dataclass(frozen=True)
class Columns:
    """One rule. `is_advice`: what it finds warns. `waived` is the failing row again, unless it can never be."""

    passing: Row
    failing: Row | Never
    unknown: Row | Never
    waived: Never | None = None
    is_advice: bool = False


def digest(name: str) -> str:
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def pod(name: str, *facts: ImageContents, image: str = "docker.io/library", **spec: Any) -> Row:
    """A pod; its image is known to be small and on a new Debian, where no facts are given."""
    (found,) = facts or (contents(0.01, 0.02, system=DEBIAN),)
    text = image if ":" in image or not image else f"{image}/{name}@{digest(name)}"
    container = {"name": "c", "image": text, **spec.pop("container", {})}
    inputs = {"metadata": {"name": name}, "spec": {"containers": [container], "tolerations": TOLERATES, **spec}}
    resource = {"type": "kubernetes:core/v1:Pod", "name": name, "inputs": inputs}
    return Row(f"Pod {name}", resource, (called(name, found),))


def called(name: str, facts: ImageContents) -> ImageContents:
    """The facts of the image of that name, which shares no layer with another."""
    (layer,) = facts.layers
    return replace(facts, digest=digest(name), layers=(replace(layer, digest=digest(f"layer of {name}")),))


def unread(row: Row) -> Row:
    """Its image is one of the stack's own, and nobody has read what is in it."""
    return replace(row, facts=())


def hub(name: str, start_timeout_s: Any, facts: ImageContents) -> Row:
    profile = {"name": "ml", "image": f"docker.io/library/{name}@{digest(name)}", "pool": "rtx2080ti", "gpus": 1}
    inputs = {"profiles": [profile], "start_timeout_s": start_timeout_s}
    resource = {"type": "gpu-commons:index:NotebookHub", "name": name, "inputs": inputs}
    return Row(f"profile ml of hub {name}", resource, (called(name, facts),))


def on(pool: Any) -> dict[str, Any]:
    return {"nodeSelector": {"gpu-commons.org/pool": pool}}


def apart(name: str, *facts: ImageContents, pool: str = "apart", **spec: Any) -> Row:
    """A pod on a pool that the other rows keep off, and what is reported about the pool."""
    return replace(pod(name, *facts, **on(pool), tolerations=[{"operator": "Exists"}], **spec), about=f"pool {pool}")


def gpus(amount: Any) -> dict[str, Any]:
    return {"container": {"resources": {"limits": {"nvidia.com/gpu": amount}}}}


def sound(config: Config) -> None:
    """The user's fleet on a driver that NVIDIA mends, with a small pool and two that are for one row each."""
    fleet = config["gpu-commons:fleet"]
    for pool in fleet["pools"]:
        pool.update(driver="580.95.05", container_toolkit="1.17.8")
    fleet["pools"][1].update(pull_mb_per_s=50, disk_mb_per_s=400)  # rtx2080ti: somebody has measured it
    small = {**fleet["pools"][2], "root_disk_gib": 20}
    fleet["pools"] += [
        {**small, "name": "small", "nodes": ["m1"]},
        {**small, "name": "apart", "nodes": ["m2"], "taints": [APART]},
        {**small, "name": "open", "nodes": ["m3"], "taints": [APART]},
    ]
    fleet["total_gpus"] += 3 * small["gpus_per_node"]
    config["gpu-commons:site"]["image_limits"] = {"refuse_unsupported_base": True}
    config["gpu-commons:policies"] = {"levels": {"P-TERM": "warn"}}


def broken(config: Config) -> None:
    """The same with a driver that dropped its GPU, promises that nobody can keep, and a waiver that has ended."""
    sound(config)
    fleet = config["gpu-commons:fleet"]
    dropped = {**fleet["pools"][0], "name": "dropped", "nodes": ["m4"], "nodes_except": [], "driver": "595.71.05"}
    dropped["taints"] = [APART]
    fleet["pools"].append(dropped)
    fleet["total_gpus"] += dropped["gpus_per_node"]
    for course in config["gpu-commons:courses"]:
        course["guaranteed_gpus"] = 70
        course["last_day"] = "2099-12-18"  # a term that is over promises nothing
    ended = {**waiver("P-PIN", PIN_FAILING.about), "until": "2026-01-01"}
    config["gpu-commons:policies"] = {"waivers": [ended]}


def waived(config: Config) -> None:
    """All that fails in the broken one is let through; what only warns is made a refusal first."""
    broken(config)
    rows = {rule: columns for rule, columns in RULES.items() if columns.waived is None}
    config["gpu-commons:policies"] = {
        "levels": {rule: "refuse" for rule, columns in rows.items() if columns.is_advice},
        "waivers": [
            waiver(rule, row.about) for rule, columns in rows.items() if isinstance(row := columns.failing, Row)
        ],
    }


def waiver(rule: str, resource: str) -> dict[str, str]:
    return {"rule": rule, "resource": resource, "reason": "a test", "owner": "nobody", "until": "2999-12-31"}


PIN_FAILING: Final = pod("pin-failing", image="docker.io/library/busybox:1.36")
IN_THE_FILE: Final = Never("everything that it looks at stands in the stack file, where nothing is unknown")

RELEASE: Final = {"type": "kubernetes:helm.sh/v3:Release", "name": "read-unknown", "inputs": {"chart": "c"}}

OF_SLURM: Final = "a rule about jobs of Slurm, which a stack on a cluster of Kubernetes has not"
OF_HOSTS: Final = "a rule about containers of a Docker host, which a stack on a cluster has not"
OF_EKS: Final = "a rule about pools of instances, which this stack has not"
RULES: Final[Mapping[str, Columns]] = {
    "P-READ": Columns(
        pod("read-passing"),
        Never("what cannot be seen is not proved, and no refusal by itself"),
        Row("Release read-unknown", RELEASE),
        waived=Never("there is no refusal to waive, unless the stack file refuses whatever is not proved"),
    ),
    "P-GPU": Columns(
        pod("gpu-passing", **gpus("1")),
        pod("gpu-failing", container={"securityContext": {"privileged": True}}),
        pod("gpu-unknown", container={"securityContext": {"privileged": UNKNOWN}}),
    ),
    "P-PIN": Columns(
        pod("pin-passing"),
        PIN_FAILING,
        pod("pin-unknown", container={"image": UNKNOWN}),
    ),
    "P-PORT": Columns(  # test_rules_of_hosts.py has its cells
        Never(OF_HOSTS),
        Never(OF_HOSTS),
        Never(OF_HOSTS),
        waived=Never(OF_HOSTS),
    ),
    "P-LIMIT": Columns(  # test_rules_of_hosts.py has its cells
        Never(OF_HOSTS),
        Never(OF_HOSTS),
        Never(OF_HOSTS),
        waived=Never(OF_HOSTS),
    ),
    "P-BATCH": Columns(  # test_rules_of_hosts.py has its cells
        Never(OF_SLURM),
        Never(OF_SLURM),
        Never(OF_SLURM),
        waived=Never(OF_SLURM),
    ),
    "P-HOST": Columns(
        pod("host-passing", **on("small")),
        pod("host-failing", **on("attic")),
        pod("host-unknown", **on(UNKNOWN)),
    ),
    "P-RUN": Columns(
        pod("run-passing", image=f"{CUDA_13}@{digest('run')}", **on("rtx2080ti"), **gpus(1)),
        pod("run-failing", image=f"{CUDA_13}@{digest('run')}", **on("gtx1080ti"), **gpus(1)),
        pod("run-unknown", image=f"{CUDA_13}@{digest('run')}", **on("gtx1080ti"), **gpus(UNKNOWN)),
    ),
    "P-DRIVER": Columns(Row(), Row(), IN_THE_FILE),
    "P-REGION": Columns(  # tests/policies/test_pool_region.py has its cells
        Never(OF_EKS),
        Never(OF_EKS),
        Never(OF_EKS),
        waived=Never(OF_EKS),
    ),
    "P-CLAIM": Columns(  # tests/policies/test_claims.py has its cells
        Never(OF_EKS),
        Never(OF_EKS),
        Never(OF_EKS),
        waived=Never(OF_EKS),
    ),
    "P-NODRIVER": Columns(
        pod("nodriver-passing"),
        pod("nodriver-failing", contents(0.01, 0.02, system=DEBIAN, driver=(DRIVER,))),
        unread(pod("nodriver-unknown", image=OWN)),
    ),
    "P-ONECUDA": Columns(
        pod("onecuda-passing"),
        pod("onecuda-failing", contents(0.01, 0.02, system=DEBIAN, copies=(TWICE,))),
        unread(pod("onecuda-unknown", image=OWN)),
        is_advice=True,
    ),
    "P-BASE": Columns(
        pod("base-passing"),
        pod("base-failing", contents(0.01, 0.02, system="Ubuntu 18.04.6 LTS")),
        unread(pod("base-unknown", image=OWN)),
    ),
    "P-SIZE": Columns(
        pod("size-passing"),
        pod("size-failing", contents(7, 5, system=DEBIAN)),
        unread(pod("size-unknown", image=OWN)),
    ),
    "P-DISK": Columns(
        pod("disk-passing", **on("small")),
        pod("disk-failing", contents(4, 30, system=DEBIAN), **on("small")),
        pod("disk-unknown", contents(4, 30, system=DEBIAN), nodeSelector={"example.edu/disk": UNKNOWN}),
    ),
    "P-ROOM": Columns(
        apart("room-passing"),
        replace(apart("room-failing", FITS_ALONE), beside=(apart("room-beside", FITS_ALONE),)),
        unread(apart("room-unknown", image=OWN, pool="open")),
        waived=Never("it only advises: a stack file that waives it is refused"),
        is_advice=True,
    ),
    "P-START": Columns(
        hub("start-passing", 600, contents(1, 2, system=DEBIAN)),
        hub("start-failing", 20, contents(1, 2, system=DEBIAN)),
        hub("start-unknown", UNKNOWN, contents(1, 2, system=DEBIAN)),
    ),
    "P-TERM": Columns(Row(), Row(), IN_THE_FILE),
}
