"""What the rules know of the place, from the settings of a stack and the specs of its images."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from components import labels
from components.placement import Node
from components.settings import Stack
from components.stack.models import Policies
from images.cases import Use, uses_of
from images.estimate import GB
from images.inspection.facts import ImageContents
from images.load import IMAGES, load_named
from images.pushed import known
from policies.finding import Level
from policies.machines import machine_of
from policies.model import Limits, Site, SizeWaiver
from policies.plans import planner
from policies.pools import courses, pool_gpus, usages
from policies.strictness import Strictness, Waiver

GIB = 1024**3


def site_of(stack: Stack, images: Path = IMAGES) -> Site:
    """What the rules know of the place, from the stack's own settings and the folder with its images' specs."""
    nodes = tuple(
        Node(
            name=name,
            pool=pool.name,
            labels={
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                **labels.gfd_labels(pool.gpu, pool.gpus_per_node, pool.driver),
                **labels.pool_labels(pool.name, pool.driver, str(pool.container_toolkit)),
                **pool.labels,
            },
            taints=[
                {"key": taint.key, "value": taint.value, "effect": taint.effect}
                for taint in (labels.GPU_TAINT, *pool.taints)
            ],
            allocatable={
                labels.GPU_RESOURCE: Decimal(pool.gpus_per_node),
                "cpu": Decimal(str(pool.cpu)),
                "memory": Decimal(str(pool.memory_gib)) * GIB,
                "ephemeral-storage": Decimal(str(pool.root_disk_gib)) * GIB,
                "pods": Decimal(110),
            },
        )
        for pool in stack.fleet.pools
        for name in pool.node_names
    )
    runtime, limits = stack.runtime, stack.site.image_limits
    daemons = (runtime.device_plugin, runtime.persistence_daemon) if runtime else ()
    return Site(
        nodes=nodes,
        allowed_registries=tuple(str(registry) for registry in stack.site.allowed_registries),
        runtime_images=tuple(stack.substitute(str(image))[0] for image in daemons),
        own_registry=str(stack.site.registry),
        machines={pool.name: machine_of(pool) for pool in stack.fleet.pools},
        limits=Limits(
            warn_compressed=round(limits.warn_compressed_gb * GB),
            refuse_compressed=round(limits.refuse_compressed_gb * GB),
            unpacked_disk_share=limits.unpacked_disk_share,
            refuse_unsupported_base=limits.refuse_unsupported_base,
            waivers={
                image.full_name: SizeWaiver(
                    round(image.limit.compressed_gb * GB), image.limit.reason, image.limit.until
                )
                for image in stack.images
                if image.limit
            },
        ),
        contents_of=_remembering(known),
        own_images=frozenset(image.full_name for image in stack.images),
        planned_of=planner(stack, images),
        gpus={pool.name: pool_gpus(pool) for pool in stack.fleet.pools},
        room={pool.name: pool.gpus for pool in stack.fleet.pools},
        courses=tuple(courses(stack)),
        usages=tuple(usages(stack)),
        strictness=_strictness(stack.policies),
        uses_of=functools.partial(_uses_of, images),
        today=dt.datetime.now(tz=dt.UTC).date(),
    )


def _strictness(given: Policies) -> Strictness:
    return Strictness(
        levels={rule: Level(level) for rule, level in given.levels.items()},
        unproved=Level(given.unproved) if given.unproved else None,
        waivers=tuple(Waiver(each.rule, each.resource, each.reason, each.owner, each.until) for each in given.waivers),
    )


@functools.cache
def _uses_of(folder: Path, image: str) -> tuple[Use, ...]:
    return uses_of(load_named(image, images=folder))


def _remembering(ask: Callable[[str], ImageContents | None]) -> Callable[[str], ImageContents | None]:
    """What was read of a digest, layers and all, never changes. What was not read yet may be there the next time."""
    found: dict[str, ImageContents] = {}

    def answer(reference: str) -> ImageContents | None:
        if reference in found:
            return found[reference]
        if (contents := ask(reference)) is not None and contents.deep is not None:
            found[reference] = contents
        return contents

    return answer
