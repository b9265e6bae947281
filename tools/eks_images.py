"""Adds newer EKS machine images to the tables: `python -m tools.eks_images --file FILE [--dry-run]`.

The file is a copy of https://github.com/awslabs/amazon-eks-ami/blob/main/CHANGELOG.md; `-` reads stdin, and `--url`
reads an address:

    python -m tools.eks_images --url https://raw.githubusercontent.com/awslabs/amazon-eks-ami/main/CHANGELOG.md

A release that the tables have is compared; what a newer one changes is added. Nothing is ever taken out.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat.facts import csv_files
from compat.facts.rows import Row
from platforms.aws import tables as own
from tools.eks_release_notes import Contents, Notes, read_changelog
from tools.table_file import write_rows

PAGE: Final = "https://github.com/awslabs/amazon-eks-ami/blob/main/CHANGELOG.md"
_TYPES: Final = ("AL2023_ARM_64_NVIDIA", "AL2023_x86_64_NVIDIA")
_BEFORE_ENFORCED: Final = (1, 18)
_NOT_ENFORCED: Final = "Toolkit 1.18+: NVIDIA_REQUIRE_CUDA is not enforced in the default mode."
_PATIENCE_S: Final = 30
_SEVERAL: Final = "Both toolkit versions appear among the packages of this release."


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows that releases are read into."""

    images: list[Row]  # compat/facts/data/eks_ami.csv
    releases: list[Row]  # platforms/aws/data/eks_releases.csv
    versions: list[Row]  # platforms/aws/data/eks_versions.csv


def refresh(notes: Sequence[Notes], before: Tables, day: dt.date) -> tuple[Tables, list[str]]:
    """The tables with additions from the notes, and a line for each change or disagreement.

    Ignores Kubernetes versions older than the table of versions.
    """
    oldest = min(_order(row["kubernetes"]) for row in before.versions)
    notes = [each for each in notes if _order(each.kubernetes) >= oldest]
    lines: list[str] = []
    images = list(before.images)
    for ami_type in _TYPES:
        for row, line in _new_rows(ami_type, notes, before.images, day):
            images += [row] if row is not None else []
            lines.append(line)
    releases, release_lines = _releases(notes, before.releases, day)
    versions, new = _versions(notes, before.versions, day)
    images.sort(key=lambda row: (row["ami_type"], row["release"], row["k8s_versions"]))
    return Tables(images, releases, versions), [*lines, *release_lines, *new]


# --- which driver a release has


def _new_rows(
    ami_type: str, notes: Sequence[Notes], rows: Sequence[Row], day: dt.date
) -> Iterator[tuple[Row | None, str]]:
    """Rows for changes, and for all of the last release: it says until when the log is complete."""
    own_rows = sorted((row for row in rows if row["ami_type"] == ami_type), key=lambda row: row["release"])
    newest = own_rows[-1]
    current = {name: row for row in own_rows for name in row["k8s_versions"].split("|")}
    by_release: dict[str, dict[str, Contents]] = {}
    for each in notes:
        if ami_type in each.images:
            by_release.setdefault(each.release, {})[each.kubernetes] = each.images[ami_type]
    last = max(by_release, default="")
    for release in sorted(by_release):
        found = by_release[release]
        if release <= newest["release"]:
            yield from ((None, line) for line in _disagreements(ami_type, release, found, own_rows))
            continue
        groups: dict[Contents, list[str]] = {}
        for kubernetes in sorted(found, key=_order):
            if release == last or _differs(found[kubernetes], current.get(kubernetes)):
                groups.setdefault(found[kubernetes], []).append(kubernetes)
        for contents, versions in groups.items():
            row = _row(newest, release, versions, contents, day)
            current |= dict.fromkeys(versions, row)
            yield row, f"{ami_type} {release}: driver {contents.driver} for Kubernetes {', '.join(versions)}"


def _disagreements(ami_type: str, release: str, found: Mapping[str, Contents], rows: Sequence[Row]) -> Iterator[str]:
    for kubernetes in sorted(found, key=_order):
        known = [row for row in rows if row["release"] <= release and kubernetes in row["k8s_versions"].split("|")]
        if known and _differs(found[kubernetes], known[-1]):
            driver, toolkit = known[-1]["nvidia_driver"], known[-1]["nvidia_container_toolkit"]
            there = f"{found[kubernetes].driver} with toolkit {'|'.join(found[kubernetes].toolkits) or '-'}"
            yield (
                f"{ami_type} {release}, Kubernetes {kubernetes}: the page has driver {there}, the table {driver} with "
                f"toolkit {toolkit or '-'}; correct the table by hand"
            )


def _differs(found: Contents, row: Row | None) -> bool:
    if row is None:
        return True
    return found.driver != row["nvidia_driver"] or "|".join(found.toolkits) != row["nvidia_container_toolkit"]


def _row(like: Row, release: str, versions: Sequence[str], contents: Contents, day: dt.date) -> Row:
    """Facts missing from the notes stay as in the previous image of this type."""
    several = len(contents.toolkits) > 1
    is_new = any(_order(each) >= _BEFORE_ENFORCED for each in contents.toolkits)
    return {
        **like,
        "release": release,
        "k8s_versions": "|".join(versions),
        "nvidia_driver": contents.driver,
        "driver_branch": contents.driver.partition(".")[0],
        "nvidia_container_toolkit": "|".join(contents.toolkits),
        "notes": " ".join([*([_SEVERAL] if several else []), *([_NOT_ENFORCED] if is_new else [])]),
        "collected": day.isoformat(),
    }


# --- what EKS calls a release


def _releases(notes: Sequence[Notes], before: Sequence[Row], day: dt.date) -> tuple[list[Row], list[str]]:
    found = {(row["kubernetes"], row["release"]): row for row in before}
    lines = []
    for each in notes:
        key = (each.kubernetes, each.release)
        if not any(kind in each.images for kind in _TYPES):
            continue
        name = f"{each.kubernetes}.{each.patch}-{each.release}"
        old = found.get(key)
        if old is not None and old["patch"] == str(each.patch) and not old["unverified_cells"]:
            continue
        if old is None:
            lines.append(f"{name}: new")
        elif old["patch"] == str(each.patch):
            lines.append(f"{name}: read on the page")
        else:
            lines.append(f"{name}: the table had patch version {old['patch']}")
        found[key] = {
            "kubernetes": each.kubernetes,
            "release": each.release,
            "patch": str(each.patch),
            "unverified_cells": "",
            "notes": "",
            "source": PAGE,
            "collected": day.isoformat(),
        }
    return [found[key] for key in sorted(found)], lines


def _versions(notes: Sequence[Notes], before: Sequence[Row], day: dt.date) -> tuple[list[Row], list[str]]:
    """A version that no table has gets a row without dates: this page does not say when its support ends."""
    new = sorted({each.kubernetes for each in notes} - {row["kubernetes"] for row in before}, key=_order)
    rows = [
        {
            **dict.fromkeys(before[0], ""),
            "kubernetes": each,
            "notes": "Machine images exist; no page with its dates was read.",
            "source": PAGE,
            "collected": day.isoformat(),
        }
        for each in new
    ]
    lines = [
        f"Kubernetes {each}: new; write when its support ends into platforms/aws/data/eks_versions.csv" for each in new
    ]
    return sorted([*before, *rows], key=lambda row: _order(row["kubernetes"])), lines


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


# --- the edge


def main(arguments: Sequence[str] | None = None, folders: tuple[Path, Path] = (csv_files.DATA, own.DATA)) -> int:
    """Returns 0: read, and written without --dry-run; 1: something disagrees with the tables; 2: unreadable."""
    parser = argparse.ArgumentParser(prog="python -m tools.eks_images", description="Newer EKS machine images.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--file", metavar="CHANGELOG.md|-", help="the page; - reads stdin")
    source.add_argument("--url", help="address of the page")
    parser.add_argument("--dry-run", action="store_true", help="print what would change, and change nothing")
    parser.add_argument("--date", type=dt.date.fromisoformat, metavar="YYYY-MM-DD", help="day of reading; today")
    options = parser.parse_args(arguments)
    place = options.url or options.file
    try:
        text = _page(options.url) if options.url else _file(options.file)
    except (OSError, ValueError) as error:  # a page that is not UTF-8 is a ValueError, and so is a bad address
        print(f"error: {place}: {error}", file=sys.stderr)
        return 2
    notes = read_changelog(text)
    if not notes:
        print(f"error: {place}: no release of the form that {PAGE} has", file=sys.stderr)
        return 2
    names = ("eks_ami", "eks_releases", "eks_versions")
    paths = [folder / f"{name}.csv" for folder, name in zip((folders[0], folders[1], folders[1]), names, strict=True)]
    before = Tables(*(csv_files.rows(path.stem, path.parent) for path in paths))
    day = options.date or dt.datetime.now(tz=dt.UTC).date()
    after, lines = refresh(notes, before, day)
    print(f"{_age(before.images, day)}; with this page {_age(after.images, day)}")
    print("\n".join(lines) or "nothing changed")
    if not options.dry_run:
        for path, rows in zip(paths, (after.images, after.releases, after.versions), strict=True):
            write_rows(path, rows)
    return int(any("correct the table by hand" in line for line in lines))


def _file(name: str) -> str:
    return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")


def _page(address: str) -> str:
    if not address.startswith(("https://", "http://")):
        raise ValueError("is not an address that begins with https://")
    with urllib.request.urlopen(address, timeout=_PATIENCE_S) as answer:  # noqa: S310 - its scheme was looked at
        text: str = answer.read().decode("utf-8")
    return text


def _age(images: Sequence[Row], day: dt.date) -> str:
    newest = min(max(row["release"] for row in images if row["ami_type"] == kind) for kind in _TYPES)
    return f"the tables end with release {newest}, {(day - dt.date.fromisoformat(newest)).days} days before {day}"


if __name__ == "__main__":
    sys.exit(main())
