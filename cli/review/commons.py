"""Pools, images, hubs and jobs at one time, and who may land where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from fleet.pools import Room, alike, may_land


@dataclass(frozen=True, slots=True)
class Pool:
    """Identical nodes. Unknown values and non-texts are empty."""

    name: str
    gpu: str
    gpus_per_node: int | None
    nodes: tuple[str, ...]
    driver: str
    toolkit: str
    own: Mapping[str, tuple[str, str]] = field(default_factory=dict, hash=False)  # node → its own driver and toolkit
    whole: str = ""  # the pool, if these nodes are a part of one
    taints: tuple[str, ...] = ()
    runtime: str = "kubernetes"  # what starts images there, in compat's words
    glibc: str = ""  # its nodes' glibc, if it matters
    is_host: bool = False  # a machine with a Docker engine, without labels

    @property
    def gpus(self) -> int | None:
        return self.gpus_per_node * len(self.nodes) if self.gpus_per_node is not None else None

    def of_node(self, node: str) -> tuple[str, str]:
        """The driver and container toolkit that a node should have."""
        return self.own.get(node, (self.driver, self.toolkit))

    def parts(self) -> tuple[Pool, ...]:
        """Identical nodes: those as the pool states, then others, named after their nodes."""
        groups = alike(self.name, (self.driver, self.toolkit), [*self.nodes, *self.own], self.of_node)
        return tuple(
            replace(self, name=name, nodes=nodes, driver=driver, toolkit=toolkit, own={}, whole=self.name)
            for name, nodes, (driver, toolkit) in groups
        )


@dataclass(frozen=True, slots=True)
class Image:
    """An image of the stack. Sizes are MB of 10⁶ bytes, from its facts or the stack's outputs.

    `name` is what profiles and jobs call it. Images may share a name, for example in two registries; `label` is unique.
    """

    name: str
    label: str
    repository: str
    facts: Mapping[str, Any] = field(hash=False)
    base: str = ""  # the base in its spec, even if the site replaces it
    size: float | None = None  # compressed, as pushed
    expected: float | None = None  # compressed, a lower bound from the spec


@dataclass(frozen=True, slots=True)
class Profile:
    """One choice on a hub's spawn page. No pools: it may land on any."""

    hub: str
    name: str
    title: str
    image: str
    pools: tuple[str, ...]
    gpus: int
    repository: str  # of its image; empty if the reference is not known yet
    inputs: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)  # all inputs


@dataclass(frozen=True, slots=True)
class Course:
    """Who uses profiles of a hub."""

    hub: str
    name: str
    title: str
    seats: int
    profiles: tuple[str, ...]  # none: every profile of the hub
    guaranteed: int = 0  # GPUs


@dataclass(frozen=True, slots=True)
class Job:
    """A batch job. No pools: it may land on any."""

    name: str
    image: str
    pools: tuple[str, ...]
    gpus: int
    repository: str  # of its image; empty if the reference is not known yet


@dataclass(frozen=True)
class Commons:
    """All of it at one time. No slots: frequent lookups are cached."""

    pools: Mapping[str, Pool]
    images: Mapping[str, Image]
    hubs: Mapping[str, tuple[str, ...]]  # each with the images of its own pods
    profiles: tuple[Profile, ...]
    courses: tuple[Course, ...]
    jobs: tuple[Job, ...]
    pulled: frozenset[tuple[str, str]]  # pool and image that a PrePuller brings to its nodes

    def courses_of(self, profiles: Iterable[Profile]) -> tuple[Course, ...]:
        """Courses whose people may choose one of the profiles."""
        named = {(profile.hub, profile.name) for profile in profiles}
        hubs = {hub for hub, _ in named}
        return tuple(
            course
            for course in self.courses
            if course.hub in hubs
            and (not course.profiles or any((course.hub, name) in named for name in course.profiles))
        )

    def started_by(self, asks: Profile | Job) -> tuple[Image, ...]:
        """The images that it may start: of several with one name, the one in its registry, as far as known."""
        named = self._images_by_name.get(asks.image, ())
        if len(named) < 2:
            return named
        return tuple(image for image in named if image.repository == asks.repository) or named

    @cached_property
    def _images_by_name(self) -> Mapping[str, tuple[Image, ...]]:
        by_name: dict[str, tuple[Image, ...]] = {}
        for image in self.images.values():
            by_name[image.name] = (*by_name.get(image.name, ()), image)
        return by_name

    def standing_on(self, image: Image) -> tuple[Image, ...]:
        """The image and the stack's images built on it."""
        found = {image.label: image}
        while more := [each for each in self.images.values() if each.label not in found and _is_on(each, found)]:
            found |= {each.label: each for each in more}
        return tuple(found.values())

    def profiles_on(self, pool: str) -> tuple[Profile, ...]:
        if pool not in self._profiles_by_pool:
            self._profiles_by_pool[pool] = tuple(each for each in self.profiles if lands_on(each, pool))
        return self._profiles_by_pool[pool]

    @cached_property
    def _profiles_by_pool(self) -> dict[str, tuple[Profile, ...]]:
        return {}

    def jobs_on(self, pool: str) -> tuple[Job, ...]:
        return tuple(job for job in self.jobs if lands_on(job, pool))

    @cached_property
    def parts(self) -> Mapping[str, Pool]:
        """Identical nodes by name: pools, or parts of them."""
        return {part.name: part for pool in self.pools.values() for part in pool.parts()}

    def uses(self, image: Image, pool: Pool) -> tuple[str, ...]:
        """Profiles and jobs that may start the image there and get GPUs, as people call them."""
        whole = pool.whole or pool.name

        def gets_gpus(asks: Profile | Job) -> bool:
            if asks.image != image.name or asks.gpus <= 0 or not Room(pool.gpus_per_node).holds(Room(asks.gpus)):
                return False
            return any(each is image for each in self.started_by(asks))

        named = [f"profile {each.name} of {each.hub}" for each in self.profiles_on(whole) if gets_gpus(each)]
        return (*named, *(f"job {each.name}" for each in self.jobs_on(whole) if gets_gpus(each)))


def lands_on(asks: Profile | Job, pool: str) -> bool:
    """Whether it may land there, whatever the nodes have."""
    return may_land(pool, Room(), asks.pools, Room())


def _is_on(image: Image, bases: Mapping[str, Image]) -> bool:
    return any(base.name == image.facts.get("base") for base in bases.values())
