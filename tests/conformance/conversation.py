"""A provider plugin, talked to as the engine talks to it: one process, one resource at a time, plain values."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2, provider_pb2_grpc, status_pb2

from lab.providers.values import from_struct, to_struct

Values = dict[str, Any]
# A cluster that does not answer: nobody listens on port 1.
GONE = """\
apiVersion: v1
kind: Config
current-context: gone
clusters:
- name: gone
  cluster:
    server: https://127.0.0.1:1
contexts:
- name: gone
  context:
    cluster: gone
    user: nobody
users:
- name: nobody
  user:
    token: none
"""
KINDS = {number: name.lower().replace("_", "-") for name, number in provider_pb2.PropertyDiff.Kind.items()}


def landing() -> Values:
    """Where the pods of the cases go: simulated nodes when the environment names them by a label, GPU nodes too.

    The selector keeps DaemonSets away from the nodes without a kubelet that some cases make.
    """
    named = os.environ.get("GPU_COMMONS_TEST_NODE_SELECTOR", "kubernetes.io/os=linux")
    key, _, value = named.partition("=")
    return {"nodeSelector": {key: value}, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}


class Refused(Exception):  # noqa: N818 - it reads as what happened: the plugin refused
    """The plugin answered with an error; nothing was changed."""


class NotReady(Exception):  # noqa: N818 - the same
    """The object was made, but its initialisation failed; the engine would keep it in the state."""

    def __init__(self, details: provider_pb2.ErrorResourceInitFailed) -> None:
        super().__init__("\n".join(details.reasons))
        self.identifier = details.id
        self.properties = from_struct(details.properties)
        self.inputs = from_struct(details.inputs)


@dataclass
class Checked:
    inputs: Values
    failures: list[str]


@dataclass
class Difference:
    """`changes` maps property paths to kinds such as "update" and "update-replace"; `keys` are the outermost ones."""

    changes: dict[str, str]
    keys: list[str]
    replaces: list[str]
    delete_before_replace: bool


@dataclass
class _Engine(engine_pb2_grpc.EngineServicer):
    """The engine's side: keeps what the plugin logs."""

    lines: list[str] = field(default_factory=list)

    def Log(self, request: engine_pb2.LogRequest, context: grpc.ServicerContext) -> empty_pb2.Empty:  # noqa: N802
        del context
        self.lines.append(request.message)
        return empty_pb2.Empty()


class Conversation:
    """One running plugin with one configuration."""

    def __init__(self, executable: Path, config: Mapping[str, Any], folder: Path) -> None:
        self.executable = executable
        self.config = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
        self._engine = _Engine()
        self._server = grpc.server(ThreadPoolExecutor(4))
        engine_pb2_grpc.add_EngineServicer_to_server(self._engine, self._server)
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        self._errors = (folder / f"plugin-{secrets.token_hex(4)}.err").open("w+b")
        # An empty KUBECONFIG: only the configuration may decide which cluster is changed.
        environment = {**os.environ, "KUBECONFIG": "", "HOME": str(folder)}
        self.process = subprocess.Popen(
            [executable, f"127.0.0.1:{port}"], stdout=subprocess.PIPE, stderr=self._errors, env=environment
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        if not first.strip().isdigit():
            raise AssertionError(f"{executable} printed {first!r} instead of its port; {self.stderr()}")
        self._channel = grpc.insecure_channel(f"127.0.0.1:{int(first)}")
        self.stub = provider_pb2_grpc.ResourceProviderStub(self._channel)

    @property
    def log(self) -> list[str]:
        return list(self._engine.lines)

    def stderr(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def configure(self) -> None:
        self.stub.Configure(
            provider_pb2.ConfigureRequest(
                variables={f"kubernetes:config:{key}": value for key, value in self.config.items()},
                args=to_struct(self.config),
                acceptSecrets=True,
                sends_old_inputs=True,
                sends_old_inputs_to_delete=True,
            )
        )

    def close(self) -> int:
        self._channel.close()
        self.process.terminate()
        code = self.process.wait(20)
        self._server.stop(None)
        if self.process.stdout:
            self.process.stdout.close()
        self._errors.close()
        return code

    def cancel(self) -> None:
        self.stub.Cancel(empty_pb2.Empty())

    def check_config(self, config: Mapping[str, Any]) -> Checked:
        urn = "urn:pulumi:stack::project::pulumi:providers:kubernetes::provider"
        with _refusals():
            response = self.stub.CheckConfig(provider_pb2.CheckRequest(urn=urn, news=to_struct(config)))
        return Checked(from_struct(response.inputs), [each.reason for each in response.failures])

    def diff_config(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Difference:
        urn = "urn:pulumi:stack::project::pulumi:providers:kubernetes::provider"
        request = provider_pb2.DiffRequest(
            id="provider", urn=urn, olds=to_struct(old), old_inputs=to_struct(old), news=to_struct(new)
        )
        with _refusals():
            return _difference(self.stub.DiffConfig(request))

    def invoke(self, token: str, arguments: Mapping[str, Any]) -> Values:
        with _refusals():
            response = self.stub.Invoke(provider_pb2.InvokeRequest(tok=token, args=to_struct(arguments)))
        return from_struct(getattr(response, "return"))

    def resource(self, kind: str, name: str = "thing") -> Resource:
        return Resource(self, f"kubernetes:{kind}", name)


class Resource:
    """One resource of a stack and its state, moved on as the engine would."""

    def __init__(self, plugin: Conversation, kind: str, name: str) -> None:
        self._plugin = plugin
        self.type = kind
        self.name = name
        self.urn = f"urn:pulumi:stack::conformance::{kind}::{name}"
        self.id = ""
        self.inputs: Values = {}
        self.outputs: Values = {}

    def check(self, inputs: Values, *, is_new: bool | None = None) -> Checked:
        olds = {} if (not self.id if is_new is None else is_new) else self.inputs
        request = provider_pb2.CheckRequest(
            urn=self.urn, olds=to_struct(olds), news=to_struct(inputs), randomSeed=secrets.token_bytes(32)
        )
        with _refusals():
            response = self._plugin.stub.Check(request)
        return Checked(from_struct(response.inputs), [each.reason for each in response.failures])

    def checked(self, inputs: Values) -> Values:
        found = self.check(inputs)
        assert not found.failures, found.failures
        return found.inputs

    def diff(self, inputs: Values) -> Difference:
        """What would change if the program passed `inputs` now."""
        request = provider_pb2.DiffRequest(
            id=self.id,
            urn=self.urn,
            olds=to_struct(self.outputs),
            old_inputs=to_struct(self.inputs),
            news=to_struct(self.checked(inputs)),
        )
        with _refusals():
            return _difference(self._plugin.stub.Diff(request))

    def preview(self, inputs: Values) -> Values:
        """The outputs that a preview of a create, or of an update in place, promises."""
        news = self.checked(inputs)
        with _refusals():
            if not self.id:
                request = provider_pb2.CreateRequest(urn=self.urn, properties=to_struct(news), preview=True)
                return from_struct(self._plugin.stub.Create(request).properties)
            return from_struct(self._plugin.stub.Update(self._update(news, 0, (), preview=True)).properties)

    def create(self, inputs: Values, timeout_s: float = 0) -> Values:
        """Check and Create; the outputs."""
        assert not self.id, "it exists already"
        news = self.checked(inputs)
        with self._kept(news), _refusals():
            request = provider_pb2.CreateRequest(urn=self.urn, properties=to_struct(news), timeout=timeout_s)
            response = self._plugin.stub.Create(request)
            self.id, self.outputs = response.id, from_struct(response.properties)
        return self.outputs

    def create_later(self, inputs: Values) -> Future[Values]:
        """`create` on a thread of its own."""
        done: Future[Values] = Future()

        def run() -> None:
            try:
                done.set_result(self.create(inputs))
            except (Refused, NotReady) as error:
                done.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return done

    def update(self, inputs: Values, timeout_s: float = 0, ignore_changes: tuple[str, ...] = ()) -> Values:
        """Check and Update in place; the outputs."""
        news = self.checked(inputs)
        with self._kept(news), _refusals():
            response = self._plugin.stub.Update(self._update(news, timeout_s, ignore_changes, preview=False))
            self.outputs = from_struct(response.properties)
        return self.outputs

    def read(self, identifier: str = "") -> bool:
        """Refresh, or with an id: import. False when it is not there; then the state is empty."""
        request = provider_pb2.ReadRequest(id=identifier or self.id, urn=self.urn)
        if not identifier:
            request.properties.CopyFrom(to_struct(self.outputs))
            request.inputs.CopyFrom(to_struct(self.inputs))
        with _refusals():
            response = self._plugin.stub.Read(request)
        self.id = response.id
        self.outputs, self.inputs = from_struct(response.properties), from_struct(response.inputs)
        return bool(self.id)

    def delete(self, timeout_s: float = 0) -> None:
        request = provider_pb2.DeleteRequest(
            id=self.id,
            urn=self.urn,
            properties=to_struct(self.outputs),
            old_inputs=to_struct(self.inputs),
            timeout=timeout_s,
        )
        with _refusals():
            self._plugin.stub.Delete(request)
        self.id = ""

    def _update(
        self, news: Values, timeout_s: float, ignore_changes: tuple[str, ...], *, preview: bool
    ) -> provider_pb2.UpdateRequest:
        return provider_pb2.UpdateRequest(
            id=self.id,
            urn=self.urn,
            olds=to_struct(self.outputs),
            old_inputs=to_struct(self.inputs),
            news=to_struct(news),
            timeout=timeout_s,
            ignoreChanges=ignore_changes,
            preview=preview,
        )

    @contextlib.contextmanager
    def _kept(self, news: Values) -> Iterator[None]:
        """After success and after a partial failure the engine keeps the new inputs."""
        try:
            yield
        except NotReady as error:
            self.id, self.outputs, self.inputs = error.identifier or self.id, error.properties, news
            raise
        self.inputs = news


def _difference(response: provider_pb2.DiffResponse) -> Difference:
    changes = {path: KINDS[each.kind] for path, each in response.detailedDiff.items()}
    if response.changes == provider_pb2.DiffResponse.DIFF_NONE:
        assert not changes, "no change, and yet a detailed diff"
        assert not response.diffs, "no change, and yet keys that changed"
    return Difference(changes, sorted(response.diffs), sorted(response.replaces), response.deleteBeforeReplace)


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except grpc.RpcError as error:
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                status = status_pb2.Status.FromString(value)
                for each in status.details:
                    details = provider_pb2.ErrorResourceInitFailed()
                    if each.Unpack(details):
                        raise NotReady(details) from error
        raise Refused(f"{error.code().name}: {error.details()}") from error
