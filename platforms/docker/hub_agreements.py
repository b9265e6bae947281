"""Consistency checks of one hub on a Docker host, in a stack file or component arguments.

Pure. `workloads.agreements` has the checks common to every hub.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from errors.problems import Fault, Loc
from workloads.agreements import doubles, of_workload, titles
from workloads.raw import Raw, is_count, items, mapping

# Container names are host names, at most 63 characters: HUB-kernel-USER-0123456789ab, with 20 for the user.
LONGEST_NAME: Final = 22
_TOO_LONG: Final = f"write {LONGEST_NAME} characters or fewer: host names of users' containers begin with it"
_NETWORKS: Final = frozenset({"bridge", "host", "none"})  # of every engine
_OURS: Final = "gpu-commons"  # prefix of the host's own network names
# Prefixes of objects for users: anything named HUB-server-… is controlled by a hub called HUB.
_KINDS: Final = ("server", "gateway", "kernel", "user", "home")


def of_hub_name(loc: Loc, name: str) -> Iterator[Fault]:
    """A valid prefix for user container names that is no user's name in another hub."""
    if len(name) > LONGEST_NAME:
        yield Fault(loc, "is too long for a hub on a Docker host", _TOO_LONG, name)
    if name in _NETWORKS or name.startswith(_OURS):
        yield Fault(loc, "is the name of a network of the host", "choose another: the hub's network has its name", name)
    if within := [f"-{kind}-" for kind in _KINDS if f"-{kind}-" in f"{name}-"]:
        yield Fault(loc, f"contains {within[0]}, as names of users' containers do", "choose another name", name)


def of_docker_hub(loc: Loc, hub: Raw) -> Iterator[Fault]:
    """The hub's address and its kernels."""
    expose = mapping(hub, "expose")
    for given, missing in (("certificate", "key"), ("key", "certificate")):
        if expose.get(given) is not None and expose.get(missing) is None:
            fix = "name both files of the host, or none: the host then signs a certificate itself"
            yield Fault((*loc, "expose", missing), f"is missing beside {given}", fix)
    for where, profile in items(hub, "profiles", at=loc):
        yield from _kernels(where, profile)
    if any(profile.get("kernels") for _, profile in items(hub, "profiles")) and hub.get("gateway_image") is None:
        fix = "name the image of jupyter_kernel_gateway: kernels in containers of their own are started by one"
        yield Fault((*loc, "gateway_image"), "is missing for profiles with kernels", fix)


def _kernels(loc: Loc, profile: Raw) -> Iterator[Fault]:
    kernels, gpus = items(profile, "kernels", at=loc), profile.get("gpus")
    if kernels and is_count(gpus) and gpus > 0:
        fix = "write gpus: 0: a server whose kernels have GPUs of their own would hold these for nothing"
        yield Fault((*loc, "gpus"), "is given beside kernels", fix, gpus)
    yield from doubles(profile, ("kernels",), at=loc)
    yield from titles(loc, profile, "kernels")
    for where, kernel in kernels:
        yield from of_workload(where, kernel)
