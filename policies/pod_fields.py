"""Checks pod fields outside pod templates: in custom resources, whose operators copy them into pods. Pure.

Which fields reach a pod is unknown, so a value refused in a pod is only unproved here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fleet.labels import NVIDIA_PREFIX
from fleet.unknown import UNKNOWN
from policies.host_paths import chooses_gpus, reaches
from policies.shapes import is_list, text
from policies.visibility import DEVICE_ANNOTATIONS, VISIBILITY_VARIABLES, is_hiding

NOT_KNOWN: Final = "is not known yet"
UNKNOWN_TEXT: Final = "\0"  # never in a resource's text
_DEVICES: Final = frozenset({"deviceName", "resourceName"})  # of virtual machines
_MAKER: Final = re.compile(r"^10de:", re.IGNORECASE)  # NVIDIA's PCI vendor ID
# In rules that change pods: words that grant GPUs.
_CHANGES: Final = re.compile(
    r"NVIDIA_|CUDA_VISIBLE|\b(?:runtimeClassName|hostPath|hostPID|SYS_ADMIN|nodeName|imageOverrider)\b|[./]privileged\b"
    r"|\bprivileged\W{1,4}true|nvidia\.com/|cdi\.k8s\.io|nri\.io",
    re.IGNORECASE,
)
_IMAGES: Final = re.compile(r"\bimage\b")  # likewise: another image than the judged one
# Fields that can give a pod GPUs, so an unknown value may do so.
POD_FIELDS: Final = re.compile(
    r"^(?:.*[a-z])?(?:env(?:Vars?)?|volumes?|volumeMounts|hostPath|securityContext|privileged|runtimeClass(?:Name)?"
    r"|podAnnotations)$",
    re.IGNORECASE,
)
# NAME=value in an argument, script or file within the resource.
_SET_IN_TEXT: Final = re.compile(
    r"\b(NVIDIA_VISIBLE_DEVICES)[\"']?\s*(?:=|:)\s*[\"']?(?!(?:void|none)\b)[\w$]", re.IGNORECASE
)
# Objects as YAML or JSON; options of docker run.
_OBJECTS_IN_TEXT: Final = re.compile(r"""["']?\b(?:initC|c)ontainers["']?\s*:\s*[\[\n]""")
_OPTIONS: Final = re.compile(r"(?:^|\s)--(?:gpus[ =]\S|privileged\b)")
# With registry and tag or digest, unlike addresses and paths.
_REFERENCE: Final = re.compile(
    r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?::\d+)?(?:/[a-z0-9._-]+)+(?::[\w][\w.-]*|@sha256:[0-9a-f]{64})"
)
_GPU_CLASS: Final = re.compile(r"nvidia|gpu|cuda", re.IGNORECASE)
_COUNT: Final = re.compile(r"^(?:num[_-]?)?gpus?(?:[_-]?(?:count|limit|request|num|amount))?$", re.IGNORECASE)


def way_to_gpus(key: str, value: Any) -> str | None:
    """How one field reaches GPUs outside the scheduler. Keys may be dotted, as in Spark and Flink."""
    steps = key.split(".")
    last = steps[-1]
    plain_key = re.sub(r"[_-]", "", last).lower()
    is_path = "hostpath" in plain_key or "hostPath" in steps
    if isinstance(value, Mapping):
        is_request = _COUNT.match(last) and _is_amount(value.get("value"))
        return _entry(value) or ("asks for GPUs" if is_request else _path(value.get("path")) if is_path else None)
    if value is UNKNOWN:
        return NOT_KNOWN if POD_FIELDS.match(last) or is_path or last in VISIBILITY_VARIABLES else None
    if last == "envFrom" and value:
        return "takes variables from elsewhere"
    if is_list(value):
        return None
    content = text(value)
    return (
        _variable(last, value)
        or ("is privileged" if last == "privileged" and str(value).lower() == "true" else None)
        or ("asks for adminAccess" if last == "adminAccess" and value is True else None)
        or _named(plain_key, last, steps, content)
        or (_path(content) if is_path else None)
        or _in_text(key, content)
        or ("asks for GPUs" if _COUNT.match(last) and _is_amount(value) else None)
    )


def _entry(value: Mapping[str, Any]) -> str | None:
    """{name: NVIDIA_VISIBLE_DEVICES, value: all}, and the same from a ConfigMap; gpu: {value: 1} of Run:ai."""
    name = value.get("name", value.get("key"))
    if name is UNKNOWN and ("value" in value or "valueFrom" in value):
        return NOT_KNOWN
    path = value.get("path")
    if isinstance(path, str) and ("op" in value or "operator" in value) and _CHANGES.search(path):
        return f"changes {path}"
    content = "from elsewhere" if value.get("valueFrom") else value.get("value")
    return _variable(name, content)


def _named(plain_key: str, last: str, steps: Sequence[str], content: str) -> str | None:
    """A runtime class, a device, a resource."""
    if plain_key in {"runtimeclassname", "runtimeclass"} and _GPU_CLASS.search(content):
        return f"has the runtime class {content}"
    is_device = last in _DEVICES and content.startswith(NVIDIA_PREFIX)
    if is_device or _MAKER.match(content) or content.startswith("/dev/nvidia"):
        return f"names the device {content}"
    # spark.executor.resource.gpu.vendor; external-resource.gpu.kubernetes.config-key of Flink
    is_request = last in {"vendor", "config-key"} and content.startswith("nvidia.com")
    return "asks for GPUs" if is_request and any("gpu" in step for step in steps) else None


def _in_text(key: str, content: str) -> str | None:
    """How an annotation, a mount path or a longer text reaches GPUs."""
    if DEVICE_ANNOTATIONS.search(key) and "nvidia" in (key + content).lower():
        return "is an annotation that adds GPUs"
    if key == "mountPath" and chooses_gpus(content):
        return "selects GPUs and bypasses the scheduler"
    if found := _SET_IN_TEXT.search(content):
        return f"sets {found[1]} in embedded text"
    if _OBJECTS_IN_TEXT.search(content):
        return "is text that pods are created from"
    if _OPTIONS.search(content):
        return "asks for GPUs in embedded text"
    return None


def is_image(value: Any) -> bool:
    """Whether a text must be an image."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def _is_amount(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return bool(re.fullmatch(r"[0-9]*\.?[0-9]*", str(value))) and str(value).strip("0.") != ""


def changes_pods(value: Any, below: str = "") -> bool:
    """Whether a pod-changing rule affects GPU access; `below` names the keys of such rules."""
    if value is UNKNOWN:
        return True
    if not below:
        content = "\n".join(_texts(value))
        return bool(_CHANGES.search(content) or _IMAGES.search(content)) or UNKNOWN_TEXT in content
    if isinstance(value, Mapping):
        return any(changes_pods(inner, "" if key == below else below) for key, inner in value.items())
    return is_list(value) and any(changes_pods(each, below) for each in value)


def _variable(name: Any, value: Any) -> str | None:
    is_one = isinstance(name, str) and name in VISIBILITY_VARIABLES
    return f"sets {name}" if is_one and not is_hiding(value, VISIBILITY_VARIABLES[name]) else None


def _path(path: Any) -> str | None:
    if path is UNKNOWN:
        return NOT_KNOWN
    return f"mounts {path} of the node" if isinstance(path, str) and any(reaches(path)) else None


def _texts(value: Any) -> Iterator[str]:
    """Keys and texts of a tree."""
    if value is UNKNOWN:
        yield UNKNOWN_TEXT
    elif isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield f"{key}: {str(inner) if isinstance(inner, str | bool) else ''}"
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _texts(each)
