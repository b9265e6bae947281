"""Consistency checks of a stack's settings: names, sums, limits. Pure.

Works on the raw mapping, not on the models, and skips malformed values, which the models report: a malformed
driver in one pool must not hide a missing image in a profile.
"""

from collections.abc import Callable, Iterator, Mapping

from errors.converted import read_day
from errors.problems import Fault, Loc, has_password, listing, nearest
from settings import derived
from settings.fleet_checks import PoolOutline, check_fleet, outlines
from settings.models import ImageLimits, Job
from workloads.agreements import doubles, of_hub, of_login, of_workload
from workloads.raw import Raw, image_name, is_count, items, mapping


def check(raw: Raw) -> Iterator[Fault]:
    """All inconsistencies in a stack's settings (`site`, `fleet`, … as keys), by section."""
    pools = outlines(raw)
    yield from _site(raw)
    yield from check_fleet(raw, pools)
    yield from doubles(raw, ("images",), key=image_name)
    yield from _hubs(raw, pools)
    yield from doubles(raw, ("containers",))
    for loc, each in items(raw, "containers"):
        yield from _workload(raw, loc, each, pools, elsewhere=None)
    yield from doubles(raw, ("jobs",))
    for loc, job in items(raw, "jobs"):
        yield from of_workload(loc, job)
        yield from _workload(raw, loc, job, pools, elsewhere=None)
        yield from _job_namespace(raw, loc, job)
    yield from _courses(raw)
    yield from derived.check(raw)
    for loc, part in _assuming(raw):
        yield from _assumptions(loc, part)


# --- site


def _site(raw: Raw) -> Iterator[Fault]:
    site = mapping(raw, "site")
    has_hubs = bool(items(raw, "hubs"))
    core, names = site.get("core_pool"), _known(raw, "fleet", "pools")
    yield from _pool_named(raw, ("site", "core_pool"), core)
    if core is None and has_hubs and site and site.get("kind") not in {"docker", "slurm"}:
        fix = f"name the pool that carries the hub and profiles without a pool: {nearest('', names or (), what='pool')}"
        yield Fault(("site", "core_pool"), "is missing", fix)
    yield from _authenticator(site, needed=has_hubs)
    yield from _registry(site)
    yield from _image_limits(site)
    yield from doubles(raw, ("site", "substitutes"), label="reference", key=lambda entry: entry.get("reference"))


def _image_limits(site: Raw) -> Iterator[Fault]:
    limits = {**ImageLimits().model_dump(), **mapping(site, "image_limits")}
    warn, refuse = limits["warn_compressed_gb"], limits["refuse_compressed_gb"]
    if isinstance(warn, int | float) and isinstance(refuse, int | float) and warn > refuse:
        fix = f"write {refuse:g} or less: otherwise an image is refused before a preview warns about it"
        yield Fault(("site", "image_limits", "warn_compressed_gb"), "is above refuse_compressed_gb", fix, warn)


def _authenticator(site: Raw, *, needed: bool) -> Iterator[Fault]:
    loc: Loc = ("site", "authenticator")
    given = site.get("authenticator")
    if given is None and needed and site:
        yield Fault(loc, "is missing", "a hub needs one: add kind oauth or lti13 with its settings")
    if not isinstance(given, Mapping):
        return
    if given.get("kind") == "dummy" and site.get("lab") is not True:
        fix = "choose oauth or lti13: the dummy login lets anybody in and is only for the lab (site.lab: true)"
        yield Fault((*loc, "kind"), "is allowed in the lab only", fix, "dummy")
    if given.get("kind") != "dummy":  # which allows no list in a stack file
        yield from of_login(("site",), site)


def _registry(site: Raw) -> Iterator[Fault]:
    registry, allowed = site.get("registry"), site.get("allowed_registries")
    if not isinstance(registry, str) or not isinstance(allowed, list) or has_password(registry):
        return
    if not any(isinstance(entry, str) and f"{registry}/".startswith(f"{entry}/") for entry in allowed):
        host = registry.partition("/")[0]
        fix = f"add {host} to site.allowed_registries: otherwise the images of this stack are refused"
        yield Fault(("site", "registry"), "is in none of the allowed registries", fix, registry)


# --- hubs, profiles and jobs


def _hubs(raw: Raw, pools: list[PoolOutline]) -> Iterator[Fault]:
    yield from doubles(raw, ("hubs",))
    ports: dict[object, Loc] = {}
    for loc, hub in items(raw, "hubs"):
        for key in ("hub_image", "proxy_image", "filter_image", "gateway_image"):
            yield from _image(raw, (*loc, key), hub.get(key))
        for profile_loc, profile in items(hub, "profiles", at=loc):
            for kernel_loc, kernel in items(profile, "kernels", at=profile_loc):
                yield from _image(raw, (*kernel_loc, "image"), kernel.get("image"))
        yield from _expose(loc, hub, ports)
        yield from _culling(loc, hub)
        yield from of_hub(loc, hub)
        profiles = items(hub, "profiles", at=loc)
        core = mapping(raw, "site").get("core_pool")
        for profile_loc, profile in profiles:
            yield from _workload(raw, profile_loc, profile, pools, elsewhere=core)
        yield from _default_profile(loc, [profile for _, profile in profiles])


def _default_profile(loc: Loc, profiles: list[Raw]) -> Iterator[Fault]:
    if profiles and not any(profile.get("is_default") is True for profile in profiles):
        names = [str(profile.get("name")) for profile in profiles]
        yield Fault((*loc, "profiles"), "have no default", f"set is_default: true on one of {listing(names, most=12)}")


def _expose(loc: Loc, hub: Raw, ports: dict[object, Loc]) -> Iterator[Fault]:
    expose = mapping(hub, "expose")
    port = expose.get("port")
    if expose.get("kind") == "node_port" and is_count(port) and ports.setdefault(port, loc) != loc:
        fix = "node ports are shared by the whole cluster: choose another from 30000 to 32767"
        yield Fault((*loc, "expose", "port"), "is the port of another hub", fix, port)


def _culling(loc: Loc, hub: Raw) -> Iterator[Fault]:
    cull = mapping(hub, "cull")
    idle, every = cull.get("idle_s"), cull.get("every_s")
    if is_count(idle) and is_count(every) and every > idle:
        fix = f"check at least once in {idle} s, or servers stay idle for longer than that"
        yield Fault((*loc, "cull", "every_s"), "is longer than idle_s", fix, every)


def _workload(raw: Raw, loc: Loc, workload: Raw, pools: list[PoolOutline], *, elsewhere: object) -> Iterator[Fault]:
    """Image, pool and GPUs of a profile or job; default pool: `elsewhere`, or (None) any."""
    yield from _image(raw, (*loc, "image"), workload.get("image"))
    yield from _pool_named(raw, (*loc, "pool"), workload.get("pool"))
    if workload.get("pools") is not None:
        yield from _several_pools(raw, loc, workload, pools)
        return
    gpus, lands_on = workload.get("gpus"), workload.get("pool") or elsewhere
    candidates = [pool for pool in pools if lands_on in (None, pool.name)]
    most = max((pool.gpus_per_node or 0 for pool in candidates), default=0)
    if is_count(gpus) and candidates and gpus > most and all(pool.gpus_per_node is not None for pool in candidates):
        where = f"pool {lands_on}" if lands_on else "the fleet"
        enough = [str(pool.name) for pool in pools if (pool.gpus_per_node or 0) >= gpus]
        instead = f"choose pool {' or '.join(enough)}" if enough else ""
        fewer = f"{_on_one_node(raw)}: request at most {most}" if most else ""
        fix = ", or ".join(filter(None, (fewer, instead))) or "request no GPU: gpus: 0"
        yield Fault((*loc, "gpus"), f"is more than any node of {where} has ({most})", fix, gpus)


def _on_one_node(raw: Raw) -> str:
    of_slurm = mapping(raw, "site").get("kind") == "slurm"
    return (
        "GPUs are those of each node, and slurm.nodes says how many nodes" if of_slurm else "one pod runs on one node"
    )


def _job_namespace(raw: Raw, loc: Loc, job: Raw) -> Iterator[Fault]:
    """A job's namespace is created and deleted by this stack, so it must contain nothing others need."""
    name = job.get("namespace", Job.model_fields["namespace"].default)
    if isinstance(name, str) and name in (_known(raw, "hubs") or ()):
        fix = "choose a namespace that only jobs use, such as batch: it is deleted with the last job in it"
        yield Fault((*loc, "namespace"), f"is the namespace of hub {name}, which holds people's homes", fix, name)


def _several_pools(raw: Raw, loc: Loc, workload: Raw, pools: list[PoolOutline]) -> Iterator[Fault]:
    """Several pools of a profile or job: each must exist and have enough GPUs."""
    named, gpus = workload["pools"], workload.get("gpus")
    per_node = {pool.name: pool.gpus_per_node for pool in pools}
    for index, name in enumerate(named if isinstance(named, list) else ()):
        yield from _pool_named(raw, (*loc, "pools", index), name)
        has = per_node.get(name) if isinstance(name, str) else None
        if name not in named[:index] and is_count(gpus) and has is not None and has < gpus:
            fix = f"{_on_one_node(raw)}: take {name} out, or request at most {has}"
            yield Fault((*loc, "pools", index), f"has {has} GPUs on each node, but {gpus} are requested", fix, name)


def _image(raw: Raw, loc: Loc, name: object) -> Iterator[Fault]:
    names = _known(raw, "images", name_of=image_name)
    if names is not None and isinstance(name, str) and name not in names:
        yield Fault(loc, "is not an image of this stack", nearest(name, names, what="image"), name)


def _pool_named(raw: Raw, loc: Loc, name: object) -> Iterator[Fault]:
    names = _known(raw, "fleet", "pools")
    if names is not None and isinstance(name, str) and name not in names:
        yield Fault(loc, "is not a pool of the fleet", nearest(name, names, what="pool"), name)


# --- courses


def _courses(raw: Raw) -> Iterator[Fault]:
    yield from doubles(raw, ("courses",))
    names = _known(raw, "hubs")
    for loc, course in items(raw, "courses"):
        hub, first, last = course.get("hub"), course.get("first_day"), course.get("last_day")
        if names is not None and isinstance(hub, str) and hub not in names:
            yield Fault((*loc, "hub"), "is not a hub of this stack", nearest(hub, names, what="hub"), hub)
        for _, found in items(raw, "hubs"):
            if hub is not None and found.get("name") == hub:
                yield from _chosen(found, loc, course)
        begin, end = read_day(first), read_day(last)
        if begin and end and begin > end:
            fix = f"the course begins on {begin}: write a day after that, or correct first_day"
            yield Fault((*loc, "last_day"), "is before first_day", fix, str(last))


def _chosen(hub: Raw, loc: Loc, course: Raw) -> Iterator[Fault]:
    """Course profiles missing from its hub."""
    profiles, chosen = _known(hub, "profiles"), course.get("profiles")
    for index, name in enumerate(chosen if isinstance(chosen, list) else ()):
        if profiles is not None and isinstance(name, str) and name not in profiles:
            advice = nearest(name, profiles, what="profile")
            yield Fault((*loc, "profiles", index), f"is not a profile of hub {hub.get('name')}", advice, name)


# --- everywhere


def _assuming(raw: Raw) -> Iterator[tuple[Loc, Raw]]:
    for section in ("site", "runtime"):
        yield (section,), mapping(raw, section)
    for path in (("fleet", "pools"), ("hubs",), ("containers",), ("jobs",), ("courses",)):
        yield from items(raw, *path)


def _assumptions(loc: Loc, part: Raw) -> Iterator[Fault]:
    listed = part.get("assumptions")
    for index, key in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(key, str) and key not in part:
            fix = nearest(key, set(part) - {"assumptions"}, what="key")
            yield Fault((*loc, "assumptions", index), "is not a key that is set beside it", fix, key)


def _known(raw: Raw, *path: str, name_of: Callable[[Raw], object] = lambda item: item.get("name")) -> set[str] | None:
    """Names in a list; None if it is so malformed that names may be missing."""
    for step in path[:-1]:
        if not isinstance(raw.get(step, {}), Mapping):
            return None
        raw = mapping(raw, step)
    found = raw.get(path[-1], [])
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        return None
    names = [name_of(item) for item in found]
    return {str(name) for name in names} if all(isinstance(name, str) for name in names) else None
