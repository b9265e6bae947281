"""Releases that the table of framework builds lacks, read from an index: a real server with wheels made here."""

from __future__ import annotations

import csv
import io
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from made import fatbin, library

from compat.facts import csv_files
from tools import wheel_table
from tools.tables import TABLES

ZSTD = 0x8000
FRAMEWORK = next(table for table in TABLES if table.name == "framework")
LOADS = b"\0libcudart.so.12\0libcudnn.so.9\0"


class _Ranges(SimpleHTTPRequestHandler):
    """A server that knows ranges, and counts what it sent."""

    sent: dict[str, int]

    def log_message(self, *_: object) -> None:
        """The output of the tests is not for this."""

    def do_GET(self) -> None:
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not match:
            super().do_GET()
            return
        content = Path(self.translate_path(self.path)).read_bytes()
        piece = content[int(match[1]) : int(match[2]) + 1]
        name = Path(self.path).name
        self.sent[name] = self.sent.get(name, 0) + len(piece)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {match[1]}-{match[2]}/{len(content)}")
        self.send_header("Content-Length", str(len(piece)))
        self.end_headers()
        self.wfile.write(piece)


@pytest.fixture
def sent() -> dict[str, int]:
    """File → bytes of it that the server sent."""
    return {}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: dict[str, int]) -> Iterator[Path]:
    handler = type("Handler", (_Ranges,), {"sent": sent})
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: handler(*given, directory=str(tmp_path)))  # type: ignore[arg-type, misc]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{server.server_port}/simple")
    yield tmp_path / "simple"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One release of ctranslate2, one of onnxruntime without its targets, and one of vLLM."""
    builds = csv_files.rows("framework")
    rows = [row for row in builds if (row["framework"], row["version"]) == ("ctranslate2", "4.0.0")]
    vllm = next(row for row in builds if (row["framework"], row["version"]) == ("vllm", "0.9.0"))
    known = next(
        row for row in csv_files.rows("framework") if (row["framework"], row["version"]) == ("onnxruntime", "1.20")
    )
    unknown = {**known, "sm_list": "", "ptx": "", "sm_list_basis": "", "source": "documentation"}
    path = tmp_path / "framework.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FRAMEWORK.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*rows, unknown, vllm])
    monkeypatch.setattr(wheel_table, "TABLE", path)
    return path


def serve(root: Path, name: str, version: str, files: dict[str, bytes], requires: str = "") -> None:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    base = f"{name.replace('-', '_')}-{version}"
    metadata = f"Metadata-Version: 2.1\nName: {name}\n" + (f"Requires-Dist: {requires}\n" if requires else "")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
        wheel.writestr(f"{base}.dist-info/METADATA", metadata)
    (folder / f"{base}-py3-none-manylinux_2_28_x86_64.whl").write_bytes(content.getvalue())
    (folder / "index.html").write_text("".join(f'<a href="{each.name}">x</a>' for each in sorted(folder.glob("*.whl"))))


def read(table: Path) -> dict[tuple[str, str], dict[str, str]]:
    with table.open() as file:
        return {(row["framework"], row["version"]): row for row in csv.DictReader(file)}


@pytest.mark.slow
def test_a_release_after_the_newest_of_the_table_is_added_as_its_wheel_has_it(index: Path, table: Path) -> None:
    code = library(fatbin(("cubin", 70), ("cubin", 80), ("ptx", 80)), text=LOADS)
    serve(index, "ctranslate2", "3.24.0", {"ctranslate2.libs/libctranslate2.so.3": code})
    serve(index, "ctranslate2", "4.7.0", {"ctranslate2.libs/libctranslate2.so.4": code})
    assert wheel_table.main(["--new", "ctranslate2"]) == 0
    found = read(table)
    assert ("ctranslate2", "3.24.0") not in found
    new = found["ctranslate2", "4.7.0"]
    assert (new["sm_list"], new["ptx"], new["variant"]) == ("7.0;8.0", "8.0", "cu12")
    assert "Loads cuDNN 9." in new["notes"]
    assert "ctranslate2-4.7.0-py3-none-manylinux_2_28_x86_64.whl" in new["source"]


@pytest.mark.slow
def test_of_cuda_only_what_the_wheel_says_is_verified(index: Path, table: Path) -> None:
    serve(index, "ctranslate2", "4.7.0", {"a.so": library(fatbin(("cubin", 70)), text=LOADS)})
    serve(
        index,
        "xgboost",
        "9.0.0",
        {"xgboost/lib/a.so": library(fatbin(("cubin", 90)))},
        "nvidia-cuda-runtime-cu12==12.4.127",
    )
    assert wheel_table.main(["--new", "ctranslate2", "xgboost"]) == 0
    by_library, stated = read(table)["ctranslate2", "4.7.0"], read(table)["xgboost", "9.0.0"]
    assert (by_library["cuda"], by_library["unverified_cells"]) == ("12.0", "cuda")
    assert (stated["cuda"], stated["unverified_cells"], stated["compressed"]) == ("12.4", "", "")


@pytest.mark.slow
def test_a_library_for_each_cuda_is_a_row_and_neighbours_that_are_alike_are_one(index: Path, table: Path) -> None:
    old, new = library(fatbin(("cubin", 70))), library(fatbin(("cubin", 80), flags=ZSTD))
    files = {f"bitsandbytes/libbitsandbytes_cuda{number}.so": old for number in (121, 124)}
    serve(index, "bitsandbytes", "1.0.0", {**files, "bitsandbytes/libbitsandbytes_cuda130.so": new})
    assert wheel_table.main(["--new", "bitsandbytes"]) == 0
    with table.open() as file:
        found = [row for row in csv.DictReader(file) if row["framework"] == "bitsandbytes"]
    assert [(row["variant"], row["cuda"], row["sm_list"], row["compressed"]) for row in found] == [
        ("cu121-cu124", "12.1", "7.0", ""),
        ("cu130", "13.0", "8.0", "sm_80"),
    ]


@pytest.mark.slow
def test_a_row_without_targets_gets_them_and_keeps_the_rest(index: Path, table: Path) -> None:
    before = read(table)["onnxruntime", "1.20"]
    serve(index, "onnxruntime-gpu", "1.20.0", {"onnxruntime/a.so": library(fatbin(("cubin", 75)), text=LOADS)})
    assert wheel_table.main(["--new", "onnxruntime==1.20.0"]) == 0
    after = read(table)["onnxruntime", "1.20"]
    assert (after["sm_list"], after["ptx"]) == ("7.5", "none")
    assert (after["variant"], after["cuda"]) == (before["variant"], before["cuda"])
    assert after["source"].startswith("documentation ; PyPI onnxruntime_gpu-1.20.0")


@pytest.mark.slow
def test_a_release_that_pins_torch_is_of_its_cuda_and_only_its_metadata_is_read(
    index: Path, table: Path, sent: dict[str, int]
) -> None:
    serve(index, "vllm", "9.1.0", {"vllm/_C.so": bytes(1 << 20)}, "torch==2.8.0")
    serve(index, "vllm", "9.2.0", {"vllm/_C.so": bytes(1 << 20)}, "torch>=2.8.0")
    assert wheel_table.main(["--new", "vllm"]) == 0
    found = read(table)
    assert (found["vllm", "9.1.0"]["pins"], found["vllm", "9.1.0"]["variant"]) == ("pytorch 2.8.0", "torch-cu128")
    assert ("vllm", "9.2.0") not in found
    assert sent["vllm-9.1.0-py3-none-manylinux_2_28_x86_64.whl"] < 200_000


@pytest.mark.slow
def test_a_dry_run_prints_what_is_new_and_changes_nothing(
    index: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(index, "ctranslate2", "4.7.0", {"a.so": library(fatbin(("cubin", 70)), text=LOADS)})
    before = table.read_text()
    assert wheel_table.main(["--new", "--dry-run", "ctranslate2", "xgboost"]) == 1
    assert table.read_text() == before
    printed = capsys.readouterr().out
    assert "ctranslate2 4.7.0 cu12: added: CUDA 12.0, 7.0" in printed
    assert "xgboost: not read" in printed
