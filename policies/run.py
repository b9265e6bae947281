"""What the engine says of a run and version 1.21 of the SDK drops or hides: is it a preview, with what was the pack
configured, which values are secrets?

The SDK drops the first (`ConfigureStack`), gives the second (`Configure`) to each policy for itself and only with a
resource, and unwraps the third (`Analyze`). So its handlers are wrapped before the pack is made. It also converts each
resource anew for each policy, which takes longer than all rules together: what no policy looks at is left out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import policy as sdk

from components.problems import SettingsError
from policies import phase
from policies.configuration import Given
from policies.proxies import plain
from policies.redaction import secret_words

_secrets: ContextVar[Mapping[str, frozenset[str]]] = ContextVar("secrets")


def _everything(_: str) -> bool:
    return True


def listen(configure: Callable[[Mapping[str, Given]], None], looks_at: Callable[[str], bool] = _everything) -> None:
    """Remember what the engine says. To be called before the pack is made.

    `configure` takes what was given for each policy; a SettingsError of it ends the run before the first resource.
    `looks_at` says of a type whether any policy looks at its resources; all others pass.
    """
    servicer = sdk._PolicyAnalyzerServicer  # noqa: SLF001 - there is no other place to hear it
    configured: Any = servicer.Configure
    configured_stack = servicer.ConfigureStack

    def configuring(self: Any, request: Any, context: Any) -> Any:
        try:
            configure({name: _given(each) for name, each in request.policyConfig.items()})
        except SettingsError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        return configured(self, request, context)

    def remembering(self: Any, request: Any, context: Any) -> Any:
        phase.remember(is_preview=bool(request.dry_run))
        return configured_stack(self, request, context)

    servicer.Configure = configuring  # type: ignore[method-assign]
    servicer.ConfigureStack = remembering  # type: ignore[method-assign,assignment]
    analyzed = _with_secrets(servicer.Analyze, lambda request: (request,))
    analyzed_stack = _with_secrets(servicer.AnalyzeStack, lambda request: request.resources)

    def analyzing(self: Any, request: Any, context: Any) -> Any:
        return analyzed(self, request, context) if looks_at(request.type) else analyzer_pb2.AnalyzeResponse()

    def analyzing_stack(self: Any, request: Any, context: Any) -> Any:
        resources = [each for each in request.resources if looks_at(each.type)]
        return analyzed_stack(self, analyzer_pb2.AnalyzeStackRequest(resources=resources), context)

    servicer.Analyze = analyzing  # type: ignore[method-assign]
    servicer.AnalyzeStack = analyzing_stack  # type: ignore[method-assign]


def _with_secrets(analyze: Any, resources_of: Callable[[Any], Iterable[Any]]) -> Any:
    """The handler, with the secrets of its request at hand while it runs."""

    def remembering(self: Any, request: Any, context: Any) -> Any:
        token = _secrets.set({each.urn: secret_words(each.properties) for each in resources_of(request)})
        try:
            return analyze(self, request, context)
        finally:
            _secrets.reset(token)

    return remembering


def secrets_of(urn: str) -> frozenset[str]:
    """Texts that no message about this resource may repeat. Empty outside of a call of the engine."""
    return _secrets.get({}).get(urn, frozenset())


def _given(config: Any) -> Given:
    level = analyzer_pb2.EnforcementLevel.Name(config.enforcementLevel).lower()
    return Given(level, plain(MessageToDict(config.properties)))
