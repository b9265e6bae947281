"""CUDA libraries that one program finds twice: from the base and from wheels, or from two packages."""

from __future__ import annotations

from collections.abc import Iterable

from imaging.inspection.environments import SYSTEM, conda_roots, environment_of
from imaging.inspection.facts import Copies, Library, Package

ByName = dict[str, list[Library]]


def copies(libraries: Iterable[Library], packages: Iterable[Package]) -> tuple[Copies, ...]:
    """Libraries present twice or more for an environment, the most bytes first.

    An environment also sees the system's. All copies but its own biggest are extra, each counted once.
    """
    roots = conda_roots(packages)
    by_environment: dict[str, ByName] = {}
    for library in libraries:
        own = by_environment.setdefault(environment_of(library.path, roots), {})
        own.setdefault(library.name, []).append(library)
    system = by_environment.pop(SYSTEM, {})
    kept: dict[str, set[str]] = {}
    extra: dict[str, dict[str, int]] = {}
    for own in (*by_environment.values(), system):
        for name, mine in own.items():
            best = max(mine, key=lambda each: each.size)
            shared = [] if own is system else system.get(name, [])
            others = {each.path: each.size for each in (*mine, *shared) if _folder(each) != _folder(best)}
            if others:
                kept.setdefault(name, set()).add(best.path)
                extra.setdefault(name, {}).update(others)
    found = [Copies(name, tuple(sorted(kept[name] | set(sizes))), sum(sizes.values())) for name, sizes in extra.items()]
    return tuple(sorted(found, key=lambda each: (-each.extra_bytes, each.name)))


def _folder(library: Library) -> str:
    return library.path.rpartition("/")[0]
