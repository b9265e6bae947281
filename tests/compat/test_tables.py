"""The fact tables: what they answer, and what is checked of them."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.evidence.drivers import UnknownFact, native_cuda, newest_cuda
from compat.facts.csv_files import DATA, rows
from compat.facts.rows import Origin, Toolkit
from compat.facts.tables import gpu_models, toolkits
from compat.values.versions import DriverVersion
from tools.tables import TABLES, TableError, check, main


@pytest.mark.parametrize(
    ("driver", "ceiling"),
    [
        ("418.88", "10.1"),
        ("418.39", "10.1"),  # the floor itself runs it
        ("410.48", "10.0"),
        ("440.33", "10.2"),
        ("450.80.02", "11.0"),
        ("580.95.05", "13.0"),
        ("615.31", "13.4"),  # only the branch of that floor is known
    ],
)
def test_the_ceiling_of_a_driver_is_the_newest_toolkit_whose_floor_it_reaches(driver: str, ceiling: str) -> None:
    assert str(newest_cuda(DriverVersion.parse(driver))) == ceiling


def test_a_driver_below_every_floor_has_no_ceiling_and_says_which_fact_is_missing() -> None:
    with pytest.raises(UnknownFact, match=r"at or below 295\.33"):
        newest_cuda(DriverVersion.parse("295.33"))


@given(older=st.sampled_from(toolkits()), newer=st.sampled_from(toolkits()))
def test_a_newer_driver_never_lowers_the_ceiling(older: Toolkit, newer: Toolkit) -> None:
    if older.floor and newer.floor and older.floor <= newer.floor:
        assert newest_cuda(older.floor) <= newest_cuda(newer.floor)


def test_a_driver_reports_the_cuda_of_its_branch_even_where_no_toolkit_was_published() -> None:
    driver = DriverVersion.parse("565.57.01")
    assert str(native_cuda(driver)) == "12.7"
    assert str(newest_cuda(driver)) == "12.6"
    assert str(native_cuda(DriverVersion.parse("418.88"))) == "10.1"


def test_a_cell_that_is_cited_is_no_longer_from_memory() -> None:
    model = next(model for model in gpu_models() if model.name == "GeForce GTX 1080 Ti")
    assert "compute_capability" not in model.origin.unverified


def test_a_row_that_is_wholly_from_memory_decides_nothing() -> None:
    memory = [row for table in TABLES for row in rows(table.name) if row["source"] == "unverified"]
    assert memory
    assert not any(Origin.of(row).fact("x", "any").verified for row in memory)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA, tmp_path / "data"))


def _change(table: Path, *changes: tuple[str, str]) -> None:
    text = table.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    table.write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "old", "new", "message"),
    [
        ("cuda_driver", "\n9.2.88,396.26,", "\n9.2.88,396.2x,", r"row 9\.2\.88: .396\.2x. is not a driver version"),
        ("cuda_driver", "\n9.2.88,", "\n9.1.85,", r"row 9\.1\.85: is duplicated"),
        ("cuda_driver", "\n9.2.88,", "\n13.9.88,", r"row 9\.2\.148: comes before the row above it"),
        ("cuda_driver", "cuda_version,", "release,", r"cuda_driver\.csv: its columns have to be cuda_version, min_"),
        ("cuda_driver", ",source,", ",origin,", r"unverified_cells, notes, source, collected$"),
        ("ec2_gpu_instances", ",host_arch,", ",host,", r"gpu_count, host_arch, min_driver"),
        ("ec2_gpu_instances", ",amd64,", ",amd65,", r"host_arch is 'amd65', not amd64 or arm64"),
        ("image_tag", ";535,6.0,", ";535,6.x,", r"\"6\.x\" is not a compute capability"),
        ("gpu_operator", "\nv26.3.3,", "\n26-x,", r"row 26-x: \"26-x\" is not a version"),
        ("require", ",8.0.61,", ",8.x,", r"row nvidia/cuda 8\.x: \"8\.x\" is not a CUDA version"),
        ("container_toolkit", ",mounted,", ",copied,", r"'copied' is not one of mounted, ignored, hook"),
        ("gpu_model", "\nTesla T4,Turing,7.5,", "\nTesla T4,Turing,7.7,", r"'7\.7' is not in gpu_arch"),
    ],
)
def test_a_mistake_in_a_table_is_named_with_its_row(copy: Path, table: str, old: str, new: str, message: str) -> None:
    _change(copy / f"{table}.csv", (old, new))
    with pytest.raises(TableError, match=message):
        check(copy)


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("source", "", "has no source"),
        ("collected", "yesterday", "collected is 'yesterday', not a day"),
        ("unverified_cells", "price", "unverified_cells names price, which is not a column"),
    ],
)
def test_what_every_row_says_of_itself_is_checked(copy: Path, column: str, cell: str, message: str) -> None:
    found = rows("glibc", copy)
    found[0][column] = cell
    with (copy / "glibc.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, found[0])
        writer.writeheader()
        writer.writerows(found)
    with pytest.raises(TableError, match=message):
        check(copy)


def test_a_file_that_is_no_table_is_named(copy: Path) -> None:
    (copy / "prices.csv").write_text("gpu,price\n")
    with pytest.raises(TableError, match=r"prices\.csv is not a table"):
        check(copy)


def test_every_mistake_of_every_table_is_reported_at_once(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _change(copy / "cuda_driver.csv", ("\n9.2.88,396.26,", "\n9.2.88,396.2x,"), ("\n9.1.85,", "\n9.1.x,"))
    _change(copy / "gpu_arch.csv", ("last_cuda", "newest_cuda"))
    _change(copy / "gpu_model.csv", ("\nTesla T4,Turing,7.5,16,", "\nTesla T4,Turing,7.x,many,"))
    (copy / "glibc.csv").unlink()
    (copy / "nccl.csv").write_bytes(b"nccl_version\n\xff\n")
    assert main(copy) == 1
    output = capsys.readouterr()
    assert output.out == ""
    lines = output.err.splitlines()
    assert [line.partition(".csv")[0] for line in lines] == [
        *(f"error: {name}" for name in ("glibc", "nccl", "cuda_driver", "cuda_driver", "gpu_arch")),
        *["error: gpu_model"] * 3,
    ]
    assert lines[2:4] == [
        'error: cuda_driver.csv, row 9.1.x: "9.1.x" is not a CUDA version such as 10.1 or 12.4.1',
        'error: cuda_driver.csv, row 9.2.88: "396.2x" is not a driver version such as 418.88',
    ]
    assert "last_cuda" in lines[4]
    assert '"7.x" is not a compute capability' in lines[5]
    assert "'many'" in lines[6]
    assert "'7.x' is not in gpu_arch.csv" in lines[7]


def test_the_tables_have_no_mistake_and_their_check_ends_with_0_and_no_output(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check()
    assert (main(), main(copy)) == (0, 0)
    assert capsys.readouterr() == ("", "")
