"""Fields of pods outside a pod template: in custom resources, whose operators copy them into their pods. Pure.

Nobody knows which field of which kind reaches a pod. What would be refused there could not be proved here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from components.labels import NVIDIA_CLASSES, NVIDIA_PREFIX
from policies.host_paths import reaches
from policies.visibility import VISIBILITY_VARIABLES, is_hiding

_DEVICES: Final = frozenset({"deviceName", "resourceName"})  # of a virtual machine
_MAKER: Final = re.compile(r"^10de:", re.IGNORECASE)  # NVIDIA, as PCI numbers it
# In what changes pods: what gives them GPUs.
_CHANGES: Final = re.compile(
    r"NVIDIA_|CUDA_VISIBLE|\b(?:runtimeClassName|hostPath|hostPID)\b|\.privileged\b|\bprivileged\W{1,4}true"
    r"|nvidia\.com/|cdi\.k8s\.io|nri\.io",
    re.IGNORECASE,
)


def way_to_gpus(key: str, value: Any) -> str | None:
    """What of one field reaches GPUs past the scheduler. A key may be dotted, as Spark and Flink write theirs."""
    steps = key.split(".")
    last = steps[-1]
    if isinstance(value, Mapping):  # {name: NVIDIA_VISIBLE_DEVICES, value: all}; hostPath: {path: /dev}
        return _variable(value.get("name"), value.get("value")) or (
            _path(value.get("path")) if last == "hostPath" else None
        )
    text = value if isinstance(value, str) else ""
    found = _variable(last, value)
    if last == "privileged" and str(value).lower() == "true":
        found = "is privileged"
    elif last == "runtimeClassName" and text in NVIDIA_CLASSES:
        found = f"has the runtime class {text}"
    elif (last in _DEVICES and text.startswith(NVIDIA_PREFIX)) or _MAKER.match(text):
        found = f"names the device {text}"
    elif "hostPath" in steps:
        found = _path(text)
    return found


def changes_pods(value: Any, below: str = "") -> bool:
    """Whether a rule that changes pods touches what gives them GPUs; `below` names the keys of such rules."""
    if not below:
        return bool(_CHANGES.search("\n".join(_texts(value))))
    if isinstance(value, Mapping):
        return any(changes_pods(inner, "" if key == below else below) for key, inner in value.items())
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return is_list and any(changes_pods(each, below) for each in value)


def _variable(name: Any, value: Any) -> str | None:
    is_one = isinstance(name, str) and name in VISIBILITY_VARIABLES
    return f"sets {name}" if is_one and not is_hiding(value, VISIBILITY_VARIABLES[name]) else None


def _path(path: Any) -> str | None:
    return f"mounts {path} of the node" if isinstance(path, str) and any(reaches(path)) else None


def _texts(value: Any) -> Iterator[str]:
    """Keys and texts of a tree."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield f"{key}: {str(inner) if isinstance(inner, str | bool) else ''}"
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _texts(each)
