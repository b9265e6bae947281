"""The fact tables: what they answer, and that they are what `make.py` wrote."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.data import make
from compat.tables import DATA, Toolkit, UnknownFact, cuda_ceiling, gpu_models, native_cuda, rows, toolkits
from compat.tables import origin as origin_of
from compat.versions import DriverVersion


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
    assert str(cuda_ceiling(DriverVersion.parse(driver))) == ceiling


def test_a_driver_below_every_floor_has_no_ceiling_and_says_which_fact_is_missing() -> None:
    with pytest.raises(UnknownFact, match=r"at or below 304\.64"):
        cuda_ceiling(DriverVersion.parse("304.64"))


@given(older=st.sampled_from(toolkits()), newer=st.sampled_from(toolkits()))
def test_a_newer_driver_never_lowers_the_ceiling(older: Toolkit, newer: Toolkit) -> None:
    if older.floor and newer.floor and older.floor <= newer.floor:
        assert cuda_ceiling(older.floor) <= cuda_ceiling(newer.floor)


def test_a_driver_reports_the_cuda_of_its_branch_even_where_no_toolkit_was_published() -> None:
    driver = DriverVersion.parse("565.57.01")
    assert str(native_cuda(driver)) == "12.7"
    assert str(cuda_ceiling(driver)) == "12.6"
    assert str(native_cuda(DriverVersion.parse("418.88"))) == "10.1"


def test_every_row_keeps_its_source_and_day() -> None:
    for table in make.TABLES:
        for row in rows(table.name):
            origin = origin_of(row)
            assert origin.source, row
            assert re.fullmatch(r"2026-\d\d-\d\d", origin.collected), row


def test_a_cell_that_is_cited_is_no_longer_from_memory() -> None:
    model = next(model for model in gpu_models() if model.name == "GeForce GTX 1080 Ti")
    assert "compute_capability" not in model.origin.unverified


def test_a_row_that_is_wholly_from_memory_decides_nothing() -> None:
    memory = [row for table in make.TABLES for row in rows(table.name) if row["source"] == "unverified"]
    assert memory
    assert not any(origin_of(row).fact("x", "any").verified for row in memory)


def test_the_committed_tables_are_what_make_wrote() -> None:
    make.check()


def test_a_table_that_was_edited_by_hand_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder)
    table = folder / "cuda_driver.csv"
    table.write_text(table.read_text().replace("418.39", "418.40"))
    with pytest.raises(make.TableError, match=r"cuda_driver\.csv is not what make\.py saw or wrote"):
        make.check(folder)


README = "# Facts\nCollected 2031-02-03 from public material.\n"
CUDA = (
    "cuda_version,min_linux_x86_64_driver,driver_precision,minor_compat_applies,notes,unverified_cells,source\n"
    "10.2.89,440.33,exact,no,n,,s\n9.2.88,396.26,exact,no,n,min_linux_x86_64_driver,s\n"
)


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    folder = tmp_path / "facts"
    folder.mkdir()
    (folder / "README.md").write_text(README)
    (folder / "cuda_driver.csv").write_text(CUDA)
    return folder


@pytest.fixture
def additions(tmp_path: Path) -> Path:
    folder = tmp_path / "additions"
    folder.mkdir()
    return folder


def made_rows(facts: Path, additions: Path) -> dict[str, dict[str, str]]:
    text = make.make(facts, additions)["cuda_driver.csv"]
    return {row["cuda_version"]: row for row in csv.DictReader(io.StringIO(text))}


def test_make_writes_rows_in_version_order_dates_them_and_says_the_same_twice(facts: Path, additions: Path) -> None:
    found = made_rows(facts, additions)
    assert list(found) == ["9.2.88", "10.2.89"]
    assert {row["collected"] for row in found.values()} == {"2031-02-03"}
    assert make.make(facts, additions) == make.make(facts, additions)


def test_an_addition_replaces_what_it_states_and_vouches_for_it(facts: Path, additions: Path) -> None:
    (additions / "cuda_driver_more.csv").write_text(
        "cuda_version,min_linux_x86_64_driver,driver_precision,source,collected\n9.2.88,396.20,-,t,2031-05-06\n"
    )
    row = made_rows(facts, additions)["9.2.88"]
    assert (row["min_linux_x86_64_driver"], row["driver_precision"]) == ("396.20", "")
    assert (row["unverified_cells"], row["source"], row["collected"]) == ("", "t", "2031-05-06")


def test_an_addition_with_a_new_key_is_a_new_row(facts: Path, additions: Path) -> None:
    (additions / "cuda_driver.csv").write_text(
        "cuda_version,min_linux_x86_64_driver,source,collected\n10.1.243,418.39,t,2031-05-06\n"
    )
    assert list(made_rows(facts, additions)) == ["9.2.88", "10.1.243", "10.2.89"]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("README.md", "Collected", "Gathered", "Collected YYYY-MM-DD"),
        ("cuda_driver.csv", "396.26", "396.2x", "row 9.2.88: .396.2x. is not a driver version"),
        ("cuda_driver.csv", "9.2.88", "10.2.89", "two rows 10.2.89"),
        ("cuda_driver.csv", ",n,,s", ",n,,", "row 10.2.89: no source"),
        ("cuda_driver.csv", ",source", ",origin", "no column source"),
    ],
)
def test_facts_that_do_not_read_are_refused_by_table_and_row(
    facts: Path, additions: Path, name: str, old: str, new: str, message: str
) -> None:
    text = (facts / name).read_text()
    assert old in text
    (facts / name).write_text(text.replace(old, new))
    with pytest.raises(make.TableError, match=message):
        make.make(facts, additions)


def test_a_folder_without_facts_is_one_line_and_exit_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make.main([str(tmp_path)]) == 1
    assert "README.md" in capsys.readouterr().err
