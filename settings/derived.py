"""Checks derived names: each must fit where it is used, and no two may be equal. Pure.

The program derives them (`__main__`, `components`, `platforms`); only here do they meet before the API or the engine
rejects them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from errors.problems import Fault, Loc, has_password
from platforms.kubernetes import runtime
from workloads.raw import Raw, expanded, image_name, items, mapping

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


def check(raw: Raw) -> Iterator[Fault]:
    """Derived names that are too long or collide, and namespaces created elsewhere."""
    first: dict[tuple[str, str], _Made] = {}
    reported: set[tuple[Loc, Loc]] = set()
    for made in (*_pre_pullers(raw), *_pulled(raw), *_image_names(raw), *_repositories(raw), *_node_patches(raw)):
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
    yield from _namespaces(raw)


def _pre_pullers(raw: Raw) -> Iterator[_Made]:
    """One DaemonSet per hub and pool of its profiles; its name becomes a pod label."""
    core = mapping(raw, "site").get("core_pool")
    for loc, hub in items(raw, "hubs"):
        pools: list[str] = []
        for _, profile in items(hub, "profiles") if hub.get("pre_pull") is True else ():
            several = profile.get("pools")
            named = several if isinstance(several, list) else [profile.get("pool") or core]
            pools += [pool for pool in named if isinstance(pool, str)]
        name = hub.get("name")
        for pool in dict.fromkeys(pools) if isinstance(name, str) else ():
            made = f"{name}-{pool}"
            yield _Made(made, "a pre-puller", (*loc, "name"), str(name), f"pool {pool}", _LONGEST_LABEL, is_unique=True)


def _pulled(raw: Raw) -> Iterator[_Made]:
    """A pre-puller has one container per image."""
    wanted = {
        profile.get("image")
        for _, hub in items(raw, "hubs")
        if hub.get("pre_pull") is True
        for _, profile in items(hub, "profiles")
    }
    for loc, image in items(raw, "images"):
        name = image_name(image)
        if isinstance(name, str) and name in wanted:
            kind = "a pre-puller's container"
            yield _Made(f"pull-{name}", kind, (*loc, "name"), name, "leave pre_pull out", _LONGEST_LABEL)


def _repositories(raw: Raw) -> Iterator[_Made]:
    registry = mapping(raw, "site").get("registry")
    if not isinstance(registry, str) or has_password(registry):
        return
    names = [name for _, image in items(raw, "images") if isinstance(name := image_name(image), str)]
    if names and len(longest := max(names, key=len)) <= _LONGEST_LABEL * 2:
        other = f"the name of image {longest}"
        yield _Made(f"{registry}/{longest}", "a repository", ("site", "registry"), registry, other, _LONGEST_REPOSITORY)


def _image_names(raw: Raw) -> Iterator[_Made]:
    """A target's image is named after image and target."""
    for loc, image in items(raw, "images"):
        name, target = image.get("name"), image.get("target")
        if isinstance(name, str) and isinstance(target, str):
            yield _Made(f"{name}-{target}", "an image", (*loc, "name"), name, f"target {target}", _LONGEST_LABEL)


def _node_patches(raw: Raw) -> Iterator[_Made]:
    """A node's patch is a resource named after pool and node; its parent is not part of its address."""
    if mapping(raw, "fleet").get("managed_by") is not None:
        return
    for loc, pool in items(raw, "fleet", "pools"):
        name, nodes, excepted = pool.get("name"), expanded(pool.get("nodes")), expanded(pool.get("nodes_except", []))
        for node in dict.fromkeys(nodes or ()) if isinstance(name, str) else ():
            if node not in (excepted or ()):
                made = f"{name}-{node}"
                yield _Made(made, "a resource", (*loc, "name"), str(name), f"node {node}", is_unique=True)


def _namespaces(raw: Raw) -> Iterator[Fault]:
    """The runtime creates its own namespace, which nothing else may own."""
    if not isinstance(raw.get("runtime"), dict):
        return
    for section, key in (("hubs", "name"), ("jobs", "namespace")):
        for loc, each in items(raw, section):
            if each.get(key) == runtime.NAMESPACE:
                fix = "choose another: NVIDIA's daemons run there, and the namespace is created and deleted with them"
                yield Fault((*loc, key), "is the namespace of the runtime", fix, runtime.NAMESPACE)
