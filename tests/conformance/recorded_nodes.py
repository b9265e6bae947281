"""A Kubernetes plugin over nodes in a file, as the official plugin answers for them: every read finds a node changed.

Between two reads a kubelet has sent a heartbeat, so that times, resourceVersion and managedFields are others; a patch
adds labels, annotations, taints and an entry in managedFields. A read without old inputs answers with the whole node;
one with old inputs prunes it to what they name. A preview of a new patch repeats its inputs, because the official
plugin asks no server there.

    python recorded_nodes.py NODES.json      NODES.json: {name: Node}
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lab.providers.plugin import Engine, serve
from lab.providers.values import Properties
from lab.providers.vocabulary import Change, Checked, Created, Difference, PluginError, ReadBack, Request

FILE = "RECORDED_NODES"
Node = dict[str, Any]
_lock = threading.Lock()


class RecordedNodes:
    """Node and NodePatch of a cluster that is a file."""

    def __init__(self, engine: Engine) -> None:
        del engine
        self._file = Path(os.environ[FILE])

    def check_config(self, request: Request) -> Checked:
        return Checked(request.inputs)

    def diff_config(self, request: Request) -> Difference:
        del request
        return Difference()

    def configure(self, config: Properties) -> None: ...

    def check(self, request: Request) -> Checked:
        return Checked(request.inputs)

    def diff(self, request: Request) -> Difference:
        keys = {*request.old_inputs, *request.inputs}
        return Difference(
            {key: Change.UPDATE for key in keys if request.old_inputs.get(key) != request.inputs.get(key)}
        )

    def create(self, request: Request) -> Created:
        if request.is_preview:
            return Created("", request.inputs)
        name = request.inputs["metadata"]["name"]
        return Created(name, self._change(name, lambda node: patched(node, request.inputs)))

    def update(self, request: Request) -> Properties:
        return request.inputs if request.is_preview else self.create(request).properties

    def read(self, request: Request) -> ReadBack | None:
        with _lock:
            if request.identifier not in json.loads(self._file.read_text()):
                return None
        node = self._change(request.identifier, with_heartbeat)
        return ReadBack(request.identifier, node, pruned(node, request.old_inputs))

    def delete(self, request: Request) -> None: ...

    def invoke(self, token: str, arguments: Properties) -> Properties:
        raise PluginError(f"{token} {arguments}: nobody should ask")

    def _change(self, name: str, change: Callable[[Node], Node]) -> Node:
        with _lock:
            nodes = json.loads(self._file.read_text())
            nodes[name] = change(nodes.get(name, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))
            self._file.write_text(json.dumps(nodes))
        return dict(nodes[name])


def patched(node: Node, patch: Mapping[str, Any]) -> Node:
    """The node after a server-side apply of `patch`."""
    metadata = dict(node["metadata"])
    for key in ("labels", "annotations"):
        metadata[key] = {**metadata.get(key, {}), **patch["metadata"].get(key, {})}
    spec = {**node.get("spec", {}), **(patch.get("spec") or {})}
    return _written({**node, "metadata": metadata, "spec": spec}, "pulumi-kubernetes-1a2b3c4d", "Apply")


def with_heartbeat(node: Node) -> Node:
    """The node after its kubelet's next word."""
    status = dict(node.get("status", {}))
    number = int(node["metadata"].get("resourceVersion", "0"))
    beat = f"2026-09-01T08:{number // 60 % 60:02d}:{number % 60:02d}Z"
    status["conditions"] = [{**each, "lastHeartbeatTime": beat} for each in status.get("conditions", [])]
    return _written({**node, "status": status}, "kubelet", "Update")


def _written(node: Node, manager: str, operation: str) -> Node:
    metadata = node["metadata"]
    version = int(metadata.get("resourceVersion", "0")) + 1
    others = [each for each in metadata.get("managedFields", []) if each["manager"] != manager]
    entry = {"manager": manager, "operation": operation, "apiVersion": "v1", "time": f"2026-09-01T09:00:{version:02d}Z"}
    return {**node, "metadata": {**metadata, "resourceVersion": str(version), "managedFields": [*others, entry]}}


def pruned(live: Any, shape: Any) -> Any:
    """What of `live` has a place in `shape`; all of a list."""
    if isinstance(live, dict) and isinstance(shape, dict):
        return {key: pruned(live[key], value) for key, value in shape.items() if key in live}
    return live


if __name__ == "__main__":
    os.environ[FILE] = sys.argv.pop(1)
    serve("4.34.2", RecordedNodes)
