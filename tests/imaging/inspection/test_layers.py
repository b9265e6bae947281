"""Layers that are broken or mean harm: one clear error each, bounded memory, nothing written."""

from __future__ import annotations

import gzip
import io
import random
import sys
import tarfile
import tracemalloc
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rows import each_row

from imaging.inspection import limits
from imaging.inspection.facts import VERSION
from imaging.inspection.faults import InspectError
from imaging.inspection.layers import Entry, entries
from imaging.inspection.layouts import OciLayout
from imaging.inspection.manifest import Descriptor
from imaging.inspection.reading import inspect
from imaging.inspection.store import Store
from imaging.inspection.tree import Tree
from imaging.inspection.unpacking import UnpackedTotal

sys.path.insert(0, str(Path(__file__).parent))
from made import digest, fatbin, image, library, packed, tar, write_layout


def read(blob: bytes, *, pieces_of: int = 1000) -> list[tuple[str, str, int, bytes]]:
    """Path, kind, size and content of all members."""
    pieces = (blob[at : at + pieces_of] for at in range(0, len(blob), pieces_of))
    layer = Descriptor(digest=digest(blob), size=len(blob))
    return [
        (each.path, each.kind, each.size, b"".join(each.pieces()))
        for each in entries("tiny", layer, pieces, UnpackedTotal("tiny"))
    ]


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    """One tar header that may say anything."""
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, link
    return info.tobuf(tarfile.GNU_FORMAT)


FILES = {"a": None, "a/one": b"1" * 1000, "a/two": b"2" * 512, "a/link": "->../../../etc/passwd", "empty": b""}


@each_row("form", ["gzip", "zstd", "none"])
@each_row("pieces_of", [1, 7, 512, 100_000])
def test_members_come_as_they_are_whatever_the_pieces(form: str, pieces_of: int) -> None:
    assert read(packed(tar(FILES), form), pieces_of=pieces_of) == [
        ("a", "directory", 0, b""), ("a/one", "file", 1000, b"1" * 1000), ("a/two", "file", 512, b"2" * 512),
        ("a/link", "symlink", 0, b""), ("empty", "file", 0, b""),
    ]  # fmt: skip


def test_a_layer_of_many_gzip_members_is_one() -> None:
    content = tar(FILES)
    blob = b"".join(gzip.compress(content[at : at + 700]) for at in range(0, len(content), 700)) + bytes(100)
    assert len(read(blob)) == len(FILES)


def test_an_archive_without_its_end_blocks_is_read() -> None:
    content = tar({"one": b"1" * 600})
    assert [each[0] for each in read(content[: 512 + 1024])] == ["one"]


@pytest.mark.parametrize("blob", [b"", bytes(1024), bytes(10240)])
def test_a_layer_may_be_empty(blob: bytes) -> None:
    assert read(blob) == []


def test_long_names_and_extended_headers_are_read() -> None:
    long = "/".join(["directory"] * 40) + "/file"
    out = io.BytesIO()
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        with tarfile.open(fileobj=out, mode="w", format=form) as archive:
            info = tarfile.TarInfo(long + str(form))
            info.size = 3
            archive.addfile(info, io.BytesIO(b"abc"))
        blob = out.getvalue()
        assert [(path, content) for path, _, _, content in read(blob)] == [(long + str(form), b"abc")]
        out = io.BytesIO()


@each_row(
    ("blob", "reason"),
    [
        (header("../../etc/cron.d/x", 0), "climbs out of the image"),
        (header("a/../../b", 0), "climbs out of the image"),
        (header("x", 0, tarfile.LNKTYPE, "../../etc/shadow"), "climbs out of the image"),
        (header("huge", 1 << 40), "1,099,511,627,776 bytes"),
        (header("x", 5000) + bytes(100), "ends in the middle of x"),
        (b"not a tar at all, but text" * 50, "is not a tar archive"),
        (tar({"a": b"1"})[:1024] + b"garbage" * 200, "between its members that is not a tar header"),
        (header("x", 1 << 30, tarfile.XHDTYPE) + bytes(4096), "header of more than a megabyte"),
        (header("x", 1 << 30, tarfile.GNUTYPE_LONGNAME) + bytes(4096), "header of more than a megabyte"),
        (b"".join(header("x", 1, tarfile.GNUTYPE_LONGNAME) + b"y".ljust(512) for _ in range(900)), "not a tar archive"),
        (gzip.compress(tar(FILES))[:-30], "middle of its gzip stream|cannot be unpacked"),
        (gzip.compress(tar(FILES))[:50] + bytes(50), "cannot be unpacked"),
        (zstandard.ZstdCompressor().compress(tar(FILES))[:-30], "middle of its zstd stream|cannot be unpacked"),
        (
            zstandard.ZstdCompressor().compress(random.Random(1).randbytes(5000))[:-30],
            "middle of its zstd stream|cannot|not a tar archive",
        ),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 50, "cannot be unpacked"),
    ],
)
def test_each_broken_layer_has_one_clear_error(blob: bytes, reason: str) -> None:
    with pytest.raises(InspectError, match=reason):
        read(blob)


def test_a_sparse_file_of_a_terabyte_is_refused_at_once() -> None:
    info = tarfile.TarInfo("sparse")
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[156:157] = b"S"
    block[257:265] = b"ustar  \0"
    block[483:495] = b"\x80" + (1 << 40).to_bytes(11, "big")  # the size when holes are filled
    block[148:156] = b" " * 8
    block[148:156] = f"{sum(block):06o}\0 ".encode()
    with pytest.raises(InspectError, match="1,099,511,627,776 bytes"):
        read(bytes(block) + bytes(1024))


def bomb(form: str, size: int) -> bytes:
    """A file of zeros: a thousandth of its size with gzip, far less with zstd."""
    content = header("zeros", size)
    if form == "zstd":
        out = io.BytesIO()
        with zstandard.ZstdCompressor(level=19).stream_writer(out, closefd=False) as writer:
            writer.write(content)
            for _ in range(size >> 20):
                writer.write(bytes(1 << 20))
        return out.getvalue()
    state = zlib.compressobj(9, wbits=31)
    return state.compress(content) + b"".join(state.compress(bytes(1 << 20)) for _ in range(size >> 20)) + state.flush()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["gzip", "zstd"])
def test_an_archive_bomb_is_left_early(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RATIO_FROM", 64 << 20)
    blob = bomb(form, 256 << 20)
    assert len(blob) < 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(InspectError, match="as an archive bomb does"):
            read_sizes(blob)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def read_sizes(blob: bytes) -> int:
    layer = Descriptor(digest=digest(blob), size=len(blob))
    pieces = (blob[at : at + 65536] for at in range(0, len(blob), 65536))
    return sum(len(piece) for each in entries("tiny", layer, pieces, UnpackedTotal("tiny")) for piece in each.pieces())


def test_a_window_that_would_take_much_memory_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True)
    state = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    blob = state.compress(tar({"x": random.Random(1).randbytes(100_000)})) + state.flush()
    with pytest.raises(InspectError, match="cannot be unpacked"):
        read(blob)


def test_too_many_files_and_too_long_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ENTRIES", 100)
    tree = Tree("tiny")
    tree.begin_layer()
    for number in range(100):
        tree.add(Entry(f"f{number}", "file", 1, "", lambda: iter(())))
    with pytest.raises(InspectError, match="more than 100 files"):
        tree.add(Entry("one more", "file", 1, "", lambda: iter(())))
    monkeypatch.setattr(limits, "NAME_BYTES", 1000)
    tree = Tree("tiny")
    tree.begin_layer()
    for number in range(6):
        tree.add(Entry(f"{number}" * 150, "file", 1, "", lambda: iter(())))
    with pytest.raises(InspectError, match="1,000 bytes of them"):
        tree.add(Entry("x" * 150, "file", 1, "", lambda: iter(())))
    with pytest.raises(InspectError, match="more than 100 names"):
        tree.add(Entry("/".join("d" * 100), "file", 1, "", lambda: iter(())))
    with pytest.raises(InspectError, match="characters"):
        read(tar({"a/" * 2100 + "b": b""}))


def test_loops_of_links_do_no_harm(tmp_path: Path) -> None:
    files = {"a": "->b", "b": "->a", "c/self": "->../c", "d": "->d/d/d", "c/file": b"1"}
    found = inspect(OciLayout(write_layout(tmp_path / "layout", image(files))), deep=True).contents.deep
    assert found is not None
    assert found.files == 5


def test_nothing_is_written_but_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    layout = write_layout(tmp_path / "layout", image({"etc/passwd": b"root", "tmp/x": b"1"}))
    before = set(tmp_path.rglob("*"))
    store = Store(tmp_path / "cache")
    inspect(OciLayout(layout), deep=True, store=store)
    written = [path for path in tmp_path.rglob("*") if path not in before and path.is_file()]
    assert all(path.is_relative_to(tmp_path / "cache") for path in written)
    assert sorted(path.name.partition(".")[2] for path in written) == ["deep.json", "layer.gz"]


def test_a_corrupt_store_is_read_again_and_an_unwritable_one_is_reported(tmp_path: Path) -> None:
    source = OciLayout(write_layout(tmp_path / "layout", image({"a": b"1"})))
    store = Store(tmp_path / "cache")
    first = inspect(source, store=store)
    (file,) = (tmp_path / "cache").rglob("*.json")
    older = file.read_bytes().replace(b'"version":%d' % VERSION, b'"version":0')
    for content in (b"", b"{", older, b'{"version": %d}' % VERSION):
        file.write_bytes(content)
        again = inspect(OciLayout(source.path), store=store)
        assert not again.is_cached
        assert again.contents == first.contents
    (tmp_path / "file").write_text("")
    with pytest.raises(InspectError, match="cannot be written"):
        inspect(OciLayout(source.path), store=Store(tmp_path / "file" / "below"))


def test_facts_that_were_kept_before_compressed_code_was_reported_are_read_again(tmp_path: Path) -> None:
    code = library(fatbin(("cubin", 80), flags=0x8000))
    source = OciLayout(write_layout(tmp_path / "layout", image({"usr/lib/libsolver.so": code})))
    cache = tmp_path / "cache"
    inspect(source, deep=True, store=Store(cache))
    (written,) = cache.iterdir()
    kept = written.rename(cache / "v3")
    for file in kept.iterdir():
        content = file.read_bytes()
        is_layer = file.name.endswith("layer.gz")
        content = gzip.decompress(content) if is_layer else content
        older = content.replace(b',"compressed":["sm_80"]', b"").replace(b'"version":%d' % VERSION, b'"version":3')
        file.write_bytes(gzip.compress(older) if is_layer else older)
    again = inspect(OciLayout(source.path), deep=True, store=Store(cache))
    assert not again.is_cached
    assert again.contents.deep is not None
    assert [each.compressed for each in again.contents.deep.code] == [("sm_80",)]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=3000), st.integers(0, 2000), st.sampled_from(["gzip", "zstd", "none"]))
def test_any_bytes_are_an_archive_or_one_error(noise: bytes, at: int, form: str) -> None:
    content = bytearray(tar({"a/one": b"1" * 700, "b": "->a"}))
    content[at : at + len(noise)] = noise
    for blob in (packed(bytes(content), form), bytes(content), noise):
        try:
            read(blob)
        except InspectError as error:
            assert str(error).count("\n") == 1  # noqa: PT017 - what is wrong, what to do; or no error at all
