"""What changes, in the field's words: courses, drivers, pools, images, quotas, hubs, jobs; before and after.

Objects of our components are shown as the component; the whole diff lists them. What people decide, such as limits and
courses, is compared as hubs and the StackRecord record it.
"""

import datetime as dt
import re
from collections.abc import Collection, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final, TypeVar

from cli.engine_events import KINDS, OURS, Step, Stream
from cli.engine_values import grouped, items, known_text, mapping, names_of, texts, whole
from cli.review.commons import Commons, Image, Inputs, Side, is_group, is_over, nodes_of, pool_name, taints_of
from cli.review.details import Change, Detail, comes_or_goes, details, label_of, members, value_text, word
from cli.words import counted

_QUOTAS: Final = ("ResourceQuota", "ClusterQueue", "LocalQueue", "Cohort", "LimitRange")
_MOST_NAMES: Final = 6


def changes_of(stream: Stream, old: Commons, new: Commons, today: dt.date) -> tuple[Change, ...]:
    """Changes that a GPU commons talks about: courses, pools, images, hubs, jobs, others, each by name.

    The engine reports resources in a different order each time.
    """
    changed = [step.name for step in stream.changed if step.kind == "image"]
    rebuilt = frozenset(side.images[name].name for side in (old, new) for name in changed if name in side.images)
    found = (change for step in stream.changed if (change := _change_of(step, old, new, rebuilt)))
    # Two resources may record one thing: the first decides whether it comes or goes.
    things = grouped(((change.kind, change.name), change) for change in (*found, *_decided(stream, today)))
    order = {kind: number for number, kind in enumerate(("course", *KINDS))}
    return tuple(
        replace(same[0], details=tuple(dict.fromkeys(row for each in same for row in each.details)))
        for _, same in sorted(things.items(), key=lambda thing: (order.get(thing[0][0], len(order)), thing[0]))
    )


def _change_of(step: Step, old: Commons, new: Commons, rebuilt: frozenset[str]) -> Change | None:
    """The change of one resource; None if it is told otherwise: a record is shown as what it records."""
    kind, name = step.kind, step.name
    rows: Iterable[Detail]
    if kind == "record":
        return None
    if kind == "pool":
        name, rows = pool_name(name, step.inputs), _pool(step)
    elif kind == "image":
        rows = _image(step, old.images.get(name), new.images.get(name))
    elif kind == "hub":
        rows = tuple(_with_images(step, rebuilt))
        if not rows and step.op == "update" and (step.old or {}) != (step.new or {}):
            return None  # each of its courses is a separate change
    elif kind:
        rows = _with_images(step, rebuilt)
    elif step.type.startswith(OURS) or (not step.owners and step.token in _QUOTAS):
        kind = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in step.token).strip()
        # Nothing to compare if all of it comes or goes.
        rows = () if step.old is None or step.new is None else details(step.old, step.new)
    else:
        return None
    return Change(kind, name, step.op, tuple(rows))


# --- pools

_FACTS: Final = ("gpu", "gpus_per_node", "driver_version", "container_toolkit_version")
_SYSTEM: Final = ("ami_type", "ami_release", "flatcar_release")
_BY_NODE: Final = {"driver_version": "node_drivers", "container_toolkit_version": "node_container_toolkits"}
# `driver` is the one that a group requests; the resulting driver is shown.
_SHOWN_OF_POOLS: Final = {*_FACTS, *_SYSTEM, *_BY_NODE.values(), "node_names", "pool", "taints", "driver"}


def _pool(step: Step) -> Iterator[Detail]:
    old, new = step.old or {}, step.new or {}
    if step.old is None or step.new is None:
        yield comes_or_goes(_whole_pool(new or old), comes=bool(new))
        return
    for key in (*_FACTS, *_SYSTEM):
        before, after = word(old.get(key)), word(new.get(key))
        if before != after:
            yield Detail(label_of((key,)), before, after, loc=(key,))
    yield from _of_nodes(old, new)
    if not is_group(new):
        yield from members("nodes", nodes_of(old), nodes_of(new))
    had, has = _gpus(old), _gpus(new)
    if had is not None and has is not None and had != has:
        yield Detail("GPUs", f"{had:,}", f"{has:,}", loc=("gpus",))
    yield from members("taints", taints_of(old), taints_of(new))
    yield from details(_without(old, _SHOWN_OF_POOLS), _without(new, _SHOWN_OF_POOLS))


def _without(inputs: Inputs | None, keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in (inputs or {}).items() if key not in keys}


def _whole_pool(pool: Inputs) -> str:
    """`2 nodes with 8 GTX 1080 Ti each, driver 418.88`, `0 to 8 instances of g6.2xlarge without GPUs`."""
    nodes = counted(len(nodes_of(pool)), "node")
    if is_group(pool):
        most = counted(whole(pool.get("max")) or 0, "instance")
        nodes = f"{whole(pool.get('min')) or 0} to {most} of {names_of(texts(pool.get('instance_types')))}"
    return _with_gpus(nodes, pool, "driver_version") if "gpu" in pool else f"{nodes} without GPUs"


def _with_gpus(nodes: str, pool: Inputs, driver: str) -> str:
    return (
        f"{nodes} with {word(pool.get('gpus_per_node'))} {word(pool.get('gpu'))} each, driver {word(pool.get(driver))}"
    )


def _of_nodes(old: Inputs, new: Inputs) -> Iterator[Detail]:
    """Nodes that override the pool's driver or container toolkit and get another one."""
    for key, by_node in _BY_NODE.items():
        had, has = mapping(old.get(by_node)), mapping(new.get(by_node))
        stay = [node for node in texts(new.get("node_names")) if node in texts(old.get("node_names"))]
        changed = (
            ((word(had.get(node, old.get(key))), word(has.get(node, new.get(key)))), node)
            for node in stay
            if node in had or node in has
        )
        for (before, after), nodes in grouped(changed).items():
            if before != after:
                yield Detail(f"{label_of((key,))} of {names_of(nodes)}", before, after, loc=(key,))


def _gpus(inputs: Inputs) -> int | None:
    each = whole(inputs.get("gpus_per_node")) if "gpu" in inputs else 0
    return None if each is None else each * len(nodes_of(inputs))


# --- images


def _image(step: Step, old: Image | None, new: Image | None) -> Iterator[Detail]:
    if old is None or new is None:
        if known := new or old:
            yield comes_or_goes(_whole_image(known), comes=new is not None)
        return
    before, after = old.facts, new.facts
    for key in ("version", "base"):
        if before.get(key) != after.get(key):
            yield Detail(key, word(before.get(key)), word(after.get(key)))
    if (lines := _cuda(before)) != (now := _cuda(after)):
        yield Detail("CUDA line", lines, now)
    yield from _packages("", before.get("packages"), after.get("packages"))
    kernels, now_kernels = mapping(before.get("kernels")), mapping(after.get("kernels"))
    yield from members("kernels", [*map(str, kernels)], [*map(str, now_kernels)])
    for name in kernels:
        if name in now_kernels:
            yield from _packages(f"kernel {name}: ", kernels[name], now_kernels[name])
    # Packages that a site leaves out are still pins of the spec.
    yield from _packages("not on this site, ", before.get("missing"), after.get("missing"))
    yield from _size(old, new)
    shown_above = {"facts", "base"}  # the input `base` is the parent's reference
    yield from details(_without(step.old, shown_above), _without(step.new, shown_above))


def _cuda(facts: Inputs) -> str:
    return names_of(texts(facts.get("cuda_lines")))


def _whole_image(image: Image) -> str:
    words = (
        f"version {word(image.facts.get('version'))}" if image.facts.get("version") else "",
        f"on {word(image.facts.get('base'))}" if image.facts.get("base") else "",
        f"CUDA {_cuda(image.facts)}" if _cuda(image.facts) else "",
        _megabytes(image),
    )
    return ", ".join(filter(None, words))


def _size(old: Image, new: Image) -> Iterator[Detail]:
    """Compressed bytes. Lower bounds have no difference: each omits other parts."""
    if (old.size, old.expected) == (new.size, new.expected):
        return
    after = _megabytes(new)
    if old.size is not None and new.size is not None:
        after = f"{after} ({new.size - old.size:+,.1f} MB)"
    elif old.size is not None:
        after = f"known after the build{f', {after}' if after else ''}"
    yield Detail("size", _megabytes(old), after)


def _megabytes(image: Image) -> str:
    if image.size is not None:
        return f"{image.size:,.1f} MB"
    return f"at least {image.expected:,.1f} MB by its spec" if image.expected is not None else ""


def _packages(label: str, old: object, new: object) -> Iterator[Detail]:
    """One detail for each package whose version changed; added and removed ones are listed. `label` comes first."""
    before, after = ({_package(pin): pin for pin in texts(pins)} for pins in (old, new))
    moved = [name for name in before if name in after and before[name] != after[name]]
    for name in moved[:_MOST_NAMES]:
        yield Detail(f"{label}{name}", word(_version(before[name])), word(_version(after[name])))
    if len(moved) > _MOST_NAMES:
        yield Detail("", "", f"{label}{len(moved) - _MOST_NAMES} more versions change")
    gone, come = (
        [pin for name, pin in these.items() if name not in those] for these, those in ((before, after), (after, before))
    )
    yield from members(f"{label}packages", gone, come)


def _package(pin: str) -> str:
    """Of PyPI's `torch==1.7.1`, conda's `cudnn=7.6.5.32`, npm's `@jupyter/builder@4.6.3`."""
    return re.split(r"(?<=.)[@=<>!~;\[\s]", pin, maxsplit=1)[0].lower()


def _version(pin: str) -> str:
    return pin[len(_package(pin)) :].lstrip("=@[") or pin


# --- hubs, jobs, runtimes and pre-pullers

_IMAGES: Final = ("image", "hub_image", "proxy_image", "filter_image", "gateway_image")
_Section = TypeVar("_Section", bound=Inputs)


def _with_images(step: Step, rebuilt: frozenset[str]) -> Iterator[Detail]:
    """References to images that this change builds are shown by name. Courses are separate changes."""
    if step.old is None or step.new is None:
        return
    elsewhere = ("courses",) if step.kind == "hub" else ()
    old, new = (deepcopy(_without(side, elsewhere)) for side in (step.old, step.new))
    if names := list(dict.fromkeys(_taken(old, new, rebuilt))):
        yield Detail("", "", f"uses the new {names_of(names)}")
    yield from details(old, new)


def _taken(old: dict[str, Any], new: dict[str, Any], rebuilt: frozenset[str]) -> Iterator[str]:
    """Names of rebuilt images. Removes references to images from both sides where names are enough."""
    for key in _IMAGES:
        before, after = (known_text(side.get(f"{key}_name")) for side in (old, new))
        if old.get(key) != new.get(key) and before and after and (before != after or after in rebuilt):
            for side in (old, new):
                side.pop(key, None)
                side.pop("contents", None)  # they follow from the image
            yield from [after] if before == after else []
    if old and ("pools" in old) != ("pools" in new):  # one pool and several are one change; their GPUs follow
        for side in (old, new):
            side.update({"pools": [side.pop("pool")]} if side.get("pool") else {})
            for key in ("pool", "gpu", "gpu_memory_gb"):
                side.pop(key, None)
    for key in ("profiles", "kernels"):
        there, here = (_by_name(_sections(side.get(key))) for side in (old, new))
        for each in _sections(new.get(key)):
            yield from _taken(there.get(known_text(each.get("name")), {}), each, rebuilt)
        for name in {*there} ^ {*here}:  # the image of an added or removed one already says so
            {**there, **here}[name].pop("contents", None)


def _sections(value: object) -> list[dict[str, Any]]:
    return [each for each in items(value) if isinstance(each, dict)]


def _by_name(sections: Iterable[_Section]) -> dict[str, _Section]:
    return {known_text(each.get("name")): each for each in sections}


# --- what people decide

_PROMISED: Final = ("peak_share", "guaranteed_gpus", "borrowable_gpus", "first_day", "last_day")


def _decided(stream: Stream, today: dt.date) -> Iterator[Change]:
    """One change for each course, pool and image, for the site and for its policies."""
    yield from _courses(stream, today)
    old, new = _record(stream)
    if old is None or new is None:
        return
    (site, fleet, images, policies), (site_now, fleet_now, images_now, policies_now) = (
        [mapping(side.get(key)) for key in ("site", "fleet", "images", "policies")] for side in (old, new)
    )
    name = known_text(site_now.get("name")) or known_text(site.get("name")) or stream.stack
    of_fleet = details(_without(fleet, ("pools",)), _without(fleet_now, ("pools",)))
    yield from _update("site", name, (*details(site, site_now), *of_fleet))
    yield from _recorded_pools(stream, fleet, fleet_now)
    for image in dict.fromkeys([*images, *images_now]):
        limits = (mapping(mapping(side.get(image)).get("limit")) for side in (images, images_now))
        yield from _update("image", image, _limit(*limits))
    yield from _update("policies", name, details(policies, policies_now))


def is_first_record(stream: Stream) -> bool:
    """Earlier decisions are unknown: the state is older than the record."""
    old, new = _record(stream)
    return old is None and new is not None


def _record(stream: Stream) -> tuple[Inputs | None, Inputs | None]:
    """Before and after. A stack has one record, whatever its name."""
    steps = [step for step in stream.steps.values() if step.kind == "record"]
    old = next((step.old for step in steps if step.old is not None), None)
    return old, next((step.new for step in steps if step.new is not None), None)


def _update(kind: str, name: str, rows: Iterable[Detail]) -> Iterator[Change]:
    if found := tuple(rows):
        yield Change(kind, name, "update", found)


def _courses(stream: Stream, today: dt.date) -> Iterator[Change]:
    old, new = _courses_of(stream, "old"), _courses_of(stream, "new")
    gone = {name: course for (hub, name), course in old.items() if (hub, name) not in new}
    come = {name: course for (hub, name), course in new.items() if (hub, name) not in old}
    for name in sorted({*gone, *come}):
        yield _course(name, gone.get(name), come.get(name), today)
    unrecorded = _PROMISED if is_first_record(stream) else ()
    for hub, name in sorted({*old} & {*new}):
        before = old[hub, name]
        after = {key: value for key, value in new[hub, name].items() if key in before or key not in unrecorded}
        if before != after:
            yield _course(name, before, after, today)


def _courses_of(stream: Stream, side: Side) -> dict[tuple[str, str], Inputs]:
    """By hub and name, and with the hub's name."""
    return {
        (step.name, name): {"hub": step.name, **course}
        for step in stream.steps.values()
        if step.kind == "hub"
        for name, course in _by_name(items(mapping(getattr(step, side)).get("courses"))).items()
        if name
    }


def _course(name: str, old: Inputs | None, new: Inputs | None, today: dt.date) -> Change:
    sides = [side for side in (old, new) if side is not None]
    if old is not None and new is not None:
        rows = [*details(old, new)]
    else:
        rows = [comes_or_goes(_whole_course(sides[0]), comes=new is not None)]
    if all(is_over(side, today) for side in sides):
        rows.append(Detail("", "", f"over since {word(sides[-1].get('last_day'))}"))
    return Change("course", name, "create" if old is None else "delete" if new is None else "update", tuple(rows))


def _whole_course(course: Inputs) -> str:
    share, promised = course.get("peak_share"), whole(course.get("guaranteed_gpus"))
    parts = [f"{counted(whole(course.get('seats')) or 0, 'seat')} on hub {course['hub']}"]
    if profiles := texts(course.get("profiles")):
        parts.append(f"{'profile' if len(profiles) == 1 else 'profiles'} {names_of(profiles)}")
    if promised is not None:
        parts.append(f"{counted(promised, 'guaranteed GPU')}")
    if share is not None:
        parts.append(f"{value_text(share, ('peak_share',))} of the seats at the busiest time")
    days = [word(course.get(key)) for key in ("first_day", "last_day")]
    return ", ".join([*parts, *([" to ".join(days)] if all(days) else [])])


def _recorded_pools(stream: Stream, old: Inputs, new: Inputs) -> Iterator[Change]:
    """What no GpuNodePool records of a pool: all of it, if somebody else runs the fleet."""
    before, after = (_by_name(items(side.get("pools"))) for side in (old, new))
    with_nodes = {pool_name(step.name, step.inputs) for step in stream.steps.values() if step.kind == "pool"}
    for name in filter(None, dict.fromkeys([*before, *after])):
        if name in before and name in after:
            yield from _update("pool", name, details(before[name], after[name]))
        elif name not in with_nodes:
            pool = after.get(name) or before[name]
            count = whole(pool.get("nodes"))  # of a Slurm partition
            nodes = counted(count, "node") if count is not None else names_of(texts(pool.get("nodes")))
            row = comes_or_goes(_with_gpus(nodes, pool, "driver"), comes=name in after)
            yield Change("pool", name, "create" if name in after else "delete", (row,))


def _limit(before: Inputs, after: Inputs) -> Iterator[Detail]:
    """Limits for single images. Adding or removing one is one entry."""
    if before and after:
        yield from details(before, after, ("limit",))
    elif before or after:
        line = ", ".join(
            f"until {word(item)}" if key == "until" else value_text(item, (key,))
            for key, item in (after or before).items()
        )
        yield replace(comes_or_goes(line, comes=bool(after)), label="limit of its own")
