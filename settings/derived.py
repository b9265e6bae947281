"""Checks derived names: each must fit where it is used, and no two may be equal. Pure.

The program derives them (`__main__`, `components`, `platforms`); only here do they meet before the API or the engine
rejects them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from errors.agreements import located, of_each, readable
from errors.problems import Fault, Loc
from platforms.kubernetes import runtime
from settings.fleet_checks import located_pools
from settings.models import Hub, Image, Stack
from settings.pool import Pool
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
    for made in _names(stack):
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


def _names(stack: Stack) -> Iterator[_Made]:
    """Those that can be read."""
    pre_pulling = [(loc, hub) for loc, hub in located(stack, "hubs") if getattr(hub, "pre_pull", False)]
    profiles = (each for loc, hub in pre_pulling for _, each in located(hub, "profiles", loc))
    wanted = {getattr(each, "image", None) for each in profiles}
    yield from of_each(pre_pulling, partial(_pre_pullers, stack))
    yield from of_each(located(stack, "images"), partial(_pulled, wanted))
    yield from of_each(located(stack, "images"), _image_names)
    yield from readable(_repositories(stack))
    yield from of_each(located_pools(getattr(stack, "fleet", None)), partial(_node_patches, stack))


def _pre_pullers(stack: Stack, loc: Loc, hub: Hub) -> Iterator[_Made]:
    """One DaemonSet per hub and pool of its profiles; its name becomes a pod label."""
    pools = [pool for each in hub.profiles for pool in stack.profile_pools(each)]
    for pool in dict.fromkeys(pools):
        name, kind = f"{hub.name}-{pool}", "a pre-puller"
        yield _Made(name, kind, (*loc, "name"), hub.name, f"pool {pool}", _LONGEST_LABEL, is_unique=True)


def _pulled(wanted: set[str | None], loc: Loc, image: Image) -> Iterator[_Made]:
    """A pre-puller has one container per image."""
    if image.full_name in wanted:
        name, kind = f"pull-{image.full_name}", "a pre-puller's container"
        yield _Made(name, kind, (*loc, "name"), image.full_name, "leave pre_pull out", _LONGEST_LABEL)


def _repositories(stack: Stack) -> Iterator[_Made]:
    registry, names = stack.site.registry, [image.full_name for image in stack.images]
    if names and len(longest := max(names, key=len)) <= _LONGEST_LABEL * 2:
        other = f"the name of image {longest}"
        yield _Made(f"{registry}/{longest}", "a repository", ("site", "registry"), registry, other, _LONGEST_REPOSITORY)


def _image_names(loc: Loc, image: Image) -> Iterator[_Made]:
    """A target's image is named after image and target."""
    if image.target:
        other = f"target {image.target}"
        yield _Made(image.full_name, "an image", (*loc, "name"), image.name, other, _LONGEST_LABEL)


def _node_patches(stack: Stack, loc: Loc, pool: Pool) -> Iterator[_Made]:
    """A node's patch is a resource named after pool and node; its parent is not part of its address."""
    is_ours = isinstance(pool, NodePool) and not stack.fleet.managed_by
    for node in dict.fromkeys(pool.node_names) if is_ours else ():
        yield _Made(f"{pool.name}-{node}", "a resource", (*loc, "name"), pool.name, f"node {node}", is_unique=True)


def _namespaces(stack: Stack) -> Iterator[Fault]:
    """The runtime creates its own namespace, which nothing else may own."""
    for section, key in (("hubs", "name"), ("jobs", "namespace")) if stack.runtime else ():
        for loc, each in located(stack, section):
            if getattr(each, key, None) == runtime.NAMESPACE:
                fix = "choose another: NVIDIA's daemons run there, and the namespace is created and deleted with them"
                yield Fault((*loc, key), "is the namespace of the runtime", fix, runtime.NAMESPACE)
