"""The fact tables as text."""

from __future__ import annotations

import re

import pytest

from compat.facts.lookup import UnknownTable, facts, table_names
from compat.facts.rows import Origin


@pytest.mark.parametrize("table", table_names())
def test_every_row_has_its_source_and_the_day_it_was_read_and_names_only_its_own_columns(table: str) -> None:
    rows = facts(table)
    assert rows
    assert not [row for row in rows if not row["source"] or not re.fullmatch(r"2026-\d\d-\d\d", row["collected"])]
    assert all((Origin.of(row).source, Origin.of(row).collected) == (row["source"], row["collected"]) for row in rows)
    unverified = {name for row in rows for name in row["unverified_cells"].split(";") if name}
    assert unverified <= set(rows[0])


def test_a_value_in_a_list_is_found_and_case_does_not_matter() -> None:
    found = facts("framework", framework="PYTORCH", sm_list="6.1")
    assert found
    assert {row["framework"] for row in found} == {"pytorch"}
    assert all("6.1" in row["sm_list"].split(";") for row in found)
    assert found == facts("framework", framework=" pytorch ", sm_list="6.1")
    assert len(found) < len(facts("framework", framework="pytorch"))


def test_conditions_count_together() -> None:
    rows = facts("gpu_model", architecture="Turing", product_class="datacenter")
    assert {(row["architecture"], row["product_class"]) for row in rows} == {("Turing", "datacenter")}


def test_rows_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        facts("gpu_arch")[0]["architecture"] = "x"


@pytest.mark.parametrize("name", ["gpu_modl", "GPU-Model", "../gpu_model", ""])
def test_an_unknown_table_is_named_with_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownTable, match=r"is not a table.*gpu_model"):
        facts(name)


def test_an_unknown_column_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownTable, match="did you mean architecture"):
        facts("gpu_model", archtecture="Turing")
