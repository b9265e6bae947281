"""The same CUDA library in several places: a toolkit under wheels that bring their own. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from images.inspection.facts import Copies, Library


def copies(libraries: Iterable[Library]) -> tuple[Copies, ...]:
    """Libraries that are there twice and more, the most bytes first. All but the biggest one are extra."""
    places: dict[str, list[Library]] = defaultdict(list)
    for library in libraries:
        places[library.name].append(library)
    found = [
        Copies(name, tuple(sorted(each.path for each in group)), sum(sizes) - max(sizes))
        for name, group in places.items()
        if len({each.path.rpartition("/")[0] for each in group}) > 1 and (sizes := [each.size for each in group])
    ]
    return tuple(sorted(found, key=lambda each: (-each.extra_bytes, each.name)))
