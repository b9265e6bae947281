"""Pools, images, hubs and jobs before and after a change, as the components record them, and who may land where."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import orjson

from cli.engine_events import Stream
from cli.engine_values import grouped, items, known_text, mapping, texts, whole
from fleet.node_names import NodeNameError, expand
from fleet.pools import Room, alike, may_land

Inputs = Mapping[str, Any]
Side = Literal["old", "new"]


@dataclass(frozen=True, slots=True)
class Pool:
    """Identical nodes. Unknown values and non-texts are empty."""

    name: str
    gpu: str = ""
    gpus_per_node: int | None = None
    nodes: tuple[str, ...] = ()
    driver: str = ""
    toolkit: str = ""
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

    def parts(self) -> Iterator[Pool]:
        """Identical nodes: those as the pool states, then others, named after their nodes."""
        groups = alike(self.name, (self.driver, self.toolkit), [*self.nodes, *self.own], self.of_node)
        for name, nodes, (driver, toolkit) in groups:
            yield replace(self, name=name, nodes=nodes, driver=driver, toolkit=toolkit, own={}, whole=self.name)


@dataclass(frozen=True, slots=True)
class Image:
    """An image of the stack. Sizes are MB of 10⁶ bytes, from its facts or the stack's outputs.

    `name` is what profiles and jobs call it. Images may share a name, for example in two registries; `label` is unique.
    """

    name: str
    label: str
    repository: str
    facts: Inputs = field(hash=False)
    base: str  # the base in its spec, even if the site replaces it
    size: float | None  # compressed, as pushed
    expected: float | None  # compressed, a lower bound from the spec


@dataclass(frozen=True, slots=True)
class Workload:
    """A profile of a hub, or a job. No pools: it may land on any.

    A profile is there again for each of its kernels in containers: whoever chooses it starts these too.
    """

    hub: str  # empty for a job
    name: str
    image: str
    pools: tuple[str, ...]
    gpus: int
    repository: str  # of its image; empty if the reference is not known yet
    inputs: Inputs = field(hash=False, repr=False)

    def lands_on(self, pool: str) -> bool:
        """Whether it may land there, whatever the nodes have."""
        return may_land(pool, Room(), self.pools, Room())


@dataclass(frozen=True, slots=True)
class Course:
    """Who uses profiles of a hub."""

    hub: str
    name: str
    title: str  # its name, if it has none
    seats: int
    profiles: tuple[str, ...]  # none: every profile of the hub
    guaranteed: int  # GPUs

    def chooses(self, profile: Workload) -> bool:
        return profile.hub == self.hub and (not self.profiles or profile.name in self.profiles)


@dataclass(frozen=True)
class Commons:
    """All of it at one time. No slots: frequent lookups are cached."""

    pools: Mapping[str, Pool]
    images: Mapping[str, Image]
    hubs: Mapping[str, tuple[str, ...]]  # each with the images of its own pods
    profiles: tuple[Workload, ...]
    jobs: tuple[Workload, ...]
    courses: tuple[Course, ...]
    pulled: frozenset[tuple[str, str]]  # pool and image that a PrePuller brings to its nodes

    def courses_of(self, profiles: Iterable[Workload]) -> tuple[Course, ...]:
        """Courses whose people may choose one of the profiles."""
        named = {(profile.hub, profile.name): profile for profile in profiles}.values()
        return tuple(course for course in self.courses if any(map(course.chooses, named)))

    def seats_of(self, profiles: Iterable[Workload]) -> int:
        return sum(course.seats for course in self.courses_of(profiles))

    def started_by(self, workload: Workload) -> list[Image]:
        """The images that it may start: of several with one name, the one in its registry, as far as known."""
        named = self._images_by_name.get(workload.image, [])
        return [image for image in named if image.repository == workload.repository] or named

    @cached_property
    def _images_by_name(self) -> dict[str, list[Image]]:
        return grouped((image.name, image) for image in self.images.values())

    def standing_on(self, image: Image) -> set[Image]:
        """The image and the stack's images built on it."""
        found = {image}
        while (
            more := {each for each in self.images.values() if each.facts.get("base") in {base.name for base in found}}
            - found
        ):
            found |= more
        return found

    @cached_property
    def _workloads_by_pool(self) -> dict[str, list[Workload]]:
        return {}

    def workloads_on(self, pool: str) -> list[Workload]:
        if pool not in self._workloads_by_pool:
            self._workloads_by_pool[pool] = [each for each in (*self.profiles, *self.jobs) if each.lands_on(pool)]
        return self._workloads_by_pool[pool]

    def profiles_on(self, pool: str) -> list[Workload]:
        return [each for each in self.workloads_on(pool) if each.hub]

    @cached_property
    def parts(self) -> Mapping[str, Pool]:
        """Identical nodes by name: pools, or parts of them."""
        return {part.name: part for pool in self.pools.values() for part in pool.parts()}

    def uses(self, image: Image, pool: Pool) -> Iterator[str]:
        """Profiles and jobs that may start the image there and get GPUs, as people call them."""
        for each in self.workloads_on(pool.whole or pool.name):
            gets_gpus = each.gpus > 0 and Room(pool.gpus_per_node).holds(Room(each.gpus))
            if each.image == image.name and gets_gpus and any(it is image for it in self.started_by(each)):
                yield f"profile {each.name} of {each.hub}" if each.hub else f"job {each.name}"


# --- read from a preview


def commons_of(stream: Stream, side: Side, config: Mapping[str, str], today: dt.date) -> Commons:
    """The commons before or after the change. `config` is the configuration at that time, as far as known."""
    of: dict[str, list[tuple[str, Inputs]]] = defaultdict(list)
    for step in stream.steps.values():
        if (inputs := getattr(step, side)) is not None:
            of[step.kind].append((step.name, inputs))
    if any(step.kind == "pool" for step in stream.steps.values()):
        config = {}  # else another stack manages the fleet, and only the configuration describes it
    sections = [pool for _, record in of["record"] for pool in items(mapping(record.get("fleet")).get("pools"))]
    # Pools of a Slurm site: no resource describes their nodes, and the stack's record has them all.
    sections = [pool for pool in sections if "partition" in pool]
    sections = sections or [*items(mapping(settings(config, "fleet")).get("pools"))]
    sizes = mapping((stream.old_outputs if side == "old" else stream.new_outputs).get("image_sizes"))
    hubs = of["hub"]
    pools = [_pool(name, inputs) for name, inputs in of["pool"]] or [_pool_of_section(pool) for pool in sections]
    return Commons(
        pools={pool.name: pool for pool in pools},
        images={name: _image(name, inputs, mapping(sizes.get(name))) for name, inputs in of["image"]},
        hubs={name: _own_images(inputs) for name, inputs in hubs},
        profiles=tuple(profile for name, inputs in hubs for profile in _profiles(name, inputs)),
        jobs=tuple(_workload("", name, inputs, inputs, "") for name, inputs in (*of["job"], *of["container"])),
        courses=tuple(course for name, inputs in hubs for course in _courses(name, inputs, today)),
        pulled=frozenset(
            (known_text(inputs.get("pool")), image)
            for _, inputs in of["pre-puller"]
            for image in mapping(inputs.get("images"))
        ),
    )


def settings(config: Mapping[str, str], key: str) -> Any:
    """One parsed key of the stack's configuration; None if missing or hidden."""
    try:
        return orjson.loads(config.get(f"gpu-commons:{key}", "null"))
    except orjson.JSONDecodeError:
        return None


def nodes_of(pool: Inputs) -> tuple[str, ...]:
    """Names of a pool's nodes: a Docker host is its one node; instances are numbered, up to the maximum."""
    name = known_text(pool.get("pool"))
    if is_group(pool):
        return _numbered(name, pool.get("max"))
    return texts(pool.get("node_names")) or ((name,) if name and "engine" in pool else ())


def _numbered(pool: str, count: object) -> tuple[str, ...]:
    return tuple(f"{pool}-{number}" for number in range(1, (whole(count) or 0) + 1))


def is_group(pool: Inputs) -> bool:
    """Whether its nodes are instances that AWS starts and replaces."""
    return "instance_types" in pool


def pool_name(resource: str, inputs: Inputs) -> str:
    """The pool's name in profiles and jobs; its resource may have another one."""
    return known_text(inputs.get("pool")) or resource


def _pool(name: str, inputs: Inputs) -> Pool:
    driver, toolkit = (known_text(inputs.get(key)) for key in ("driver_version", "container_toolkit_version"))
    drivers, toolkits = (mapping(inputs.get(key)) for key in ("node_drivers", "node_container_toolkits"))
    return Pool(
        name=pool_name(name, inputs),
        gpu=known_text(inputs.get("gpu")),
        gpus_per_node=_gpus_per_node(inputs),
        nodes=nodes_of(inputs),
        driver=driver,
        toolkit=toolkit,
        own={
            node: (known_text(drivers.get(node, driver)), known_text(toolkits.get(node, toolkit)))
            for node in (*drivers, *toolkits)
        },
        taints=taints_of(inputs),
        is_host="engine" in inputs,
    )


def _pool_of_section(pool: Inputs) -> Pool:
    """A pool of a stack file or of the stack's record."""
    name, gpu, driver, toolkit = (known_text(pool.get(key)) for key in ("name", "gpu", "driver", "container_toolkit"))
    is_partition = "partition" in pool
    return Pool(
        name=name,
        gpu=gpu,
        gpus_per_node=_gpus_per_node(pool),
        nodes=_numbered(name, pool.get("nodes")) if is_partition else (),
        driver=driver,
        toolkit="" if is_partition else toolkit,  # Apptainer needs none
        own=dict(_overridden(pool, driver, toolkit)),
        runtime="apptainer" if is_partition else "kubernetes",
        glibc=known_text(pool.get("glibc")),
    )


def _overridden(pool: Inputs, driver: str, toolkit: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for each in items(pool.get("node_overrides")):
        own = known_text(each.get("driver")) or driver, known_text(each.get("container_toolkit")) or toolkit
        for entry in texts(each.get("nodes")):
            try:
                yield from ((node, own) for node in expand(entry))
            except NodeNameError:  # the settings say so
                continue


def taints_of(pool: Inputs) -> tuple[str, ...]:
    """In kubectl's form: `example.edu/exam=yes:NoSchedule`."""
    taints = ((known_text(each.get(key)) for key in ("key", "value", "effect")) for each in items(pool.get("taints")))
    return tuple(f"{key}={value}:{effect}" if value else f"{key}:{effect}" for key, value, effect in taints)


def _gpus_per_node(pool: Inputs) -> int | None:
    """A pool of nodes without GPUs names no model."""
    return whole(pool.get("gpus_per_node")) if "gpu" in pool else 0


def _image(name: str, inputs: Inputs, pushed: Inputs) -> Image:
    facts = mapping(inputs.get("facts"))
    base = known_text(facts.get("base"))
    replaced = {
        known_text(each.get("with")): known_text(each.get("reference")) for each in items(inputs.get("substitutes"))
    }
    full = full_name(known_text(inputs.get("image")) or name, known_text(inputs.get("target")))
    return Image(
        name=full,
        label=full if full == name else f"{full} ({name})",
        repository=known_text(inputs.get("repository")),
        facts=facts,
        base=replaced.get(base, base),
        size=_megabytes(pushed),
        expected=_megabytes(mapping(facts.get("expected"))),
    )


def full_name(image: str, target: str) -> str:
    """The image's name in profiles, jobs and the registry: each target of a spec has its own."""
    return "-".join(filter(None, (image, target)))


def _megabytes(size: Inputs) -> float | None:
    value = size.get("compressed_mb")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _own_images(hub: Inputs) -> tuple[str, ...]:
    names = {part: known_text(hub.get(f"{part}_image_name")) for part in ("hub", "proxy", "filter", "gateway")}
    return tuple(name or part for part, name in names.items() if name or part in {"hub", "proxy"})


def _profiles(hub: str, inputs: Inputs) -> Iterator[Workload]:
    core = known_text(inputs.get("core_pool")) or known_text(inputs.get("pool"))
    for index, profile in enumerate(items(inputs.get("profiles"))):
        name = known_text(profile.get("name")) or str(index)
        for started in (*items(profile.get("kernels")), profile):
            yield _workload(hub, name, profile, started, core)


def _workload(hub: str, name: str, inputs: Inputs, started: Inputs, core: str) -> Workload:
    """`core`: the pool that it lands on if it names none."""
    of_slurm = tuple(filter(None, (known_text(each.get("pool")) for each in items(inputs.get("partitions")))))
    one = known_text(inputs.get("pool")) or core
    return Workload(
        hub=hub,
        name=name,
        image=known_text(started.get("image_name")),
        pools=of_slurm or texts(inputs.get("pools")) or ((one,) if one else ()),
        gpus=whole(started.get("gpus")) or 0,
        repository=known_text(started.get("image")).partition("@")[0],
        inputs=inputs,
    )


def _courses(hub: str, inputs: Inputs, today: dt.date) -> Iterator[Course]:
    """Those that are not over: nobody uses the others."""
    for course in items(inputs.get("courses")):
        if (name := known_text(course.get("name"))) and not is_over(course, today):
            yield Course(
                hub=hub,
                name=name,
                title=known_text(course.get("title")) or name,
                seats=whole(course.get("seats")) or 0,
                profiles=texts(course.get("profiles")),
                guaranteed=whole(course.get("guaranteed_gpus")) or 0,
            )


def is_over(course: Inputs, today: dt.date) -> bool:
    """Its last day was before today; without a last day it never is."""
    last = day(course.get("last_day"))
    return last is not None and last < today


def day(value: object) -> dt.date | None:
    try:
        return dt.date.fromisoformat(known_text(value)[:10])
    except ValueError:
        return None
