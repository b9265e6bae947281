"""On which day a release came to the package index."""

from __future__ import annotations

import datetime as dt

from images.inspection.index import File
from images.inspection.release_dates import dates, merged

TODAY = dt.date(2026, 11, 26)


def _file(name: str, uploaded: str) -> File:
    return File(name, f"https://files.example.org/{name}", "", 1, uploaded)


FILES = (
    _file("xgboost-2.0.0-py3-none-win_amd64.whl", "2023-09-12T08:00:00Z"),
    _file("xgboost-2.0.0-py3-none-manylinux2014_x86_64.whl", "2023-09-11T22:10:00Z"),
    _file("xgboost-2.1.0rc1-py3-none-win_amd64.whl", "2024-06-01T00:00:00Z"),
    _file("xgboost-1.7.6-py3-none-win_amd64.whl", "2023-06-16T00:00:00Z"),
    _file("xgboost-1.7.7-py3-none-win_amd64.whl", ""),
    _file("xgboost-1.7.8.tar.gz", "2023-12-01T00:00:00Z"),
)


def test_a_release_has_the_day_of_its_first_file_and_candidates_have_none() -> None:
    rows = dates("xgboost", "xgboost", FILES, TODAY)
    assert [(row["version"], row["released"]) for row in rows] == [
        ("1.7.6", "2023-06-16"),
        ("1.7.8", "2023-12-01"),
        ("2.0.0", "2023-09-11"),
    ]
    assert {row["source"] for row in rows} == {"PyPI xgboost (upload-time of its files)"}


def test_what_the_table_has_stays_as_it_is_and_new_releases_go_where_they_belong() -> None:
    new = dates("xgboost", "xgboost", FILES, TODAY)
    have = [{**new[2], "released": "2023-01-01", "notes": "by hand"}]
    rows, lines = merged(have, new)
    assert [(row["version"], row["notes"]) for row in rows] == [("1.7.6", ""), ("1.7.8", ""), ("2.0.0", "by hand")]
    assert lines == ["xgboost 1.7.6: released 2023-06-16", "xgboost 1.7.8: released 2023-12-01"]
    assert merged(rows, new) == (rows, [])
