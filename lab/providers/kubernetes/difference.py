"""Compares old and new inputs, path by path, and finds changes that need a new object. Pure."""

from __future__ import annotations

import base64
import re
from typing import Any, Final

from lab.providers.kubernetes.kinds import ObjectKind
from lab.providers.kubernetes.naming import is_autonamed
from lab.providers.paths import Path, bare, changes_between, render, replacing
from lab.providers.values import Properties, without_nulls
from lab.providers.vocabulary import Change, Difference

# Fields that the API server never changes in place. The server's own dry run finds those missing here
# (see `lab.providers.kubernetes.provider`); this table is for previews without a server or with unknown values.
ALWAYS: Final[tuple[Path, ...]] = (("kind",), ("metadata", "name"), ("metadata", "namespace"))
BY_KIND: Final[dict[tuple[str, str], tuple[Path, ...]]] = {
    ("apps", "Deployment"): (("spec", "selector"),),
    ("apps", "DaemonSet"): (("spec", "selector"),),
    ("apps", "ReplicaSet"): (("spec", "selector"),),
    ("apps", "StatefulSet"): (
        ("spec", "selector"),
        ("spec", "serviceName"),
        ("spec", "podManagementPolicy"),
        ("spec", "volumeClaimTemplates"),
    ),
    ("batch", "Job"): (("spec", "selector"), ("spec", "template"), ("spec", "completionMode")),
    ("", "PersistentVolumeClaim"): (
        ("spec", "accessModes"),
        ("spec", "selector"),
        ("spec", "storageClassName"),
        ("spec", "volumeMode"),
        ("spec", "volumeName"),
        ("spec", "dataSource"),
        ("spec", "dataSourceRef"),
    ),
    ("", "Pod"): (
        ("spec", "nodeName"),
        ("spec", "nodeSelector"),
        ("spec", "restartPolicy"),
        ("spec", "serviceAccountName"),
        ("spec", "volumes"),
        ("spec", "affinity"),
        ("spec", "hostNetwork"),
        ("spec", "runtimeClassName"),
    ),
    ("", "Secret"): (("type",),),
    ("node.k8s.io", "RuntimeClass"): (("handler",),),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (("roleRef",),),
    ("rbac.authorization.k8s.io", "RoleBinding"): (("roleRef",),),
    ("scheduling.k8s.io", "PriorityClass"): (("value",), ("preemptionPolicy",)),
    ("storage.k8s.io", "StorageClass"): (
        ("provisioner",),
        ("parameters",),
        ("reclaimPolicy",),
        ("volumeBindingMode",),
    ),
}
DATA: Final[tuple[Path, ...]] = (("data",), ("binaryData",), ("stringData",))


def compare(
    kind: ObjectKind, old: Properties, new: Properties, *, config_map_mutable: bool, secret_mutable: bool
) -> Difference:
    """The difference of an object's inputs. An unknown new value counts as a change."""
    sides = without_nulls(old), without_nulls(new)
    if kind.kind == "Secret" and not kind.group and all(map(_is_readable_secret, sides)):
        sides = _as_kept(sides[0]), _as_kept(sides[1])
    changes = dict(changes_between((), *sides))
    fixed = immutable_paths(kind, old, config_map_mutable=config_map_mutable, secret_mutable=secret_mutable)
    detailed = {
        render(path): replacing(change) if any(_overlap(path, each) for each in fixed) else change
        for path, change in changes.items()
    }
    return finished(detailed, old, new)


def _is_readable_secret(inputs: Properties) -> bool:
    return all(isinstance(bare(inputs.get(key, {})), dict) for key in ("stringData", "data"))


def _as_kept(inputs: Properties) -> Properties:
    """A Secret's `stringData` in its `data`, in base64: where the server stores it."""
    if "stringData" not in inputs:
        return inputs
    encoded = {
        key: base64.b64encode(value.encode()).decode() if isinstance(value := bare(each), str) else value
        for key, each in bare(inputs["stringData"]).items()
    }
    kept = {key: value for key, value in inputs.items() if key != "stringData"}
    return {**kept, "data": {**bare(inputs.get("data", {})), **encoded}}


def finished(changes: dict[str, Change], old: Properties, new: Properties) -> Difference:
    """The whole answer: an object that keeps its given name is deleted before its replacement."""
    replaced = any(change.replaces for change in changes.values())
    return Difference(changes, delete_before_replace=replaced and not is_autonamed(new) and _place(old) == _place(new))


def immutable_paths(
    kind: ObjectKind, old: Properties, *, config_map_mutable: bool, secret_mutable: bool
) -> tuple[Path, ...]:
    if kind.is_patch:  # a patch cannot replace an object that it does not own
        return (("metadata", "name"), ("metadata", "namespace"))
    paths = ALWAYS + BY_KIND.get((kind.group, kind.kind), ())
    is_data = (kind.kind == "ConfigMap" and not config_map_mutable) or (kind.kind == "Secret" and not secret_mutable)
    if kind.group == "" and kind.kind in ("ConfigMap", "Secret") and (is_data or old.get("immutable") is True):
        # By default, changed data makes a new object, so that pods that mount it roll out again.
        paths += (*DATA, ("immutable",)) if old.get("immutable") is True else DATA
    return paths


def refused_by_server(changes: dict[str, Change], causes: list[tuple[str, str]]) -> dict[str, Change]:
    """The changes; those that the server's dry run called immutable replace the object.

    `causes` are (field, message) pairs from the server's answer; it often names a parent (`spec`) and not the field.
    """
    fields = [field for field, message in causes if _IMMUTABLE.search(message)]
    return {
        path: replacing(change) if any(_covers(field, path) for field in fields) else change
        for path, change in changes.items()
    }


_IMMUTABLE: Final = re.compile(
    r"immutable|may not be changed|may not change fields|updates to .* are forbidden|Forbidden: updates|"
    r"cannot be changed|is not allowed to be changed",
    re.IGNORECASE,
)


def _covers(field: str, path: str) -> bool:
    return path == field or path.startswith((f"{field}.", f"{field}[")) or field.startswith((f"{path}.", f"{path}["))


def _overlap(path: Path, fixed: Path) -> bool:
    shorter = min(len(path), len(fixed))
    return path[:shorter] == fixed[:shorter]


def _place(inputs: Properties) -> tuple[Any, Any]:
    metadata = inputs.get("metadata")
    return (metadata.get("namespace"), metadata.get("name")) if isinstance(metadata, dict) else (None, None)
