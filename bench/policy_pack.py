"""Measures the policy pack next to an empty pack of one policy, both started and called by gRPC as the engine does.

    python bench/policy_pack.py [RESOURCES…]     default 100 1000 5000: a third makes pods; 4 KB each

Every image has facts with 300 packages. Both packs get the same requests in turn, each time anew: every resource, and
at the end the stack. Shown are medians of processor time of the pack. The last figure is the stack policy alone: as
many pods as resources, on 200 pools.
"""

from __future__ import annotations

import io
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grpc
import psutil
from google.protobuf import struct_pb2
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi.runtime.proto.analyzer_pb2_grpc import AnalyzerStub
from pulumi_policy import EnforcementLevel
from pulumi_policy.policy import _PolicyAnalyzerServicer

from imaging.inspection.facts import VERSION, Contents, ImageContents, Layer, LayerUse, Library, Package, Settings
from imaging.inspection.store import Store, store_folder
from policies.crossguard import pack_policies
from policies.model import Site
from policies.stacks import site_of_stack

PROJECT = Path(__file__).resolve().parent.parent
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


@contextmanager
def started(program: Path, cache: Path) -> Iterator[tuple[AnalyzerStub, psutil.Process]]:
    """A pack in its own process."""
    variables = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(PROJECT)}
    argv = [sys.executable, str(program), "127.0.0.1:1"]
    with subprocess.Popen(argv, env=variables, stdout=subprocess.PIPE, text=True) as child:
        try:
            port = int((child.stdout or io.StringIO()).readline())
            with grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.max_send_message_length", -1)]) as channel:
                yield AnalyzerStub(channel), psutil.Process(child.pid)
        finally:
            child.terminate()


def cost(program: Path, cache: Path, shown: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Processor time of a pack: seconds of its start, and milliseconds for each resource.

    The start ends with the answer about the stack itself, for which the pack reads the stack's file. The stack policies
    at the end belong to the resources.
    """
    with started(program, cache) as (pack, process):

        def spent() -> float:
            return sum(process.cpu_times()[:2])

        pack.ConfigureStack(proto.AnalyzerStackConfigureRequest(stack=STACK, project="p", dry_run=True))
        root = f"urn:pulumi:{STACK}::p::pulumi:pulumi:Stack::p-{STACK}"
        pack.Analyze(proto.AnalyzeRequest(type="pulumi:pulumi:Stack", name=f"p-{STACK}", urn=root))
        start = spent()
        for each in shown:
            pack.Analyze(proto.AnalyzeRequest(**each))
        pack.AnalyzeStack(proto.AnalyzeStackRequest(resources=[proto.AnalyzerResource(**each) for each in shown]))
        return start, (spent() - start) * 1000 / len(shown)


def stack_seconds(site: Site, pods: int, pools: int) -> float:
    """Processor seconds of the stack policy, after all resources."""
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
    analyzer = _PolicyAnalyzerServicer("bench", "1", pack_policies(lambda _: wide), EnforcementLevel.ADVISORY)
    shown = requests(3 * pods)[::3]
    for each in shown:
        analyzer.Analyze(proto.AnalyzeRequest(**each), None)
    request = proto.AnalyzeStackRequest(resources=[proto.AnalyzerResource(**each) for each in shown])
    began = time.process_time()
    analyzer.AnalyzeStack(request, None)
    return time.process_time() - began


EMPTY_PACK = """
import pulumi_policy as sdk
policy = sdk.ResourceValidationPolicy(name="empty", description="Nothing.", validate=lambda args, report: None)
sdk.PolicyPack(name="empty", policies=[policy])
"""


def main() -> None:
    known = {f"{index:064d}": facts(index) for index in range(IMAGES)}
    with TemporaryDirectory() as folder:
        empty, cache = Path(folder, "empty.py"), Path(folder, "cache")
        empty.write_text(EMPTY_PACK)
        for contents in known.values():
            Store(store_folder({"XDG_CACHE_HOME": str(cache)})).keep(contents)
        print("| resources | empty pack, ms each | this pack, ms each | ratio | its start s | ours s |")
        print("| --- | --- | --- | --- | --- | --- |")
        for count in [int(each) for each in sys.argv[1:]] or [100, 1000, 5000]:
            shown = requests(count)
            programs = (empty, PROJECT / "policies" / "__main__.py")
            pairs = [[cost(program, cache, shown) for program in programs] for _ in range(REPETITIONS)]
            (start, each), (own_start, own_each) = (
                [statistics.median(numbers) for numbers in zip(*costs, strict=True)]
                for costs in zip(*pairs, strict=True)
            )
            ratio = statistics.median(own / other for (_, other), (_, own) in pairs)
            print(
                f"| {count:,} | {each:.2f} | {own_each:.2f} | {ratio:.2f} | {start:.2f} | {own_start:.2f} |", flush=True
            )
    site = replace(site_of_stack(STACK), contents_of=lambda text: known.get(text.rpartition(":")[2]))
    print(f"\nthe stack policy, 5,000 pods on 200 pools: {stack_seconds(site, 5000, 200):.1f} s")


if __name__ == "__main__":
    main()
