"""Builds the rules' site facts from stack settings and image specs."""

import datetime as dt
import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from fleet import labels
from fleet.dra_devices import device_of
from fleet.nodes import Node
from imaging.inspection.facts import ImageContents
from imaging.size.estimate import GB
from imaging.size.expected import expected_of
from imaging.spec.compat_cases import Use, uses_of
from imaging.spec.load import IMAGES, load_named
from imaging.spec.plan import plan_image
from imaging.spec.problems import SpecError
from platforms.aws.regions import region_problem
from platforms.docker.hub_names import Names
from platforms.kubernetes.runtime import DAEMONS as RUNTIME_DAEMONS
from platforms.kubernetes.runtime import NAMESPACE as RUNTIME_NAMESPACE
from platforms.kubernetes.runtime import daemon_sets
from policies.configuration import Configuration
from policies.enforcement import Strictness, Waiver
from policies.finding import Level
from policies.model import ClaimedGpus, Coverage, Limits, Planned, Site, SizeWaiver
from settings.fleet import courses, default_runtimes, machine_of, nodes_of, pools_gpus, usages
from settings.host_pools import HostPool
from settings.instance_table import instance_pools
from settings.models import ImageLimits, Policies
from settings.partition_pools import PartitionPool
from settings.reading import Stack
from settings.resolve import runtime


def site_of(stack: Stack, images: Path = IMAGES, today: dt.date | None = None) -> Site:
    """The rules' site facts, from the stack's settings and its image specs.

    Past courses do not count: last year's term promises nobody a GPU.
    """
    today = today or _today()
    stack = stack.model_copy(update={"courses": tuple(each for each in stack.courses if each.last_day >= today)})
    # Of what is privileged, only a pool's driver container may install a driver, and only with its image.
    made = daemon_sets(args) if (args := runtime(stack)) else {}
    daemons = {_runtime_daemon(name): spec["template"]["spec"]["containers"][0]["image"] for name, spec in made.items()}
    others_label = stack.fleet.managed_by or (stack.runtime and not stack.own_runtime)
    nodes = nodes_of(stack.fleet.pools, labels.GPU_TAINT)
    return Site(
        nodes=tuple(map(_labelled_elsewhere, nodes)) if others_label else nodes,
        allowed_registries=tuple(str(registry) for registry in stack.site.allowed_registries),
        runtime_daemons=_by_image(daemons.items()),
        own_registry=str(stack.site.registry),
        machines={pool.name: machine_of(pool) for pool in stack.fleet.pools},
        limits=replace(_limits(stack.site.image_limits), waivers=_size_waivers(stack)),
        contents_of=_remembering(_known),
        own_images=frozenset(image.full_name for image in stack.images),
        planned_of=_planner(stack, images),
        gpus=pools_gpus(stack.fleet.pools),
        claimed=_claimed(stack),
        unlisted=_unlisted(stack),
        room={pool.name: pool.gpus for pool in stack.fleet.pools},
        courses=tuple(courses(stack)),
        usages=tuple(each for each in usages(stack) if each.gpus),
        strictness=_strictness(stack.policies),
        default_runtimes=default_runtimes(stack.fleet.pools),
        engine_filters={
            Names(hub.name).engine: f"{stack.site.registry}/{hub.filter_image}"
            for hub in stack.hubs
            if hub.filter_image
        },
        shared_hosts=frozenset(
            pool.name for pool in stack.fleet.pools if isinstance(pool, HostPool) and pool.shared_gpus
        ),
        scratch=stack.site.slurm.scratch if stack.site.slurm else (),
        whole_nodes={
            pool.name: pool.gpus_per_node
            for pool in stack.fleet.pools
            if isinstance(pool, PartitionPool) and pool.exclusive
        },
        longest_min={
            pool.name: pool.max_time_min
            for pool in stack.fleet.pools
            if isinstance(pool, PartitionPool) and pool.max_time_min
        },
        uses_of=functools.partial(_uses_of, images),
        today=today,
    )


def _claimed(stack: Stack) -> dict[str, ClaimedGpus]:
    return {
        pool.name: ClaimedGpus(device_of(pool.gpu, pool.driver), pool.gpus_per_node)
        for pool in instance_pools(stack)
        if pool.by_claims and pool.gpu and pool.driver
    }


def _unlisted(stack: Stack) -> dict[str, str]:
    """GPU pools not listed for the cluster's region: why, and what to do."""
    region = stack.cluster.region if stack.cluster else ""
    found = {pool.name: region_problem(pool.shape, region) for pool in instance_pools(stack) if pool.gpu}
    return {name: f"{problem.reason}: {problem.fix}" for name, problem in found.items() if problem}


def site_of_configuration(config: Configuration) -> Site:
    """The same from the pack's configuration. Such stacks have no image specs."""
    pools, taint = (fleet.pools, fleet.gpu_taint) if (fleet := config.fleet) else ((), None)
    nodes = nodes_of(pools, labels.Taint(labels.GPU_RESOURCE, taint.value, taint.effect) if taint else None)
    return Site(
        # A configuration lacks further labels of NVIDIA's own daemons, and a node's other
        # devices, huge pages or GPU slices.
        nodes=tuple(map(_open, nodes)),
        coverage=Coverage.WITH_GPUS if fleet else Coverage.SOME,
        allowed_registries=tuple(str(registry) for registry in config.site.allowed_registries),
        runtime_daemons=_by_image(
            [
                *((_runtime_daemon(name), image) for image in config.site.runtime_images for name in RUNTIME_DAEMONS),
                *config.site.runtime_daemons.items(),
            ]
        ),
        runtime_daemons_key="site.runtime_daemons",
        machines={pool.name: machine_of(pool) for pool in pools},
        limits=_limits(config.site.image_limits),
        contents_of=_remembering(_known),
        gpus=pools_gpus(pools),
        room={pool.name: pool.gpus for pool in pools},
        strictness=_strictness(config.policies),
        default_runtimes=default_runtimes(pools),
        today=_today(),
    )


def _open(node: Node) -> Node:
    """A node with unknown daemons: labels they certainly set, and labels they may set."""
    return replace(_labelled_elsewhere(node), is_amount_open=True)


def _labelled_elsewhere(node: Node) -> Node:
    """A node whose daemons are not of this stack and may set further labels."""
    discovered = labels.ALWAYS_DISCOVERED if node.amount(labels.GPU_RESOURCE) else {}
    return replace(node, labels={**discovered, **node.labels}, open_labels=labels.DISCOVERED_PREFIXES)


def _runtime_daemon(name: str) -> str:
    """NvidiaRuntime's name."""
    return f"{RUNTIME_NAMESPACE}/{name}"


def _by_image(daemons: Iterable[tuple[str, object]]) -> dict[str, frozenset[str]]:
    """DaemonSet names by image."""
    found: dict[str, frozenset[str]] = {}
    for name, image in daemons:
        found[str(image)] = found.get(str(image), frozenset()) | {name}
    return found


def _limits(limits: ImageLimits) -> Limits:
    return Limits(
        warn_compressed=round(limits.warn_compressed_gb * GB),
        refuse_compressed=round(limits.refuse_compressed_gb * GB),
        unpacked_disk_share=limits.unpacked_disk_share,
        refuse_unsupported_base=limits.refuse_unsupported_base,
    )


def _size_waivers(stack: Stack) -> dict[str, SizeWaiver]:
    return {
        image.full_name: SizeWaiver(round(image.limit.compressed_gb * GB), image.limit.reason, image.limit.until)
        for image in stack.images
        if image.limit
    }


def _today() -> dt.date:
    return dt.datetime.now(tz=dt.UTC).date()


def _strictness(chosen: Policies) -> Strictness:
    return Strictness(
        levels={rule: Level(level) for rule, level in chosen.levels.items()},
        unproved=Level(chosen.unproved) if chosen.unproved else None,
        waivers=tuple(Waiver(each.rule, each.resource, each.reason, each.owner, each.until) for each in chosen.waivers),
    )


@functools.cache
def _uses_of(folder: Path, image: str) -> tuple[Use, ...]:
    return uses_of(load_named(image, images=folder))


def _planner(stack: Stack, folder: Path) -> Callable[[str], Planned | None]:
    """Reads each image's spec once; faulty ones yield nothing, since the program stops with their mistakes."""
    substitutes = stack.site.planned_substitutes

    @functools.cache
    def planned(name: str) -> Planned | None:
        try:
            base = plan_image(load_named(name, images=folder), substitutes=substitutes).root
            return Planned(expected_of(name, folder, substitutes), base)
        except SpecError:
            return None

    return planned


def _known(reference: str) -> ImageContents | None:
    from imaging.size.pushed import known  # noqa: PLC0415 - reads registries too, and is seldom needed

    return known(reference)


def _remembering(ask: Callable[[str], ImageContents | None]) -> Callable[[str], ImageContents | None]:
    """Caches known facts, since those of a digest never change; missing ones may appear later."""
    found: dict[str, ImageContents] = {}

    def answer(reference: str) -> ImageContents | None:
        if reference in found:
            return found[reference]
        if (contents := ask(reference)) is not None and contents.deep is not None:
            found[reference] = contents
        return contents

    return answer
