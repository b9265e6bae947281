"""The files that a container sees, layer by layer: the layer of each, and each layer's wasted bytes.

Sizes only, no content. Memory is one dictionary entry per file; `limits.ENTRIES` and `limits.NAME_BYTES` bound it.
Whiteouts: OCI image-spec 1.1, layer.md. Symbolic links are never followed, so their loops do no harm.
"""

from collections.abc import Iterator
from typing import Final

from imaging.inspection import limits
from imaging.inspection.faults import InspectError
from imaging.inspection.layers import Entry

_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"
_LAYER_BITS: Final = 10  # limits.LAYERS

Folder = dict[str, "Folder | int"]


class Tree:
    """Built entry by entry, in the order of layers."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.top: Folder = {}
        self.unpacked: list[int] = []
        """Bytes of files that each layer brings."""
        self.wasted: list[int] = []
        """Those of them that a later layer replaces or removes."""
        self._entries = 0
        self._names = 0
        self._name_bytes = 0

    def begin_layer(self) -> None:
        self.unpacked.append(0)
        self.wasted.append(0)
        # A layer hides files of lower layers, never its own, whatever the order of its entries.
        self._layer = len(self.unpacked) - 1

    def add(self, entry: Entry) -> None:
        """One entry of the current layer; raises InspectError if there are too many."""
        self._entries += 1
        if self._entries > limits.ENTRIES:
            raise InspectError(self._name, f"has more than {limits.ENTRIES:,} files", "do not use this image")
        folder, _, name = entry.path.rpartition("/")
        if name == _OPAQUE:
            self._clear(self._folder(folder))
        elif name.startswith(_WHITEOUT):
            self._remove(self._folder(folder), name.removeprefix(_WHITEOUT))
        elif entry.kind == "directory":
            self._folder(entry.path)
        elif name:
            parent = self._folder(folder)
            self._put(parent, name, entry.size << _LAYER_BITS | self._layer)
            self.unpacked[self._layer] += entry.size

    def find(self, path: str) -> tuple[int, int] | None:
        """Size and layer of a file that a container sees; None if it sees none."""
        folder, _, name = path.rpartition("/")
        here: Folder | int | None = self.top
        for step in filter(None, folder.split("/")):
            here = here.get(step) if isinstance(here, dict) else None
        value = here.get(name) if isinstance(here, dict) else None
        return (value >> _LAYER_BITS, value & (1 << _LAYER_BITS) - 1) if isinstance(value, int) else None

    def folders(self) -> Iterator[tuple[str, int, int]]:
        """Each directory, deepest first: path, bytes of everything below, bytes of its biggest directory."""
        yield from _sizes("", self.top)

    def count(self) -> int:
        """Files that a container sees."""
        return _count(self.top)

    def _folder(self, path: str) -> Folder:
        here = self.top
        for step in filter(None, path.split("/")):
            below = here.get(step)
            if not isinstance(below, dict):
                below = {}
                self._put(here, step, below)
            here = below
        return here

    def _put(self, folder: Folder, name: str, value: Folder | int) -> None:
        if name in folder:
            self._waste(folder[name])
        else:
            self._names += 1
            self._name_bytes += len(name)
            if self._names > limits.ENTRIES or self._name_bytes > limits.NAME_BYTES:
                raise InspectError(
                    self._name,
                    f"has more than {limits.ENTRIES:,} names, or {limits.NAME_BYTES:,} bytes of them",
                    "do not use this image",
                )
        folder[name] = value

    def _remove(self, folder: Folder, name: str) -> None:
        value = folder.get(name)
        if isinstance(value, dict):
            self._clear(value)
            if not value:
                del folder[name]
        elif value is not None and value & (1 << _LAYER_BITS) - 1 != self._layer:
            self._waste(value)
            del folder[name]

    def _clear(self, folder: Folder) -> None:
        for name in list(folder):
            self._remove(folder, name)

    def _waste(self, value: Folder | int) -> None:
        if isinstance(value, dict):
            for below in value.values():
                self._waste(below)
        else:
            self.wasted[value & (1 << _LAYER_BITS) - 1] += value >> _LAYER_BITS


def _count(folder: Folder) -> int:
    return sum(_count(value) if isinstance(value, dict) else 1 for value in folder.values())


def _sizes(path: str, folder: Folder) -> Iterator[tuple[str, int, int]]:
    total = biggest = 0
    for name, value in folder.items():
        if isinstance(value, dict):
            size = 0
            for below in _sizes(f"{path}/{name}", value):
                yield below
                size = below[1]  # the last one is the directory itself
            biggest = max(biggest, size)
        else:
            size = value >> _LAYER_BITS
        total += size
    yield path or "/", total, biggest
