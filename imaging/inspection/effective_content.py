"""The findings of an image's layers that a container can see. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, Final, Protocol, TypeVar

from imaging.inspection.facts import Contents, LayerFound, LayerUse, Library, Package
from imaging.inspection.finders.disk_usage import biggest, caches
from imaging.inspection.finders.duplicate_libraries import copies
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
        copies=copies(libraries, packages),
        caches=caches(tree.folders()),
        biggest=biggest(tree.folders()),
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
