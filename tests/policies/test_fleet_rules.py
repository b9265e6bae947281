"""What all workloads together mean for a pool's disk."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from image_facts import REGISTRY, contents, reference

from fleet.machines import Machine
from fleet.nodes import Node
from fleet.unknown import UNKNOWN
from imaging.inspection.facts import ImageContents, Layer, LayerUse
from imaging.size.estimate import GB, Origin, Size
from policies.finding import Finding, Level
from policies.model import Planned, Site, Workload
from policies.pod_workloads import of_pod, workloads
from policies.rules.disk_capacity import RULE

BASE, COURSE = reference("base", "a"), reference("course", "b")
FOREIGN = reference("tool", "c", registry="quay.io/someone")


def layered(*layers: tuple[str, float]) -> ImageContents:
    """An image of layers in gzip, each with its digest's letter and its GB, packed; unpacked it is twice that."""
    made = contents(0, 0)
    assert made.deep is not None
    packed = tuple(Layer("sha256:" + letter * 64, "", "gzip", round(gb * GB)) for letter, gb in layers)
    use = tuple(LayerUse(round(gb * GB) * 2, 0) for _, gb in layers)
    return replace(made, layers=packed, deep=replace(made.deep, layers=use))


def node(name: str, pool: str) -> Node:
    amounts = {"cpu": Decimal(32), "memory": Decimal(2**36), "nvidia.com/gpu": Decimal(8)}
    return Node(name, pool, {"gpu-commons.org/pool": pool}, [], amounts)


def site(**more: Any) -> Site:
    facts = {BASE: layered(("1", 2)), COURSE: layered(("1", 2), ("2", 1))}
    known: dict[str, Any] = {
        "nodes": (node("n01", "gtx1080ti"), node("n10", "gtx1070ti")),
        "allowed_registries": (),
        "own_registry": REGISTRY,
        "own_images": frozenset({"base", "course"}),
        "machines": {"gtx1080ti": Machine(100), "gtx1070ti": Machine(9, is_disk_assumed=True)},
        "contents_of": facts.get,
    }
    return Site(**{**known, **more})


def pod(image: Any, pool: str | None = None, name: str = "") -> Workload:
    template = {
        "metadata": {"annotations": {"gpu-commons.org/image": name} if name else {}},
        "spec": {
            "containers": [{"image": image}],
            **({"nodeSelector": {"gpu-commons.org/pool": pool}} if pool else {}),
        },
    }
    (workload,) = workloads("kubernetes:apps/v1:DaemonSet", "d", {"spec": {"template": template}})
    return workload


def findings(*pods: Workload, where: Site | None = None) -> list[Finding]:
    assert RULE.check_together is not None
    return list(RULE.check_together(pods, where or site()))


def test_what_shares_layers_counts_them_once() -> None:
    # 9 GiB leave 8.21 GB. Base: 2 + 4, course: the same and 1 + 2; 9 GB with shared layers once, 15 GB without.
    (found,) = findings(pod(BASE), pod(COURSE))
    assert found.level is Level.WARN
    assert found.subject == "pool gtx1070ti"
    assert found.message == (
        "2 images may be on one node: 3.00 GB compressed plus 6.00 GB unpacked, shared layers counted once "
        "(6.00 GB saved), but of 9 GiB (assumed by the stack file) the kubelet leaves 8.21 GB for images: it "
        "will remove unused images and pull them again. The largest: course 9.00 GB, base 6.00 GB"
    )
    assert findings(pod(BASE), pod(COURSE), where=site(machines={"gtx1070ti": Machine(10)})) == []


def test_only_what_may_land_on_a_pool_counts_there_and_each_image_once() -> None:
    assert findings(pod(BASE), pod(BASE), pod(BASE)) == []
    assert findings(pod(BASE), pod(COURSE, "gtx1080ti")) == []
    assert len(findings(pod(BASE, "gtx1070ti"), pod(COURSE, "gtx1070ti"))) == 1


def test_images_that_nobody_read_are_named() -> None:
    (found,) = findings(pod(BASE), pod(COURSE), pod(FOREIGN))
    assert ": at least 3.00 GB compressed" in found.message
    assert found.message.endswith("base 6.00 GB; the sizes of tool are not known")
    assert findings(pod(FOREIGN)) == []


def test_before_the_build_a_lower_bound_warns_or_leaves_it_unproved() -> None:
    def bound(gb: float) -> Site:
        return site(planned_of=lambda _: Planned(Size(round(gb * GB), round(gb * GB), Origin.SPEC), ""))

    (small,) = findings(pod(UNKNOWN, "gtx1070ti", "course"), where=bound(1))
    assert small.level is Level.UNPROVED
    assert "its images need at least 2.00 GB together" in small.message
    assert "the actual sizes of course are read after the build" in small.message
    (big,) = findings(pod(UNKNOWN, "gtx1070ti", "course"), where=bound(5))
    assert big.level is Level.WARN
    assert ": at least 5.00 GB compressed" in big.message


def test_a_pod_that_no_api_server_takes_does_not_hide_the_others() -> None:
    odd = of_pod("odd", {"containers": [{"image": BASE, "resources": {"limits": {"cpu": "many"}}}]})
    assert len(findings(odd, pod(BASE), pod(COURSE))) == 1


def test_a_stack_without_pods_or_without_a_fleet_has_nothing_to_say() -> None:
    assert findings() == []
    assert findings(pod(BASE), where=site(nodes=(), machines={})) == []
