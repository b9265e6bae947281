"""Converts live objects to Pulumi's outputs and inputs: kept, secret and unknown values. Pure."""

from __future__ import annotations

import base64
from typing import Any, Final

from lab.providers.kubernetes.kinds import ObjectKind
from lab.providers.kubernetes.naming import MANAGER_STATE_KEY
from lab.providers.values import UNKNOWN, Properties, Secret, has_secret, marked_like, plain

INITIAL_VERSION_STATE_KEY: Final = "__initialApiVersion"
IMPORTED_INPUTS_KEY: Final = "__imported"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
# What the server writes into metadata; never an input.
SERVER_METADATA: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)


def outputs(live: Properties, inputs: Properties, *, manager: str, initial_version: str) -> Properties:
    """The state to keep. Secret inputs are secret here, and so is every Secret's data."""
    metadata = {key: value for key, value in live.get("metadata", {}).items() if key != "managedFields"}
    kept: Properties = marked_like({**live, "metadata": metadata}, inputs)
    if live.get("kind") == "Secret" and live.get("apiVersion") == "v1":
        # Written as stringData, it comes back as data: the inputs' marks would miss it.
        kept = {key: _sealed(value) if key in ("data", "stringData") else value for key, value in kept.items()}
        annotations = metadata.get("annotations", {})
        if LAST_APPLIED in annotations:
            sealed = {**annotations, LAST_APPLIED: _sealed(annotations[LAST_APPLIED])}
            kept["metadata"] = {**kept["metadata"], "annotations": sealed}
    if inputs.get("kind") == "Secret" and "stringData" in inputs and "stringData" not in kept:
        kept["stringData"] = _sealed(inputs["stringData"])
    return {**kept, MANAGER_STATE_KEY: manager, INITIAL_VERSION_STATE_KEY: initial_version}


def was_seen(kept: Properties) -> bool:
    """Whether the server has ever shown the object. Not if a create was sent and its answer was lost."""
    metadata = kept.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("uid"))


def _sealed(value: Any) -> Any:
    return value if value is UNKNOWN or isinstance(value, Secret) else Secret(plain(value))


def previewed(live: Properties, *, is_new: bool) -> Properties:
    """A dry run's answer without what the real run will answer differently."""
    metadata = dict(live.get("metadata", {}))
    for key in SERVER_METADATA if is_new else ("generation", "managedFields", "resourceVersion"):
        if key in metadata:
            metadata[key] = UNKNOWN
    shown = {**live, "metadata": metadata}
    if is_new:
        shown["status"] = UNKNOWN
        if live.get("kind") == "Service" and live.get("apiVersion") == "v1" and isinstance(live.get("spec"), dict):
            shown["spec"] = _unallocated(live["spec"])
    return shown


def _unallocated(spec: Properties) -> Properties:
    """A dry run allocates addresses and ports that the real run will not get again."""
    if spec.get("clusterIP") in (None, "", "None"):
        return spec
    ports = [{**port, "nodePort": UNKNOWN} if "nodePort" in port else port for port in spec.get("ports", [])]
    return {**spec, "clusterIP": UNKNOWN, "clusterIPs": UNKNOWN, "ports": ports}


def echoed(inputs: Properties) -> Properties:
    """The inputs as the answer of a preview that could not ask the server."""
    metadata = inputs.get("metadata", {})
    if isinstance(metadata, dict):
        unknown = dict.fromkeys(("uid", "resourceVersion", "creationTimestamp", "generation"), UNKNOWN)
        return {**inputs, "metadata": {**unknown, **metadata}, "status": UNKNOWN}
    return {**inputs, "status": UNKNOWN}


def imported_inputs(live: Properties, kind: ObjectKind) -> Properties:
    """Inputs for an object created elsewhere: all of it except the server's own fields.

    The mark tells `Diff` that fields the program omits are server defaults, not a wish to remove them.
    """
    metadata = {key: value for key, value in live.get("metadata", {}).items() if key not in SERVER_METADATA}
    kept = {key: value for key, value in live.items() if key != "status"}
    inputs = {
        **kept,
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        IMPORTED_INPUTS_KEY: True,
    }
    if kind == ObjectKind("v1", "Secret"):
        inputs = {key: _sealed(value) if key in ("data", "stringData") else value for key, value in inputs.items()}
    return inputs


def with_drift(inputs: Properties, desired: Properties, live: Properties) -> Properties:
    """The inputs that would give `live`; unchanged if nobody changed the object.

    `desired` is the server's completion of the inputs (a dry run), so that other spellings of the same value (1024Mi
    and 1Gi) are no drift.
    """
    drifted = _drifted(plain(inputs), desired, live)
    if isinstance(drifted.get("stringData"), dict):
        drifted["stringData"] = _drifted_text(drifted["stringData"], desired.get("data", {}), live.get("data", {}))
    return dict(marked_like(drifted, inputs)) if has_secret(inputs) else drifted


def _drifted(inputs: Any, desired: Any, live: Any) -> Any:
    if desired == live:
        return inputs
    if isinstance(inputs, dict) and isinstance(desired, dict) and isinstance(live, dict):
        kept = {}
        for key, value in inputs.items():
            if key not in desired and key not in live:
                kept[key] = value  # write-only, such as stringData
            elif key in live:
                kept[key] = _drifted(value, desired.get(key), live[key])
        return kept
    if isinstance(inputs, list) and isinstance(desired, list) and isinstance(live, list):
        if len(inputs) == len(desired) == len(live):
            return [_drifted(*each) for each in zip(inputs, desired, live, strict=True)]
        return live
    return live


def _drifted_text(text: Properties, desired: Properties, live: Properties) -> Properties:
    """The same for a Secret's stringData, which the server keeps as base64 in data."""
    kept = {}
    for key, value in text.items():
        if desired.get(key) == live.get(key):
            kept[key] = value
        elif key in live:
            kept[key] = base64.b64decode(live[key]).decode(errors="replace")
    return kept


def without_ignored(body: Properties, live: Properties, path: tuple[str | int, ...]) -> Properties:
    """`body` without the field at `path` if the live object has another value there.

    A field in `ignore_changes` belongs to somebody else once it differs (an autoscaler's replicas); applying the old
    value would take it back, or end in a conflict.
    """
    if not path or not isinstance(path[0], str) or path[0] not in body or path[0] not in live:
        return body
    key, rest = path[0], path[1:]
    if not rest:
        return body if body[key] == live[key] else {name: value for name, value in body.items() if name != key}
    if isinstance(body[key], dict) and isinstance(live[key], dict):
        return {**body, key: without_ignored(body[key], live[key], rest)}
    return body
