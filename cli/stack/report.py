"""A checked stack file as text and as data."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from cli.stack.check import Checked
from cli.words import NO_GPU, SIGNS, Paint, counted, folded
from compat import Image
from errors.problems import Problem, SettingsError, listing
from policies.finding import Level
from policies.report import Message
from settings.instance_table import table_lines

_WORDS: Final = {Level.REFUSE: "refuse", Level.WARN: "warn", Level.UNPROVED: "unknown"}
_TONES: Final = {Level.REFUSE: "bad", Level.WARN: "warn", Level.UNPROVED: "open"}
_RANKS: Final = tuple(_WORDS)  # the worst first


def problems_text(problems: Sequence[Problem]) -> str:
    """Every mistake, with its path, its value, what is allowed and what to change."""
    return str(SettingsError(problems))


def problems_data(file: Path, problems: Sequence[Problem]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "file": str(file),
        "verdict": "invalid",
        "problems": [{**asdict(each), "file": each.file or None} for each in problems],
        "images": [],
        "findings": [],
        "left_open": [],
    }


def stack_data(file: Path, checked: Checked) -> dict[str, Any]:
    """The result for programs. `left_open` is what only a preview or an update can prove."""
    return {
        "file": str(file),
        "verdict": "refused" if checked.refused else "fine",
        "problems": [],
        "images": [
            {
                "image": image.name,
                "pool": pool.name,
                "uses_gpu": bool(image.cases),
                "verdict": checked.matrix.verdict(image.name, pool.name).value,
            }
            for image in checked.images
            for pool in checked.pools
        ],
        "findings": [_finding(each) for each in _worst_first(checked.found)],
        "left_open": [_finding(each) for each in checked.left],
    }


def stack_text(file: Path, checked: Checked, *, width: int | None, paint: Paint) -> str:
    """The verdict, a summary of the stack, images on pools, findings, and what is left to a preview."""
    return (
        "\n".join(
            [
                *_head(file, checked, paint),
                *_images(checked, paint),
                *_instances(checked),
                *_rest(checked, width, paint),
            ]
        )
        + "\n"
    )


def _head(file: Path, checked: Checked, paint: Paint) -> Iterator[str]:
    counts = [
        counted(len(found), word)
        for word, level in (("refusal", Level.REFUSE), ("warning", Level.WARN), ("open question", Level.UNPROVED))
        if (found := [each for each in checked.found if each.level is level])
    ]
    tone = "bad" if checked.refused else "warn" if counts else "good"
    sign = "✕" if checked.refused else "!" if counts else "✓"
    yield paint(f"{sign} {file}: {', '.join(counts) or 'nothing to change'}", tone)
    stack, fleet = checked.stack, checked.stack.fleet
    gpus, nodes = counted(sum(pool.gpus for pool in fleet.pools), "GPU"), counted(len(fleet.node_names), "node")
    size = f"{gpus} in {nodes} of {counted(len(fleet.pools), 'pool')}" if fleet.pools else "no fleet"
    parts = {
        "image": stack.images,
        "hub": stack.hubs,
        "container": stack.containers,
        "job": stack.jobs,
        "course": stack.courses,
    }
    yield f"  {', '.join([size, *(counted(len(found), word) for word, found in parts.items() if found)])}"


def _images(checked: Checked, paint: Paint) -> Iterator[str]:
    """A line for each image: where it runs and where it does not."""
    if checked.images and checked.pools:
        yield ""
        yield "images on pools:"
        wide = max(len(image.name) for image in checked.images)
        for image in checked.images:
            yield f"  {image.name:<{wide}}  {_cells(image, checked, paint)}"


def _instances(checked: Checked) -> Iterator[str]:
    """Pools of instances, with what they cost and what the account must allow."""
    if lines := table_lines(checked.stack):
        yield ""
        yield "instances:"
        yield from (f"  {line}" for line in lines)


def _cells(image: Image, checked: Checked, paint: Paint) -> str:
    if not image.cases:
        return f"{NO_GPU.symbol} uses no GPU"
    by_verdict: dict[Any, list[str]] = {}
    for pool in checked.pools:
        by_verdict.setdefault(checked.matrix.verdict(image.name, pool.name), []).append(pool.name)
    return "   ".join(
        paint(f"{SIGNS[verdict]} on {listing(pools, most=8)}", SIGNS[verdict].tone)
        for verdict, pools in sorted(by_verdict.items(), key=lambda item: item[0].rank)
    )


def _rest(checked: Checked, width: int | None, paint: Paint) -> Iterator[str]:
    if checked.found:
        yield ""
    for each in _worst_first(checked.found):
        word = paint(f"{_WORDS[each.level]:<8}", _TONES[each.level])
        first, *more = each.shown.split("\n")
        head, *tail = folded(f"{each.rule} {each.subject}: {first}", " " * 8, " " * 8, width)
        yield word + head[8:]
        yield from tail
        for line in more:
            yield from folded(line.strip(), " " * 10, " " * 12, width)
    if checked.left:
        rules = ", ".join(dict.fromkeys(each.rule for each in checked.left))
        text = f"checked at preview or update, once the images are built: {rules}"
        yield ""
        yield from (paint(line, "quiet") for line in folded(text, "", "  ", width))


def _worst_first(messages: Sequence[Message]) -> list[Message]:
    return sorted(messages, key=lambda each: _RANKS.index(each.level))


def _finding(each: Message) -> dict[str, str]:
    return {
        "level": _WORDS[each.level],
        "rule": each.rule,
        "subject": each.subject,
        "message": each.body,
    }
