"""What the policy pack costs in processor time beside an empty pack of one policy, without an engine.

Requests as the engine sends them go through the SDK's own servicer.

    python bench/policy_pack.py [RESOURCES…]     default 100 1000 5000: a third makes pods; 4 KB each

Every image has facts with 300 packages. Each pack gets the same requests in turn, five times; medians are shown. The
last figure is what the stack policy adds at the end of a run: of as many pods as resources, on 200 pools.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pulumi_policy
from google.protobuf import struct_pb2
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi_policy.policy import _PolicyAnalyzerServicer

from images.inspection.facts import VERSION, Contents, ImageContents, Layer, LayerUse, Library, Package, Settings
from policies.adapter import pack_policies
from policies.model import Site
from policies.stacks import site_of_stack

STACK = "dsmlp-fall"
IMAGES = 20
REPETITIONS = 5


def facts(number: int) -> ImageContents:
    site = "opt/venv/lib/python3.11/site-packages"
    packages = tuple(
        Package(f"nvidia-{index}", "1", "wheel", f"{site}/{index}/METADATA", 0, "12") for index in range(300)
    )
    libraries = tuple(Library("cudart", "12.4.127", f"{site}/{index}/libcudart.so.12", 0, 10) for index in range(10))
    layers = tuple(Layer(f"sha256:{number * 100 + index:064d}", "", "zstd", 50_000_000) for index in range(12))
    deep = Contents(
        2_000_000_000,
        50_000,
        tuple(LayerUse(100_000_000, 0) for _ in layers),
        system="Debian GNU/Linux 12 (bookworm)",
        packages=packages,
        libraries=libraries,
    )
    return ImageContents(VERSION, f"sha256:{number:064d}", "", "linux/amd64", None, layers, Settings(), deep)


def resources(count: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Type, name, inputs."""
    notes = {f"example.edu/note-{index}": "x" * 40 for index in range(60)}
    for number in range(count):
        metadata = {"name": f"r{number}", "annotations": notes}
        if number % 3:
            yield "kubernetes:core/v1:ConfigMap", f"r{number}", {"metadata": metadata, "data": {"a": "b"}}
            continue
        image = f"registry.example.edu/gpu-commons/i{number % IMAGES}@sha256:{number % IMAGES:064d}"
        container = {
            "name": "c",
            "image": image,
            "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1", "cpu": "1"}},
            "env": [{"name": f"V{index}", "value": str(index)} for index in range(10)],
        }
        pod = {"containers": [container], "tolerations": [{"operator": "Exists"}]}
        yield (
            "kubernetes:apps/v1:Deployment",
            f"r{number}",
            {"metadata": metadata, "spec": {"template": {"metadata": {}, "spec": pod}}},
        )


def requests(count: int) -> list[dict[str, Any]]:
    """As the engine sends them."""
    made = []
    for token, name, inputs in resources(count):
        properties = struct_pb2.Struct()
        properties.update(inputs)
        urn = f"urn:pulumi:{STACK}::p::{token}::{name}"
        made.append({"type": token, "name": name, "urn": urn, "properties": properties})
    return made


def servicer(policies: Sequence[pulumi_policy.Policy]) -> _PolicyAnalyzerServicer:
    return _PolicyAnalyzerServicer("bench", "1", list(policies), pulumi_policy.EnforcementLevel.ADVISORY)


def empty_pack() -> list[pulumi_policy.Policy]:
    """One policy that looks at nothing."""
    return [
        pulumi_policy.ResourceValidationPolicy(
            name="empty", description="Nothing.", validate=lambda _args, _report: None
        )
    ]


def ms_for_each(pack: Callable[[], Sequence[pulumi_policy.Policy]], shown: Sequence[dict[str, Any]]) -> float:
    """Processor milliseconds for each resource, of a pack that has just started."""
    asked = [proto.AnalyzeRequest(**each) for each in shown]
    analyzer = servicer(pack())
    began = time.process_time()
    for each in asked:
        analyzer.Analyze(each, None)
    return (time.process_time() - began) * 1000 / len(asked)


def stack_seconds(site: Site, pods: int, pools: int) -> float:
    """Processor seconds of the stack policy, after all resources were shown."""
    nodes = tuple(
        replace(site.nodes[number % len(site.nodes)], name=f"n{number}", pool=f"pool-{number}")
        for number in range(pools)
    )
    wide = replace(
        site,
        nodes=nodes,
        machines={node.pool: next(iter(site.machines.values())) for node in nodes},
        gpus={node.pool: next(iter(site.gpus.values())) for node in nodes},
    )
    analyzer = servicer(pack_policies(lambda _: wide))
    shown = requests(3 * pods)[::3]
    for each in shown:
        analyzer.Analyze(proto.AnalyzeRequest(**each), None)
    asked = proto.AnalyzeStackRequest(resources=[proto.AnalyzerResource(**each) for each in shown])
    began = time.process_time()
    analyzer.AnalyzeStack(asked, None)
    return time.process_time() - began


def main() -> None:
    known = {f"{index:064d}": facts(index) for index in range(IMAGES)}
    site = replace(site_of_stack(STACK), contents_of=lambda text: known.get(text.rpartition(":")[2]))
    print("| resources | empty pack, ms each | this pack, ms each | ratio |\n| --- | --- | --- | --- |")
    for count in [int(each) for each in sys.argv[1:]] or [100, 1000, 5000]:
        shown = requests(count)
        pairs = [
            (ms_for_each(empty_pack, shown), ms_for_each(lambda: pack_policies(lambda _: site), shown))
            for _ in range(REPETITIONS)
        ]
        empty, ours = (statistics.median(each) for each in zip(*pairs, strict=True))
        ratio = statistics.median(own / other for other, own in pairs)
        print(f"| {count:,} | {empty:.2f} | {ours:.2f} | {ratio:.2f} |")
    print(f"\nthe stack policy, 5,000 pods on 200 pools: {stack_seconds(site, 5000, 200):.1f} s")


if __name__ == "__main__":
    main()
