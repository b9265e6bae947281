"""What the components record among their inputs: pools, images, hubs and jobs before and after a change."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from cli.review.commons import Commons, Course, Image, Job, Pool, Profile
from cli.review.stream import Step, Stream
from cli.review.values import items, known_text, mapping, texts, whole
from fleet.node_names import NodeNameError, expand

ByType = dict[str, list[tuple[str, Mapping[str, Any]]]]  # name and inputs of resources, by type
OURS: Final = "gpu-commons:index:"
POOL: Final = f"{OURS}GpuNodePool"
IMAGE: Final = f"{OURS}GpuImage"
HUB: Final = f"{OURS}NotebookHub"
DOCKER_HUB: Final = f"{OURS}DockerHub"
SLURM_HUB: Final = f"{OURS}SlurmHub"
HUBS: Final = (HUB, DOCKER_HUB, SLURM_HUB)
JOB: Final = f"{OURS}GpuJob"
PULLER: Final = f"{OURS}PrePuller"
RUNTIME: Final = f"{OURS}NvidiaRuntime"
RECORD: Final = f"{OURS}StackRecord"
HOST: Final = f"{OURS}DockerHost"
CONTAINER: Final = f"{OURS}DockerGpuContainer"
SLURM_JOB: Final = f"{OURS}SlurmGpuJob"
EKS_GROUP: Final = f"{OURS}EksGpuNodeGroup"
FLATCAR_GROUP: Final = f"{OURS}FlatcarGpuNodeGroup"
GROUPS: Final = (EKS_GROUP, FLATCAR_GROUP)  # pools of instances that AWS starts and replaces


def before(stream: Stream, config: Mapping[str, str], today: dt.date) -> Commons:
    """The commons as deployed. `config` is the configuration at that time, as far as known."""
    states = ((step, step.old) for step in stream.steps.values())
    return _commons(states, {} if _has_pools(stream) else config, stream.old_outputs, today)


def after(stream: Stream, today: dt.date) -> Commons:
    """The commons after the change."""
    states = ((step, step.new) for step in stream.steps.values())
    return _commons(states, {} if _has_pools(stream) else stream.config, stream.new_outputs, today)


def _has_pools(stream: Stream) -> bool:
    """If not, another stack manages the fleet; only the configuration describes it."""
    return any(step.type in {POOL, HOST, *GROUPS} for step in stream.steps.values())


def settings(config: Mapping[str, str], key: str) -> Any:
    """One parsed key of the stack's configuration; None if missing or hidden."""
    try:
        return orjson.loads(config.get(f"gpu-commons:{key}", "null"))
    except orjson.JSONDecodeError:
        return None


def _commons(
    states: Iterable[tuple[Step, Mapping[str, Any] | None]],
    config: Mapping[str, str],
    outputs: Mapping[str, Any],
    today: dt.date,
) -> Commons:
    by_type: ByType = {}
    for step, inputs in states:
        if inputs is not None and step.type.startswith(OURS):
            by_type.setdefault(step.type, []).append((step.name, inputs))
    pools = {pool.name: pool for name, inputs in _of(by_type, POOL, HOST, *GROUPS) if (pool := _pool(name, inputs))}
    sizes = mapping(outputs.get("image_sizes"))
    hubs = [*_of(by_type, *HUBS)]
    return Commons(
        pools=pools or _partitions(by_type) or {pool.name: pool for pool in _pools_of_settings(config)},
        images={name: _image(name, inputs, sizes) for name, inputs in by_type.get(IMAGE, ())},
        hubs={name: _own_images(inputs) for name, inputs in hubs},
        profiles=tuple(profile for name, inputs in hubs for profile in _profiles(name, inputs)),
        courses=tuple(course for name, inputs in hubs for course in _courses(name, inputs, today)),
        jobs=tuple(_job(name, inputs) for name, inputs in _of(by_type, JOB, CONTAINER, SLURM_JOB)),
        pulled=frozenset(
            (known_text(inputs.get("pool")), image)
            for _, inputs in by_type.get(PULLER, ())
            for image in mapping(inputs.get("images"))
        ),
    )


def _of(by_type: ByType, *types: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return (each for name in types for each in by_type.get(name, ()))


def nodes_of(pool: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of a pool's nodes: a Docker host is its one node; instances are numbered, up to the maximum."""
    name = known_text(pool.get("pool"))
    if is_group(pool):
        return tuple(f"{name}-{number}" for number in range(1, (whole(pool.get("max")) or 0) + 1))
    named = (name,) if "engine" in pool else ()
    return texts(pool.get("node_names")) or tuple(filter(None, named))


def is_group(pool: Mapping[str, Any]) -> bool:
    """Whether its nodes are instances that AWS starts and replaces."""
    return "instance_types" in pool


def pool_name(resource: str, inputs: Mapping[str, Any]) -> str:
    """The pool's name in profiles and jobs; its resource may have another one."""
    return known_text(inputs.get("pool")) or resource


def _pool(name: str, inputs: Mapping[str, Any]) -> Pool:
    return Pool(
        name=pool_name(name, inputs),
        gpu=known_text(inputs.get("gpu")),
        gpus_per_node=_gpus_per_node(inputs),
        nodes=nodes_of(inputs),
        driver=(driver := known_text(inputs.get("driver_version"))),
        toolkit=(toolkit := known_text(inputs.get("container_toolkit_version"))),
        own=_own(
            (mapping(inputs.get("node_drivers")), driver), (mapping(inputs.get("node_container_toolkits")), toolkit)
        ),
        taints=taints_of(inputs),
        is_host="engine" in inputs,
    )


def taints_of(pool: Mapping[str, Any]) -> tuple[str, ...]:
    """In kubectl's form: `example.edu/exam=yes:NoSchedule`."""
    taints = (
        {key: known_text(taint.get(key)) for key in ("key", "value", "effect")} for taint in items(pool.get("taints"))
    )
    return tuple(
        f"{taint['key']}={taint['value']}:{taint['effect']}" if taint["value"] else f"{taint['key']}:{taint['effect']}"
        for taint in taints
    )


def _own(*facts: tuple[Mapping[str, Any], str]) -> dict[str, tuple[str, str]]:
    """Drivers and container toolkits that override the pool's, by node, and the pool's own."""
    (drivers, driver), (toolkits, toolkit) = facts
    return {
        node: (known_text(drivers.get(node, driver)), known_text(toolkits.get(node, toolkit)))
        for node in dict.fromkeys([*drivers, *toolkits])
    }


def _gpus_per_node(pool: Mapping[str, Any]) -> int | None:
    """A pool of nodes without GPUs names no model."""
    return whole(pool.get("gpus_per_node")) if "gpu" in pool else 0


def _partitions(by_type: ByType) -> dict[str, Pool]:
    """Pools of a Slurm site: no resource describes their nodes, and the stack's record has them all."""
    pools = (pool for _, record in by_type.get(RECORD, ()) for pool in items(mapping(record.get("fleet")).get("pools")))
    return {each.name: each for pool in pools if "partition" in pool and (each := _partition(pool))}


def _partition(pool: Mapping[str, Any]) -> Pool:
    name = known_text(pool.get("name"))
    return Pool(
        name=name,
        gpu=known_text(pool.get("gpu")),
        gpus_per_node=_gpus_per_node(pool),
        nodes=tuple(f"{name}-{number}" for number in range(1, (whole(pool.get("nodes")) or 0) + 1)),
        driver=known_text(pool.get("driver")),
        toolkit="",
        runtime="apptainer",
        glibc=known_text(pool.get("glibc")),
    )


def _pools_of_settings(config: Mapping[str, str]) -> Iterator[Pool]:
    """A fleet that another stack manages has no resources here."""
    for pool in items(mapping(settings(config, "fleet")).get("pools")):
        if "partition" in pool:
            yield _partition(pool)
            continue
        words = {key: known_text(pool.get(key)) for key in ("name", "gpu", "driver", "container_toolkit")}
        yield Pool(
            words["name"],
            words["gpu"],
            _gpus_per_node(pool),
            (),
            words["driver"],
            words["container_toolkit"],
            dict(_overridden(pool, words)),
        )


def _overridden(pool: Mapping[str, Any], own: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, str]]]:
    for each in items(pool.get("node_overrides")):
        driver, toolkit = (known_text(each.get(key)) or own[key] for key in ("driver", "container_toolkit"))
        for entry in texts(each.get("nodes")):
            try:
                yield from ((node, (driver, toolkit)) for node in expand(entry))
            except NodeNameError:  # the settings say so
                continue


def _image(name: str, inputs: Mapping[str, Any], sizes: Mapping[str, Any]) -> Image:
    facts = mapping(inputs.get("facts"))
    pushed = mapping(sizes.get(name)).get("compressed_mb")
    expected = mapping(facts.get("expected")).get("compressed_mb")
    base = known_text(facts.get("base"))
    replaced = {
        known_text(each.get("with")): known_text(each.get("reference")) for each in items(inputs.get("substitutes"))
    }
    full = full_name(known_text(inputs.get("image")) or name, known_text(inputs.get("target")))
    return Image(
        full,
        full if full == name else f"{full} ({name})",
        known_text(inputs.get("repository")),
        facts,
        replaced.get(base, base),
        _amount(pushed),
        _amount(expected),
    )


def full_name(image: str, target: str) -> str:
    """The image's name in profiles, jobs and the registry: each target of a spec has its own."""
    return "-".join(filter(None, (image, target)))


def _amount(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _own_images(hub: Mapping[str, Any]) -> tuple[str, ...]:
    both = [known_text(hub.get(f"{part}_image_name")) or part for part in ("hub", "proxy")]
    of_a_host = [known_text(hub.get(f"{part}_image_name")) for part in ("filter", "gateway")]
    return (*both, *filter(None, of_a_host))


def _profiles(hub: str, inputs: Mapping[str, Any]) -> Iterator[Profile]:
    """Each profile, and again for each of its kernels in containers: whoever chooses it starts these too."""
    core = known_text(inputs.get("core_pool")) or known_text(inputs.get("pool"))
    for index, profile in enumerate(items(inputs.get("profiles"))):
        name = known_text(profile.get("name")) or str(index)
        for started in (*items(profile.get("kernels")), profile):
            yield Profile(
                hub=hub,
                name=name,
                title=known_text(profile.get("title")),
                image=known_text(started.get("image_name")),
                pools=_pools(profile, core),
                gpus=whole(started.get("gpus")) or 0,
                repository=_repository(started),
                inputs=profile,
            )


def _courses(hub: str, inputs: Mapping[str, Any], today: dt.date) -> Iterator[Course]:
    """Those that are not over: nobody uses the others."""
    for course in items(inputs.get("courses")):
        if (name := known_text(course.get("name"))) and not is_over(course, today):
            seats, title = whole(course.get("seats")) or 0, known_text(course.get("title"))
            promised = whole(course.get("guaranteed_gpus")) or 0
            yield Course(hub, name, title, seats, texts(course.get("profiles")), promised)


def is_over(course: Mapping[str, Any], today: dt.date) -> bool:
    """Its last day was before today; without a last day it never is."""
    try:
        return dt.date.fromisoformat(known_text(course.get("last_day"))) < today
    except ValueError:
        return False


def _job(name: str, inputs: Mapping[str, Any]) -> Job:
    image = known_text(inputs.get("image_name"))
    return Job(name, image, _pools(inputs, ""), whole(inputs.get("gpus")) or 0, _repository(inputs))


def _pools(asks: Mapping[str, Any], otherwise: str) -> tuple[str, ...]:
    """Pools that a profile or job names; none: it may land on any."""
    of_slurm = tuple(filter(None, (known_text(each.get("pool")) for each in items(asks.get("partitions")))))
    return of_slurm or texts(asks.get("pools")) or tuple(filter(None, [known_text(asks.get("pool")) or otherwise]))


def _repository(inputs: Mapping[str, Any]) -> str:
    return known_text(inputs.get("image")).partition("@")[0]
