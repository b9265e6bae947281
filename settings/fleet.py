"""Converts stack settings to fleet values: nodes, machines, GPUs, and their users."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fleet.courses import Choice, Course, Usage, UsingCourse
from fleet.labels import ARCH, Taint
from fleet.machines import Machine, Rates
from fleet.nodes import Node, capacity, declared_node
from fleet.pools import NodeGpus, PoolGpus, Room, may_land
from settings.models import Container, Hub, Job, Kernel, Profile, Stack
from settings.pool import Pool

_PROMISES: Final = frozenset({"seats", "peak_share", "guaranteed_gpus", "borrowable_gpus", "first_day", "last_day"})


def pools_gpus(pools: Iterable[Pool]) -> dict[str, PoolGpus]:
    """GPU nodes in compat's form, by group of alike nodes."""
    return {
        each.name: PoolGpus(each.gpus.host, frozenset(_assumed(pool, each.gpus)), pool.name)
        for pool in pools
        for each in pool.variants()
        if each.gpus
    }


def _assumed(pool: Pool, gpus: NodeGpus) -> Iterator[str]:
    """Assumed facts. Node-specific facts are as certain as `node_overrides`."""
    own = {"driver": gpus.driver != pool.driver, "container_toolkit": gpus.container_toolkit != pool.container_toolkit}
    if "glibc" in pool.assumptions:
        yield "host_glibc"
    for fact in ("gpu", "driver", "container_toolkit"):
        if ("node_overrides" if own.get(fact) else fact) in pool.assumptions:
            yield fact


def usages(stack: Stack) -> Iterator[Usage]:
    """Image users of a stack with their pools, in stack file order."""
    for hub in stack.hubs:
        yield from _own_images(stack, hub)
        for profile in hub.profiles:
            courses = tuple(
                UsingCourse(course.name, course.title, course.seats, course.last_day)
                for course in stack.courses
                if course.hub == hub.name and profile.name in course.profiles
            )
            pools = landing_pools(stack, profile)
            yield Usage(profile.image, "profile", profile.name, hub.name, pools, courses, profile.gpus)
            for kernel in profile.kernels:
                called, pools = f"{profile.name}/{kernel.name}", landing_pools(stack, kernel)
                yield Usage(kernel.image, "kernel", called, hub.name, pools, courses, kernel.gpus)
    for each in stack.containers:
        yield Usage(each.image, "container", each.name, pools=landing_pools(stack, each), gpus=each.gpus)
    for job in stack.jobs:
        yield Usage(job.image, "job", job.name, pools=landing_pools(stack, job), gpus=job.gpus)


def _own_images(stack: Stack, hub: Hub) -> Iterator[Usage]:
    """The hub's own images."""
    everywhere = tuple(pool.name for pool in stack.fleet.pools)
    core = tuple(filter(None, [hub.pool or stack.site.core_pool])) or everywhere
    yield from (Usage(image, part, hub.name, pools=core) for part, image in hub.own_images.items())


def courses(stack: Stack) -> Iterator[Course]:
    """Courses with the images they may start with GPUs."""
    hubs = {hub.name: hub for hub in stack.hubs}
    for course in stack.courses:
        hub = hubs[course.hub]
        chosen = [each for each in hub.profiles if each.name in course.profiles and each.most_gpus]
        yield Course(
            name=course.name,
            title=course.title,
            seats=course.seats,
            peak_share=course.peak_share,
            guaranteed=course.guaranteed_gpus,
            borrowable=course.borrowable_gpus,
            gpus_per_session=max((each.most_gpus for each in chosen), default=0),
            first_day=course.first_day,
            last_day=course.last_day,
            choices=tuple(Choice(each.image, landing_pools(stack, each)) for each in _started(chosen) if each.gpus),
            is_assumed=bool(set(course.assumptions) & _PROMISES),
        )


def _started(profiles: Iterable[Profile]) -> Iterator[Profile | Kernel]:
    """Each profile's server and its kernels."""
    for profile in profiles:
        yield profile
        yield from profile.kernels


def landing_pools(stack: Stack, workload: Profile | Kernel | Container | Job) -> tuple[str, ...]:
    """Possible pools of a profile or job, in fleet order."""
    named = stack.profile_pools(workload) if isinstance(workload, Profile) else workload.named_pools
    requested = Room(workload.gpus)
    if not named and not isinstance(workload, Profile):  # profile amounts are limits; a named pool is intentional
        requested = Room(workload.gpus, workload.cpu, workload.memory_gib)
    return tuple(
        pool.name
        for pool in stack.fleet.pools
        if may_land(pool.name, Room(pool.gpus_per_node, pool.cpu, pool.memory_gib), named, requested)
    )


def machine_of(pool: Pool) -> Machine:
    """Capacity of the pool's nodes, and which figures are assumptions."""
    return Machine(
        disk_gib=float(pool.root_disk_gib),
        is_disk_assumed="root_disk_gib" in pool.assumptions,
        rates=Rates(**pool.stated_rates),
        are_rates_planned=pool.are_rates_planned,
        slow_disk=pool.slow_disk,
    )


def nodes_of(pools: Sequence[Pool], gpu_taint: Taint | None) -> tuple[Node, ...]:
    """The nodes from the scheduler's view."""
    return tuple(
        declared_node(
            name,
            variant,
            capacity(cpu=pool.cpu, memory_gib=pool.memory_gib, disk_gib=pool.root_disk_gib, gpus=pool.gpus_per_node),
            labels={ARCH: pool.architecture, f"beta.{ARCH}": pool.architecture, **pool.labels},
            taints=[*([gpu_taint] if gpu_taint and variant.gpus else []), *pool.taints],
        )
        for pool in pools
        for variant in pool.variants()
        for name in variant.node_names
    )


def default_runtimes(pools: Sequence[Pool]) -> dict[str, str]:
    """The default runtime of each pool's nodes, if the stack file sets it."""
    return {pool.name: pool.default_runtime for pool in pools if pool.default_runtime}
