"""What rules say of a pod, in the words of a Docker host: a host for a node, inputs of a container for paths in a pod.

Pure. Rules find the same in both, and write it once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_PATH: Final = re.compile(r"\bnodeSelector\.|\b(?:containers|volumes)\[\d+\](?:\.\w+|\[\d+\])*")
# As a word of its own: not in a path, a name of an image or a label.
_BEFORE, _AFTER = r"(?<![\w/.@:=-])", r"(?![\w/@=-]|:\S)"
_TABLE: Final = {
    r"Set nvidia\.com/gpu in resources\.limits, and remove the variable or the volume": "Name the GPUs that the "
    "container holds in deviceRequests, as DockerGpuContainer does, and remove what bypasses that",
    r"request a GPU in resources\.limits(?: \(nvidia\.com/gpu\))?": "name its GPUs in deviceRequests",
    r"Request a GPU in resources\.limits(?: \(nvidia\.com/gpu\))?": "Name its GPUs in deviceRequests",
    r"Request a GPU, set": "Name its GPUs in deviceRequests, set",
    r"Ask for a GPU, or set": "Name its GPUs in deviceRequests, or set",
    r"the device plugin sets it": "the runtime sets it from deviceRequests",
    r"and bypasses the scheduler": "by hand, whoever holds them",
    r"the runtime class": "the runtime",
    r"through hostPID": "through pidMode host",
    r"hostPID exposes": "pidMode host exposes",
    r"Remove hostPID: true": "Remove pidMode",
    r"with readOnly: true": "read-only (readOnly: true)",
    r"Remove the volume, or name the image of a device plugin in site\.runtime_daemons": "Remove the mount",
    r"Remove the volume": "Remove the mount",
    r"remove the volume": "remove the mount",
    r"is chosen by the controller, in the cluster": "is the ID of an image on the host: it is not known from which "
    "registry that came",
    r"depends on nodeSelector": "depends on its labels",
    r"nodeSelector": "label",
    r"deviceRequests\.limits\.nvidia\.com/gpu": "deviceRequests",
    r"Change the node selector, add the toleration, or request no more than one node has": "Change the label "
    "gpu-commons.org/pool, or ask for no more than one host has",
    r"is not a Kubernetes quantity such as 500m or 2Gi": "is not an amount",
    r"Write every amount as a Kubernetes quantity": "Write memory in MiB, and cpus as a number",
    r"the kubelet leaves": "a host should leave",
    r"it will remove unused images and pull them again": "the engine removes none by itself",
    r"a node of (?:the )?pool": "the host",
    r"node": "host",
    r"nodes": "hosts",
}
_PHRASES: Final = {re.compile(f"{_BEFORE}{said}{_AFTER}"): better for said, better in _TABLE.items()}


def in_docker_words(text: str, places: Mapping[str, str]) -> str:
    """A sentence about a pod as one about the container that it stands for. `places`: where its paths are written."""
    said = _PATH.sub(lambda found: _place(found[0], places), text)
    for phrase, better in _PHRASES.items():
        said = phrase.sub(better, said)
    return said


def _place(path: str, places: Mapping[str, str]) -> str:
    """The longest known beginning of a path, with what follows it."""
    known = [each for each in places if path == each or path.startswith((f"{each}.", f"{each}["))]
    return places[best] + path.removeprefix(best) if (best := max(known, key=len, default="")) else path
