"""The table of framework builds, refreshed from the wheels of an index: a real server with wheels made here."""

from __future__ import annotations

import csv
import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from made import fatbin, library

from compat.facts import csv_files
from tools import wheel_table

ZSTD = 0x8000


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """The output of the tests is not for this."""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that an index serves; it has torch 2.9.0, bitsandbytes 0.49.1, and CUDA for jax 0.6.0 and mlx 0.32.4."""
    _serve(tmp_path, "torch", "2.9.0", {"torch/lib/libtorch_cuda.so": library(fatbin(("cubin", 80), ("ptx", 90)))})
    of_nvidia = {"nvidia/cublas/lib/libcublas.so.12": library(fatbin(("cubin", 120), flags=ZSTD))}
    libraries = {
        "bitsandbytes/libbitsandbytes_cuda128.so": library(fatbin(("cubin", 80))),
        "bitsandbytes/libbitsandbytes_cuda130.so": library(fatbin(("cubin", 90), ("cubin", 80), flags=ZSTD)),
    }
    _serve(tmp_path, "bitsandbytes", "0.49.1", {**libraries, **of_nvidia})
    _serve(tmp_path, "jax-cuda12-plugin", "0.6.0", {"jax_cuda12_plugin/a.so": library(fatbin(("cubin", 70)))})
    _serve(tmp_path, "mlx-cuda-12", "0.32.4", {"mlx/lib/libmlx.so": library(fatbin(("ptx", 90), flags=ZSTD))})
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: _Quiet(*given, directory=str(tmp_path)))  # type: ignore[arg-type, misc]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{server.server_port}/simple")
    yield tmp_path
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rows of five builds, none of them read yet."""
    wanted = {
        ("pytorch", "2.9.0", "cu128"),
        ("bitsandbytes", "0.49.1", "cu128-cu129"),
        ("bitsandbytes", "0.49.1", "cu130"),
        ("jax", "0.6.0", "cuda12"),
        ("mlx", "0.32.4", "cuda12"),
    }
    rows = [
        {**row, "compressed": "", "source": "documentation"}
        for row in csv_files.rows("framework")
        if (row["framework"], row["version"], row["variant"]) in wanted
        and not row["distribution"].endswith(("aarch64", "windows x86_64"))
    ]
    assert len(rows) == 5
    path = tmp_path / "framework.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    monkeypatch.setattr(wheel_table, "TABLE", path)
    return path


def _serve(root: Path, name: str, version: str, files: dict[str, bytes]) -> None:
    folder = root / "simple" / name
    folder.mkdir(parents=True)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    filename = f"{name.replace('-', '_')}-{version}-py3-none-manylinux_2_28_x86_64.whl"
    (folder / filename).write_bytes(content.getvalue())
    (folder / f"{name}-{version}-py3-none-win_amd64.whl").write_bytes(b"")
    (folder / "index.html").write_text("".join(f'<a href="{each.name}">x</a>' for each in sorted(folder.glob("*.whl"))))


def cells(table: Path) -> dict[tuple[str, str], str]:
    with table.open() as file:
        return {(row["framework"], row["variant"]): row["compressed"] for row in csv.DictReader(file)}


@pytest.mark.slow
@pytest.mark.usefixtures("served")
def test_each_variant_gets_what_its_own_libraries_have(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert wheel_table.main([]) == 0
    assert cells(table) == {
        ("pytorch", "cu128"): "none",
        ("bitsandbytes", "cu128-cu129"): "none",
        ("bitsandbytes", "cu130"): "sm_80;sm_90",
        ("jax", "cuda12"): "none",
        ("mlx", "cuda12"): "compute_90",
    }
    assert "bitsandbytes 0.49.1 cu130: empty -> sm_80;sm_90" in capsys.readouterr().out
    assert "torch-2.9.0-py3-none-manylinux_2_28_x86_64.whl" in table.read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("served")
def test_a_dry_run_prints_the_same_and_changes_nothing(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = table.read_text()
    assert wheel_table.main(["--dry-run", "bitsandbytes"]) == 0
    assert table.read_text() == before
    printed = capsys.readouterr().out
    assert "cu130: empty -> sm_80;sm_90" in printed
    assert "pytorch" not in printed


@pytest.mark.slow
@pytest.mark.usefixtures("served")
def test_a_second_run_changes_nothing(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel_table.main([])
    before = table.read_text()
    capsys.readouterr()
    assert wheel_table.main([]) == 0
    assert table.read_text() == before
    assert capsys.readouterr().out == "nothing changed\n"


@pytest.mark.slow
def test_a_wheel_that_cannot_be_had_is_named_and_the_others_are_read(
    served: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (served / "simple" / "torch" / "index.html").unlink()
    (served / "simple" / "torch" / "torch-2.9.0-py3-none-manylinux_2_28_x86_64.whl").rename(served / "gone")
    (served / "simple" / "torch" / "torch-2.9.0-py3-none-win_amd64.whl").unlink()
    assert wheel_table.main([]) == 1
    assert "pytorch 2.9.0 cu128: not read: the index has no wheel for Linux on x86_64" in capsys.readouterr().out
    assert cells(table)["bitsandbytes", "cu130"] == "sm_80;sm_90"


@pytest.mark.slow
def test_the_code_of_a_package_without_any_is_that_of_the_kernels_that_it_pins(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = "Metadata-Version: 2.1\nRequires-Dist: torch==2.6.0\nRequires-Dist: sgl-kernel==0.1.0\n"
    _serve(served, "sglang", "0.4.6", {"sglang-0.4.6.dist-info/METADATA": pins.encode()})
    _serve(served, "sgl-kernel", "0.1.0", {"sgl_kernel/common_ops.so": library(fatbin(("cubin", 80), ("cubin", 90)))})
    (row,) = (
        each for each in csv_files.rows("framework") if (each["framework"], each["version"]) == ("sglang", "0.4.6")
    )
    path = tmp_path / "sglang.csv"
    unread = {**row, "sm_list": "", "ptx": "", "notes": "Its sgl-kernel is 0.1.0, not read."}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        writer.writeheader()
        writer.writerow(unread)
    monkeypatch.setattr(wheel_table, "TABLE", path)
    assert wheel_table.main(["--targets", "sglang"]) == 0
    with path.open() as file:
        (found,) = csv.DictReader(file)
    assert (found["sm_list"], found["ptx"]) == ("8.0;9.0", "none")
    assert found["notes"] == "Its code is that of sgl-kernel 0.1.0."
    assert "device code read from sgl_kernel-0.1.0-" in found["source"]
