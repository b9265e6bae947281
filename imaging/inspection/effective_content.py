"""The findings of an image's layers that a container can see, with duplicate libraries and disk usage. Pure."""

import heapq
import re
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, Final, Protocol, TypeVar

from imaging.inspection.environments import SYSTEM, conda_roots, environment_of
from imaging.inspection.facts import Contents, Copies, LayerFound, LayerUse, Library, Package, Place
from imaging.inspection.finders.finder import MOST
from imaging.inspection.tree import Tree


class _Found(Protocol):
    @property
    def path(self) -> str: ...

    @property
    def layer(self) -> int: ...


_Part = TypeVar("_Part", bound=_Found)


def merged(below: LayerFound, one: LayerFound, number: int) -> LayerFound:
    """All findings of the layers up to `number`, the layer of `one`; bounded, like finders."""

    def both(name: str) -> tuple[Any, ...]:
        own = (replace(each, layer=number) for each in getattr(one, name))
        return (*getattr(below, name), *own)[:MOST]

    names = (each.name for each in fields(LayerFound) if each.name != "unpacked_bytes")
    return LayerFound(below.unpacked_bytes + one.unpacked_bytes, **{name: both(name) for name in names})


def contents_of(found: LayerFound, tree: Tree, unpacked: int, left_out: tuple[str, ...]) -> Contents:
    """The findings that a container sees: files that a later layer replaced or removed are gone."""

    def seen(parts: Iterable[_Part]) -> tuple[_Part, ...]:
        return tuple(each for each in parts if (there := tree.find(each.path)) and there[1] == each.layer)

    packages = seen(found.packages)
    libraries = tuple(with_version(each, packages) for each in seen(found.libraries))
    distribution = seen(found.distribution)
    systems = [each.value for each in distribution if each.what == "system"]
    by_dpkg_first = sorted((each for each in distribution if each.what == "glibc"), key=lambda each: each.of != "dpkg")
    return Contents(
        unpacked_bytes=unpacked,
        files=tree.count(),
        layers=tuple(LayerUse(*both) for both in zip(tree.unpacked, tree.wasted, strict=True)),
        system=systems[-1] if systems else "",
        glibc=by_dpkg_first[-1].value if by_dpkg_first else "",
        packages=tuple(sorted(packages, key=lambda each: (each.name, each.version))),
        libraries=tuple(sorted(libraries, key=lambda each: (each.name, each.path))),
        statements=seen(found.statements),
        code=tuple(sorted(seen(found.code), key=lambda each: each.path)),
        driver=seen(found.driver),
        compat=seen(found.compat),
        private_keys=found.private_keys,  # whoever can pull the image can read every layer
        copies=_copies(libraries, packages),
        caches=_caches(tree.folders()),
        biggest=_biggest(tree.folders()),
        left_out=left_out,
    )


_WHEELS_OF: Final = {
    "cudart": r"nvidia-cuda-runtime(-cu\d+)?",
    "cublas": r"nvidia-cublas(-cu\d+)?",
    "cublasLt": r"nvidia-cublas(-cu\d+)?",
    "cudnn": r"nvidia-cudnn(-cu\d+)?",
    "nccl": r"nvidia-nccl(-cu\d+)?",
    "nvrtc": r"nvidia-cuda-nvrtc(-cu\d+)?",
}


def with_version(library: Library, packages: tuple[Package, ...]) -> Library:
    """The library with the version of its wheel: wheels name files only by their major version."""
    top, is_wheel, _ = library.path.rpartition("/nvidia/")
    form = _WHEELS_OF.get(library.name)
    if not is_wheel or form is None:
        return library
    for package in packages:
        if package.kind == "wheel" and package.path.startswith(f"{top}/") and re.fullmatch(form, package.name):
            return replace(library, version=package.version)
    return library


# --- CUDA libraries that one program finds twice: from the base and from wheels, or from two packages


def _copies(libraries: Iterable[Library], packages: Iterable[Package]) -> tuple[Copies, ...]:
    """Libraries present twice or more for an environment, the most bytes first.

    An environment also sees the system's. All copies but its own biggest are extra, each counted once.
    """
    roots = conda_roots(packages)
    by_environment: dict[str, dict[str, list[Library]]] = {}
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


# --- disk usage: the biggest directories, and unneeded caches

_Sized = tuple[str, int, int]  # path, bytes, bytes of the biggest directory in it

_SHOWN: Final = 10
_ONE_CHILD: Final = 0.8
"""A directory with more than this share in one subdirectory is only the way to that one."""
_SMALLEST_CACHE: Final = 1_000_000
_CACHE_FOLDERS: Final = (
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


def _biggest(folders: Iterable[_Sized]) -> tuple[Place, ...]:
    """The ten biggest directories, without mere parents of one of them."""
    spread = ((size, path) for path, size, child in folders if path != "/" and size and child < _ONE_CHILD * size)
    return tuple(Place(path, size) for size, path in heapq.nlargest(_SHOWN, spread))


def _caches(folders: Iterable[_Sized]) -> tuple[Place, ...]:
    """Caches of a megabyte and more, the biggest first."""
    found = [
        Place(path, size, what)
        for path, size, _ in folders
        if size >= _SMALLEST_CACHE
        for form, what in _CACHE_FOLDERS
        if form.search(path)
    ]
    return tuple(sorted(found, key=lambda place: (-place.size, place.path))[:20])
