"""Which Linux release a text names, and until when it is supported."""

from __future__ import annotations

import csv
import datetime as dt

from rows import each_row

from imaging.spec.os_support import TABLE, release_in


@each_row(
    ("pretty_name", "release"),
    [
        ("Debian GNU/Linux 12 (bookworm)", "Debian 12"),
        ("Ubuntu 22.04.5 LTS", "Ubuntu 22.04"),
        ("Rocky Linux 9.4 (Blue Onyx)", "Rocky Linux 9"),
        ("Red Hat Enterprise Linux 9.4 (Plow)", "Red Hat Enterprise Linux 9"),
        ("Red Hat Enterprise Linux Server 7.9 (Maipo)", "Red Hat Enterprise Linux 7"),
        ("CentOS Linux 7 (Core)", "CentOS Linux 7"),
        ("CentOS Linux 8", "CentOS Linux 8"),
        ("CentOS Stream 9", "CentOS Stream 9"),
        ("Amazon Linux 2 (Karoo)", "Amazon Linux 2"),
        ("Amazon Linux 2023.5.20240708", "Amazon Linux 2023"),
        ("Alpine Linux v3.19", "Alpine Linux 3.19"),
    ],
)
def test_os_release_names_a_release(pretty_name: str, release: str) -> None:
    assert str(release_in(pretty_name)) == release


@each_row(
    ("reference", "release"),
    [
        ("debian:12-slim", "Debian 12"),
        ("docker.io/library/debian:stretch@sha256:00", "Debian 9"),
        ("ubuntu:jammy-20240101", "Ubuntu 22.04"),
        ("rockylinux:9.3", "Rocky Linux 9"),
        ("registry.access.redhat.com/ubi9/ubi:9.4", "Red Hat Enterprise Linux 9"),
        ("quay.io/centos/centos:stream9", "CentOS Stream 9"),
        ("public.ecr.aws/amazonlinux/amazonlinux:2023-minimal", "Amazon Linux 2023"),
        ("python:3.9-slim-buster", "Debian 10"),
        ("python:3.9-alpine3.16", "Alpine Linux 3.16"),
        ("nvidia/cuda:12.4.1-base-ubi8", "Red Hat Enterprise Linux 8"),
        ("nvidia/cuda:11.0.3-base-ubuntu18.04", "Ubuntu 18.04"),
        ("nvidia/cuda:10.0-base-centos7", "CentOS Linux 7"),
    ],
)
def test_a_reference_names_the_release_of_its_base(reference: str, release: str) -> None:
    assert str(release_in(reference)) == release


@each_row(
    "text",
    ["", "Ubuntu 24.10", "Alpine Linux edge", "node:20-alpine", "ubuntu", "ubuntu2204", "busterx:1", "x/azurelinux:3"],
)
def test_what_is_not_in_the_table_is_not_guessed(text: str) -> None:
    assert release_in(text) is None


def test_a_row_says_the_last_day_what_ends_and_who_says_so() -> None:
    release = release_in("Debian GNU/Linux 11 (bullseye)")
    assert release is not None
    assert (release.ends, release.what) == (dt.date(2026, 8, 31), "long-term support")
    assert release.source.startswith("https://")


def test_every_row_is_found_by_its_name_and_has_a_source_and_a_date() -> None:
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 30
    for row in rows:
        text = {"centos-stream": "CentOS Stream "}.get(row["system"], f"{row['system']} ") + row["release"]
        found = release_in(text)
        assert found is not None, text
        assert (found.system, found.ends.isoformat()) == (row["system"], row["ends"])
        assert row["source"].startswith("https://")
        assert dt.date.fromisoformat(row["collected"])
