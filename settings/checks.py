"""Checks across the sections of a stack: names, GPUs, sums. Pure. What one model knows, it checks itself.

The stack may be only partly readable: `errors.agreements`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from errors.agreements import doubles, known_names, located, of_each, readable
from errors.problems import Fault, Loc, listing, nearest
from platforms.kubernetes import runtime
from settings.fleet_checks import check_fleet, gpus_each, located_pools
from settings.host_checks import check_hosts
from settings.instance_checks import check_claims, check_instances
from settings.models import Container, Course, Hub, Image, Job, Kernel, Profile, Stack
from settings.pool import Pool
from settings.pools import NodePool
from settings.slurm_checks import check_slurm
from workloads.exposure import Gateway, Ingress, NodePort


def check(stack: Stack) -> Iterator[Fault]:
    """All disagreements between the sections of a stack."""
    for of_section in (_core_pool, _login, _pools, _runtime, _images, _hubs, _workloads, _courses):
        yield from readable(of_section(stack))
    for of_platform in (check_instances, check_claims, check_hosts, check_slurm, check_derived):
        yield from of_platform(stack)
    yield from _assumptions(stack)


def _names(items: Iterable[Pool | Hub | Profile]) -> set[str]:
    return {each.name for each in items}


def _gpus_per_node(stack: Stack) -> dict[str | None, int | None]:
    """GPUs by pool; None: of a pool that cannot be read, or a number that cannot."""
    return {getattr(pool, "name", None): gpus_each(pool) for pool in stack.fleet.pools}


# --- site


def _login(stack: Stack) -> Iterator[Fault]:
    if stack.site.authenticator is None and stack.hubs:
        fix = "a hub needs one: add kind oauth or lti13 with its settings"
        yield Fault(("site", "authenticator"), "is missing", fix)


def _core_pool(stack: Stack) -> Iterator[Fault]:
    core, names = stack.site.core_pool, known_names(stack.fleet.pools)
    yield from readable(_pool_named(stack, ("site", "core_pool"), core))
    if core is None and stack.hubs and stack.site.kind not in {"docker", "slurm"}:
        fix = f"name the pool that carries the hub and profiles without a pool: {nearest('', names, what='pool')}"
        yield Fault(("site", "core_pool"), "is missing", fix)


def _pools(stack: Stack) -> Iterator[Fault]:
    yield from check_fleet(stack.fleet)


def _runtime(stack: Stack) -> Iterator[Fault]:
    if stack.runtime is None:
        return
    if manager := stack.fleet.managed_by:
        # A fleet's daemons have one owner, which removes them when destroyed, even if others need them.
        fix = "leave the section runtime out, or fleet.managed_by if this stack manages the nodes"
        yield Fault(("runtime",), f"is set, but {manager} manages the fleet", fix)
    if stack.fleet.pools and all(gpus_each(pool) == 0 for pool in stack.fleet.pools):
        yield Fault(("runtime",), "has no node to run on", "leave it out: no pool of the fleet has a gpu")


def _images(stack: Stack) -> Iterator[Fault]:
    yield from doubles(stack.images, ("images",), key="full_name")


# --- hubs, profiles and jobs


def _hubs(stack: Stack) -> Iterator[Fault]:
    yield from doubles(stack.hubs, ("hubs",))
    alone = (partial(_node_port, {}), partial(_ingress_host, {}))
    of_hub = (_default_profile, _culling, *alone, partial(_images_of_hub, stack))
    yield from of_each(located(stack, "hubs"), *of_hub)


def _images_of_hub(stack: Stack, loc: Loc, hub: Hub) -> Iterator[Fault]:
    for key in ("hub_image", "proxy_image", "filter_image", "gateway_image"):
        yield from _image(stack, (*loc, key), getattr(hub, key, None))


def _default_profile(loc: Loc, hub: Hub) -> Iterator[Fault]:
    if hub.profiles and not any(profile.is_default for profile in hub.profiles):
        fix = f"set is_default: true on one of {listing([each.name for each in hub.profiles], most=12)}"
        yield Fault((*loc, "profiles"), "have no default", fix)


def _node_port(ports: dict[int, int], loc: Loc, hub: Hub) -> Iterator[Fault]:
    if isinstance(hub.expose, NodePort) and ports.setdefault(hub.expose.port, id(hub)) != id(hub):
        fix = "node ports are shared by the whole cluster: choose another from 30000 to 32767"
        yield Fault((*loc, "expose", "port"), "is the port of another hub", fix, hub.expose.port)


def _ingress_host(hosts: dict[str, int], loc: Loc, hub: Hub) -> Iterator[Fault]:
    if isinstance(hub.expose, Ingress | Gateway) and hosts.setdefault(hub.expose.host, id(hub)) != id(hub):
        fix = "give each hub a host name of its own"
        yield Fault((*loc, "expose", "host"), "is the host of another hub", fix, hub.expose.host)


def _culling(loc: Loc, hub: Hub) -> Iterator[Fault]:
    cull = hub.cull
    if {"idle_s", "every_s"} <= cull.model_fields_set and cull.every_s > cull.idle_s:
        fix = f"check at least once in {cull.idle_s} s, or servers stay idle for longer than that"
        yield Fault((*loc, "cull", "every_s"), "is longer than idle_s", fix, cull.every_s)


def _workloads(stack: Stack) -> Iterator[Fault]:
    for section in ("containers", "jobs"):
        yield from doubles(getattr(stack, section, ()), (section,))
    checks = (_image_of_workload, _pool_of_workload, _gpus, _job_namespace)
    yield from of_each(stack.located_workloads(), *(partial(each, stack) for each in checks))


def _image_of_workload(stack: Stack, loc: Loc, each: Profile | Kernel | Container | Job) -> Iterator[Fault]:
    yield from _image(stack, (*loc, "image"), each.image)


def _pool_of_workload(stack: Stack, loc: Loc, each: Profile | Kernel | Container | Job) -> Iterator[Fault]:
    if not isinstance(each, Kernel):
        yield from _pool_named(stack, (*loc, "pool"), each.pool)


def _gpus(stack: Stack, loc: Loc, each: Profile | Kernel | Container | Job) -> Iterator[Fault]:
    """A profile or job fits the nodes of its pools; default: the core pool for profiles, any for others."""
    if isinstance(each, Kernel):
        return
    if each.pools is not None:
        yield from _several_pools(stack, loc, each)
        return
    wanted, lands_on = each.gpus, each.pool or (stack.site.core_pool if isinstance(each, Profile) else None)
    per_node = _gpus_per_node(stack)
    candidates = [gpus for name, gpus in per_node.items() if lands_on in {None, name}]
    most = max((gpus or 0 for gpus in candidates), default=0)
    if candidates and wanted > most and None not in candidates:
        where = f"pool {lands_on}" if lands_on else "the fleet"
        enough = [str(name) for name, gpus in per_node.items() if (gpus or 0) >= wanted]
        instead = f"choose pool {' or '.join(enough)}" if enough else ""
        fewer = f"{_on_one_node(stack)}: request at most {most}" if most else ""
        fix = ", or ".join(filter(None, (fewer, instead))) or "request no GPU: gpus: 0"
        yield Fault((*loc, "gpus"), f"is more than any node of {where} has ({most})", fix, wanted)


def _several_pools(stack: Stack, loc: Loc, each: Profile | Container | Job) -> Iterator[Fault]:
    """Several pools: each must exist and have enough GPUs."""
    named, per_node = each.pools or (), _gpus_per_node(stack)
    for index, name in enumerate(named):
        yield from readable(_pool_named(stack, (*loc, "pools", index), name))
        has = per_node.get(name)
        if name not in named[:index] and has is not None and has < each.gpus:
            fix = f"{_on_one_node(stack)}: take {name} out, or request at most {has}"
            reason = f"has {has} GPUs on each node, but {each.gpus} are requested"
            yield Fault((*loc, "pools", index), reason, fix, name)


def _on_one_node(stack: Stack) -> str:
    if stack.site.kind == "slurm":
        return "GPUs are those of each node, and slurm.nodes says how many nodes"
    return "one pod runs on one node"


def _job_namespace(stack: Stack, loc: Loc, each: Profile | Kernel | Container | Job) -> Iterator[Fault]:
    """A job's namespace is created and deleted by this stack, so it must contain nothing others need."""
    if isinstance(each, Job) and (name := each.namespace) in known_names(stack.hubs):
        fix = "choose a namespace that only jobs use, such as batch: it is deleted with the last job in it"
        yield Fault((*loc, "namespace"), f"is the namespace of hub {name}, which holds people's homes", fix, name)


def _image(stack: Stack, loc: Loc, name: str | None) -> Iterator[Fault]:
    names = {image.full_name for image in stack.images}
    if name is not None and name not in names:
        yield Fault(loc, "is not an image of this stack", nearest(name, names, what="image"), name)


def _pool_named(stack: Stack, loc: Loc, name: str | None) -> Iterator[Fault]:
    names = _names(stack.fleet.pools)
    if name is not None and name not in names:
        yield Fault(loc, "is not a pool of the fleet", nearest(name, names, what="pool"), name)


# --- courses


def _courses(stack: Stack) -> Iterator[Fault]:
    yield from doubles(stack.courses, ("courses",))
    yield from of_each(located(stack, "courses"), partial(_hub_of_course, stack))
    for _, hub in located(stack, "hubs"):
        yield from of_each(located(stack, "courses"), partial(_chosen, hub))


def _hub_of_course(stack: Stack, loc: Loc, course: Course) -> Iterator[Fault]:
    if course.hub not in (names := _names(stack.hubs)):
        yield Fault((*loc, "hub"), "is not a hub of this stack", nearest(course.hub, names, what="hub"), course.hub)


def _chosen(hub: Hub, loc: Loc, course: Course) -> Iterator[Fault]:
    """Course profiles missing from its hub."""
    if hub.name == course.hub:
        for index, name in enumerate(course.profiles):
            if name not in (profiles := _names(hub.profiles)):
                advice = nearest(name, profiles, what="profile")
                yield Fault((*loc, "profiles", index), f"is not a profile of hub {hub.name}", advice, name)


# --- everywhere


def _assumptions(stack: Stack) -> Iterator[Fault]:
    """Assumptions are about keys beside them."""
    parts: list[tuple[Loc, Any]] = [((section,), getattr(stack, section, None)) for section in ("site", "runtime")]
    parts += located_pools(getattr(stack, "fleet", None))
    for section in ("hubs", "containers", "jobs", "courses"):
        parts += located(stack, section)
    for loc, part in parts:
        fields = type(part).model_fields if part else {}
        written = part.model_fields_set if part else set()
        keys = {fields[name].alias or name for name in written & fields.keys()}
        for index, key in enumerate(getattr(part, "assumptions", ())):
            if key not in keys | written:
                fix = nearest(key, keys - {"assumptions"}, what="key")
                yield Fault((*loc, "assumptions", index), "is not a key that is set beside it", fix, key)


# --- names that the program derives: only here do they meet before the API or the engine rejects them

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


def check_derived(stack: Stack) -> Iterator[Fault]:
    """Derived names that are too long or collide, and namespaces created elsewhere."""
    first: dict[tuple[str, str], _Made] = {}
    reported: set[tuple[Loc, Loc]] = set()
    for made in _derived_names(stack):
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


def _derived_names(stack: Stack) -> Iterator[_Made]:
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
    for section, key in (("hubs", "name"), ("jobs", "namespace")) if stack.own_runtime else ():
        for loc, each in located(stack, section):
            if getattr(each, key, None) == runtime.NAMESPACE:
                fix = "choose another: NVIDIA's daemons run there, and the namespace is created and deleted with them"
                yield Fault((*loc, key), "is the namespace of the runtime", fix, runtime.NAMESPACE)
