"""Reads release notes of EKS machine images: CHANGELOG.md of their project, HTML tables in Markdown.

Source: https://github.com/awslabs/amazon-eks-ami/blob/main/CHANGELOG.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

_HEADING = re.compile(r"^#+ (?P<recalled>\[Recalled\] )?AMI Release v?(?P<day>20\d{6})\s*$", re.MULTILINE)
_KUBERNETES = re.compile(r"<summary>\s*<b>Kubernetes (1\.\d+)</b>\s*</summary>")
_RELEASE_VERSION = re.compile(r"(1\.\d+)\.(\d+)-(20\d{6})")
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")
_DRIVER = "kmod-nvidia-latest-dkms"
_TOOLKIT = "nvidia-container-toolkit"


@dataclass(frozen=True, slots=True)
class Contents:
    """Content of a release's machine image. `toolkits` has several if the notes list several."""

    driver: str
    toolkits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """One release for one Kubernetes version."""

    release: str  # 20250519
    kubernetes: str  # 1.33
    patch: int  # of the kubelet
    images: dict[str, Contents]  # by AMI type, only those with a driver


def read_changelog(text: str) -> tuple[Notes, ...]:
    """Releases of a page in the format used since 2024, newest first; none for other formats.

    Recalled releases are left out: EKS no longer serves them.
    """
    headings = [*_HEADING.finditer(text)]
    ends = [*(each.start() for each in headings[1:]), len(text)][: len(headings)]
    return tuple(
        found
        for heading, end in zip(headings, ends, strict=True)
        if not heading["recalled"]
        for found in _versions(heading["day"], text[heading.end() : end])
    )


def _versions(release: str, section: str) -> Iterator[Notes]:
    parts = _KUBERNETES.split(section)
    for kubernetes, body in zip(parts[1::2], parts[2::2], strict=True):
        tables = _tables(body)
        version = next(
            (
                found
                for table in tables
                for row in table
                for cell in row
                if (found := _RELEASE_VERSION.fullmatch(cell)) and found[1] == kubernetes and found[3] == release
            ),
            None,
        )
        if version is not None:
            yield Notes(release, kubernetes, int(version[2]), dict(_images(tables)))


def _images(tables: list[list[list[str]]]) -> Iterator[tuple[str, Contents]]:
    for header, *rows in tables:
        if header[0] != "Package":
            continue
        packages: dict[str, list[list[str]]] = {}
        for row in rows:
            packages.setdefault(row[0], []).append(row)
        for column, ami_type in enumerate(header[1:], start=1):
            drivers = _read(packages.get(_DRIVER, []), column)
            if drivers:
                yield ami_type, Contents(drivers[0], _read(packages.get(_TOOLKIT, []), column))


def _read(rows: list[list[str]], column: int) -> tuple[str, ...]:
    """Versions in one column, without the build: `1.17.7` of `1.17.7-1`."""
    cells = [row[column] for row in rows if column < len(row)]
    parts = [part for cell in cells for part in re.split(r"[\s,;]+", cell)]
    return tuple(sorted({found[0] for part in parts if (found := _VERSION.match(part))}))


def _tables(text: str) -> list[list[list[str]]]:
    reader = _TableReader()
    reader.feed(text)
    return [rows for table in reader.tables if (rows := [row for row in table if row])]


class _TableReader(HTMLParser):
    """Cells of all tables as text, repeated if they span columns. Rows are not always closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._span = 0  # of the open cell; 0: none

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in {"td", "th"} and self.tables and self.tables[-1]:
            self._span = int(dict(attrs).get("colspan") or 1)
            self.tables[-1][-1] += [""] * self._span
        elif tag == "br" and self._span:
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._span = 0

    def handle_data(self, data: str) -> None:
        if self._span:
            row = self.tables[-1][-1]
            row[-self._span :] = [(row[-1] + data).strip()] * self._span
