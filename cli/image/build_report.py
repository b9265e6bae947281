"""The report of a build as plain data (the stable form) and as text for a terminal. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cli.inspect.report import judged_data, judged_lines
from cli.words import Paint, counted, plain
from imaging.inspection.conclusions import judge
from imaging.size.estimate import amount
from imaging.size.measured import size_of

if TYPE_CHECKING:
    from imaging.build.building import Destination
    from imaging.build.modules import StepSize
    from imaging.inspection.facts import ImageContents
    from imaging.inspection.reading import Inspected
    from imaging.size.estimate import Layer, Size
    from imaging.spec.plan import Plan

_LAYERS_SHOWN: Final = 5
_LONGEST: Final = 70


@dataclass(frozen=True, slots=True)
class Built:
    """The result. `found` is None if nothing was exported."""

    plan: Plan
    destination: Destination
    is_checked: bool
    found: Inspected | None
    thrown_away: tuple[StepSize, ...] = ()  # what build steps wrote and no image keeps, for the steps that ran


def build_data(built: Built) -> dict[str, Any]:
    """Sizes in bytes. Facts that only an exported image has are null without one."""
    contents = built.found.contents if built.found else None
    size = size_of(contents) if contents else None
    return {
        "image": built.plan.spec.full_name,
        "version": built.plan.spec.version,
        "is_checked": built.is_checked,
        "exported": built.destination.kind.value,
        "place": _place(built),
        "digest": contents.digest if contents else None,
        "compressed_bytes": size.compressed if size else None,
        "unpacked_bytes": size.unpacked if size else None,
        "layers": [
            {
                "digest": layer.digest,
                "compressed_bytes": layer.compressed,
                "unpacked_bytes": layer.unpacked,
                "made_by": made_by,
            }
            for layer, made_by in _layers(contents, size)
        ],
        "substitutes": [
            {"reference": each.reference, "with": each.replacement, "reason": each.reason}
            for each in built.plan.substitutes
        ],
        "missing": list(built.plan.missing),
        "thrown_away": [{"what": each.what, "bytes": each.bytes} for each in built.thrown_away],
        **(judged_data(judge(contents)) if contents else {"programs": [], "findings": []}),
    }


def build_text(built: Built, *, paint: Paint = plain) -> str:
    """One image for people."""
    return "\n".join(_lines(built, paint)) + "\n"


def _lines(built: Built, paint: Paint) -> Iterator[str]:
    spec, contents = built.plan.spec, built.found.contents if built.found else None
    checked = "checked" if built.is_checked else paint("not checked", "warn")
    yield f"{paint(f'{spec.full_name} {spec.version}', 'strong')}: built, {checked}"
    for each in built.plan.substitutes:
        yield f"replaced  {each.reference} → {each.replacement}: {each.reason}"
    if built.plan.missing:
        yield f"left out  {', '.join(built.plan.missing)}"
    if built.thrown_away:
        yield "on the builder, in no image: " + ", ".join(
            f"{each.what} {amount(each.bytes)}" for each in built.thrown_away
        )
    if contents is None:
        yield "nothing was exported: use --push, --oci-layout or --docker-archive to get a digest and a size"
        return
    size = size_of(contents)
    yield f"{built.destination.kind.value:<9} {_place(built)}"
    yield f"digest    {contents.digest}"
    layers = counted(len(contents.layers), "layer")
    yield f"size      {amount(size.compressed)} compressed in {layers}, {amount(size.unpacked)} unpacked"
    yield ""
    yield paint("biggest   compressed    unpacked", "quiet")
    for layer, made_by in _layers(contents, size)[:_LAYERS_SHOWN]:
        shown = made_by if len(made_by) <= _LONGEST else f"{made_by[: _LONGEST - 1]}…"
        yield f"{amount(layer.compressed):>20} {amount(layer.unpacked):>11}  {paint(shown, 'quiet')}".rstrip()
    yield from judged_lines(judge(contents), paint)


def _layers(contents: ImageContents | None, size: Size | None) -> list[tuple[Layer, str]]:
    """Biggest first, each with the instruction that created it."""
    if contents is None or size is None:
        return []
    pairs = zip(size.layers, (_step(layer.made_by) for layer in contents.layers), strict=True)
    return sorted(pairs, key=lambda pair: -pair[0].unpacked)


def _step(made_by: str) -> str:
    """An instruction without the prefix of all ours: the shell, its arguments, the script's settings."""
    line = re.sub(r"^RUN (\|\d+ (\S+=\S* )*)?/bin/sh -c ", "RUN ", " ".join(made_by.split()))
    return re.sub(r"^RUN (set -eu |export \S+ )+", "RUN ", line).removesuffix(" # buildkit")


def _place(built: Built) -> str | None:
    """A reference with its digest, a folder or a file."""
    if built.found is None:
        return None
    digest = f"@{built.found.contents.digest}" if built.destination.kind.value == "registry" else ""
    return f"{built.destination.place}{digest}"
