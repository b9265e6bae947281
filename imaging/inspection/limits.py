"""Limits for untrusted image content. They bound what a registry or an archive can make us do.

Real images are far below: a big one has 10 GB in 80 layers with half a million files.
"""

from typing import Final

DOCUMENTS_BYTES: Final = 1_000_000
"""Index, manifest and config of one image together."""
LAYERS: Final = 1000
INDEX_ENTRIES: Final = 500
LAYER_BYTES: Final = 64 << 30
"""One layer, compressed."""
UNPACKED_BYTES: Final = 256 << 30
"""All layers, unpacked."""
FILE_BYTES: Final = 64 << 30
RATIO: Final = 250
"""Unpacked to compressed, from `RATIO_FROM` bytes of a layer on. Text packs 10:1, long runs of zeros 1000:1."""
RATIO_FROM: Final = 1 << 30
ENTRIES: Final = 1_000_000
"""Files and directories of all layers; each costs about 150 bytes of memory, a directory 300."""
NAME_BYTES: Final = 64 << 20
"""All their names, each directory's once."""
PATH_BYTES: Final = 4096
DEPTH: Final = 256
"""Directories in directories."""
HEADER_BYTES: Final = 1 << 20
"""Extended headers of one tar entry."""
ZSTD_WINDOW_BYTES: Final = 64 << 20
TEXT_BYTES: Final = 1 << 20
"""A text file that a finder keeps whole; a longer one is cut."""
PACKAGES_BYTES: Final = 16 << 20
"""The package manager's list of what is installed."""
