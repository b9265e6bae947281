"""What the engine says of the run that a pack looks at: is it a preview, and what was the pack configured with?

The engine says it before the first resource. Version 1.21 of the SDK drops the first (`ConfigureStack`), and gives the
second (`Configure`) to each policy for itself and only with a resource. So both handlers are wrapped before the pack
is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import policy as sdk

from components.problems import SettingsError
from policies.configuration import Given
from policies.proxies import plain

_said: dict[str, bool] = {}


def listen(configure: Callable[[Mapping[str, Given]], None]) -> None:
    """Remember what the engine says. To be called before the pack is made.

    `configure` takes what was given for each policy; a SettingsError of it ends the run before the first resource.
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
        _said["is_preview"] = bool(request.dry_run)
        return configured_stack(self, request, context)

    servicer.Configure = configuring  # type: ignore[method-assign]
    servicer.ConfigureStack = remembering  # type: ignore[method-assign,assignment]


def _given(config: Any) -> Given:
    level = analyzer_pb2.EnforcementLevel.Name(config.enforcementLevel).lower()
    return Given(level, plain(MessageToDict(config.properties)))


def is_preview() -> bool:
    """True also where nobody said: what cannot be known in a preview then warns."""
    return _said.get("is_preview", True)
