"""Translates container states, scheduler messages and quota errors of Kubernetes for students. Pure.

The texts are those of Kubernetes 1.34; they are no interface, so what is not recognised is said shortly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from workloads.hub_files.start_words import BAD_NAME, PullProblem

# Why an image is not there, by the waiting reason of its container.
PULL_PROBLEMS = {
    "InvalidImageName": BAD_NAME,
    "ErrImageNeverPull": PullProblem("it is not on the machine, and must not be downloaded", is_lasting=True),
    "SignatureValidationFailed": PullProblem("its signature is not valid", is_lasting=True),
}


class NoPlace(Enum):
    """Why the scheduler finds no node: the nearest obstacle of the nodes that the pod may use."""

    HOME = "home"
    GPUS = "GPUs"
    CPU = "CPU"
    MEMORY = "memory"
    DISK = "disk"
    SERVERS = "servers"
    ELSEWHERE = "home is elsewhere"
    NOT_READY = "not ready"
    NONE = "no such node"
    UNKNOWN = "unknown"


_OBSTACLES: tuple[tuple[str, NoPlace], ...] = (
    (r"PersistentVolumeClaim|persistent volumes to bind|pvc\(s\) bound to non-existent", NoPlace.HOME),
    (r"Insufficient nvidia\.com/", NoPlace.GPUS),
    (r"Insufficient cpu", NoPlace.CPU),
    (r"Insufficient memory", NoPlace.MEMORY),
    (r"Insufficient ephemeral-storage", NoPlace.DISK),
    (r"Too many pods", NoPlace.SERVERS),
    (r"PersistentVolume's node affinity|volume node affinity conflict|max volume count", NoPlace.ELSEWHERE),
    (r"node\.kubernetes\.io/|were unschedulable|were not ready", NoPlace.NOT_READY),
    (r"didn't match Pod's node affinity|untolerated taint|no nodes available", NoPlace.NONE),
)


def no_place(message: str) -> NoPlace:
    """The obstacle in a message of the scheduler, such as `0/15 nodes are available: 4 Insufficient nvidia.com/gpu`."""
    # What follows tells why nobody else is sent away for this pod.
    asked = re.split(r"\s*preemption:", message)[0]
    found = (obstacle for pattern, obstacle in _OBSTACLES if re.search(pattern, asked, re.IGNORECASE))
    return next(found, NoPlace.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Shortage:
    """One resource of a quota that is used up, in the quota's own units."""

    resource: str
    requested: str
    used: str
    limited: str


_EXCEEDED = re.compile(r"exceeded quota: [^,]+, requested: (.*?), used: (.*?), limited: (\S+)")
_QUOTA_WORDS: tuple[tuple[str, str], ...] = (
    (r"nvidia\.com/", "GPUs"),
    (r"\bpods$", "servers"),
    (r"persistentvolumeclaims$", "homes"),
    (r"storage$", "storage"),
    (r"memory$", "memory"),
    (r"cpu$", "CPU cores"),
)


def shortages(message: str) -> Iterator[Shortage]:
    """Resources that a refusal of the API server names: `exceeded quota: x, requested: …, used: …, limited: …`."""
    if found := _EXCEEDED.search(message):
        requested, used, limited = (_pairs(part) for part in found.groups())
        for resource, amount in requested.items():
            word = next((word for pattern, word in _QUOTA_WORDS if re.search(pattern, resource)), resource)
            yield Shortage(word, amount, used.get(resource, "?"), limited.get(resource, "?"))


def _pairs(text: str) -> Mapping[str, str]:
    return dict(pair.split("=", 1) for pair in text.split(",") if "=" in pair)
