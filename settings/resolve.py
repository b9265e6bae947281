"""Resolves the names in a stack file: which images, pools, hosts and courses belong together. Without Pulumi.

`components/*/to_args.py` turn the answers into arguments of components. Reads only image specs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from errors.problems import Problem, SettingsError, path_text
from fleet.driver_key import DriverKey
from fleet.labels import gfd_product
from imaging.spec.contents import contents
from imaging.spec.load import load_family
from imaging.spec.plan import plan_image
from platforms.docker.gpu_leases import Request
from platforms.docker.host_model import Host
from platforms.kubernetes.node_pool import DeclaredPool
from platforms.slurm.site_facts import DeclaredPool as DeclaredPartition
from settings.fleet import landing_pools
from settings.host_pools import HostPool
from settings.instance_pools import InstancePool
from settings.instance_table import instance_pools
from settings.models import Container, Hub, Image, Job, Kernel, Profile
from settings.partition_pools import PartitionPool
from settings.pools import RUNTIME_IMAGES, NodePool
from settings.reading import Stack
from workloads.resolved import Choice, ResolvedHub, UsedImage
from workloads.workload import DEFAULT_USER

# --- images


def images_in_order(stack: Stack) -> Iterator[tuple[str, str | None]]:
    """Full names of our images with their parents among them; parents first.

    Raises SettingsError if the stack lacks what their specs need: a parent, or memory.
    """
    names = [image.full_name for image in stack.images]
    specs = {image.full_name: load_family(image.name, target=image.target)[0] for image in stack.images}
    parents = {name: spec.base.image for name, spec in specs.items()}
    problems = [
        Problem(f"images[{index}].name", name, f"stands on our {parents[name]}", f"add {parents[name]} to images")
        for index, name in enumerate(names)
        if parents[name] and parents[name] not in parents
    ]
    asked = {name: spec.runtime.shm_gib for name, spec in specs.items() if spec.runtime}
    problems += _too_little_memory(stack, asked)
    if problems:
        raise SettingsError(problems)
    done: set[str] = set()
    while waiting := [name for name in names if name not in done]:
        ready = [name for name in waiting if parents[name] is None or parents[name] in done]
        for name in ready:
            done.add(name)
            yield name, parents[name]


def _too_little_memory(stack: Stack, asked: Mapping[str, float | None]) -> Iterator[Problem]:
    """Profiles and jobs with too little memory for their image's shared memory."""
    for loc, workload in stack.located_workloads():
        needed = asked.get(workload.image) if workload.shm_gib is None else None
        if needed is not None and needed > workload.memory_gib:
            reason = f"is below the {needed:g} GiB of shared memory of image {workload.image}"
            fix = f"write {needed:g} or more, or a shm_gib of its own: shared memory is part of the memory"
            yield Problem(path_text((*loc, "memory_gib")), f"{workload.memory_gib:g}", reason, fix)


def image_build(stack: Stack, name: str) -> dict[str, Any]:
    """What is known of an image before the program runs, by argument of GpuImage; None: not stated."""
    image, site = _image(stack, name), stack.site
    # Engines before Docker 23 and old Singularity versions cannot unpack zstd.
    compression = "gzip" if site.kind in {"docker", "slurm"} else None
    return {
        "image": image.name,
        "target": image.target,
        "repository": f"{site.registry}/{name}",
        "lands_on": image_pools(stack, name),
        "compression": compression,
        "builder": site.builder,
        "ca_bundle": site.ca_bundle,
        "substitutes": [each.model_dump(by_alias=True) for each in site.substitutes] or None,
    }


def image_pools(stack: Stack, image: str) -> list[dict[str, Any]]:
    """Pools that start the image, for profiles and jobs, in fleet order, with the rates of their nodes."""
    wanted = {name for each in stack.workloads if each.image == image for name in landing_pools(stack, each)}
    return [
        {"pool": pool.name, **pool.stated_rates, "rates_are_planned": pool.are_rates_planned}
        for pool in stack.fleet.pools
        if pool.name in wanted
    ]


def used_image(stack: Stack, name: str) -> UsedImage:
    """An image of the stack with what its programs need."""
    image = _image(stack, name)
    family = load_family(image.name, target=image.target)
    runtime = family[0].runtime
    needs = runtime.model_dump(mode="json", exclude_none=True) if runtime else {}
    users = [spec.user.uid for spec in family if spec.user]
    return UsedImage(name, needs, users[0] if users and users[0] != DEFAULT_USER else None)


def _image(stack: Stack, name: str) -> Image:
    return {image.full_name: image for image in stack.images}[name]


# --- hubs


def resolved_hub(stack: Stack, hub: Hub) -> ResolvedHub:
    """A hub with its images, profiles, courses and login."""
    if stack.site.authenticator is None:  # refused by settings
        raise AssertionError(hub.name)
    return ResolvedHub(
        keys=hub,
        images=hub.own_images,
        choices=tuple(_choice(stack, profile) for profile in hub.profiles),
        authenticator=stack.site.authenticator,
        courses=tuple(each for each in stack.courses if each.hub == hub.name),
        site_name=stack.site.name,
        is_pre_pulled=hub.pre_pull,
    )


def _choice(stack: Stack, asked: Profile | Kernel) -> Choice:
    kernels: tuple[Choice, ...] = ()
    shown: dict[str, Any] = {}
    if isinstance(asked, Profile):
        kernels, shown = tuple(_choice(stack, kernel) for kernel in asked.kernels), _shown(stack, asked)
    return Choice(asked, used_image(stack, asked.image), asked.named_pools, shown, kernels)


def _shown(stack: Stack, profile: Profile) -> dict[str, Any]:
    """Profile texts about GPU and image; only known facts."""
    shown: dict[str, Any] = {"contents": _contents(stack, profile.image)}
    pools = [stack.fleet.pool(name) for name in stack.profile_pools(profile)] if profile.gpus else []
    if gpus := list(dict.fromkeys(pool.gpu for pool in pools if pool.gpu)):
        shown["gpu"] = " or ".join(gpu.name for gpu in gpus)
        sizes = {gpu.memory_mib for gpu in gpus}
        if len(sizes) == 1 and gpus[0].memory_mib:
            shown["gpu_memory_gb"] = gpus[0].memory_mib / 1024  # vendors say GB but count in GiB
    return shown


def _contents(stack: Stack, name: str) -> dict[str, Any]:
    image = _image(stack, name)
    family = load_family(image.name, target=image.target)
    found = contents(family, plan_image(family, substitutes=stack.site.planned_substitutes)).model_dump()
    return {key: value for key, value in found.items() if value}


def pre_pulled(stack: Stack, hub: Hub) -> dict[str, dict[str, None]]:
    """Images to pull to each pool of a hub's profiles, in order; empty without pre_pull."""
    pools: dict[str, dict[str, None]] = {}
    for profile in hub.profiles if hub.pre_pull else ():
        for pool in stack.profile_pools(profile):
            pools.setdefault(pool, {})[profile.image] = None
    return pools


# --- Kubernetes


def managed_pools(stack: Stack) -> tuple[NodePool, ...]:
    """Node pools labelled by this stack; empty if another stack manages the fleet."""
    return () if stack.fleet.managed_by else tuple(each for each in stack.fleet.pools if isinstance(each, NodePool))


def declared_nodes(pool: NodePool) -> DeclaredPool:
    """A pool whose nodes this stack labels."""
    own = pool.gpus_of_node
    others = {name: each.gpus for each in pool.variants() if each.gpus and each.gpus != own for name in each.node_names}
    return DeclaredPool(pool.name, pool.node_names, own, others, pool.labels, pool.taints)


@dataclass(frozen=True, slots=True)
class DriverContainer:
    """A driver container for nodes of a pool whose OS has no driver."""

    pool: str
    key: DriverKey
    written: str  # the image in the stack file
    image: str  # what is pulled instead, if the site replaces it


def driver_containers(stack: Stack) -> tuple[DriverContainer, ...]:
    """One per pool that names an image; none without a runtime, or if the site runs its own."""
    return tuple(
        DriverContainer(pool.name, keys.driver_key, keys.driver_image, stack.substitute(keys.driver_image)[0])
        for pool in (instance_pools(stack) if stack.own_runtime else ())
        if (keys := pool.flatcar) and keys.driver_key and keys.driver_image
    )


def runtime(stack: Stack) -> dict[str, Any] | None:
    """Arguments of the NvidiaRuntime, or None where the site has its own; a value of None: not stated."""
    if (own := stack.own_runtime) is None:
        return None
    drivers, claimed = driver_containers(stack), by_claims(stack)
    with_gpus = [pool.name for pool in stack.fleet.pools if pool.gpus_of_node and pool.name not in claimed]
    if not with_gpus and claimed:
        return None  # NVIDIA's DRA driver serves the GPUs, and needs neither device plugin nor runtime class
    images = {key: getattr(own, key) for key in RUNTIME_IMAGES}
    return {
        **{f"{key}_image": image and stack.substitute(image)[0] for key, image in images.items()},
        "driver_containers": [{"pool": each.pool, "image": each.image, "kernel": each.key.kernel} for each in drivers]
        or None,
        "pools": with_gpus if drivers or len(with_gpus) < len(stack.fleet.pools) else None,
    }


def by_claims(stack: Stack) -> dict[str, InstancePool]:
    """Pools that serve GPUs by claims."""
    return {pool.name: pool for pool in instance_pools(stack) if pool.by_claims}


def claimed_products(stack: Stack, job: Job) -> list[str]:
    """GPU product names of its pools; empty without claims."""
    pools = [by_claims(stack).get(name) for name in landing_pools(stack, job)] if job.gpus else []
    named = [gfd_product(pool.gpu, pool.driver) for pool in pools if pool and pool.gpu and pool.driver]
    return list(dict.fromkeys(named))


# --- Docker hosts


def hosts(stack: Stack) -> tuple[HostPool, ...]:
    """Machines with a Docker engine."""
    return tuple(each for each in stack.fleet.pools if isinstance(each, HostPool))


def resolved_host(stack: Stack, host: HostPool) -> Host:
    """A host with its address as seen from here."""
    engine, stand_in = stack.engine(host), stack.site.lab
    return Host(host.name, engine, host, host.gpus_of_node, host.cpu, host.memory_gib, stand_in)


def on_host(stack: Stack, host: HostPool) -> tuple[Container | Job, ...]:
    """Workloads of a host: services, then jobs, in stack file order."""
    every: tuple[Container | Job, ...] = (*stack.containers, *stack.jobs)
    return tuple(each for each in every if each.pool == host.name)


def hubs_on(stack: Stack, host: HostPool) -> tuple[Hub, ...]:
    """JupyterHubs of a host."""
    return tuple(each for each in stack.hubs if each.pool == host.name)


def ends(workload: Container | Job) -> bool:
    """Whether it is a batch run."""
    return isinstance(workload, Job) or workload.runs_to_end


def card_requests(stack: Stack, host: HostPool) -> tuple[Request, ...]:
    """GPU requests of a host's containers and jobs."""
    return tuple(
        Request(each.name, each.gpus, each.cards if isinstance(each, Container) else (), ends=ends(each))
        for each in on_host(stack, host)
    )


def published(stack: Stack) -> dict[str, str]:
    """Published address of each named container port, by container/port."""
    return {
        f"{each.name}/{port.name}": f"{port.address}:{port.host}" for each in stack.containers for port in each.ports
    }


# --- Slurm


def declared_partitions(stack: Stack) -> tuple[DeclaredPartition, ...]:
    """Pools that the site must have."""
    found = partitions(stack).values()
    return tuple(DeclaredPartition(each.name, each, each.nodes, each.gpus_per_node) for each in found)


def partitions(stack: Stack) -> dict[str, PartitionPool]:
    """Pools of a Slurm site by name."""
    return {each.name: each for each in stack.fleet.pools if isinstance(each, PartitionPool)}


def images_on_slurm(stack: Stack) -> tuple[str, ...]:
    """Images of jobs, servers and hubs, each once."""
    of_hubs = [name for hub in stack.hubs for name in (hub.hub_image, hub.proxy_image)]
    of_servers = [profile.image for hub in stack.hubs for profile in hub.profiles]
    return tuple(dict.fromkeys([*(job.image for job in stack.jobs), *of_hubs, *of_servers]))
