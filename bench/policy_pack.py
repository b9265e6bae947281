"""What the policy pack costs in processor time, without an engine: requests as the engine sends them go through the
SDK's own servicer.

    python bench/policy_pack.py [RESOURCES]     default 1,000: a third makes pods, the others pass by; 4 KB each

Every image has facts with 300 packages. The last figure is what the stack policy adds at the end of a run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pulumi_policy
from google.protobuf import struct_pb2
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi_policy.policy import _PolicyAnalyzerServicer

from images.inspection.facts import VERSION, Contents, ImageContents, Layer, LayerUse, Library, Package, Settings
from policies.adapter import pack_policies
from policies.stacks import site_of_stack

STACK = "dsmlp-fall"
IMAGES = 20


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


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    known = {f"{index:064d}": facts(index) for index in range(IMAGES)}
    site = replace(site_of_stack(STACK), contents_of=lambda text: known.get(text.rpartition(":")[2]))
    policies = pack_policies(lambda _: site)
    servicer = _PolicyAnalyzerServicer("gpu-commons", "1", policies, pulumi_policy.EnforcementLevel.ADVISORY)
    requests = []
    for token, name, inputs in resources(count):
        properties = struct_pb2.Struct()
        properties.update(inputs)
        urn = f"urn:pulumi:{STACK}::p::{token}::{name}"
        requests.append({"type": token, "name": name, "urn": urn, "properties": properties})
    began = time.process_time()
    findings = sum(len(servicer.Analyze(proto.AnalyzeRequest(**each), None).diagnostics) for each in requests)
    each_ms = (time.process_time() - began) * 1000 / count
    print(f"{count} resources, each: {each_ms:.2f} ms, {findings} findings")
    began = time.process_time()
    answer = servicer.AnalyzeStack(
        proto.AnalyzeStackRequest(resources=[proto.AnalyzerResource(**each) for each in requests]), None
    )
    print(f"the stack policy: {time.process_time() - began:.2f} s, {len(answer.diagnostics)} findings")


if __name__ == "__main__":
    main()
