"""From the settings of a stack to the values of its fleet: nodes, machines, GPUs, and who uses them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Final

from compat import Case
from fleet import labels
from fleet.courses import Choice, Course, Usage
from fleet.gpus import NodeGpus, PoolGpus, Variant
from fleet.machines import Machine, Rates
from fleet.nodes import Node
from settings.models import Pool, Stack

GIB: Final = 2**30
# Keys of a pool in a stack file → fields that the engine's rules say they read.
_READ_AS: Final = {"gpu": "gpu", "driver": "driver", "container_toolkit": "container_toolkit"}
_PROMISES: Final = frozenset({"seats", "peak_share", "guaranteed_gpus", "borrowable_gpus", "first_day", "last_day"})


def cases_of(pool: Pool) -> dict[str, Case]:
    """A pool as the engine takes it, without an image: nodes that are alike by name. Nodes without GPUs are no case."""
    return {each.name: _case(each.gpus) for each in pool.variants() if each.gpus}


def _case(gpus: NodeGpus) -> Case:
    return Case(
        gpu=str(gpus.model), driver=str(gpus.driver), container_toolkit=gpus.container_toolkit, host="kubernetes"
    )


def pools_gpus(pools: Iterable[Pool]) -> dict[str, PoolGpus]:
    """The same of all pools, and what of it is an assumption of the stack file."""
    return {
        name: PoolGpus(case, frozenset(_assumed(pool, case, cases[pool.name])), pool.name)
        for pool in pools
        for cases in (cases_of(pool),)
        for name, case in cases.items()
    }


def _assumed(pool: Pool, case: Case, own: Case) -> Iterator[str]:
    """Fields that nobody has looked at. What a node has of its own is as sure as the overrides are."""
    for key, field in _READ_AS.items():
        is_own = getattr(case, field) == getattr(own, field)
        if (key if is_own else "node_overrides") in pool.assumptions:
            yield field


def usages(stack: Stack) -> Iterator[Usage]:
    """Profiles and jobs that ask for GPUs, with the pools that have enough of them."""
    for hub in stack.hubs:
        for profile in hub.profiles:
            if profile.gpus:
                courses = tuple(
                    f"{course.title} ({course.seats} {'seat' if course.seats == 1 else 'seats'})"
                    for course in stack.courses
                    if course.hub == hub.name and profile.name in course.profiles
                )
                pools = _pools(stack, stack.profile_pools(profile), profile.gpus)
                yield Usage(profile.image, "profile", profile.name, hub.name, pools, courses)
    for job in stack.jobs:
        if job.gpus:
            yield Usage(job.image, "job", job.name, "", _pools(stack, job.named_pools, job.gpus))


def courses(stack: Stack) -> Iterator[Course]:
    """Courses of the term with what each may start."""
    hubs = {hub.name: hub for hub in stack.hubs}
    for course in stack.courses:
        hub = hubs[course.hub]
        chosen = [each for each in hub.profiles if each.name in course.profiles and each.gpus]
        yield Course(
            name=course.name,
            title=course.title,
            seats=course.seats,
            peak_share=course.peak_share,
            guaranteed=course.guaranteed_gpus,
            borrowable=course.borrowable_gpus,
            gpus_per_session=max((each.gpus for each in chosen), default=0),
            first_day=course.first_day,
            last_day=course.last_day,
            choices=tuple(Choice(each.image, _pools(stack, stack.profile_pools(each), each.gpus)) for each in chosen),
            is_assumed=bool(set(course.assumptions) & _PROMISES),
        )


def _pools(stack: Stack, named: Collection[str], gpus: int) -> tuple[str, ...]:
    """Pools of those that are named, of all where none is, with enough GPUs."""
    return tuple(
        pool.name for pool in stack.fleet.pools if (not named or pool.name in named) and pool.gpus_per_node >= gpus
    )


def machine_of(pool: Pool) -> Machine:
    """A node of the pool, and which of its figures nobody has measured."""
    return Machine(
        disk_gib=float(pool.root_disk_gib),
        is_disk_assumed="root_disk_gib" in pool.assumptions,
        rates=Rates(**pool.stated_rates),
        are_rates_planned=pool.are_rates_planned,
    )


def nodes_of(pools: Sequence[Pool], gpu_taint: labels.Taint | None) -> tuple[Node, ...]:
    """The nodes as the scheduler sees them."""
    return tuple(
        Node(
            name=name,
            pool=pool.name,
            variant=variant.name,
            labels={
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                # Under their old names too: the kubelet still sets them.
                "beta.kubernetes.io/os": "linux",
                "beta.kubernetes.io/arch": "amd64",
                **_gpu_labels(variant),
                **pool.labels,
            },
            about={labels.GFD_MEMORY: labels.reported_memory(variant.gpus.model)} if variant.gpus else {},
            taints=[
                {"key": taint.key, "value": taint.value, "effect": taint.effect}
                for taint in (gpu_taint if variant.gpus else None, *pool.taints)
                if taint
            ],
            allocatable={
                labels.GPU_RESOURCE: Decimal(variant.gpus.count if variant.gpus else 0),
                "cpu": Decimal(str(pool.cpu)),
                "memory": Decimal(str(pool.memory_gib)) * GIB,
                "ephemeral-storage": Decimal(str(pool.root_disk_gib)) * GIB,
                "pods": Decimal(110),
            },
        )
        for pool in pools
        for variant in pool.variants()
        for name in variant.node_names
    )


def _gpu_labels(nodes: Variant) -> dict[str, str]:
    """What discovery and the pool say of their GPUs."""
    if (gpus := nodes.gpus) is None:
        return labels.pool_labels(nodes.pool)
    discovered = labels.gfd_labels(gpus.model, gpus.count, gpus.driver)
    # What a card reports as its memory is a little less than what its maker says, and differs by driver.
    discovered = {key: value for key, value in discovered.items() if key != labels.GFD_MEMORY}
    return {
        **discovered,
        **labels.pool_labels(nodes.pool, gpus.driver, gpus.container_toolkit),
    }


def default_runtimes(pools: Sequence[Pool]) -> dict[str, str]:
    """By pool, where the stack file says it."""
    return {pool.name: pool.default_runtime for pool in pools if pool.default_runtime}
