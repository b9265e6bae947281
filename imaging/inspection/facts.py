"""Facts of an inspected image. Frozen values for JSON, the cache and answers, without the image's reference.

A fact that was not searched for is None (`deep`); one that was not found is empty.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import TypeAdapter

VERSION: Final = 7
"""Version of facts and finders: raise it when one changes, so that cached facts are read again."""


@dataclass(frozen=True, slots=True)
class Layer:
    """From the manifest. Sizes in bytes."""

    digest: str
    media_type: str
    compression: str  # gzip, zstd, none, unknown
    compressed_bytes: int
    is_foreign: bool = False
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """The config's settings of a container. Possible secrets are replaced."""

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
    """An installed package, from the package manager's record. `cuda` is the CUDA line that it states."""

    name: str
    version: str
    kind: str  # wheel, conda, deb
    path: str
    layer: int
    cuda: str = ""
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library of the GPU stack. `version` is empty if neither name nor content states it."""

    name: str  # cudart, cublas, cudnn, nccl, cuda (the driver's), ...
    version: str
    path: str
    layer: int
    size: int


@dataclass(frozen=True, slots=True)
class Code:
    """Device code in a file: targets as `sm_90a`, `compute_90`, with their number of entries.

    `compressed` are those with code compressed by zstd, `languages` the newest version of the PTX of each, `loads` the
    libraries of CUDA that the file loads.
    """

    path: str
    layer: int
    cubins: tuple[tuple[str, int], ...] = ()
    ptx: tuple[tuple[str, int], ...] = ()
    compressed: tuple[str, ...] = ()
    languages: tuple[tuple[str, str], ...] = ()  # ("compute_90", "8.5")
    loads: tuple[str, ...] = ()  # "cudart 12"


@dataclass(frozen=True, slots=True)
class Statement:
    """A framework's statement on its own build: `torch/version.py` says CUDA 12.4."""

    what: str  # cuda, cudnn, version; without_cuda: it was built for the CPU alone
    value: str
    of: str
    path: str
    layer: int


@dataclass(frozen=True, slots=True)
class Place:
    """A directory or file with its size. `what` says why it is listed."""

    path: str
    size: int
    what: str = ""


@dataclass(frozen=True, slots=True)
class DriverPart:
    """A file of a driver: a library, a program, a kernel module. `what` says which."""

    path: str
    size: int
    what: str
    layer: int


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A file with a private key, in the layer that brings it: a later one may replace or remove it."""

    path: str
    layer: int


@dataclass(frozen=True, slots=True)
class LayerUse:
    """Unpacked bytes of a layer's files, and those that later layers replace or remove."""

    unpacked_bytes: int
    wasted_bytes: int


@dataclass(frozen=True, slots=True)
class Copies:
    """One library in several places that one program searches; `extra_bytes` are those it does not need."""

    name: str
    paths: tuple[str, ...]
    extra_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Parts of the GPU stack."""

    packages: tuple[Package, ...] = ()
    libraries: tuple[Library, ...] = ()
    statements: tuple[Statement, ...] = ()
    code: tuple[Code, ...] = ()
    driver: tuple[DriverPart, ...] = ()
    compat: tuple[Library, ...] = ()
    private_keys: tuple[PrivateKey, ...] = ()


@dataclass(frozen=True, slots=True)
class LayerFound(Parts):
    """Findings of one layer, whatever other layers do with them. `unpacked_bytes` are those of its archive."""

    unpacked_bytes: int
    distribution: tuple[Statement, ...] = ()  # what: system, glibc; of: os-release, dpkg, libc, musl


@dataclass(frozen=True, slots=True)
class Contents(Parts):
    """Findings of all layers."""

    unpacked_bytes: int
    files: int
    layers: tuple[LayerUse, ...]
    system: str = ""  # Ubuntu 22.04
    glibc: str = ""
    copies: tuple[Copies, ...] = ()
    caches: tuple[Place, ...] = ()
    biggest: tuple[Place, ...] = ()
    left_out: tuple[str, ...] = ()
    """Unreadable parts, a sentence each: foreign layers."""


@dataclass(frozen=True, slots=True)
class ImageContents:
    """All known facts of one image, by its manifest's digest."""

    version: int
    digest: str
    media_type: str
    platform: str
    created: datetime | None
    layers: tuple[Layer, ...]
    settings: Settings
    deep: Contents | None = None

    def __hash__(self) -> int:
        """Hash of the digest, which identifies the image: caches hash often, and all facts are long."""
        return hash(self.digest)

    @property
    def compressed_bytes(self) -> int:
        return sum(layer.compressed_bytes for layer in self.layers)


@dataclass(frozen=True, slots=True)
class Published:
    """The platforms of an index: the name of each and the digest of its manifest."""

    version: int
    digest: str
    images: tuple[tuple[str, str], ...]


CONTENTS: Final = TypeAdapter(ImageContents)
PUBLISHED: Final = TypeAdapter(Published)
LAYER_FOUND: Final = TypeAdapter(LayerFound)
