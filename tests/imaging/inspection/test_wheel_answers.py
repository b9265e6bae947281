"""Answers are compared with the machine code of wheels, as another reader than `inspect` sees it.

NVIDIA's program stands on the index as a script here; the real one is asked outside of tests.
"""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from made import fatbin, library
from rows import each_row

from tools import cuobjdump, wheel_answers
from tools.cuobjdump import Dumped
from tools.wheel_truth import runs

ZSTD = b"\x28\xb5\x2f\xfd"


def dumped(
    *, cubins: dict[str, int] | None = None, ptx: dict[str, str] | None = None, toolkit: str = "12.4",
    by_zstd: dict[str, float] | None = None, number: int = 10,
) -> Dumped:  # fmt: skip
    languages = ptx or {}
    return Dumped("a.so", cubins or {}, dict.fromkeys(languages, number), languages, toolkit, by_zstd or {})


ROWS = [
    pytest.param(dumped(cubins={"80": 10}), (8, 0), "550.127.05", True, id="own"),
    pytest.param(dumped(cubins={"80": 10}), (8, 9), "550.127.05", True, id="newer_minor"),
    pytest.param(dumped(cubins={"86": 10}), (8, 0), "550.127.05", False, id="older_minor"),
    pytest.param(dumped(cubins={"80": 10}), (9, 0), "550.127.05", False, id="other_major"),
    pytest.param(dumped(cubins={"100a": 10}, toolkit="12.8"), (10, 3), "580.95.05", False, id="one_gpu_alone"),
    pytest.param(dumped(cubins={"100f": 10}, toolkit="12.8"), (10, 3), "580.95.05", True, id="its_family"),
    pytest.param(dumped(cubins={"80": 10}, toolkit="12.9"), (8, 0), "525.147.05", True, id="minor_version"),
    pytest.param(dumped(cubins={"80": 10}), (8, 0), "470.256.02", False, id="major_needs_driver"),
    pytest.param(dumped(cubins={"70": 10}, toolkit="10.2"), (7, 0), "440.32", False, id="before_11_exact"),
    pytest.param(dumped(ptx={"80": "8.2"}, toolkit=""), (9, 0), "535.183.01", True, id="ptx_forward"),
    pytest.param(dumped(ptx={"80": "8.4"}, toolkit=""), (9, 0), "535.183.01", False, id="ptx_too_new"),
    pytest.param(dumped(ptx={"90": "8.0"}, toolkit=""), (8, 0), "550.127.05", False, id="ptx_not_back"),
    pytest.param(dumped(cubins={"80": 10}, by_zstd={"80": 1.0}), (8, 0), "535.183.01", False, id="zstd_old_driver"),
    pytest.param(dumped(cubins={"80": 10}, by_zstd={"80": 1.0}), (8, 0), "550.127.05", True, id="zstd_new_driver"),
    pytest.param(dumped(cubins={"80": 10, "90": 2}), (9, 0), "550.127.05", False, id="few_kernels"),
    pytest.param(dumped(cubins={"80": 10, "90": 2}), (8, 0), "550.127.05", True, id="few_for_others"),
]


@each_row("code, capability, driver, does_run", ROWS)
def test_code_runs_by_the_rules_of_nvidia(
    code: Dumped, capability: tuple[int, int], driver: str, does_run: bool
) -> None:
    assert runs([code], capability, 0, driver) is does_run


def test_a_gpu_needs_its_first_driver_whatever_the_code() -> None:
    code = [dumped(cubins={"90": 10}, toolkit="11.8")]
    assert not runs(code, (9, 0), 525, "470.256.02")
    assert runs(code, (9, 0), 525, "525.147.05")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """The output of the tests is not for this."""


LISTS = """#!/bin/sh
case $1 in
  --list-elf) echo "ELF file    1: library.1.sm_80.cubin";;
  --extract-elf) printf 'Cuda compilation tools, release {toolkit}, V{toolkit}.1' > library.1.sm_80.cubin;;
esac
"""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The root of an index, and a cache of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{server.server_port}/simple")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield tmp_path
    server.shutdown()
    thread.join()
    server.server_close()


def serve(root: Path, name: str, version: str, files: dict[str, bytes]) -> None:
    folder = root / "simple" / name
    folder.mkdir(parents=True)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    filename = f"{name.replace('-', '_')}-{version}-py3-none-manylinux_2_28_x86_64.whl"
    (folder / filename).write_bytes(content.getvalue())
    (folder / "index.html").write_text(f'<a href="{filename}">x</a>')


def compare(index: Path, monkeypatch: pytest.MonkeyPatch, *, toolkit: str) -> int:
    """The script on one wheel, which has code for sm_80 made by this CUDA."""
    program = LISTS.format(toolkit=toolkit).encode()
    serve(index, cuobjdump.PACKAGE, cuobjdump.VERSION, {"nvidia/cu13/bin/cuobjdump": program})
    serve(index, "lesson", "1.0", {"lesson/a.so": library(fatbin(("cubin", 80))), "lesson/b.so": library()})
    wheels = index / "wheels.csv"
    wheels.write_text("package,version,beside,main,asked,cuda,apart\nlesson,1.0,,,,,\n")
    monkeypatch.setattr(wheel_answers, "WHEELS", wheels)
    return wheel_answers.main(["--differences"])


@pytest.mark.slow
def test_answers_that_agree_with_the_code_hold_the_bars(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(index, monkeypatch, toolkit="11.0") == 0
    shown = capsys.readouterr()
    assert "| read, wheels that no row is made of | 72 | 100.00 | 0.00 | 0.00 | 0.00 |" in shown.out
    assert "| by name, other releases | 72 | 20.83 | 0.00 | 0.00 | 79.17 |" in shown.out


@pytest.mark.slow
def test_answers_that_differ_from_the_code_are_counted_shown_and_a_failure(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(index, monkeypatch, toolkit="13.0") == 1
    shown = capsys.readouterr()
    assert "lesson==1.0 read: A100, 470.256.02: wrongly compatible" in shown.err
    assert "% wrongly compatible (at most 0.3)" in shown.err


def test_code_is_compressed_if_its_content_says_so(tmp_path: Path) -> None:
    plain = library(fatbin(("cubin", 80), ("cubin", 90)))
    packed = plain.replace(b"\xaa" * 64, ZSTD + b"\xaa" * 60, 1)  # the first entry
    file = tmp_path / "library.so"
    file.write_bytes(packed)
    program = tmp_path / "cuobjdump"
    program.write_text(LISTS.format(toolkit="12.8"))
    program.chmod(0o755)
    found = cuobjdump.dump(program, file, "lesson/a.so")
    assert found is not None
    assert found.by_zstd == {"80": 1.0, "90": 0.0}
    assert (found.cubins, found.ptx, found.toolkit) == ({"80": 1}, {}, "12.8")
