"""The facts of an image as plain data (the stable form) and as text for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from cli.words import Paint, counted, plain
from compat.rules.framework import for_cpu
from errors.redaction.texts import without_secrets
from imaging.inspection.finders.libraries import LOADER
from imaging.size.estimate import amount

if TYPE_CHECKING:
    from imaging.inspection.conclusions import Conclusions
    from imaging.inspection.facts import Contents, ImageContents
    from imaging.inspection.reading import Inspected

_LABELS_SHOWN: Final = 12
_CODE_SHOWN: Final = 12
_WIDE: Final = 100


def inspect_data(inspected: Inspected, judged: Conclusions) -> dict[str, Any]:
    """One image. Sizes in bytes; `deep` is null unless layers were read."""
    from imaging.inspection.facts import CONTENTS  # noqa: PLC0415 - pydantic is loaded by whoever has facts

    facts = CONTENTS.dump_python(inspected.contents, mode="json")
    facts.pop("version")
    deep = facts.pop("deep")
    return {
        "reference": inspected.name,
        **facts,
        "compressed_bytes": inspected.contents.compressed_bytes,
        "platforms": [{"platform": name, "digest": digest} for name, digest in _platforms(inspected)],
        "deep": deep,
        "cuda_said": [{"cuda": each.value, "says": each.what, "at": each.where} for each in judged.cuda],
        **judged_data(judged),
        "from_cache": inspected.is_cached,
    }


def judged_data(judged: Conclusions) -> dict[str, Any]:
    """What the image means for `check`, and what to change in it."""
    return {
        "programs": [
            {
                "name": each.name,
                "case": dict(each.fields),
                "notes": [{"says": note.says, "at": note.source} for note in each.notes],
            }
            for each in judged.programs
        ],
        "findings": [
            {"kind": each.kind, "message": each.says, "fix": each.fix, "bytes": each.size} for each in judged.remarks
        ],
    }


def error_data(name: str, reason: str, fix: str) -> dict[str, Any]:
    """One image that could not be read."""
    return {"reference": without_secrets(name), "error": {"reason": reason, "fix": fix}}


def inspect_text(inspected: Inspected, judged: Conclusions, *, now: datetime, paint: Paint = plain) -> str:
    """One image for people."""
    return "\n".join(_lines(inspected, judged, now, paint)) + "\n"


def age(created: datetime | None, now: datetime) -> str:
    """`2026-08-24, 89 days ago`. Reproducible builds have an artificial date, often in 1970."""
    if created is None:
        return "not stated"
    day = created.date().isoformat()
    days = (now - (created if created.tzinfo else created.replace(tzinfo=now.tzinfo))).days
    if created.year < 2010 or days < 0:
        return f"{day} (set by the build)"
    return f"{day}, {counted(days, 'day')} ago"


def _lines(inspected: Inspected, judged: Conclusions, now: datetime, paint: Paint) -> Iterator[str]:
    image, settings = inspected.contents, inspected.contents.settings
    yield paint(inspected.name, "strong")
    yield _row("digest", image.digest)
    yield _row("platform", image.platform)
    for name, digest in _platforms(inspected):
        if digest != image.digest:
            yield _row("", f"also {name} {digest}")
    yield _row("created", age(image.created, now))
    yield _row("size", f"{amount(image.compressed_bytes)} compressed in {counted(len(image.layers), 'layer')}")
    for each in _settings(settings):
        yield _row(*each)
    yield ""
    yield from _layers(image, paint)
    if image.deep is not None:
        yield ""
        yield from _deep(image.deep, paint)
    yield from judged_lines(judged, paint)


def _settings(settings: Any) -> Iterator[tuple[str, str]]:
    yield "user", settings.user or "root (no USER is set)"
    yield "entry", " ".join((*settings.entry_point, *settings.command)) or "none"
    for key, value in settings.env:
        if key.startswith(("CUDA", "NVIDIA", "CUDNN", "NCCL", "NV_CUDA", "LD_LIBRARY")) or value == "(not shown)":
            yield "env", f"{key}={_cut(value)}"
    for key, value in settings.labels[:_LABELS_SHOWN]:
        yield "label", f"{key}={_cut(value)}"
    if len(settings.labels) > _LABELS_SHOWN:
        yield "", f"and {len(settings.labels) - _LABELS_SHOWN} more labels (see --json)"


def _layers(image: ImageContents, paint: Paint) -> Iterator[str]:
    yield paint("layer   compressed  form    unpacked    wasted", "quiet")
    uses = image.deep.layers if image.deep else ()
    for number, layer in enumerate(image.layers):
        unpacked = amount(uses[number].unpacked_bytes) if uses else "-"
        wasted = amount(uses[number].wasted_bytes) if uses and uses[number].wasted_bytes else "-"
        form = "foreign" if layer.is_foreign else layer.compression
        made_by = paint(_cut(layer.made_by, 60), "quiet")
        sizes = f"{amount(layer.compressed_bytes):>11}  {form:<7} {unpacked:>9} {wasted:>9}"
        yield f"{number + 1:>5}  {sizes}  {made_by}".rstrip()


def _deep(deep: Contents, paint: Paint) -> Iterator[str]:
    yield _row("unpacked", f"{amount(deep.unpacked_bytes)}, {counted(deep.files, 'file')}")
    system = ", ".join(filter(None, (deep.system, f"glibc {deep.glibc}" if deep.glibc else "")))
    if system:
        yield _row("system", system)
    for library in deep.libraries:
        yield _row(
            "library", f"{library.name} {library.version or '(version unknown)'}  {paint('/' + library.path, 'quiet')}"
        )
    for package in deep.packages:
        cuda = f"  CUDA {package.cuda}" if package.cuda else ""
        yield _row(package.kind, f"{package.name} {package.version}{cuda}")
    for compat in deep.compat:
        says = "comes before the driver" if compat.name == LOADER else f"with driver {compat.version}"
        yield _row("compat", f"cuda-compat {says}  {paint('/' + compat.path, 'quiet')}")
    biggest_code = sorted(deep.code, key=lambda each: -sum(count for _, count in (*each.cubins, *each.ptx)))
    for code in biggest_code[:_CODE_SHOWN]:
        languages = dict(code.languages)
        of_ptx = (f"{target}@{languages[target]}" if target in languages else target for target, _ in code.ptx)
        targets = " ".join((*(target for target, _ in code.cubins), *of_ptx))
        by_zstd = f"  (by zstd, for driver 550.54.14 and newer: {' '.join(code.compressed)})" if code.compressed else ""
        yield _row("code", f"{targets}  {paint('/' + code.path, 'quiet')}{by_zstd}")
    if len(deep.code) > _CODE_SHOWN:
        yield _row("", f"and {len(deep.code) - _CODE_SHOWN} more files with device code (see --json)")
    for place in deep.biggest:
        yield _row("big", f"{amount(place.size):>9}  {place.path}")
    for place in deep.caches:
        yield _row("cache", f"{amount(place.size):>9}  {place.path}  {place.what}")
    for text in deep.left_out:
        yield _row("left out", text)


def judged_lines(judged: Conclusions, paint: Paint) -> Iterator[str]:
    """What the image means for `check`, and what to change in it."""
    for program in judged.programs:
        yield ""
        shown = ", ".join(f"{name} {_cut(value, 60)}" for name, value in program.fields.items() if name != "env")
        yield f"{paint('for check', 'strong')} {program.name}: {shown}"
        for note in program.notes:
            yield f"          {note.says}"
            yield f"          {paint('at ' + note.source, 'quiet')}"
    if judged.for_cpu:
        yield ""
        yield f"{paint('for check', 'strong')} {for_cpu(', '.join(judged.for_cpu))}"
    for remark in judged.remarks:
        yield ""
        shown = f" ({amount(remark.size)})" if remark.size else ""
        yield f"{paint('finding', 'warn')}   {remark.kind}: {remark.says}{shown}"
        yield f"          {remark.fix}"


def _platforms(image: Inspected) -> tuple[tuple[str, str], ...]:
    return image.published.images if image.published else ((image.contents.platform, image.contents.digest),)


def _row(name: str, text: str) -> str:
    return f"{name:<9} {text}"


def _cut(text: str, most: int = _WIDE) -> str:
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
