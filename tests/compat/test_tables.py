"""The fact tables: what they answer, and that they are what `make.py` wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.compat.data import make
from components.compat.tables import (
    DATA,
    Origin,
    Toolkit,
    UnknownFact,
    cuda_ceiling,
    driver_branches,
    gpu_models,
    native_cuda,
    toolkits,
)
from components.compat.versions import DriverVersion


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


def test_every_row_keeps_its_source_and_day_and_names_what_is_unverified() -> None:
    tables = (gpu_models(), toolkits(), driver_branches().values())
    assert [len(table) for table in tables] == [46, 75, 37]
    origins: list[Origin] = [row.origin for table in tables for row in table]
    assert all(origin.source and origin.collected == "2026-11-20" for origin in origins)
    model = next(model for model in gpu_models() if model.name == "GeForce GTX 1070 Ti")
    assert model.origin.unverified == {"vram_gib_nominal", "gfd_product_label"}


def test_a_row_that_is_wholly_from_memory_names_every_cell() -> None:
    memory = [branch for branch in driver_branches().values() if branch.origin.source == "unverified"]
    assert [branch.branch for branch in memory] == [387, 415, 430]
    assert all({"native_cuda", "eol"} <= branch.origin.unverified for branch in memory)


def test_the_committed_tables_are_what_make_wrote() -> None:
    make.check()


def test_a_table_that_was_edited_by_hand_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    shutil.copytree(DATA, folder)
    table = folder / "cuda_driver.csv"
    table.write_text(table.read_text().replace("418.39", "418.40"))
    with pytest.raises(make.TableError, match=r"cuda_driver\.csv is not what make\.py wrote"):
        make.check(folder)


FACTS = {
    "README.md": "# Facts\nCollected 2031-02-03 from public material.\n",
    "cuda_driver.csv": "cuda_version,min_linux_x86_64_driver,driver_precision,notes,unverified_cells,source\n"
    "10.2.89,440.33,exact,n,,s\n9.2.88,396.26,exact,n,notes;min_linux_x86_64_driver,s\n",
    "driver_branch.csv": "branch,native_cuda,eol,unverified_cells,source\n418,10.1,2022-03,,s\n",
    "gpu_model.csv": "model,architecture,compute_capability,vram_gib_nominal,mig_capable,gfd_product_label,"
    "unverified_cells,source\nTesla T4,Turing,7.5,16,no,Tesla-T4,,s\n",
}


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    for name, text in FACTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_make_takes_our_columns_in_version_order_and_dates_every_row(facts: Path) -> None:
    made = make.make(facts)
    assert made["cuda_driver.csv"] == (
        "cuda_version,min_linux_x86_64_driver,driver_precision,unverified_cells,source,collected\n"
        "9.2.88,396.26,exact,min_linux_x86_64_driver,s,2031-02-03\n"
        "10.2.89,440.33,exact,,s,2031-02-03\n"
    )
    assert made == make.make(facts)
    assert [line.split("  ")[1] for line in made["SHA256SUMS"].splitlines()] == [
        "facts/README.md",
        "facts/cuda_driver.csv",
        "facts/driver_branch.csv",
        "facts/gpu_model.csv",
        "cuda_driver.csv",
        "driver_branch.csv",
        "gpu_model.csv",
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("README.md", "Collected", "Gathered", "Collected YYYY-MM-DD"),
        ("cuda_driver.csv", "396.26", "396.2x", "row 9.2.88: .396.2x. is not a driver version"),
        ("cuda_driver.csv", "9.2.88", "10.2.89", "two rows 10.2.89"),
        ("driver_branch.csv", ",s\n", ",\n", "row 418: no source"),
        ("gpu_model.csv", "gfd_product_label", "label", "no column gfd_product_label"),
        ("gpu_model.csv", ",16,", ",,", "row Tesla T4"),
    ],
)
def test_facts_that_do_not_read_are_refused_by_table_and_row(
    facts: Path, name: str, old: str, new: str, message: str
) -> None:
    (facts / name).write_text(FACTS[name].replace(old, new))
    with pytest.raises(make.TableError, match=message):
        make.make(facts)


def test_a_folder_without_facts_is_one_line_and_exit_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make.main([str(tmp_path)]) == 1
    assert "README.md" in capsys.readouterr().err
