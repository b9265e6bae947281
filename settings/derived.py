"""Checks derived names: each must fit where it is used, and no two may be equal. Pure.

The program derives them (`__main__`, `components`, `platforms`); only here do they meet before the API or the engine
rejects them.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Final

from errors.agreements import located, readable
from errors.problems import Fault, Loc
from platforms.kubernetes import runtime
from settings.models import Stack
from settings.pools import NodePool

_LONGEST_LABEL: Final = 63  # DNS label and label value
_LONGEST_REPOSITORY: Final = 255  # registry and repository of an image, in github.com/distribution/reference


@dataclass(frozen=True, slots=True)
class _Made:
    """A derived name: what it names, and its user-written part at `loc`."""

    name: str
    kind: str
    loc: Loc
    part: str
    other: str  # other parts that could be shortened or renamed
    longest: int | None = None
    is_unique: bool = False


def check(stack: Stack) -> Iterator[Fault]:
    """Derived names that are too long or collide, and namespaces created elsewhere."""
    first: dict[tuple[str, str], _Made] = {}
    reported: set[tuple[Loc, Loc]] = set()
    kinds = (_pre_pullers, _pulled, _image_names, _repositories, _node_patches)
    for made in chain.from_iterable(_readable(names(stack)) for names in kinds):
        found = first.setdefault((made.kind, made.name), made) if made.is_unique else made
        if made.longest is not None and len(made.name) > made.longest:
            reason = f"results in {made.kind} name of {len(made.name)} characters; at most {made.longest} are allowed"
            yield Fault(made.loc, reason, f"shorten it, or {made.other}: together they are {made.name}", made.part)
        elif found.part != made.part and (found.loc, made.loc) not in reported:
            reported.add((found.loc, made.loc))
            reason = (
                f"results in {made.kind} name {made.name} with {made.other}, as {found.part} with {found.other} does"
            )
            yield Fault(made.loc, reason, "rename one of the two", made.part)
    yield from readable(_namespaces(stack))


def _readable(names: Iterator[_Made]) -> Iterator[_Made]:
    with suppress(AttributeError, ValueError):
        yield from names


def _pre_pullers(stack: Stack) -> Iterator[_Made]:
    """One DaemonSet per hub and pool of its profiles; its name becomes a pod label."""
    for loc, hub in located(stack.hubs, "hubs"):
        pools = [pool for each in hub.profiles for pool in stack.profile_pools(each)] if hub.pre_pull else ()
        for pool in dict.fromkeys(pools):
            name, kind = f"{hub.name}-{pool}", "a pre-puller"
            yield _Made(name, kind, (*loc, "name"), hub.name, f"pool {pool}", _LONGEST_LABEL, is_unique=True)


def _pulled(stack: Stack) -> Iterator[_Made]:
    """A pre-puller has one container per image."""
    wanted = {profile.image for hub in stack.hubs if hub.pre_pull for profile in hub.profiles}
    for loc, image in located(stack.images, "images"):
        if image.full_name in wanted:
            name, kind = f"pull-{image.full_name}", "a pre-puller's container"
            yield _Made(name, kind, (*loc, "name"), image.full_name, "leave pre_pull out", _LONGEST_LABEL)


def _repositories(stack: Stack) -> Iterator[_Made]:
    registry, names = stack.site.registry, [image.full_name for image in stack.images]
    if names and len(longest := max(names, key=len)) <= _LONGEST_LABEL * 2:
        other = f"the name of image {longest}"
        yield _Made(f"{registry}/{longest}", "a repository", ("site", "registry"), registry, other, _LONGEST_REPOSITORY)


def _image_names(stack: Stack) -> Iterator[_Made]:
    """A target's image is named after image and target."""
    for loc, image in located(stack.images, "images"):
        if image.target:
            other = f"target {image.target}"
            yield _Made(image.full_name, "an image", (*loc, "name"), image.name, other, _LONGEST_LABEL)


def _node_patches(stack: Stack) -> Iterator[_Made]:
    """A node's patch is a resource named after pool and node; its parent is not part of its address."""
    for loc, pool in located(() if stack.fleet.managed_by else stack.fleet.pools, "fleet", "pools"):
        for node in dict.fromkeys(pool.node_names) if isinstance(pool, NodePool) else ():
            yield _Made(f"{pool.name}-{node}", "a resource", (*loc, "name"), pool.name, f"node {node}", is_unique=True)


def _namespaces(stack: Stack) -> Iterator[Fault]:
    """The runtime creates its own namespace, which nothing else may own."""
    hubs = [((*loc, "name"), getattr(each, "name", "")) for loc, each in located(stack.hubs, "hubs")]
    jobs = [((*loc, "namespace"), getattr(each, "namespace", "")) for loc, each in located(stack.jobs, "jobs")]
    for loc, name in (*hubs, *jobs) if stack.runtime else ():
        if name == runtime.NAMESPACE:
            fix = "choose another: NVIDIA's daemons run there, and the namespace is created and deleted with them"
            yield Fault(loc, "is the namespace of the runtime", fix, name)
