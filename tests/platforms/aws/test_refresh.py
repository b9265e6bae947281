"""The tables of machine images, refreshed from a page of release notes.

The recorded page is cut from the project's CHANGELOG.md: two releases, fewer packages and Kubernetes versions.
"""

from __future__ import annotations

import datetime as dt
import http.server
import io
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat.facts import csv_files
from platforms.aws import tables as own
from tools.aws_tables import TABLES
from tools.eks_images import main
from tools.eks_release_notes import Contents, read_changelog
from tools.tables import check

PAGE = Path(__file__).parent / "recorded" / "CHANGELOG.md"
NEWER = PAGE.read_text().replace("20260728", "20261201")
DAY = dt.date(2026, 12, 2)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return Path(shutil.copytree(csv_files.DATA, tmp_path / "compat")), Path(shutil.copytree(own.DATA, tmp_path / "aws"))


def refreshed(folders: tuple[Path, Path], page: str, *options: str, tmp_path: Path) -> int:
    (tmp_path / "CHANGELOG.md").write_text(page)
    return main(["--file", str(tmp_path / "CHANGELOG.md"), "--date", str(DAY), *options], folders)


def test_a_release_is_read_with_its_drivers_toolkits_and_patch_version() -> None:
    newest, *others = read_changelog(PAGE.read_text())
    assert (newest.release, newest.kubernetes, newest.patch) == ("20260728", "1.36", 2)
    assert newest.images == {
        "AL2023_x86_64_NVIDIA": Contents("580.159.03", ("1.19.1",)),
        "AL2023_ARM_64_NVIDIA": Contents("580.159.03", ("1.19.1",)),
    }
    assert [(each.release, each.kubernetes, each.patch) for each in others] == [
        ("20250519", "1.33", 0),
        ("20250519", "1.32", 3),
    ]
    assert others[1].images["AL2_x86_64_GPU"] == Contents("550.163.01", ("1.17.7",))


def test_a_page_of_another_form_has_no_release() -> None:
    assert read_changelog("# Changelog\n\n### AMI Release 20220526\n* amazon-eks-gpu-node-1.22-20220526\n") == ()
    assert read_changelog("<html><body>Not found</body></html>") == ()


@pytest.mark.slow
def test_a_newer_release_is_added_and_the_tables_stay_sound(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = NEWER.replace("580.159.03", "580.178.04")
    assert refreshed(folders, page, tmp_path=tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "the tables end with release 20260714, 141 days before 2026-12-02; "
        "with this page the tables end with release 20261201, 1 days before 2026-12-02"
    )
    assert lines[1:3] == [
        "AL2023_ARM_64_NVIDIA 20261201: driver 580.178.04 for Kubernetes 1.36",
        "AL2023_x86_64_NVIDIA 20261201: driver 580.178.04 for Kubernetes 1.36",
    ]
    check(folders[0])
    check(folders[1], TABLES)
    row = next(row for row in csv_files.rows("eks_ami", folders[0]) if row["release"] == "20261201")
    assert (row["driver_branch"], row["nvidia_container_toolkit"], row["persistenced_enabled"]) == (
        "580",
        "1.19.1",
        "yes",
    )
    assert row["collected"] == "2026-12-02"
    assert {(row["release"], row["patch"]) for row in csv_files.rows("eks_releases", folders[1])} >= {("20261201", "2")}


def test_the_newest_release_has_rows_also_where_it_changes_nothing(folders: tuple[Path, Path], tmp_path: Path) -> None:
    page = PAGE.read_text()
    older = page[page.index("# AMI Release v20260728") : page.index("# AMI Release v20250519")]
    two = page.replace(older, older.replace("20260728", "20261201") + older)
    refreshed(folders, two, tmp_path=tmp_path)
    rows = [row for row in csv_files.rows("eks_ami", folders[0]) if row["ami_type"] == "AL2023_x86_64_NVIDIA"]
    assert [row["release"] for row in rows if row["release"] > "20260714"] == ["20261201"]


def test_a_second_run_changes_nothing(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refreshed(folders, NEWER, tmp_path=tmp_path)
    files = {path: path.read_text() for folder in folders for path in folder.glob("*.csv")}
    capsys.readouterr()
    assert refreshed(folders, NEWER, tmp_path=tmp_path) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["nothing changed"]
    assert {path: path.read_text() for path in files} == files


def test_a_dry_run_writes_nothing(folders: tuple[Path, Path], tmp_path: Path) -> None:
    files = {path: path.read_text() for folder in folders for path in folder.glob("*.csv")}
    assert refreshed(folders, NEWER, "--dry-run", tmp_path=tmp_path) == 0
    assert {path: path.read_text() for path in files} == files


def test_a_patch_version_that_was_seen_elsewhere_is_confirmed_or_corrected(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = PAGE.read_text().replace("20260728", "20260801").replace("1.36.2-", "1.33.12-").replace("1.36<", "1.33<")
    refreshed(folders, page, tmp_path=tmp_path)
    assert "1.33.12-20260801: the table had patch version 13" in capsys.readouterr().out
    page = page.replace("1.33.12-", "1.33.13-").replace("20260801", "20260818")
    refreshed(folders, page, tmp_path=tmp_path)
    assert "1.33.13-20260818: read on the page" in capsys.readouterr().out
    rows = {(row["kubernetes"], row["release"]): row for row in csv_files.rows("eks_releases", folders[1])}
    assert [rows["1.33", day]["unverified_cells"] for day in ("20260801", "20260818")] == ["", ""]


def test_a_release_that_the_tables_have_otherwise_is_named_and_left(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = PAGE.read_text().replace("570.133.20-1.amzn2023", "570.133.07-1.amzn2023")
    assert refreshed(folders, page, tmp_path=tmp_path) == 1
    output = capsys.readouterr().out
    assert (
        "AL2023_x86_64_NVIDIA 20250519, Kubernetes 1.33: the page has driver 570.133.07 with toolkit 1.17.7, the table "
        "570.133.20 with toolkit 1.17.7; correct the table by hand" in output
    )
    assert "570.133.07" not in (folders[0] / "eks_ami.csv").read_text()


def test_a_new_kubernetes_version_is_known_without_its_dates(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = NEWER.replace("1.36.2-", "1.38.0-").replace("1.36<", "1.38<")
    refreshed(folders, page, tmp_path=tmp_path)
    assert "Kubernetes 1.38: new; write when its support ends" in capsys.readouterr().out
    check(folders[1], TABLES)
    assert csv_files.rows("eks_versions", folders[1])[-1]["kubernetes"] == "1.38"


def test_two_toolkits_in_one_release_are_both_recorded(folders: tuple[Path, Path], tmp_path: Path) -> None:
    page = NEWER.replace("1.19.1-1", "1.19.1-1, 1.20.0-1")
    refreshed(folders, page, tmp_path=tmp_path)
    row = next(row for row in csv_files.rows("eks_ami", folders[0]) if row["release"] == "20261201")
    assert row["nvidia_container_toolkit"] == "1.19.1|1.20.0"
    assert row["notes"].startswith("Both toolkit versions")


def test_a_page_can_be_piped(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(NEWER))
    assert main(["--file", "-", "--dry-run", "--date", str(DAY)], folders) == 0
    assert "20261201" in capsys.readouterr().out


class Recorded(http.server.BaseHTTPRequestHandler):
    """Answers with the page, and with nothing elsewhere."""

    def do_GET(self) -> None:
        page = NEWER.encode() if self.path == "/CHANGELOG.md" else b""
        self.send_response(200 if page else 404)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Recorded) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_page_can_be_read_from_an_address(
    folders: tuple[Path, Path], address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--url", f"{address}/CHANGELOG.md", "--dry-run", "--date", str(DAY)], folders) == 0
    assert "20261201" in capsys.readouterr().out
    assert main(["--url", f"{address}/other.md"], folders) == 2
    assert f"error: {address}/other.md: HTTP Error 404" in capsys.readouterr().err
    assert main(["--url", "file:///etc/hostname"], folders) == 2
    assert "is not an address that begins with https://" in capsys.readouterr().err


@pytest.mark.parametrize("page", ["", "# Changelog\n"])
def test_a_page_without_releases_is_an_error(
    folders: tuple[Path, Path], tmp_path: Path, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refreshed(folders, page, tmp_path=tmp_path) == 2
    assert "no release of the form" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_an_error(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--file", str(tmp_path / "none.md")], folders) == 2
    assert "none.md" in capsys.readouterr().err
