"""SIF files: what their header and labels say, and the files of their squashfs. Made here, for lack of apptainer."""

from __future__ import annotations

import json
import lzma
import struct
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import zstandard

from imaging.inspection.conclusions import judge
from imaging.inspection.faults import InspectError
from imaging.inspection.manifest import Platform
from imaging.inspection.sif import inspect_sif
from imaging.inspection.store import Store

sys.path.insert(0, str(Path(__file__).parent))
from made import fatbin, library

BLOCK = 131072
SITE = "opt/venv/lib/python3.11/site-packages"
FILES = {
    "etc/os-release": b'PRETTY_NAME="Debian 12"\n',
    f"{SITE}/cupy/core.so": library(fatbin(("cubin", 70), ("ptx", 90))) + bytes(300_000),
    f"{SITE}/cupy_cuda12x-14.2.0.dist-info/METADATA": b"Name: cupy-cuda12x\n\n",
    ".singularity.d/env/10-docker2singularity.sh": b'#!/bin/sh\nexport CUDA_VERSION="${CUDA_VERSION:-"12.4.1"}"\n',
}
PACKERS: dict[int, Callable[[bytes], bytes]] = {
    1: zlib.compress,
    4: lambda data: lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC32),
    6: zstandard.ZstdCompressor().compress,
}


def squashfs(files: Mapping[str, bytes], kind: int = 1, *, loop: bool = False) -> bytes:  # noqa: C901, PLR0915
    """A squashfs 4.0 with these files: data blocks and fragments packed, metadata stored as it is."""
    pack = PACKERS.get(kind, bytes)
    out = bytearray(96)
    inodes, folders, fragments = bytearray(), bytearray(), []

    def reference(position: int) -> int:
        return position // 8192 * 8194 << 16 | position % 8192

    def add_file(content: bytes) -> int:
        start, sizes = len(out), []
        whole, rest = divmod(len(content), BLOCK)
        for number in range(whole):
            part = content[number * BLOCK : (number + 1) * BLOCK]
            data = pack(part)
            sizes.append(0 if not part.strip(b"\0") else len(data))
            out.extend(data if sizes[-1] else b"")
        fragment = 0xFFFFFFFF
        if rest:
            fragment = len(fragments)
            fragments.append((len(out), len(content[-rest:]) | 1 << 24))
            out.extend(content[-rest:])
        at = len(inodes)
        inodes.extend(struct.pack("<HHHHII", 2, 0o644, 0, 0, 0, 1))
        inodes.extend(struct.pack(f"<IIII{whole}I", start, fragment, 0, len(content), *sizes))
        return at

    def add_folder(below: dict[str, object]) -> int:
        entries = []
        for name, value in sorted(below.items()):
            is_folder = isinstance(value, dict)
            at = add_folder(value) if isinstance(value, dict) else add_file(value)  # type: ignore[arg-type]
            entries.append((name, at, 1 if is_folder else 2))
        own = len(inodes)
        if loop:
            entries.append(("again", own, 1))
        listing = bytearray()
        for name, at, number in entries:
            where = reference(at)
            listing.extend(struct.pack("<III", 0, where >> 16, 1))
            listing.extend(struct.pack("<HhHH", where & 0xFFFF, 0, number, len(name) - 1) + name.encode())
        start = reference(len(folders))
        folders.extend(listing)
        inodes.extend(struct.pack("<HHHHII", 1, 0o755, 0, 0, 0, 1))
        inodes.extend(struct.pack("<IIHHI", start >> 16, 2, len(listing) + 3, start & 0xFFFF, 1))
        return own

    tree: dict[str, object] = {}
    for path, content in files.items():
        here = tree
        *steps, last = path.split("/")
        for step in steps:
            here = here.setdefault(step, {})  # type: ignore[assignment]
        here[last] = content
    root = reference(add_folder(tree))

    def stored(data: bytes) -> int:
        at = len(out)
        for begin in range(0, len(data), 8192):
            part = data[begin : begin + 8192]
            out.extend(struct.pack("<H", len(part) | 0x8000) + part)
        return at

    inode_table, folder_table = stored(bytes(inodes)), stored(bytes(folders))
    table = stored(b"".join(struct.pack("<QII", start, size, 0) for start, size in fragments))
    fragment_table = len(out)
    out.extend(struct.pack("<Q", table))
    out[:96] = struct.pack(
        "<5I6H8Q", 0x73717368, len(files), 0, BLOCK, len(fragments), kind, 17, 0, 1, 4, 0,
        root, len(out), 0, 0, inode_table, folder_table, fragment_table, 0,
    )  # fmt: skip
    return bytes(out)


def sif(path: Path, system: bytes, *, architecture: bytes = b"02", file_system: int = 1) -> Path:
    """A SIF file with labels and one partition."""
    labels = json.dumps({"system-partition": {"org.label-schema.build-arch": "amd64", "cuda.version": "10.1"}}).encode()
    parts = [(0x4003, labels, b""), (0x4004, system, struct.pack("<ii3s", file_system, 2, architecture))]
    offset, table, data = 32768, b"", b""
    for kind, content, extra in parts:
        at = offset + len(data)
        table += struct.pack("<i?IIIqqqqqqq128s384s", kind, True, 1, 1, 0, at, len(content), 0, 0, 0, 0, 0, b"", extra)
        data += content
    header = struct.pack(
        "<32s10s3s3s16s8q", b"#!/usr/bin/env run-singularity\n", b"SIF_MAGIC\0", b"01\0", architecture, b"u" * 16,
        1_780_000_000, 0, 0, 2, 4096, len(table), offset, len(data),
    )  # fmt: skip
    path.write_bytes((header.ljust(4096, b"\0") + table).ljust(offset, b"\0") + data)
    return path


@pytest.mark.parametrize("kind", [1, 4, 6])
def test_a_sif_file_is_read_like_an_image(tmp_path: Path, kind: int) -> None:
    store = Store(tmp_path / "cache")
    path = sif(tmp_path / "image.sif", squashfs(FILES, kind))
    found = inspect_sif(path, deep=True, store=store).contents
    assert found.platform == "linux/amd64"
    assert dict(found.settings.env) == {"CUDA_VERSION": "12.4.1"}
    assert dict(found.settings.labels)["cuda.version"] == "10.1"
    assert found.deep is not None
    assert found.deep.system == "Debian 12"
    assert found.deep.files == len(FILES)
    (program,) = judge(found).programs
    assert (program.fields["framework"], program.fields["sm_list"], program.fields["cuda"]) == ("cupy", "sm_70", "12.4")
    assert inspect_sif(path, store=store).is_cached


def test_a_driver_in_a_sif_file_is_a_remark_also_where_a_container_left_it_empty(tmp_path: Path) -> None:
    files = {
        "usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05": library(),
        "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": b"",
    }
    path = sif(tmp_path / "image.sif", squashfs({**FILES, **files}))
    remarks = judge(inspect_sif(path, deep=True).contents).remarks
    (remark,) = [each for each in remarks if each.kind == "driver-inside"]
    assert "libcuda.so.535.104.05" in remark.says
    assert "libnvidia-ml.so.1 (an empty file that a container with a GPU has left)" in remark.says


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda data: b"x" + data[33:], "is not a SIF file"),
        (lambda data: data[:5000], "is damaged"),
        (lambda data: data[:-60], "ends too early|has a file"),
        (lambda data: data.replace(struct.pack("<I", 0x73717368), b"none"), "not squashfs"),
    ],
)
def test_a_corrupt_sif_file_gets_one_clear_error(tmp_path: Path, spoil: Callable[[bytes], bytes], reason: str) -> None:
    path = sif(tmp_path / "image.sif", squashfs(FILES))
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(InspectError, match=reason):
        inspect_sif(path, deep=True)


def test_an_unsupported_sif_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InspectError, match="is encrypted"):
        inspect_sif(sif(tmp_path / "a.sif", b"x" * 100, file_system=5))
    with pytest.raises(InspectError, match="packed with lzo"):
        inspect_sif(sif(tmp_path / "b.sif", squashfs(FILES, 3)))
    with pytest.raises(InspectError, match="contains itself"):
        inspect_sif(sif(tmp_path / "c.sif", squashfs({"a": b"1"}, loop=True)), deep=True)
    with pytest.raises(InspectError, match="for linux/arm64, not for linux/amd64"):
        inspect_sif(sif(tmp_path / "d.sif", squashfs(FILES), architecture=b"04"))
    with pytest.raises(InspectError, match="for linux/amd64, not for linux/arm64"):
        inspect_sif(sif(tmp_path / "e.sif", squashfs(FILES)), wanted=Platform(architecture="arm64"))
    with pytest.raises(InspectError, match="cannot be opened"):
        inspect_sif(tmp_path / "none.sif")
