"""What changes, in the field's words: drivers, pools, images, quotas, hubs, jobs; before and after.

Objects of our components are shown as the component; the whole diff lists them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement

from cli.review.commons import Commons, Image
from cli.review.details import Change, Detail, details, joined, members, of_inputs, word
from cli.review.promises import merged, promises
from cli.review.recorded import (
    CONTAINER,
    DOCKER_HUB,
    EKS_GROUP,
    FLATCAR_GROUP,
    HOST,
    HUB,
    IMAGE,
    JOB,
    OURS,
    POOL,
    PULLER,
    RECORD,
    RUNTIME,
    SLURM_HUB,
    SLURM_JOB,
    is_group,
    nodes_of,
    pool_name,
    taints_of,
)
from cli.review.stream import Step, Stream
from cli.review.values import items, known_text, mapping, names_of, texts, whole
from cli.words import counted

_QUOTAS: Final = ("ResourceQuota", "ClusterQueue", "LocalQueue", "Cohort", "LimitRange")
_MOST_NAMES: Final = 6


def changes_of(stream: Stream, old: Commons, new: Commons, today: dt.date) -> tuple[Change, ...]:
    """Changes that a GPU commons talks about: courses, pools, images, hubs, jobs, others, each by name.

    The engine reports resources in a different order each time.
    """
    changed = [step.name for step in stream.changed if step.type == IMAGE]
    rebuilt = frozenset(side.images[name].name for side in (old, new) for name in changed if name in side.images)
    changes = [change for step in stream.changed if (change := _change_of(step, old, new, rebuilt))]
    changes = merged([*changes, *promises(stream, today)])
    order = list(dict.fromkeys(["course", *_KINDS.values()]))
    place_of = {kind: number for number, kind in enumerate(order)}
    return tuple(sorted(changes, key=lambda each: (place_of.get(each.kind, len(order)), each.kind, each.name)))


# Kinds of our own resources; a record is shown as what it records.
_KINDS: Final = {
    POOL: "pool",
    HOST: "pool",
    EKS_GROUP: "pool",
    FLATCAR_GROUP: "pool",
    IMAGE: "image",
    HUB: "hub",
    DOCKER_HUB: "hub",
    SLURM_HUB: "hub",
    CONTAINER: "container",
    JOB: "job",
    SLURM_JOB: "job",
    RUNTIME: "runtime",
    PULLER: "pre-puller",
}


def _change_of(step: Step, old: Commons, new: Commons, rebuilt: frozenset[str]) -> Change | None:
    kind = _KINDS.get(step.type)
    rows: Iterable[Detail]
    if step.type == RECORD:
        return None
    if kind == "pool":
        rows = _pool(step)
    elif kind == "image":
        rows = _image(step, old.images.get(step.name), new.images.get(step.name))
    elif kind == "hub":
        rows = tuple(_with_images(_without_courses(step), rebuilt))
        if not rows and step.op == "update" and (step.old or {}) != (step.new or {}):
            return None  # each of its courses is a separate change
    elif kind is not None:
        rows = _with_images(step, rebuilt)
    elif step.type.startswith(OURS) or (OURS not in step.parents and step.type.rpartition(":")[2] in _QUOTAS):
        kind, rows = _words(step.type.rpartition(":")[2]), of_inputs(step)
    else:
        return None
    name = pool_name(step.name, step.new or step.old or {}) if kind == "pool" else step.name
    return Change(kind, name, step.op, tuple(rows))


def _words(token: str) -> str:
    """`course quota` of CourseQuota."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in token).strip()


def _pool(step: Step) -> Iterator[Detail]:
    old, new = step.old or {}, step.new or {}
    if step.old is None or step.new is None:
        known = new or old
        nodes = _instances(known) if is_group(known) else counted(len(nodes_of(known)), "node")
        gpus = f"{word(known.get('gpus_per_node'))} {word(known.get('gpu'))}"
        summary = f"{nodes} with {gpus} each, driver {word(known.get('driver_version'))}"
        if "gpu" not in known:
            summary = f"{nodes} without GPUs"
        yield Detail("", "" if new else summary, summary if new else "")
        return
    labels = {
        "gpu": "GPU",
        "gpus_per_node": "GPUs per node",
        "driver_version": "driver",
        "container_toolkit_version": "container toolkit",
        "ami_type": "machine image",
        "ami_release": "machine image's release",
        "flatcar_release": "Flatcar",
    }
    for key, label in labels.items():
        before, after = word(old.get(key)), word(new.get(key))
        if before != after:
            yield Detail(label, before, after, loc=(key,))
    yield from _of_nodes(old, new)
    if not is_group(new):
        yield from members("nodes", nodes_of(old), nodes_of(new))
    had, has = _gpus(old), _gpus(new)
    if had is not None and has is not None and had != has:
        yield Detail("GPUs", f"{had:,}", f"{has:,}", loc=("gpus",))
    yield from members("taints", taints_of(old), taints_of(new))
    rest = {*old, *new} - {*labels, *(by_node for _, by_node, _ in _BY_NODE), "node_names", "pool", "taints"}
    rest -= {"driver"}  # the one that a group requests; the resulting driver is above
    yield from details({key: old[key] for key in rest & {*old}}, {key: new[key] for key in rest & {*new}})


def _instances(group: Mapping[str, Any]) -> str:
    """`0 to 8 instances of g6.2xlarge`."""
    types = names_of(texts(group.get("instance_types")))
    return f"{whole(group.get('min')) or 0} to {counted(whole(group.get('max')) or 0, 'instance')} of {types}"


# Inputs that nodes may override: the pool's, the one by node, and its display name.
_BY_NODE: Final = (
    ("driver_version", "node_drivers", "driver"),
    ("container_toolkit_version", "node_container_toolkits", "container toolkit"),
)


def _of_nodes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Detail]:
    """Nodes that override the pool's driver or container toolkit and get another one."""
    for key, by_node, label in _BY_NODE:
        had, has = mapping(old.get(by_node)), mapping(new.get(by_node))
        groups: dict[tuple[str, str], list[str]] = {}
        for node in texts(new.get("node_names")):
            if node in texts(old.get("node_names")) and (node in had or node in has):
                change = word(had.get(node, old.get(key))), word(has.get(node, new.get(key)))
                groups.setdefault(change, []).append(node)
        for (before, after), nodes in groups.items():
            if before != after:
                yield Detail(f"{label} of {names_of(nodes)}", before, after, loc=(key,))


def _gpus(inputs: Mapping[str, Any]) -> int | None:
    if "gpu" not in inputs:
        return 0
    each = whole(inputs.get("gpus_per_node"))
    return None if each is None else each * len(nodes_of(inputs))


def _image(step: Step, old: Image | None, new: Image | None) -> Iterator[Detail]:
    if old is None or new is None:
        if known := new or old:
            summary = _whole_image(known)
            yield Detail("", "" if new else summary, summary if new else "")
        return
    before, after = old.facts, new.facts
    for key, label in (("version", "version"), ("base", "base")):
        if before.get(key) != after.get(key):
            yield Detail(label, word(before.get(key)), word(after.get(key)))
    if (lines := joined(before.get("cuda_lines"))) != (now := joined(after.get("cuda_lines"))):
        yield Detail("CUDA line", lines, now)
    yield from _contents(before, after)
    yield from _size(old, new)
    shown_above = {"facts", "base"}  # the input `base` is the parent's reference
    sides = (side or {} for side in (step.old, step.new))
    was, is_ = ({key: value for key, value in side.items() if key not in shown_above} for side in sides)
    yield from details(was, is_)


def _whole_image(image: Image) -> str:
    facts, cuda = image.facts, joined(image.facts.get("cuda_lines"))
    words = (
        f"version {word(facts.get('version'))}" if facts.get("version") else "",
        f"on {word(facts.get('base'))}" if facts.get("base") else "",
        f"CUDA {cuda}" if cuda else "",
        _megabytes(image.size, image.expected),
    )
    return ", ".join(filter(None, words))


def _contents(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Detail]:
    yield from _packages("", texts(before.get("packages")), texts(after.get("packages")))
    old, new = _kernels(before), _kernels(after)
    yield from members("kernels", tuple(old), tuple(new))
    for name in old:
        if name in new:
            yield from _packages(f"kernel {name}: ", old[name], new[name])
    # Packages that a site leaves out are still pins of the spec.
    yield from _packages("not on this site, ", texts(before.get("missing")), texts(after.get("missing")))


def _kernels(facts: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {str(name): texts(pins) for name, pins in mapping(facts.get("kernels")).items()}


def _size(old: Image, new: Image) -> Iterator[Detail]:
    """Compressed bytes. Lower bounds have no difference: each omits other parts."""
    if (old.size, old.expected) == (new.size, new.expected):
        return
    before, after = _megabytes(old.size, old.expected), _megabytes(new.size, new.expected)
    if old.size is not None and new.size is not None:
        after = f"{after} ({new.size - old.size:+,.1f} MB)"
    elif old.size is not None:
        after = f"known after the build{f', {after}' if after else ''}"
    yield Detail("size", before, after)


def _megabytes(size: float | None, expected: float | None) -> str:
    if size is not None:
        return f"{size:,.1f} MB"
    return f"at least {expected:,.1f} MB by its spec" if expected is not None else ""


def _packages(label: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Detail]:
    """One detail for each package whose version changed; added and removed ones are listed. `label` comes first."""
    before, after = {_package(pin): pin for pin in old}, {_package(pin): pin for pin in new}
    moved = [name for name in before if name in after and before[name] != after[name]]
    for name in moved[:_MOST_NAMES]:
        yield Detail(f"{label}{name}", word(_version(before[name])), word(_version(after[name])))
    if len(moved) > _MOST_NAMES:
        yield Detail("", "", f"{label}{len(moved) - _MOST_NAMES} more versions change")
    yield from members(
        f"{label}packages",
        tuple(pin for name, pin in before.items() if name not in after),
        tuple(pin for name, pin in after.items() if name not in before),
    )


def _package(pin: str) -> str:
    try:
        return Requirement(pin).name.lower()
    except InvalidRequirement:  # conda's `cudnn=7.6.5.32`, npm's `configurable-http-proxy@4.6.3`
        at = pin.rfind("@")
        return (pin[:at] if at > 0 else pin.partition("=")[0]).lower()


def _version(pin: str) -> str:
    return pin[len(_package(pin)) :].lstrip("=@[") or pin


def _without_courses(step: Step) -> Step:
    sides = (side and {key: value for key, value in side.items() if key != "courses"} for side in (step.old, step.new))
    old, new = sides
    return replace(step, old=old, new=new)


def _with_images(step: Step, rebuilt: frozenset[str]) -> Iterator[Detail]:
    """Hub, job, runtime or pre-puller. References to images that this change builds are shown by name."""
    if step.old is None or step.new is None:
        return
    old, new, taken = dict(step.old), dict(step.new), list[str]()
    for key in ("image", "hub_image", "proxy_image", "filter_image", "gateway_image"):
        taken += _taken(old, new, key, rebuilt)
    before, after = ([_copy(each) for each in items(inputs.get("profiles"))] for inputs in (old, new))
    there = {known_text(each.get("name")): each for each in before}
    _pools_alike(old, new)
    for profile in after:
        earlier = there.get(known_text(profile.get("name")), {})
        _pools_alike(earlier, profile)
        taken += _taken(earlier, profile, "image", rebuilt)
        kernels = {known_text(each.get("name")): each for each in earlier.get("kernels", ())}
        for kernel in profile.get("kernels", ()):
            taken += _taken(kernels.get(known_text(kernel.get("name")), {}), kernel, "image", rebuilt)
    for inputs, profiles, others in ((old, before, after), (new, after, before)):
        stay = {known_text(each.get("name")) for each in others}
        for profile in profiles:
            if known_text(profile.get("name")) not in stay:
                profile.pop("contents", None)  # the image of an added or removed one already says so
        if profiles:
            inputs["profiles"] = profiles
    if names := list(dict.fromkeys(taken)):
        yield Detail("", "", f"uses the new {names_of(names)}")
    yield from details(old, new)


def _copy(profile: Mapping[str, Any]) -> dict[str, Any]:
    """A mutable copy, with its kernels."""
    kernels = [dict(each) for each in items(profile.get("kernels"))]
    return {**profile, **({"kernels": kernels} if kernels else {})}


def _pools_alike(old: dict[str, Any], new: dict[str, Any]) -> None:
    """One pool and several have different keys but are one change. Their GPUs follow."""
    if ("pools" in old) == ("pools" in new) or not old:
        return
    for side in (old, new):
        if pool := side.pop("pool", None):
            side["pools"] = [pool]
        side.pop("gpu", None)
        side.pop("gpu_memory_gb", None)


def _taken(old: dict[str, Any], new: dict[str, Any], key: str, rebuilt: frozenset[str]) -> Iterator[str]:
    """The image's name, if it is rebuilt. Removes its reference from both sides if names are enough."""
    before, after = (known_text(side.get(f"{key}_name")) for side in (old, new))
    if old.get(key) == new.get(key) or not before or not after or (before == after and after not in rebuilt):
        return
    for side in (old, new):
        side.pop(key, None)
        side.pop("contents", None)  # they follow from the image
    if before == after:
        yield after
