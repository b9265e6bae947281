"""The builder's log of a failed build: the docker-build plugin sometimes loses the end of its output."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from imaging.build.building import CHECKED_LABEL
from imaging.build.buildkit import stream

if TYPE_CHECKING:
    from imaging.build.buildkit import Buildctl

WITHIN_S = 10


def failed_build(client: Buildctl, name: str) -> list[str]:
    """The output of the newest failed build for that name (`registry/repository:tag`).

    Empty if the builder has none or does not answer.
    """
    found = [record for record in _records(client) if record.get("error") and name in _names(record)]
    if not found:
        return []
    newest = max(found, key=lambda record: (record["CreatedAt"]["seconds"], record["CreatedAt"].get("nanos", 0)))
    # The failing step is repeated below a line of dashes.
    lines = itertools.takewhile(lambda line: not line.startswith("------"), _output(client, ["logs", newest["Ref"]]))
    return [line for line in lines if line.strip()]


def _records(client: Buildctl) -> Iterator[dict[str, Any]]:
    for line in _output(client, ["histories", "--format", "{{json .}}"]):
        if line.startswith("{"):
            yield json.loads(line).get("record") or {}


def _names(record: dict[str, Any]) -> set[str]:
    """What a build exports, or what it checks."""
    exporters = record.get("Exporters") or []
    exported = {name for exporter in exporters for name in (exporter.get("Attrs") or {}).get("name", "").split(",")}
    return exported | {(record.get("FrontendAttrs") or {}).get(f"label:{CHECKED_LABEL}", "")} - {""}


def _output(client: Buildctl, arguments: Sequence[str]) -> list[str]:
    lines: list[str] = []
    ends = time.monotonic() + WITHIN_S
    argv = [str(client.program), "--addr", client.endpoint, "debug", *arguments]
    try:
        code = stream(argv, on_line=lines.append, cancelled=lambda: time.monotonic() > ends, env=client.environment())
    except OSError:
        return []
    return lines if code == 0 else []
