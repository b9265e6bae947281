"""Converts state that stand-ins of earlier versions wrote to the format of the plugins.

docker-build adds more defaults and hashes a build context differently, so it would rebuild every image. Here the plugin
computes both, the state is rewritten, and nothing is built. That for Kubernetes looks for an object's last inputs among
its outputs, and would replace or update each object without them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf import json_format, struct_pb2
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from lab import engine, processes, state
from lab.instance import LabError

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.toolchain import Report, Toolchain

PROVIDER: Final = "pulumi:providers:docker-build"
IMAGE: Final = "docker-build:index:Image"
OURS: Final = f"$gpu-commons:index:GpuImage${IMAGE}"  # its tag is a hash of its inputs, so a change still shows
OBJECT: Final = "kubernetes:"
LAST_INPUTS: Final = "__inputs"
MARK: Final = "__pulumi-go-provider-infer"  # the plugin leaves it in its checked inputs
NOBODY: Final = "127.0.0.1:1"  # where the plugin would log to

Values = dict[str, Any]


def adopt(instance: Instance, tools: Toolchain, stack: str, report: Report) -> None:
    """Rewrite a stack's state that stand-ins wrote. Safe to repeat; reads one file if there is nothing to do.

    Raises LabError if plugin or engine do not start or the state cannot be read; the state is then unchanged.
    """
    path = state.stack_file(instance, stack)
    if not path.exists():
        return
    written = _resources(json.loads(path.read_text())["checkpoint"].get("latest"))
    if not needs_adoption(written) and not any(map(lacks_inputs, written)):
        return
    report(f"the state of stack {stack} was written with a stand-in for a plugin: adopting it")
    command, env = [engine.program(instance, tools), "stack"], engine.environment(instance, tools)
    run = functools.partial(processes.run, cwd=engine.PROJECT, env=env)
    exported = json.loads(run([*command, "export", "--stack", stack]))
    resources = _resources(exported["deployment"])
    images, objects = 0, give_inputs(resources)
    if needs_adoption(resources):
        with _plugin(tools, env) as plugin:
            images = rewrite(resources, plugin)
    run([*command, "import", "--stack", stack], stdin=json.dumps(exported))
    report(f"adopted: {objects} objects, and {images} images without a build")


def lacks_inputs(resource: Values) -> bool:
    """Whether it is an object of a cluster that the stand-in wrote."""
    return resource["type"].startswith(OBJECT) and LAST_INPUTS not in resource.get("outputs", {LAST_INPUTS: {}})


def give_inputs(resources: list[Values]) -> int:
    """Put the last inputs of objects where the plugin looks for them, in place; returns how many objects."""
    found = [each for each in resources if lacks_inputs(each)]
    for each in found:
        each["outputs"][LAST_INPUTS] = each.get("inputs", {})
    return len(found)


def needs_adoption(resources: list[Values]) -> bool:
    """Whether the stand-in configured a provider."""
    return any(each["type"] == PROVIDER and MARK not in each.get("inputs", {}) for each in resources)


def rewrite(resources: list[Values], plugin: Plugin) -> int:
    """Give the providers and our images the plugin's inputs and hashes, in place; returns how many images.

    An image that the plugin refuses, for example because its folder is gone, is left to the next update.
    """
    adopted = set()
    for provider in resources:
        if provider["type"] == PROVIDER and MARK not in provider.get("inputs", {}):
            more = plugin.configure(provider["urn"])
            provider["inputs"] = {**provider.get("inputs", {}), **more}
            provider["outputs"] = {**provider.get("outputs", {}), **more}
            adopted.add(f"{provider['urn']}::{provider['id']}")
    images = [each for each in resources if each["type"] == IMAGE and each.get("provider") in adopted]
    ours = [each for each in images if OURS in f"${each['urn'].split('::')[2]}" and not each["inputs"].get("secrets")]
    count = 0
    for image in ours:
        with suppress(RefusedError):
            inputs = plugin.check(image["urn"], image["inputs"])
            found = plugin.context_hash(image["urn"], inputs)
            image["inputs"] = inputs
            image["outputs"] = {**image["outputs"], **inputs, "contextHash": found}
            count += 1
    return count


class RefusedError(Exception):
    """The plugin cannot do it for this image."""


class Plugin:
    """The docker-build plugin as the engine uses it."""

    def __init__(self, stub: provider_pb2_grpc.ResourceProviderStub) -> None:
        self._stub = stub

    def configure(self, urn: str) -> Values:
        """Configure the plugin; returns its additions to a provider's inputs."""
        checked = self._stub.CheckConfig(provider_pb2.CheckRequest(urn=urn, news=_struct({})))
        self._stub.Configure(provider_pb2.ConfigureRequest(args=checked.inputs, acceptSecrets=True))
        return _values(checked.inputs)

    def check(self, urn: str, inputs: Mapping[str, Any]) -> Values:
        """The inputs with the plugin's defaults."""
        request = provider_pb2.CheckRequest(urn=urn, news=_struct(inputs), type=IMAGE, name=_name(urn))
        checked = self._stub.Check(request)
        if checked.failures:
            raise RefusedError("; ".join(f"{each.property}: {each.reason}" for each in checked.failures))
        return _values(checked.inputs)

    def context_hash(self, urn: str, inputs: Mapping[str, Any]) -> str:
        """The hash of the build context: what the preview of an update computes if no input has changed."""
        given = _struct({**inputs, "buildOnPreview": False})
        old = _struct({**inputs, "buildOnPreview": False, "digest": "", "ref": "", "contextHash": ""})
        request = provider_pb2.UpdateRequest(
            urn=urn, id="adopted", olds=old, old_inputs=given, news=given, preview=True, type=IMAGE, name=_name(urn)
        )
        try:
            return str(_values(self._stub.Update(request).properties)["contextHash"])
        except grpc.RpcError as error:
            raise RefusedError(str(error)) from error


@contextmanager
def _plugin(tools: Toolchain, env: Mapping[str, str]) -> Iterator[Plugin]:
    """The plugin as a process, while the block lasts."""
    program = tools.path(tools.pins["docker-build"].programs[0])
    try:
        with (
            processes.plugin([str(program), NOBODY], cwd=engine.PROJECT, env=env) as port,
            grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            yield Plugin(provider_pb2_grpc.ResourceProviderStub(channel))
    except grpc.RpcError as error:
        raise LabError(f"the docker-build plugin: {error.details()}") from error


def _resources(deployment: Mapping[str, Any] | None) -> list[Values]:
    return list((deployment or {}).get("resources") or [])


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _struct(values: Mapping[str, Any]) -> struct_pb2.Struct:
    struct = struct_pb2.Struct()
    json_format.ParseDict(dict(values), struct)
    return struct


def _values(struct: struct_pb2.Struct) -> Values:
    found = json_format.MessageToDict(struct)
    assert isinstance(found, dict)  # noqa: S101 - of a Struct
    return found
