"""What registries, schedulers and quotas say, as words for a student. Pure, standard library only.

The texts are those of Kubernetes 1.34 and containerd; they are no interface, so what is not recognised is said shortly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

SHORT = 120  # characters of somebody else's text


@dataclass(frozen=True, slots=True)
class PullProblem:
    """Why an image is not there. `is_lasting`: the next try has the same answer."""

    phrase: str
    is_lasting: bool


_BAD_NAME = PullProblem("its name is not valid", is_lasting=True)
# In this order: a registry that does not answer a request for a token is no refusal.
_PULL: tuple[tuple[str, PullProblem], ...] = (
    (r"invalid reference format", _BAD_NAME),
    (r"no space left on device", PullProblem("the machine has no room left for it", is_lasting=False)),
    (r"toomanyrequests|too many requests|rate limit", PullProblem("the registry limits requests", is_lasting=False)),
    (r"HTTP response to HTTPS client", PullProblem("the registry does not speak HTTPS", is_lasting=True)),
    (
        r"no such host|server misbehaving|name resolution",
        PullProblem("the registry's name is not known", is_lasting=False),
    ),
    (
        r"connection refused|no route to host|network is unreachable|timeout|deadline exceeded|connection reset|\bEOF",
        PullProblem("the registry does not answer", is_lasting=False),
    ),
    (r"x509|certificate", PullProblem("the registry's certificate is not trusted", is_lasting=True)),
    (
        r"pull access denied|repository does not exist",
        PullProblem("the registry does not have it, or refuses access to it", is_lasting=True),
    ),
    (
        r"unauthorized|forbidden|denied|authentication required|no basic auth",
        PullProblem("the registry refuses access to it", is_lasting=True),
    ),
    (r"no match for platform|no matching manifest", PullProblem("it is for another kind of machine", is_lasting=True)),
    (
        r"not ?found|manifest unknown|name unknown|no such manifest",
        PullProblem("the registry does not have it", is_lasting=True),
    ),
    (
        r"internal server error|service unavailable|bad gateway|: 5\d\d\b",
        PullProblem("the registry returned a server error", is_lasting=False),
    ),
)
_PULL_BY_REASON = {
    "InvalidImageName": _BAD_NAME,
    "ErrImageNeverPull": PullProblem("it is not on the machine, and must not be downloaded", is_lasting=True),
    "SignatureValidationFailed": PullProblem("its signature is not valid", is_lasting=True),
}


def pull_problem(reason: str, text: str) -> PullProblem:
    """Why an image is not there, by the waiting reason of the container and by what its node says."""
    if reason in _PULL_BY_REASON:
        return _PULL_BY_REASON[reason]
    for pattern, problem in _PULL:
        if re.search(pattern, text, re.IGNORECASE):
            return problem
    said = shortened(text)
    return PullProblem(f"its machine says “{said}”" if said else "its machine does not say why", is_lasting=False)


def shortened(text: str) -> str:
    """One line of somebody else's text: its last clause, without addresses and what may be in them."""
    one_line = " ".join(re.sub(r"\S*(?:://|[?&]\w+=|@)\S*?(?=:?(?:\s|$))", "…", text).split())
    # The runtime ends what it cannot classify with ": unknown".
    clause = re.split(r": (?=\S)", one_line.removesuffix(": unknown"))[-1].strip(' ."')
    return clause if len(clause) <= SHORT else clause[: SHORT - 1].rstrip() + "…"


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
    (r"PersistentVolumeClaim|persistent volumes to bind", NoPlace.HOME),
    (r"Insufficient nvidia\.com/", NoPlace.GPUS),
    (r"Insufficient cpu", NoPlace.CPU),
    (r"Insufficient memory", NoPlace.MEMORY),
    (r"Insufficient ephemeral-storage", NoPlace.DISK),
    (r"Too many pods", NoPlace.SERVERS),
    (r"volume node affinity conflict|max volume count", NoPlace.ELSEWHERE),
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
