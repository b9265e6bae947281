"""Which inputs of an image changed, property by property. Every change is an update: a build replaces nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.providers.handler import Change
from lab.providers.values import UNKNOWN


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Change]:
    """Changes by path, such as `buildArgs.PYTHON` or `exports[0].registry.ociMediaTypes`; values without nulls."""
    ignored, old_secrets, new_secrets = (
        set() if value in (None, UNKNOWN) else set(value)
        for value in (after.get("ignoreSecretsInDiffCalculation"), before.get("secrets"), after.get("secrets"))
    )
    return {
        path: change
        for path, change in _compare(dict(before), dict(after), "")
        if not _is_password(path)
        and path not in {_below("secrets", name) for name in ignored & old_secrets & new_secrets}
    }


def _compare(before: Any, after: Any, path: str) -> Iterator[tuple[str, Change]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            below = _below(path, name)
            if name not in before:
                yield below, Change.ADD
            elif name not in after:
                yield below, Change.DELETE
            else:
                yield from _compare(before[name], after[name], below)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _compare(old, new, f"{path}[{number}]")
    elif before != after:
        yield path, Change.UPDATE


def _is_password(path: str) -> bool:
    """Short-lived registry tokens change in every run and change no image."""
    return path.startswith("registries[") and path.endswith("].password")


def _below(path: str, name: str) -> str:
    """A property path; names that are not words are quoted, as the engine writes them."""
    if not name.replace("_", "").isalnum():
        return f'{path}["{name}"]'
    return f"{path}.{name}" if path else name
