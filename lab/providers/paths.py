"""Paths into properties, and the differences of two values, path by path. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lab.providers.values import UNKNOWN, Secret
from lab.providers.vocabulary import Change

Path = tuple[str | int, ...]


def bare(value: Any) -> Any:
    return value.value if isinstance(value, Secret) else value


def replacing(change: Change) -> Change:
    return change if change.replaces else Change(change + 1)


def render(path: Path) -> str:
    """Pulumi's spelling: `metadata.labels["app.kubernetes.io/name"]`, `spec.containers[0].image`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"[A-Za-z_$][\w$-]*", step):
            text += f".{step}" if text else step
        else:
            quoted = step.replace("\\", "\\\\").replace('"', '\\"')
            text += f'["{quoted}"]'
    return text


def parse(text: str) -> Path:
    """The steps of a path as `render` writes it."""
    steps: list[str | int] = []
    for word, index, quoted in re.findall(r'([^.\[\]"]+)(?![^\[]*\])|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]', text):
        steps.append(int(index) if index else word or re.sub(r"\\(.)", r"\1", quoted))
    return tuple(steps)


def changes_between(path: Path, old: Any, new: Any) -> Iterator[tuple[Path, Change]]:
    """Differences below `path`. An unknown new value counts as a change."""
    old, new = bare(old), bare(new)
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key in old and key in new:
                yield from changes_between((*path, key), old[key], new[key])
            elif key in new:
                yield (*path, key), Change.ADD
            else:
                yield (*path, key), Change.DELETE
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            if index < len(old) and index < len(new):
                yield from changes_between((*path, index), old[index], new[index])
            else:
                yield (*path, index), Change.ADD if index >= len(old) else Change.DELETE
    elif new is UNKNOWN or type(old) is not type(new) or old != new:
        yield path, Change.UPDATE
