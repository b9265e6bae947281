"""Reads SIF files of Apptainer or Singularity: header, object table, and a squashfs with the files.

Layout: sylabs/sif `pkg/sif/sif.go` and `descriptor.go` (header 128 bytes, descriptor 585, little endian).
"""

import hashlib
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from imaging.inspection import facts, limits
from imaging.inspection.effective_content import contents_of
from imaging.inspection.facts import ImageContents
from imaging.inspection.faults import InspectError
from imaging.inspection.manifest import Platform
from imaging.inspection.reading import DEFAULT_PLATFORM, Finders, Inspected, check_platform, read_entry, settings_of
from imaging.inspection.squashfs import Squashfs, SquashfsError
from imaging.inspection.store import Store
from imaging.inspection.tree import Tree
from imaging.inspection.unpacking import UnpackedTotal

_HEADER: Final = struct.Struct("<32s10s3s3s16s8q")
_DESCRIPTOR: Final = struct.Struct("<i?IIIqqqqqqq128s384s")
_PARTITION: Final = struct.Struct("<ii3s")
_MAGIC: Final = b"SIF_MAGIC\0"
_LABELS, _PARTITIONS, _OCI_INDEX = 0x4003, 0x4004, 0x400A
_SQUASHFS, _ENCRYPTED, _PRIMARY = 1, 5, 2
_MOST_DESCRIPTORS: Final = 4096
_ARCHITECTURES: Final = {b"01": "386", b"02": "amd64", b"03": "arm", b"04": "arm64", b"06": "ppc64le", b"11": "s390x"}
_EXPORT: Final = re.compile(r"^\s*export\s+(\w+)=(.*)$", re.MULTILINE)
_DEFAULTED: Final = re.compile(r'^"?\$\{\w+:-"?(.*?)"?\}"?$')
_ENVIRONMENTS: Final = ("10-docker2singularity.sh", "90-environment.sh")


@dataclass(frozen=True, slots=True)
class _Object:
    kind: int
    offset: int
    size: int
    file_system: int = 0
    part: int = 0


def inspect_sif(
    path: Path, *, wanted: Platform = DEFAULT_PLATFORM, deep: bool = False, store: Store | None = None
) -> Inspected:
    """Facts of a SIF file; its digest is that of the whole file. Raises InspectError."""
    name = str(path)
    try:
        with path.open("rb") as file:
            return _inspect(name, file, wanted, store, deep=deep)
    except OSError as error:
        raise InspectError(name, f"cannot be opened: {error.strerror}", "check the path") from None
    except SquashfsError as error:
        raise InspectError(name, str(error), "build the image again") from None
    except (struct.error, RecursionError, OverflowError):
        raise InspectError(name, "is damaged", "copy or build it again") from None


def _inspect(name: str, file: BinaryIO, wanted: Platform, store: Store | None, *, deep: bool) -> Inspected:
    platform, created, objects = _header(name, file)
    check_platform(name, platform, wanted)
    file.seek(0)
    digest = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"  # type: ignore[arg-type]
    if store is not None and (known := store.contents(digest, deep=deep)):
        return Inspected(name, known, None, is_cached=True)
    partition = next((each for each in objects if each.kind == _PARTITIONS and each.part == _PRIMARY), None)
    if partition is None and any(each.kind == _OCI_INDEX for each in objects):
        raise InspectError(name, "is an OCI-SIF, which holds OCI layers", "inspect the image that it was made from")
    if partition is None or partition.file_system != _SQUASHFS:
        encrypted = partition is not None and partition.file_system == _ENCRYPTED
        what = "is encrypted" if encrypted else "has no squashfs with the image's files"
        raise InspectError(name, what, "build it without encryption, or inspect the image that it was made from")
    system = Squashfs(file, partition.offset)
    layer = facts.Layer(digest, "application/vnd.sylabs.sif.layer.v1.sif", system.compression, partition.size)
    contents = ImageContents(
        version=facts.VERSION,
        digest=digest,
        media_type="application/vnd.sylabs.sif.layer.v1.sif",
        platform=platform,
        created=created,
        layers=(layer,),
        settings=settings_of(
            list(dict(_environment(system)).items()),
            _labels(file, objects),
            user="whoever starts it",
            entry_point=("/.singularity.d/runscript",),
        ),
        deep=_read_files(name, system, partition.size) if deep else None,
    )
    if store is not None:
        store.keep(contents)
    return Inspected(name, contents, None, is_cached=False)


def _header(name: str, file: BinaryIO) -> tuple[str, datetime | None, list[_Object]]:
    raw = file.read(_HEADER.size)
    if len(raw) < _HEADER.size or raw[32:42] != _MAGIC:
        raise InspectError(name, "is not a SIF file", "give what apptainer build or pull wrote")
    _, _, _, architecture, _, created, _, _, total, start, _, _, _ = _HEADER.unpack(raw)
    known = _ARCHITECTURES.get(architecture.rstrip(b"\0"))
    if known is None:
        raise InspectError(name, "does not say for which processor it is", "build it again with a newer apptainer")
    if not 0 <= total <= _MOST_DESCRIPTORS or start < 0:
        raise InspectError(name, f"says that it has {total} objects", "copy or build it again")
    file.seek(start)
    table = file.read(total * _DESCRIPTOR.size)
    objects = []
    for number in range(total):
        kind, is_used, _, _, _, offset, size, *_, extra = _DESCRIPTOR.unpack_from(table, number * _DESCRIPTOR.size)
        if is_used and offset >= 0 and size >= 0:
            system, part, _ = _PARTITION.unpack_from(extra)
            objects.append(_Object(kind, offset, size, system, part))
    day = datetime.fromtimestamp(created, UTC) if 0 < created < 1 << 33 else None
    return f"linux/{known}", day, objects


def _labels(file: BinaryIO, objects: list[_Object]) -> dict[str, str]:
    found = next((each for each in objects if each.kind == _LABELS), None)
    if found is None:
        return {}
    file.seek(found.offset)
    try:
        given: Any = json.loads(file.read(min(found.size, limits.TEXT_BYTES)))
    except (ValueError, RecursionError):
        return {}
    while isinstance(given, dict) and len(given) == 1 and isinstance(next(iter(given.values())), dict):
        given = next(iter(given.values()))  # {"system-partition": {…}}
    return {str(key): str(value) for key, value in given.items()} if isinstance(given, dict) else {}


def _environment(system: Squashfs) -> Iterator[tuple[str, str]]:
    """Variables of its source image and of `%environment`; scripts are read, not run."""
    for script in _ENVIRONMENTS:
        text = system.read(f".singularity.d/env/{script}", limits.TEXT_BYTES).decode("utf-8", "replace")
        for key, value in _EXPORT.findall(text):
            match = _DEFAULTED.match(value.strip())
            yield key, match[1] if match else value.strip().strip("\"'")


def _read_files(name: str, system: Squashfs, packed: int) -> facts.Contents:
    tree, total, finders = Tree(name), UnpackedTotal(name), Finders()
    tree.begin_layer()
    for entry in system.entries():
        total.grow(entry.size)
        if total.unpacked > limits.RATIO_FROM + limits.RATIO * packed:
            raise InspectError(name, f"unpacks to more than {limits.RATIO} times its size", "do not use this image")
        read_entry(entry, tree, finders)
    return contents_of(finders.found(total.unpacked), tree, total.unpacked, ())
