"""What a stack's settings must agree on among themselves: names, sums, limits. Pure.

Works on the mapping as it was read, not on the models, and skips what has the wrong shape: a malformed driver in
one pool must not hide a missing image in a profile, and what is malformed is reported by the models.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from compat.versions import DriverVersion, VersionError
from messages.problems import Fault, Loc, has_password, listing, nearest
from settings import agreements, derived
from settings.converted import read_day
from settings.raw import Raw, expanded, image_name, is_count, items, mapping


@dataclass(frozen=True, slots=True)
class _Pool:
    """What the checks need of one pool. None: not given, or of the wrong shape."""

    loc: Loc
    name: str | None
    gpus_per_node: int | None
    listed: tuple[str, ...] | None  # before nodes_except
    excepted: tuple[str, ...] | None

    @property
    def nodes(self) -> tuple[str, ...] | None:
        if self.listed is None or self.excepted is None:
            return None
        return tuple(name for name in self.listed if name not in self.excepted)


def check(raw: Raw) -> Iterator[Fault]:
    """Every disagreement in the settings of a stack (`site`, `fleet`, … as keys), in the order of the sections."""
    pools = [_outline(loc, pool) for loc, pool in items(raw, "fleet", "pools")]
    yield from _site(raw)
    yield from _fleet(raw, pools)
    yield from _doubles(raw, ("images",), key=image_name)
    yield from _hubs(raw, pools)
    yield from _doubles(raw, ("jobs",))
    for loc, job in items(raw, "jobs"):
        yield from _workload(raw, loc, job, pools, elsewhere=None)
        yield from _job_namespace(raw, loc, job)
    yield from _courses(raw)
    yield from derived.check(raw)
    yield from agreements.check(raw)
    for loc, part in _assuming(raw):
        yield from _assumptions(loc, part)


# --- site


def _site(raw: Raw) -> Iterator[Fault]:
    site = mapping(raw, "site")
    has_hubs = bool(items(raw, "hubs"))
    core, names = site.get("core_pool"), _known(raw, "fleet", "pools")
    yield from _pool_named(raw, ("site", "core_pool"), core)
    if core is None and has_hubs and site:
        fix = f"name the pool that carries the hub and profiles without a pool: {nearest('', names or (), what='pool')}"
        yield Fault(("site", "core_pool"), "is missing", fix)
    yield from _authenticator(site, needed=has_hubs)
    yield from _registry(site)
    yield from _image_limits(site)
    yield from _doubles(raw, ("site", "substitutes"), label="reference", key=lambda entry: entry.get("reference"))


def _image_limits(site: Raw) -> Iterator[Fault]:
    limits = mapping(site, "image_limits")
    warn, refuse = limits.get("warn_compressed_gb", 4), limits.get("refuse_compressed_gb", 6)
    if isinstance(warn, int | float) and isinstance(refuse, int | float) and warn > refuse:
        fix = f"make it {refuse:g} or less: nothing could be warned of that is not refused"
        yield Fault(("site", "image_limits", "warn_compressed_gb"), "is above refuse_compressed_gb", fix, warn)


def _authenticator(site: Raw, *, needed: bool) -> Iterator[Fault]:
    loc: Loc = ("site", "authenticator")
    given = site.get("authenticator")
    if given is None and needed and site:
        yield Fault(loc, "is missing", "a hub needs one: add kind oauth or lti13 with its settings")
    if not isinstance(given, Mapping):
        return
    if given.get("kind") == "dummy" and site.get("lab") is not True:
        fix = "choose oauth or lti13: a dummy lets anybody in and is for the lab alone (site.lab: true)"
        yield Fault((*loc, "kind"), "is allowed in the lab only", fix, "dummy")
    if given.get("kind") in ("oauth", "lti13"):
        everybody = given.get("allow_all", given["kind"] == "lti13")
        if everybody is False and not given.get("allowed_users"):
            yield Fault(loc, "lets nobody log in", "list allowed_users, or set allow_all: true")


def _registry(site: Raw) -> Iterator[Fault]:
    registry, allowed = site.get("registry"), site.get("allowed_registries")
    if not isinstance(registry, str) or not isinstance(allowed, list) or has_password(registry):
        return
    if not any(isinstance(entry, str) and f"{registry}/".startswith(f"{entry}/") for entry in allowed):
        fix = f"add {registry.partition('/')[0]} to site.allowed_registries, or our own images are refused"
        yield Fault(("site", "registry"), "is in none of the allowed registries", fix, registry)


# --- fleet


def _outline(loc: Loc, pool: Raw) -> _Pool:
    per_node = pool.get("gpus_per_node", 0 if pool.get("gpu") is None else None)
    return _Pool(
        loc=loc,
        name=pool["name"] if isinstance(pool.get("name"), str) else None,
        gpus_per_node=per_node if is_count(per_node) and per_node >= 0 else None,
        listed=expanded(pool.get("nodes")),
        excepted=expanded(pool.get("nodes_except", [])),
    )


def _fleet(raw: Raw, pools: list[_Pool]) -> Iterator[Fault]:
    yield from _doubles(raw, ("fleet", "pools"))
    owners: dict[str, _Pool] = {}
    for pool in pools:
        for node in pool.excepted or ():
            if pool.listed is not None and node not in pool.listed:
                fix = f"{_called(pool)} has {listing(pool.listed, most=12)}: correct nodes or nodes_except"
                yield Fault((*pool.loc, "nodes_except"), "is not among the nodes of its pool", fix, node)
        if pool.nodes is not None and not pool.nodes:
            yield Fault((*pool.loc, "nodes"), "leaves the pool without a node", "list at least one, or drop the pool")
        yield from _owned_once(pool, owners)
    for loc, each in items(raw, "fleet", "pools"):
        yield from _gpus_of_pool(loc, each)
    for pool, (_, each) in zip(pools, items(raw, "fleet", "pools"), strict=True):
        yield from _overrides(pool, each)
    yield from _total(mapping(raw, "fleet").get("total_gpus"), pools)
    yield from _managed(mapping(raw, "fleet").get("managed_by"), raw.get("runtime"))
    if raw.get("runtime") is not None and pools and all(pool.gpus_per_node == 0 for pool in pools):
        yield Fault(("runtime",), "has no node to run on", "leave it out: no pool of the fleet has a gpu")


_WITH_GPUS: Final = {  # keys that a pool has with `gpu` and not without
    "driver": 'NVIDIA driver on these nodes, quoted: "418.88"',
    "container_toolkit": 'NVIDIA container toolkit on these nodes, quoted: "1.17.8"',
}


def _gpus_of_pool(loc: Loc, pool: Raw) -> Iterator[Fault]:
    """A pool says all of its GPUs, or nothing of any."""
    gpu, per_node = pool.get("gpu"), pool.get("gpus_per_node")
    if gpu is not None:
        if per_node is None:
            yield Fault((*loc, "gpus_per_node"), "is missing", "add gpus_per_node: GPUs on each node of this pool")
        elif per_node == 0:
            fix = "write how many GPUs each node has; for nodes without GPUs leave gpu out as well"
            yield Fault((*loc, "gpus_per_node"), "is out of range: 1 or more is allowed with gpu", fix, per_node)
        for key, what in _WITH_GPUS.items():
            if pool.get(key) is None:
                yield Fault((*loc, key), "is missing", f"add {key}: {what}")
    elif is_count(per_node) and per_node > 0:
        fix = "add gpu: GPU model, as people write it: GeForce GTX 1080 Ti; for nodes without GPUs leave gpus_per_node"
        yield Fault((*loc, "gpu"), "is missing", f"{fix} out")
    else:
        for key in _WITH_GPUS:
            if pool.get(key) is not None:
                fix = f"add gpu and gpus_per_node, or leave {key} out: nodes without GPUs have none"
                yield Fault((*loc, key), "is given for a pool without gpu", fix, pool[key])


def _overrides(pool: _Pool, raw: Raw) -> Iterator[Fault]:
    """Nodes that differ from the rest of their pool: each is of the pool, said once, and does differ."""
    overrides = items(raw, "node_overrides", at=pool.loc)
    if overrides and raw.get("gpu") is None:
        fix = "leave it out: nodes without GPUs have neither driver nor container toolkit"
        yield Fault((*pool.loc, "node_overrides"), "is given for a pool without gpu", fix)
        return
    said: set[str] = set()
    for loc, each in overrides:
        for node in expanded(each.get("nodes")) or ():
            if pool.nodes is not None and node not in pool.nodes:
                fix = f"{_called(pool)} has {listing(pool.nodes, most=12)}: correct it, or the nodes of the pool"
                yield Fault((*loc, "nodes"), "is not among the nodes of its pool", fix, node)
            elif node in said:
                yield Fault((*loc, "nodes"), "is overridden twice", "say once what the node has", node)
            said.add(node)
        given = [key for key in _WITH_GPUS if each.get(key) is not None]
        if not given:
            yield Fault(loc, "overrides nothing", "give the driver or the container_toolkit that these nodes have")
        elif same := [key for key in given if _same_version(each[key], raw.get(key))]:
            fix = f"write the {same[0]} that these nodes have, or leave it out"
            yield Fault((*loc, same[0]), f"is the {same[0]} of {_called(pool)}", fix, each[same[0]])
    if pool.nodes and said >= set(pool.nodes):
        fix = "change the pool itself; an override is for some of its nodes"
        yield Fault((*pool.loc, "node_overrides"), f"overrides every node of {_called(pool)}", fix)


def _same_version(one: object, other: object) -> bool:
    """418.88.00 is 418.88."""
    try:
        return DriverVersion.parse(str(one)) == DriverVersion.parse(str(other))
    except VersionError:
        return one == other


def _owned_once(pool: _Pool, owners: dict[str, _Pool]) -> Iterator[Fault]:
    twice: dict[str, list[str]] = {}
    for node, times in Counter(pool.nodes or ()).items():
        owner = owners.setdefault(node, pool)
        if owner is not pool:
            twice.setdefault(f"belongs to {_called(owner)} and to {_called(pool)}", []).append(node)
        elif times > 1:
            twice.setdefault(f"is listed twice in {_called(pool)}", []).append(node)
    for reason, nodes in twice.items():
        fix = "a node belongs to one pool, once: take it out of one of the two (nodes_except takes it out of a range)"
        yield Fault((*pool.loc, "nodes"), reason, fix, listing(nodes))


def _total(declared: object, pools: list[_Pool]) -> Iterator[Fault]:
    counts = [(pool, pool.nodes, pool.gpus_per_node) for pool in pools]
    known = [(pool, nodes, gpus) for pool, nodes, gpus in counts if nodes is not None and gpus is not None]
    with_gpus = [each for each in known if each[2]]
    total = sum(len(nodes) * gpus for _, nodes, gpus in known)
    if not is_count(declared) or declared == total or len(known) < len(pools) or not all(pool.nodes for pool in pools):
        return  # or it follows from what is reported already
    usual = Counter(chain.from_iterable([gpus] * len(nodes) for _, nodes, gpus in with_gpus)).most_common(1)
    odd = [
        f"{listing(nodes)} of pool {pool.name} {'has' if len(nodes) == 1 else 'each have'} {gpus}"
        for pool, nodes, gpus in with_gpus
        if usual and gpus != usual[0][0]
    ]
    reason = f"contradicts the pools, which have {total}, not {declared}" + (f": {'; '.join(odd)}" if odd else "")
    sums = ", ".join(f"{pool.name} {len(nodes)} nodes of {gpus}" for pool, nodes, gpus in known)
    fix = f"write total_gpus: {total}, or correct nodes or gpus_per_node of a pool ({sums or 'there is none'})"
    yield Fault(("fleet", "total_gpus"), reason, fix, declared)


def left_nodes(raw: Raw, deployed: Mapping[str, Any]) -> str:
    """`n24 left pool rtx2080ti`: nodes that were deployed in a pool and are in none now; empty where nothing left."""
    pools = [_outline(loc, pool) for loc, pool in items(raw, "fleet", "pools")]
    there = {node for pool in pools for node in pool.nodes or ()}
    gone = {
        name: [node for node in nodes if isinstance(node, str) and node not in there]
        for name, nodes in deployed.items()
        if isinstance(nodes, list | tuple)
    }
    return "; ".join(f"{listing(nodes)} left pool {name}" for name, nodes in gone.items() if nodes)


def _managed(manager: object, runtime: object) -> Iterator[Fault]:
    """The daemons of one fleet have one owner: it removes them when it is destroyed, whoever else counts on them."""
    if isinstance(manager, str) and manager and runtime is not None:
        fix = "leave the section runtime out, or fleet.managed_by if this stack manages the nodes"
        yield Fault(("runtime",), f"is not this stack's to run: {manager} manages the fleet", fix)


# --- hubs, profiles and jobs


def _hubs(raw: Raw, pools: list[_Pool]) -> Iterator[Fault]:
    yield from _doubles(raw, ("hubs",))
    ports: dict[object, Loc] = {}
    for loc, hub in items(raw, "hubs"):
        for key in ("hub_image", "proxy_image"):
            yield from _image(raw, (*loc, key), hub.get(key))
        yield from _expose(loc, hub, ports)
        yield from _culling(loc, hub)
        yield from _doubles(hub, ("profiles",), at=loc)
        profiles = items(hub, "profiles", at=loc)
        core = mapping(raw, "site").get("core_pool")
        for profile_loc, profile in profiles:
            yield from _workload(raw, profile_loc, profile, pools, elsewhere=core)
        yield from _default_profile(loc, [profile for _, profile in profiles])


def _default_profile(loc: Loc, profiles: list[Raw]) -> Iterator[Fault]:
    names = [str(profile.get("name")) for profile in profiles]
    default = [name for name, profile in zip(names, profiles, strict=True) if profile.get("is_default") is True]
    if profiles and not default:
        yield Fault((*loc, "profiles"), "have no default", f"set is_default: true on one of {listing(names, most=12)}")
    if len(default) > 1:
        fix = f"keep is_default: true on one of {', '.join(default)}"
        yield Fault((*loc, "profiles"), f"have {len(default)} defaults", fix)


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
        fix = f"look at least once in {idle} s: servers would stay idle for longer than that"
        yield Fault((*loc, "cull", "every_s"), "is longer than idle_s", fix, every)


def _workload(raw: Raw, loc: Loc, workload: Raw, pools: list[_Pool], *, elsewhere: object) -> Iterator[Fault]:
    """Image, pool and GPUs of a profile or job; without a pool it lands `elsewhere`, or (None) on any pool."""
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
        fewer = f"one pod runs on one node: ask for at most {most}" if most else ""
        fix = ", or ".join(filter(None, (fewer, instead))) or "ask for no GPU: gpus: 0"
        yield Fault((*loc, "gpus"), f"is more than any node of {where} has ({most})", fix, gpus)


def _job_namespace(raw: Raw, loc: Loc, job: Raw) -> Iterator[Fault]:
    """A job's namespace is this stack's to create and to delete, so it must hold nothing that others need."""
    name = job.get("namespace", "batch")
    if isinstance(name, str) and name in (_known(raw, "hubs") or ()):
        fix = "choose a namespace that only jobs use, such as batch: it is deleted with the last job in it"
        yield Fault((*loc, "namespace"), f"is the namespace of hub {name}, which holds people's homes", fix, name)


def _several_pools(raw: Raw, loc: Loc, workload: Raw, pools: list[_Pool]) -> Iterator[Fault]:
    """Pools that a profile or job names beside each other: each once, each with enough GPUs."""
    named, gpus = workload["pools"], workload.get("gpus")
    if workload.get("pool") is not None:
        fix = "keep one of the two: pool for one pool, pools for several"
        yield Fault((*loc, "pools"), "is given beside pool", fix)
    per_node = {pool.name: pool.gpus_per_node for pool in pools}
    for index, name in enumerate(named if isinstance(named, list) else ()):
        yield from _pool_named(raw, (*loc, "pools", index), name)
        has = per_node.get(name) if isinstance(name, str) else None
        if name in named[:index]:
            yield Fault((*loc, "pools", index), "is listed twice", "name each pool once", name)
        elif is_count(gpus) and has is not None and has < gpus:
            fix = f"one pod runs on one node: take {name} out, or ask for at most {has}"
            yield Fault((*loc, "pools", index), f"has {has} GPUs on each node, and {gpus} are asked for", fix, name)


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
    yield from _doubles(raw, ("courses",))
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
    """Profiles of a course that its hub does not have."""
    profiles, chosen = _known(hub, "profiles"), course.get("profiles")
    for index, name in enumerate(chosen if isinstance(chosen, list) else ()):
        if profiles is not None and isinstance(name, str) and name not in profiles:
            advice = nearest(name, profiles, what="profile")
            yield Fault((*loc, "profiles", index), f"is not a profile of hub {hub.get('name')}", advice, name)


# --- everywhere


def _doubles(
    raw: Raw,
    path: tuple[str, ...],
    *,
    at: Loc = (),
    label: str = "name",
    key: Callable[[Raw], object] = lambda item: item.get("name"),
) -> Iterator[Fault]:
    first: dict[object, Loc] = {}
    for loc, item in items(raw, *path, at=at):
        if not isinstance(item.get(label), str):
            continue
        found = key(item)
        if found in first:
            reason = f"is taken by {path[-1]}[{first[found][-1]}]"
            yield Fault((*loc, label), reason, f"give each of {path[-1]} a {label} of its own", item[label])
        first.setdefault(found, loc)


def _assuming(raw: Raw) -> Iterator[tuple[Loc, Raw]]:
    for section in ("site", "runtime"):
        yield (section,), mapping(raw, section)
    for path in (("fleet", "pools"), ("hubs",), ("jobs",), ("courses",)):
        yield from items(raw, *path)


def _assumptions(loc: Loc, part: Raw) -> Iterator[Fault]:
    listed = part.get("assumptions")
    for index, key in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(key, str) and key not in part:
            fix = nearest(key, set(part) - {"assumptions"}, what="key")
            yield Fault((*loc, "assumptions", index), "is not a key that is set beside it", fix, key)


def _known(raw: Raw, *path: str, name_of: Callable[[Raw], object] = lambda item: item.get("name")) -> set[str] | None:
    """Names in a list of named things; None where its shape is so wrong that a name may be meant to be there."""
    for step in path[:-1]:
        if not isinstance(raw.get(step, {}), Mapping):
            return None
        raw = mapping(raw, step)
    found = raw.get(path[-1], [])
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        return None
    names = [name_of(item) for item in found]
    return {str(name) for name in names} if all(isinstance(name, str) for name in names) else None


def _called(pool: _Pool) -> str:
    return f"pool {pool.name}" if pool.name is not None else f"pool number {pool.loc[-1]}"
