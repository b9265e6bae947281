"""What an image turned out to be. Frozen values that live in JSON, in the cache and in answers; no reference in them.

A fact that was not looked for is None (`deep`), one that was looked for and not found is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import TypeAdapter

VERSION: Final = 4
"""Of the facts and their finders: raise it when one of them changes, and cached facts are read again."""


@dataclass(frozen=True, slots=True)
class Layer:
    """As the manifest has it. Sizes in bytes."""

    digest: str
    media_type: str
    compression: str  # gzip, zstd, none, unknown
    compressed_bytes: int
    is_foreign: bool = False
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the config says of a container. Values that look like secrets are replaced."""

    env: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    user: str = ""
    entry_point: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    folder: str = ""
    secrets: tuple[str, ...] = ()
    """Names of variables and labels whose values were replaced."""


@dataclass(frozen=True, slots=True)
class Package:
    """Something installed, by the package manager's own record. `cuda` is the CUDA line that it says it is for."""

    name: str
    version: str
    kind: str  # wheel, conda, deb
    path: str
    layer: int
    cuda: str = ""
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library of the GPU stack. `version` is empty where neither name nor content says it."""

    name: str  # cudart, cublas, cudnn, nccl, cuda (the driver's), ...
    version: str
    path: str
    layer: int
    size: int


@dataclass(frozen=True, slots=True)
class Code:
    """Device code in a file: targets as `sm_90a`, `compute_90`, with how many entries each has.

    `compressed` are those with code that zstd compresses.
    """

    path: str
    layer: int
    cubins: tuple[tuple[str, int], ...] = ()
    ptx: tuple[tuple[str, int], ...] = ()
    compressed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """What a framework writes about its own build: `torch/version.py` says CUDA 12.4."""

    what: str  # cuda, cudnn
    value: str
    of: str
    path: str
    layer: int


@dataclass(frozen=True, slots=True)
class Place:
    """A directory or file with its bytes. `what` says why it is listed."""

    path: str
    size: int
    what: str = ""


@dataclass(frozen=True, slots=True)
class DriverPart:
    """A file that belongs to a driver: a library, a program, a kernel module. `what` says which."""

    path: str
    size: int
    what: str
    layer: int


@dataclass(frozen=True, slots=True)
class LayerUse:
    """Unpacked bytes of a layer's files, and those that later layers replace or remove."""

    unpacked_bytes: int
    wasted_bytes: int


@dataclass(frozen=True, slots=True)
class Copies:
    """One library in several places where one program finds them; `extra_bytes` are all but those that it needs."""

    name: str
    paths: tuple[str, ...]
    extra_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What belongs to the GPU stack."""

    packages: tuple[Package, ...] = ()
    libraries: tuple[Library, ...] = ()
    statements: tuple[Statement, ...] = ()
    code: tuple[Code, ...] = ()
    driver: tuple[DriverPart, ...] = ()
    compat: tuple[Library, ...] = ()


@dataclass(frozen=True, slots=True)
class LayerFound(Parts):
    """What was found in one layer, whatever other layers do with it. `unpacked_bytes` are those of its archive."""

    unpacked_bytes: int
    distribution: tuple[Statement, ...] = ()  # what: system, glibc; of: os-release, dpkg, libc, musl


@dataclass(frozen=True, slots=True)
class Contents(Parts):
    """What reading all layers found."""

    unpacked_bytes: int
    files: int
    layers: tuple[LayerUse, ...]
    system: str = ""  # Ubuntu 22.04
    glibc: str = ""
    copies: tuple[Copies, ...] = ()
    caches: tuple[Place, ...] = ()
    biggest: tuple[Place, ...] = ()
    left_out: tuple[str, ...] = ()
    """What could not be read, a sentence each: foreign layers."""


@dataclass(frozen=True, slots=True)
class ImageContents:
    """All that is known of one image, by the digest of its manifest."""

    version: int
    digest: str
    media_type: str
    platform: str
    created: datetime | None
    layers: tuple[Layer, ...]
    settings: Settings
    deep: Contents | None = None

    def __hash__(self) -> int:
        """Of the digest, which says which image it is: caches ask often, and all facts together are long."""
        return hash(self.digest)

    @property
    def compressed_bytes(self) -> int:
        return sum(layer.compressed_bytes for layer in self.layers)


@dataclass(frozen=True, slots=True)
class Published:
    """The platforms of an index: what each is called and the digest of its manifest."""

    version: int
    digest: str
    images: tuple[tuple[str, str], ...]


CONTENTS: Final = TypeAdapter(ImageContents)
PUBLISHED: Final = TypeAdapter(Published)
LAYER_FOUND: Final = TypeAdapter(LayerFound)
