"""What changes, in the words of the field: drivers, pools, images, quotas, hubs, jobs; before and after.

Objects that a component of ours makes are told by the component; they are in the whole diff.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement

from cli.review.commons import HUB, IMAGE, JOB, OURS, POOL, PULLER, RUNTIME, Commons, Image
from cli.review.stream import Step, Stream
from cli.review.values import elided, known_text, leaves, mapping, place, shown, texts

_QUOTAS: Final = ("ResourceQuota", "ClusterQueue", "LocalQueue", "Cohort", "LimitRange")
_MOST_DETAILS: Final = 8
_MOST_NAMES: Final = 6
_LONGEST: Final = 80
_NOTHING: Final = ""


@dataclass(frozen=True, slots=True)
class Detail:
    """One property. `before` is empty for what comes, `after` for what goes."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changes. `op`: create, update, replace, delete."""

    kind: str  # pool, image, hub, job, quota, runtime, component
    name: str
    op: str
    details: tuple[Detail, ...]

    def has(self, *labels: str) -> bool:
        return any(detail.label in labels for detail in self.details)


def changes_of(stream: Stream, old: Commons, new: Commons) -> tuple[Change, ...]:
    """Changes that people of a GPU commons talk about, in the order pools, images, hubs, jobs, others."""
    found = [change for step in stream.changed if (change := _change(step, old, new))]
    order = list(_KINDS.values())
    return tuple(sorted(found, key=lambda change: order.index(change.kind) if change.kind in order else len(order)))


_KINDS: Final = {POOL: "pool", IMAGE: "image", HUB: "hub", JOB: "job", RUNTIME: "runtime", PULLER: "pre-puller"}


def _change(step: Step, old: Commons, new: Commons) -> Change | None:
    kind = _KINDS.get(step.type)
    if kind == "pool":
        details = _pool(step)
    elif kind == "image":
        details = _image(old.images.get(step.name), new.images.get(step.name))
    elif kind == "hub":
        details = _of_inputs(step, passed_over=("facts",))
    elif kind in {"job", "runtime", "pre-puller"}:
        details = _of_inputs(step)
    elif step.type.startswith(OURS):
        kind, details = _words(step.type.rpartition(":")[2]), _of_inputs(step)
    elif OURS not in step.parents and step.type.rpartition(":")[2] in _QUOTAS:
        kind, details = _words(step.type.rpartition(":")[2]), _of_inputs(step)
    else:
        return None
    return Change(kind, step.name, step.op, tuple(details))


def _words(token: str) -> str:
    """`course quota` of CourseQuota."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in token).strip()


def _pool(step: Step) -> Iterator[Detail]:
    old, new = step.old or {}, step.new or {}
    labels = {
        "gpu": "GPU",
        "gpus_per_node": "GPUs per node",
        "driver_version": "driver",
        "container_toolkit_version": "container toolkit",
    }
    for key, label in labels.items():
        before, after = _word(old.get(key)), _word(new.get(key))
        if before != after:
            yield Detail(label, before, after)
    yield from _members("nodes", texts(old.get("node_names")), texts(new.get("node_names")))
    rest = {*old, *new} - {*labels, "node_names", "pool"}
    yield from _details({key: old[key] for key in rest & {*old}}, {key: new[key] for key in rest & {*new}})


def _image(old: Image | None, new: Image | None) -> Iterator[Detail]:
    before, after = old.facts if old else {}, new.facts if new else {}
    for key, label in (("version", "version"), ("base", "base")):
        if before.get(key) != after.get(key):
            yield Detail(label, _word(before.get(key)), _word(after.get(key)))
    if (lines := _joined(before.get("cuda_lines"))) != (now := _joined(after.get("cuda_lines"))):
        yield Detail("CUDA line", lines, now)
    yield from _packages("packages", texts(before.get("packages")), texts(after.get("packages")))
    kernels_before, kernels_after = _kernels(before), _kernels(after)
    yield from _members("kernels", tuple(kernels_before), tuple(kernels_after))
    for name in kernels_before.keys() & kernels_after.keys():
        yield from _packages(f"kernel {name}", kernels_before[name], kernels_after[name])
    # What a site leaves out are the spec's pins all the same.
    yield from _packages("left out on this site", texts(before.get("missing")), texts(after.get("missing")))
    size = _size(old, new)
    if size is not None:
        yield size


def _kernels(facts: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {str(name): texts(pins) for name, pins in mapping(facts.get("kernels")).items()}


def _size(old: Image | None, new: Image | None) -> Detail | None:
    """Compressed bytes; before a build the spec's lower bound, named as such. Like is compared with like."""
    if old is None or new is None:
        only = old or new
        told = _megabytes(only.size, only.expected) if only else ""
        return Detail("size", told if new is None else "", told if old is None else "") if told else None
    if old.size is not None and new.size is not None:
        pair = (old.size, new.size)
        before, after = (f"{size:,.1f} MB" for size in pair)
    elif old.expected is not None and new.expected is not None:
        pair = (old.expected, new.expected)
        before, after = _megabytes(old.size, old.expected), f"at least {new.expected:,.1f} MB by its spec"
    else:
        if old.size == new.size and old.expected == new.expected:
            return None
        told = _megabytes(new.size, new.expected) or "known after the build"
        return Detail("size", _megabytes(old.size, old.expected), told)
    change = pair[1] - pair[0]
    return Detail("size", before, f"{after} ({change:+,.1f} MB)") if change else None


def _megabytes(size: float | None, expected: float | None) -> str:
    if size is not None:
        return f"{size:,.1f} MB"
    return f"at least {expected:,.1f} MB by its spec" if expected is not None else ""


def _packages(label: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Detail]:
    """A package whose version changed is one of its own; what comes and goes is listed."""
    before, after = {_package(pin): pin for pin in old}, {_package(pin): pin for pin in new}
    moved = [name for name in before if name in after and before[name] != after[name]]
    for name in moved[:_MOST_NAMES]:
        yield Detail(f"{label}: {name}", _version(before[name]), _version(after[name]))
    if len(moved) > _MOST_NAMES:
        yield Detail(label, "", f"{len(moved) - _MOST_NAMES} more versions change")
    yield from _members(
        label,
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


def _members(label: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Detail]:
    """What leaves a list and what joins it."""
    gone, come = [each for each in old if each not in set(new)], [each for each in new if each not in set(old)]
    if gone or come:
        yield Detail(label, _listing(gone), _listing(come))


def _listing(names: Sequence[str]) -> str:
    told = ", ".join(elided(name, _LONGEST) for name in names[:_MOST_NAMES])
    return told if len(names) <= _MOST_NAMES else f"{told} and {len(names) - _MOST_NAMES} more"


def _of_inputs(step: Step, passed_over: Sequence[str] = ()) -> Iterator[Detail]:
    """Inputs that differ; of what comes or goes whole, none: there is nothing to compare."""
    if step.old is None or step.new is None:
        return
    old = {key: value for key, value in step.old.items() if key not in passed_over}
    yield from _details(old, {key: value for key, value in step.new.items() if key not in passed_over})


def _details(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Detail]:
    found = list(differences(old, new))
    for loc, before, after in found[:_MOST_DETAILS]:
        yield Detail(place(loc), _told(before, loc), _told(after, loc))
    if len(found) > _MOST_DETAILS:
        yield Detail("", "", f"{len(found) - _MOST_DETAILS} more in the whole diff")


class _Nothing:
    """In the place of a value that is not there."""


NOTHING: Final = _Nothing()


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[tuple[str | int, ...], object, object]]:
    """Values that differ with their places; NOTHING on the side that has none."""
    before, after = dict(leaves(old)), dict(leaves(new))
    for loc in dict.fromkeys([*before, *after]):
        left, right = before.get(loc, NOTHING), after.get(loc, NOTHING)
        if left != right:
            yield loc, left, right


def _told(value: object, loc: tuple[str | int, ...]) -> str:
    return _NOTHING if value is NOTHING else shown(value, loc, longest=_LONGEST).strip('"')


def _word(value: object) -> str:
    if value is None:
        return _NOTHING
    return shown(value, longest=_LONGEST).strip('"')


def _joined(value: object) -> str:
    return ", ".join(texts(value))


def known_name(inputs: Mapping[str, Any], key: str) -> str:
    """A name among the inputs, where it is told."""
    return known_text(inputs.get(key))
