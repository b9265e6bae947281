"""The gRPC service: each call of the contract; the other modules decide."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import shutil
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2, plugin_pb2
from pulumi.runtime.proto.language_pb2_grpc import LanguageRuntimeServicer

from lab.language_host import commands, packages
from lab.language_host.children import Children, Output, Stream, read_output
from lab.language_host.commands import Addresses, Command
from lab.language_host.environment import Environment, EnvironmentFault, Toolchain, parse_environment

Context = Any  # grpc.aio's context; its published types are those of the synchronous server
OFFICIAL = "is part of the official Pulumi release (https://www.pulumi.com/docs/install/), not of this stand-in"


class LanguageHost(LanguageRuntimeServicer):
    """LanguageRuntime for Python. A user's mistake becomes an error of the call, never a traceback of ours."""

    def __init__(self, addresses: Addresses, children: Children) -> None:
        self._addresses = addresses
        self._children = children
        self._abortable: set[Process] = set()  # programs and installations; the engine itself ends plug-ins
        self._is_cancelled = False

    async def Handshake(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802 - names of the contract
        return language_pb2.LanguageHandshakeResponse()

    async def GetPluginInfo(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802
        # The contract's version is that of the SDK with our stubs; the engine lists it as the host's version.
        return plugin_pb2.PluginInfo(version=importlib.metadata.version("pulumi"))

    async def GetRequiredPackages(self, request: Any, context: Context) -> Any:  # noqa: N802
        async with _faults_refused(context):
            required = packages.required_plugins(await self._site_packages(_environment(request.info)))
            plugins = packages.obtainable(required, os.environ)
        return language_pb2.GetRequiredPackagesResponse(packages=[_package_dependency(plugin) for plugin in plugins])

    async def Run(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802
        """Run a program to its end. Its output goes to ours; the engine shows it."""
        if request.attach_debugger:
            return language_pb2.RunResponse(error=f"starting a program under a debugger {OFFICIAL}")
        try:
            environment = _environment(request.info)
            command = commands.run_command(request, environment, self._addresses, os.environ)
            if errors := await self._typecheck(environment):
                return language_pb2.RunResponse(error=errors)
            process = await self._start_abortable(command, Output.INHERIT)
        except EnvironmentFault as fault:
            return language_pb2.RunResponse(error=str(fault))
        try:
            code = await process.wait()
        finally:
            await self._children.end(process)
        if code == commands.EXIT_SHOWN or (code and self._is_cancelled):
            return language_pb2.RunResponse(bail=True)
        return language_pb2.RunResponse(error=_ending("the program", code) if code else "")

    async def RunPlugin(self, request: Any, context: Context) -> AsyncIterator[Any]:  # noqa: N802
        """Run a pack or a plug-in until it ends or the engine closes the stream."""
        if request.attach_debugger:
            await _refuse(context, grpc.StatusCode.UNIMPLEMENTED, f"starting a plug-in under a debugger {OFFICIAL}")
        async with _faults_refused(context):
            process = await self._start(commands.plugin_command(request, _environment(request.info)), Output.CAPTURE)
        try:
            async for stream, piece in read_output(process):
                yield (
                    language_pb2.RunPluginResponse(stdout=piece)
                    if stream is Stream.STDOUT
                    else language_pb2.RunPluginResponse(stderr=piece)
                )
            yield language_pb2.RunPluginResponse(exitcode=await process.wait())
        finally:
            await self._children.end(process)

    async def InstallDependencies(self, request: Any, context: Context) -> AsyncIterator[Any]:  # noqa: N802
        response = language_pb2.InstallDependenciesResponse
        async with _faults_refused(context):
            environment = _environment(request.info)
            uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
            for command in commands.install_commands(environment, os.environ, uv):
                yield response(stdout=f"{' '.join(command.argv)}\n".encode())
                process = await self._start_abortable(command, Output.CAPTURE)
                try:
                    async for stream, piece in read_output(process):
                        yield response(stdout=piece) if stream is Stream.STDOUT else response(stderr=piece)
                    code = await process.wait()
                finally:
                    await self._children.end(process)
                if code:
                    message = f"{_ending(' '.join(command.argv), code)} in {command.cwd}"
                    await _refuse(context, grpc.StatusCode.FAILED_PRECONDITION, message)

    async def GetProgramDependencies(self, request: Any, context: Context) -> Any:  # noqa: N802
        async with _faults_refused(context):
            environment = _environment(request.info)
            if environment.toolchain is Toolchain.UV and environment.lock:
                found = packages.locked(environment.lock, is_transitive=request.transitiveDependencies)
            else:
                found = packages.installed(await self._site_packages(environment))
                found = found if request.transitiveDependencies else packages.without_required(found)
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[language_pb2.DependencyInfo(name=one.name, version=one.version) for one in found]
        )

    async def About(self, request: Any, context: Context) -> Any:  # noqa: N802
        async with _faults_refused(context):
            environment = _environment(request.info)
            question = "import platform, sys; print(sys.executable); print(platform.python_version())"
            executable, version = (await self._ask_python(environment, question)).splitlines()
        metadata = {"toolchain": str(environment.toolchain), "virtualenv": str(environment.virtualenv or "none")}
        metadata["language host"] = "gpu-commons stand-in for pulumi-language-python"
        return language_pb2.AboutResponse(executable=executable, version=version, metadata=metadata)

    async def RuntimeOptionsPrompts(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802
        """The question of `pulumi new`: the toolchain, if the yaml has none."""
        prompt = language_pb2.RuntimeOptionPrompt
        choices = [
            prompt.RuntimeOptionValue(promptType=prompt.STRING, stringValue=str(toolchain), displayName=str(toolchain))
            for toolchain in (Toolchain.UV, Toolchain.PIP)
        ]
        choosable = [
            prompt(
                key="toolchain",
                description="The toolchain to use for installing dependencies and running the program",
                promptType=prompt.STRING,
                choices=choices,
                default=choices[0],
            )
        ]
        return language_pb2.RuntimeOptionsResponse(prompts=[] if "toolchain" in request.info.options else choosable)

    async def Template(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802 - nothing to convert
        return language_pb2.TemplateResponse()

    async def Cancel(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802
        """Stop programs and installations. They end silently: whoever cancelled knows."""
        self._is_cancelled = True
        await asyncio.gather(*(self._children.end(process) for process in self._abortable))
        return Empty()

    async def GenerateProgram(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802
        await _refuse(context, grpc.StatusCode.UNIMPLEMENTED, f"generating programs {OFFICIAL}")

    async def GenerateProject(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802
        await _refuse(context, grpc.StatusCode.UNIMPLEMENTED, f"generating projects {OFFICIAL}")

    async def GeneratePackage(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802
        await _refuse(context, grpc.StatusCode.UNIMPLEMENTED, f"generating SDKs {OFFICIAL}")

    async def Pack(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802
        await _refuse(context, grpc.StatusCode.UNIMPLEMENTED, f"packing SDKs {OFFICIAL}")

    async def Link(self, request: Any, context: Context) -> Any:  # noqa: ARG002, N802
        await _refuse(context, grpc.StatusCode.UNIMPLEMENTED, f"linking SDKs {OFFICIAL}")

    async def _site_packages(self, environment: Environment) -> list[Path]:
        if environment.virtualenv:
            environment.python(os.environ)  # says what to do if it is missing
            return packages.site_packages(environment.virtualenv)
        output = await self._ask_python(environment, "import json, sys; print(json.dumps(sys.path))")
        return [Path(entry) for entry in json.loads(output)]

    async def _typecheck(self, environment: Environment) -> str:
        """The type checker's errors; empty if there are none or no check was requested."""
        command = commands.typecheck_command(environment, os.environ)
        if command is None:
            return ""
        code, text = await self._collect(command)
        return f"{environment.typechecker} found faults in {environment.program}:\n{text}" if code else ""

    async def _ask_python(self, environment: Environment, program: str) -> str:
        python = environment.python(os.environ)
        env = environment.activated(os.environ)
        code, text = await self._collect(Command([str(python), "-c", program], environment.program, env))
        if code:
            raise EnvironmentFault(f"{python} does not run: {text}")
        return text

    async def _collect(self, command: Command) -> tuple[int, str]:
        process = await self._start(command, Output.CAPTURE)
        try:
            pieces = [piece async for _, piece in read_output(process)]
            return await process.wait(), b"".join(pieces).decode(errors="replace").strip()
        finally:
            await self._children.end(process)

    async def _start_abortable(self, command: Command, output: Output) -> Process:
        process = await self._start(command, output)
        self._abortable.add(process)
        if self._is_cancelled:  # while it started
            await self._children.end(process)
        return process

    async def _start(self, command: Command, output: Output) -> Process:
        try:
            return await self._children.start(command.argv, cwd=command.cwd, env=command.env, output=output)
        except OSError as error:
            raise EnvironmentFault(f"{command.argv[0]} cannot be started: {error}") from error


@asynccontextmanager
async def _faults_refused(context: Context) -> AsyncIterator[None]:
    """A mistake the user can fix ends the call with a message."""
    try:
        yield
    except EnvironmentFault as fault:
        await _refuse(context, grpc.StatusCode.FAILED_PRECONDITION, str(fault))


async def _refuse(context: Context, code: grpc.StatusCode, message: str) -> NoReturn:
    """End the call with this error. Nothing runs after it: grpc leaves the handler by its own exception."""
    await context.abort(code, message)
    raise AssertionError(message)


def _environment(info: Any, environ: Mapping[str, str] = os.environ) -> Environment:
    program = Path(info.program_directory or info.root_directory)
    options = {name: info.options[name] for name in info.options}
    return parse_environment(Path(info.root_directory or program), program, options, environ)


def _package_dependency(plugin: packages.RequiredPlugin) -> Any:
    parameters = plugin.parameterization
    message = plugin_pb2.PackageParameterization
    return plugin_pb2.PackageDependency(
        name=plugin.name,
        kind="resource",
        version=plugin.version,
        server=plugin.server,
        parameterization=message(name=parameters.name, version=parameters.version, value=parameters.value)
        if parameters
        else None,
    )


def _ending(what: str, code: int) -> str:
    return f"{what} was ended by signal {-code}" if code < 0 else f"{what} ended with exit code {code}"
