"""Reading wheels in place: a package index on the loopback address, as far as the observer uses one."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import struct
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from images.inspection.index import DEFAULT_INDEX, index_url
from images.inspection.index import Index as PackageIndex
from images.inspection.opening import open_session
from images.size.observe_wheels import NotObserved, RangeFile, find_wheel, main

WHEEL = "tiny_gpu-1.2-cp312-cp312-manylinux_2_28_x86_64.whl"
METADATA = """Metadata-Version: 2.1
Name: tiny-gpu
Version: 1.2
Requires-Dist: numpy
Requires-Dist: nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux"
"""
MEBIBYTE = 1 << 20


def entry(kind: int, architecture: int, flags: int = 0) -> bytes:
    """Header of an entry of a fatbin, compiled by CUDA 12.8; see test_fatbin.py."""
    return struct.pack("<HHIQ8xHHI8xQ16x", kind, 0x101, 64, 0, 7, 8, architecture, flags)


ENTRIES = entry(2, 75) + entry(2, 90, 1 << 20) + entry(1, 90)
FATBIN = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(ENTRIES)) + ENTRIES


def wheel(tail: int = 0) -> bytes:
    """A wheel with one library. `tail` bytes of other data follow the device code; none of it can be compressed."""
    rest = random.Random(1).randbytes(tail)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny/lib/libtiny.so.1", FATBIN + rest)
        archive.writestr("tiny/_host.so", b"\x7fELF no device code")
        archive.writestr("tiny/__init__.py", FATBIN)
        archive.writestr("tiny_gpu-1.2.dist-info/METADATA", METADATA)
    return buffer.getvalue()


class Index(ThreadingHTTPServer):
    """Serves files by range, and a simple index of them in JSON."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes], *, ranges: bool = True) -> None:
        self.files = files
        self.ranges = ranges
        self.sent = 0
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        content = self.server.files.get(name, b"")
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if self.path == "/simple/tiny-gpu/":
            files = [
                {"filename": name, "url": f"../../files/{name}", "hashes": {}, "size": len(data)}
                for name, data in self.server.files.items()
            ]
            self._answer(200, json.dumps({"files": files}).encode(), "application/vnd.pypi.simple.v1+json")
        elif content and asked and self.server.ranges:
            first, last = int(asked[1]), min(int(asked[2]), len(content) - 1)
            self._answer(206, content[first : last + 1], "application/zip", f"bytes {first}-{last}/{len(content)}")
        elif content:
            self._answer(200, content, "application/zip")
        else:
            self._answer(404, b"not here", "text/plain")

    def _answer(self, status: int, content: bytes, kind: str, span: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        try:
            self.wfile.write(content)
        except ConnectionError:
            return  # the client had seen enough of the header
        self.server.sent += len(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Index]]:
    running: list[Index] = []

    class Started(Index):
        def __init__(self, files: dict[str, bytes], *, ranges: bool = True) -> None:
            super().__init__(files, ranges=ranges)
            threading.Thread(target=self.serve_forever, daemon=True).start()
            monkeypatch.setenv("UV_DEFAULT_INDEX", f"{self.url}/simple/")
            running.append(self)

    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
    yield Started
    for server in running:
        server.shutdown()
        server.server_close()


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_writes_a_row_for_each_target_and_each_requirement_of_the_gpu_stack(
    serve: type[Index], capsys: pytest.CaptureFixture[str]
) -> None:
    serve({WHEEL: wheel()})
    assert main(["Tiny_GPU==1.2"]) == 0
    rows = table(capsys.readouterr().out)
    assert [(row["kind"], row["target"], row["isa"]) for row in rows] == [
        ("requires", 'nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux"', ""),
        ("cubin", "7.5", ""),
        ("cubin", "9.0a", ""),
        ("ptx", "9.0", "8.7"),
    ]
    assert {(row["member"], row["containers"], row["complete"]) for row in rows[1:]} == {
        ("tiny/lib/libtiny.so.1", "1", "yes")
    }


def test_reads_little_of_a_wheel_whose_device_code_comes_first(
    serve: type[Index], capsys: pytest.CaptureFixture[str]
) -> None:
    content = wheel(tail=24 * MEBIBYTE)
    server = serve({WHEEL: content})
    assert main(["tiny-gpu==1.2", "--settle", "2"]) == 0
    rows = table(capsys.readouterr().out)
    assert [row["target"] for row in rows if row["member"].endswith(".so.1")] == ["7.5", "9.0a", "9.0"]
    assert {row["complete"] for row in rows[1:]} == {"no"}
    assert server.sent < len(content) // 2


def test_a_wheel_on_disk_is_read_as_it_lies_there(tmp_path: Path) -> None:
    path = tmp_path / WHEEL
    path.write_bytes(wheel(tail=MEBIBYTE))
    out = tmp_path / "observed.csv"
    for _ in range(2):
        assert main([str(path), "--settle", "0", "--match", "*.so.1", "--out", str(out)]) == 0
    rows = table(out.read_text())
    assert [row["target"] for row in rows if row["kind"] == "cubin"] == ["7.5", "9.0a"] * 2


def test_a_server_that_ignores_ranges_is_not_asked_for_the_whole_wheel(
    serve: type[Index], capsys: pytest.CaptureFixture[str]
) -> None:
    serve({WHEEL: wheel()}, ranges=False)
    assert main(["tiny-gpu==1.2"]) == 1
    assert "answered 200 to a range request" in capsys.readouterr().err


def test_one_wheel_that_cannot_be_read_does_not_keep_the_others_back(
    serve: type[Index], capsys: pytest.CaptureFixture[str]
) -> None:
    serve({WHEEL: wheel(), "tiny_gpu-1.3-cp312-cp312-manylinux_2_28_x86_64.whl": b"no zip"})
    assert main(["tiny-gpu==9", "tiny-gpu==1.3", "absent==1", "tiny-gpu==1.2"]) == 1
    captured = capsys.readouterr()
    assert [line.partition(": ")[0] for line in captured.err.splitlines()] == [
        "tiny-gpu==9",
        "tiny-gpu==1.3",
        "absent==1",
        "tiny-gpu==1.2",
    ]
    assert {row["version"] for row in table(captured.out)} == {"1.2"}


def test_takes_the_smallest_wheel_for_linux_on_x86_64(serve: type[Index]) -> None:
    others = (
        "tiny_gpu-1.2-cp311-cp311-manylinux_2_28_x86_64.whl",
        "tiny_gpu-1.2-cp312-cp312-manylinux_2_28_aarch64.whl",
        "tiny_gpu-1.2-cp312-cp312-win_amd64.whl",
        "tiny_gpu-1.2.tar.gz",
    )
    server = serve({WHEEL: b"123", **dict(zip(others, [b"1234", b"1", b"1", b"1"], strict=True))})
    with open_session({}, with_login=False) as session:
        found = find_wheel(PackageIndex(session, f"{server.url}/simple"), "tiny-gpu==1.2")
    assert (found.filename, found.url) == (WHEEL, f"{server.url}/files/{WHEEL}")


@pytest.mark.parametrize("argument", ["tiny-gpu", "tiny-gpu>=1", "tiny gpu==1.2"])
def test_what_is_no_pin_is_told_and_nobody_is_asked(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([argument]) == 1
    assert capsys.readouterr().err == f"{argument}: is not an exact pin such as numpy==2.4.6\n"


def test_a_range_file_reads_and_seeks_like_any_file(serve: type[Index]) -> None:
    content = random.Random(2).randbytes(5000)
    server = serve({"data.bin": content})
    with httpx.Client() as client:
        remote = RangeFile(client, f"{server.url}/files/data.bin")
        file = io.BufferedReader(remote, 512)
        assert file.read(10) == content[:10]
        assert file.seek(-7, io.SEEK_END) == 4993
        assert file.read() == content[-7:]
        assert file.read() == b""
        file.seek(1000)
        assert file.read(2000) == content[1000:3000]
        assert remote.bytes_read < 5000


def test_a_file_that_is_not_there_is_no_empty_file(serve: type[Index]) -> None:
    server = serve({})
    with httpx.Client() as client, pytest.raises(NotObserved, match="answered 404"):
        RangeFile(client, f"{server.url}/files/none.whl")


def test_the_index_is_the_one_that_uv_or_pip_is_set_to(tmp_path: Path) -> None:
    pip = tmp_path / "pip.conf"
    pip.write_text("[global]\nindex-url = https://mirror.example/simple/\n")
    assert index_url({"PIP_INDEX_URL": "https://one.example/simple"}, [pip]) == "https://one.example/simple"
    assert index_url({}, [pip]) == "https://mirror.example/simple"
    assert index_url({"PIP_CONFIG_FILE": str(pip)}) == "https://mirror.example/simple"
    assert index_url({}, [tmp_path / "absent"]) == DEFAULT_INDEX
