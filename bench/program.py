"""Measures a stack's program alone: started as the language host starts it, without an engine or a lab.

    python bench/program.py [STACK…] [--groups 10 --groups 200] [--tree OTHER_TREE]…     default dsmlp-fall, 200 groups

A stand-in for the engine in this process takes every resource of a preview and answers with its inputs. With --tree,
the programs of several working trees run in turn, so that a busy machine is busy for all of them. Shown are medians of
--runs and the least: processor seconds of the program and its threads, imports included. `--groups` are stacks of EKS
with that many node groups, those of node_groups.py; they need the extra `aws`.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import grpc
import yaml
from google.protobuf import empty_pb2, json_format, struct_pb2
from node_groups import stack_file
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2, resource_pb2, resource_pb2_grpc

PROJECT = Path(__file__).resolve().parent.parent
# What the SDK's exec script does; it is not in the package.
START = """
import asyncio, os, runpy, sys
from concurrent.futures import ThreadPoolExecutor
import pulumi, pulumi.runtime
pulumi.runtime.set_all_config(pulumi.runtime.get_config_env(), pulumi.runtime.get_config_secret_keys_env())
pulumi.runtime.configure(pulumi.runtime.Settings(
    monitor=sys.argv[1], engine=sys.argv[1], project="gpu-commons", stack=sys.argv[2], parallel=16, dry_run=True,
    organization="organization", root_directory=os.getcwd()))
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
loop.set_default_executor(ThreadPoolExecutor(64))
sys.path.insert(0, os.getcwd())
loop.run_until_complete(pulumi.runtime.run_in_stack(lambda: runpy.run_path("__main__.py", run_name="__main__")))
"""
OFFERED = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"
FEATURES = ("secrets", "resourceReferences", "outputValues", "aliasSpecs", "deletedWith", "sendsInvokeDependencies")


class Monitor(resource_pb2_grpc.ResourceMonitorServicer):
    """Takes every resource; its outputs are its inputs, as in a preview."""

    def __init__(self) -> None:
        self.resources = 0

    def SupportsFeature(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802 - names of the contract
        return resource_pb2.SupportsFeatureResponse(hasSupport=request.id in FEATURES)

    def GetDeploymentInfo(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "asked feature by feature")

    def RegisterResource(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802
        self.resources += 1
        urn = f"urn:pulumi:bench::gpu-commons::{request.type}::{request.name}"
        return resource_pb2.RegisterResourceResponse(urn=urn, object=request.object)

    def ReadResource(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802
        found = struct_pb2.Struct()
        found.update({"metadata": {"labels": {}}})
        urn = f"urn:pulumi:bench::gpu-commons::{request.type}::{request.name}"
        return resource_pb2.ReadResourceResponse(urn=urn, properties=found)

    def RegisterResourceOutputs(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802
        return empty_pb2.Empty()

    def SignalAndWaitForShutdown(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802
        given = json_format.MessageToDict(request.args)
        answer: dict[str, Any] = {"id": "found", **given}
        if request.tok == OFFERED:
            types = given["filters"][0]["values"]
            zones = [f"{given['region']}{letter}" for letter in "abc"]
            pairs = [(each, zone) for each in types for zone in zones]
            answer |= {"instanceTypes": [pair[0] for pair in pairs], "locations": [pair[1] for pair in pairs]}
        found = struct_pb2.Struct()
        found.update(answer)
        named: Any = {"return": found}  # also a Python keyword
        return provider_pb2.InvokeResponse(**named)


class Engine(engine_pb2_grpc.EngineServicer):
    """Prints errors and nothing else."""

    def Log(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802
        if request.severity == engine_pb2.ERROR:
            print(request.message, file=sys.stderr)
        return empty_pb2.Empty()

    def GetRootResource(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802
        return engine_pb2.GetRootResourceResponse()

    def SetRootResource(self, request: Any, context: Any) -> Any:  # noqa: ARG002, N802
        return engine_pb2.SetRootResourceResponse()


@contextmanager
def serving() -> Iterator[tuple[str, Monitor]]:
    """The stand-in, and its address."""
    limits = [(f"grpc.max_{way}_message_length", -1) for way in ("send", "receive")]
    server = grpc.server(futures.ThreadPoolExecutor(32), options=limits)
    monitor = Monitor()
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(monitor, server)
    engine_pb2_grpc.add_EngineServicer_to_server(Engine(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}", monitor
    finally:
        server.stop(None)


def config_of(stack: Mapping[str, Any]) -> dict[str, str]:
    """Configuration as the engine passes it: each value as text."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in stack["config"].items()}


def preview(tree: Path, stack: str, config: Mapping[str, str], folder: Path) -> tuple[float, int]:
    """Run the program once: its processor seconds, and how many resources it registered."""
    with serving() as (address, monitor):
        env = {
            **os.environ,
            "PULUMI_CONFIG": json.dumps(config),
            "PULUMI_CONFIG_SECRET_KEYS": "[]",
            "GPU_COMMONS_STACKS": str(folder),
            "GPU_COMMONS_WITHOUT_POLICIES": "a measurement",
        }
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise every run would compile every module again
        python = str(tree / ".venv" / "bin" / "python")
        before = _children_s()
        subprocess.run([python, "-u", "-c", START, address, stack], cwd=tree, env=env, check=True)
        return _children_s() - before, monitor.resources


def _children_s() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


@click.command()
@click.argument("stacks", nargs=-1)
@click.option("--groups", "counts", multiple=True, type=int)
@click.option("--tree", "trees", multiple=True, type=click.Path(path_type=Path, exists=True, resolve_path=True))
@click.option("--runs", default=5, show_default=True)
def main(stacks: Sequence[str], counts: Sequence[int], trees: Sequence[Path], runs: int) -> None:
    """Print the table."""
    files = {name: yaml.safe_load((PROJECT / "stacks" / f"Pulumi.{name}.yaml").read_text()) for name in stacks}
    files |= {f"groups-{count}": stack_file(count) for count in counts}
    if not files:
        name = "dsmlp-fall"
        files = {name: yaml.safe_load((PROJECT / "stacks" / f"Pulumi.{name}.yaml").read_text())}
        files["groups-200"] = stack_file(200)
    print("| stack | tree | resources | processor s, median | least |")
    print("| --- | --- | --- | --- | --- |")
    with TemporaryDirectory(prefix="gc-") as temporary:
        folder = Path(temporary)
        for name, stack in files.items():
            (folder / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump(stack, sort_keys=False))
            config = config_of(stack)
            found: dict[Path, list[tuple[float, int]]] = {tree: [] for tree in trees or (PROJECT,)}
            for _ in range(runs):
                for tree, times in found.items():
                    times.append(preview(tree, name, config, folder))
            for tree, times in found.items():
                seconds = [each for each, _ in times]
                middle = f"{statistics.median(seconds):.2f} | {min(seconds):.2f}"
                print(f"| {name} | {tree.name} | {times[0][1]} | {middle} |", flush=True)


if __name__ == "__main__":
    main()
