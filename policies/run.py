"""What the engine says of the run that a pack looks at: is it a preview?

The engine says it (`ConfigureStack`), and version 1.21 of the SDK takes it and drops it. So the SDK's handler is
wrapped before the pack is made.
"""

from __future__ import annotations

from typing import Any

from pulumi_policy import policy as sdk

_said: dict[str, bool] = {}


def listen() -> None:
    """Remember what the engine says. To be called before the pack is made."""
    servicer = sdk._PolicyAnalyzerServicer  # noqa: SLF001 - there is no other place to hear it
    configure = servicer.ConfigureStack

    def remembering(self: Any, request: Any, context: Any) -> Any:
        _said["is_preview"] = bool(request.dry_run)
        return configure(self, request, context)

    servicer.ConfigureStack = remembering  # type: ignore[method-assign,assignment]


def is_preview() -> bool:
    """True also where nobody said: what cannot be known in a preview then warns."""
    return _said.get("is_preview", True)
