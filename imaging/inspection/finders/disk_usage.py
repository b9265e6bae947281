"""Disk usage of an image: its biggest directories and its unneeded caches. Pure, from the tree."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable
from typing import Final

from imaging.inspection.facts import Place

Sized = tuple[str, int, int]  # path, bytes, bytes of the biggest directory in it

_SHOWN: Final = 10
_ONE_CHILD: Final = 0.8
"""A directory with more than this share in one subdirectory is only the way to that one."""
_SMALLEST_CACHE: Final = 1_000_000
_CACHES: Final = (
    (re.compile(r"/\.cache/pip$"), "pip's cache"),
    (re.compile(r"/\.cache/uv$"), "uv's cache"),
    (re.compile(r"/\.cache/(?:huggingface|torch|whisper)$"), "downloaded weights"),
    (
        re.compile(r"/\.cache/(?:yarn|bazel|go-build|conda|matplotlib|ccache)$|/\.npm$|/\.ccache$"),
        "a build tool's cache",
    ),
    (re.compile(r"(?:conda|mamba|miniforge)[^/]*/pkgs$"), "conda's packages"),
    (re.compile(r"^/var/cache/apt$"), "apt's cache"),
    (re.compile(r"^/var/lib/apt/lists$"), "apt's lists"),
    (re.compile(r"^/var/cache/(?:yum|dnf|zypp|apk)$"), "the package manager's cache"),
    (re.compile(r"^/(?:var/)?tmp$"), "temporary files"),
)


def biggest(folders: Iterable[Sized]) -> tuple[Place, ...]:
    """The ten biggest directories, without mere parents of one of them."""
    spread = ((size, path) for path, size, child in folders if path != "/" and size and child < _ONE_CHILD * size)
    return tuple(Place(path, size) for size, path in heapq.nlargest(_SHOWN, spread))


def caches(folders: Iterable[Sized]) -> tuple[Place, ...]:
    """Caches of a megabyte and more, the biggest first."""
    found = [
        Place(path, size, what)
        for path, size, _ in folders
        if size >= _SMALLEST_CACHE
        for form, what in _CACHES
        if form.search(path)
    ]
    return tuple(sorted(found, key=lambda place: (-place.size, place.path))[:20])
