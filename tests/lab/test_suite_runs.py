"""What `make test` and `make soak` print at their end, whatever happened before."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lab import results
from lab.instance import Instance, LabError
from lab.results import Result
from lab.suite_runs import SuiteRun
from lab.suites import Needs, Suite
from lab.toolchain import Toolchain

GOOD = "def test_a(): pass\ndef test_b(): pass\n"
BAD = "import pytest\ndef test_a(): pass\ndef test_b(): assert False\ndef test_c(): pytest.skip('why')\n"
BROKEN = "import no_such_module\n"


def test_the_table_has_a_line_for_each_suite_and_ends_with_the_sums() -> None:
    found = [Result("checks", 30), Result("one", 90, tests=12), Result("other", 600, tests=3, failed=1, skipped=1)]
    assert results.table(found, 700).splitlines() == [
        "suite   tests  failed  skipped  minutes",
        "checks                              0.5",
        "one        12       0        0      1.5",
        "other       3       1        1     10.0",
        "total      15       1        1     11.7",
        "",
        "13 passed, 1 failed",
    ]


def test_a_step_that_failed_is_a_failure() -> None:
    assert results.table([results.of_step("make up", 60, succeeded=False)], 60).endswith("0 passed, 1 failed")


@pytest.mark.parametrize("written", [None, "", "<testsuites"])
def test_a_run_that_left_no_counts_is_one_failure(tmp_path: Path, written: str | None) -> None:
    report = tmp_path / "counts.xml"
    if written is not None:
        report.write_text(written)
    found = results.of_suite("killed", 5, code=-9, report=report)
    assert (found.passed, found.failed) == (0, 1)


def suite(folder: Path, name: str, tests: str) -> Suite:
    file = folder / f"test_{name}.py"
    file.write_text(tests)
    return Suite(name, "not lab", (str(file),), Needs.NOTHING, workers=1)


@pytest.fixture
def run(tmp_path: Path) -> SuiteRun:
    def bring_up() -> None:
        raise LabError("nothing of a lab is needed here")

    return SuiteRun(Instance("x", 0, tmp_path, {}), Toolchain(), print, bring_up)


@pytest.mark.slow
def test_a_suite_that_fails_does_not_keep_the_next_from_running(
    run: SuiteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suites = [suite(tmp_path, name, tests) for name, tests in (("broken", BROKEN), ("bad", BAD), ("good", GOOD))]
    beside = {"checks": (sys.executable, "-c", "raise SystemExit(3)")}
    assert run.run(suites, beside) == 1
    table = capsys.readouterr().out.rpartition("suite")[2].splitlines()
    counts = {line.split()[0]: line.split()[1:-1] for line in table[1:] if line and "passed" not in line}
    assert counts == {
        "broken": ["1", "1", "0"],
        "checks": ["1"],
        "bad": ["3", "1", "1"],
        "good": ["2", "0", "0"],
        "total": ["6", "3", "1"],
    }
    assert table[-1] == "3 passed, 3 failed"


@pytest.mark.slow
def test_a_run_without_a_failure_succeeds(run: SuiteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.run([suite(tmp_path, "good", GOOD)], {}) == 0
    assert capsys.readouterr().out.endswith("\n2 passed, 0 failed\n")


@pytest.mark.slow
def test_a_browser_is_installed_before_the_first_page_is_opened(
    run: SuiteRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "chromium"
    monkeypatch.setattr(Toolchain, "ensure_test_packages", lambda *_: browser.touch())
    opens = suite(tmp_path, "pages", f"def test_page():\n    assert __import__('os').path.exists({str(browser)!r})\n")
    assert run.run([replace(opens, needs=Needs.BROWSER)], {}) == 0


def test_what_keeps_suites_from_running_is_a_failure(
    run: SuiteRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise LabError("port 5000 of the lab's registry is taken")

    monkeypatch.setattr(Toolchain, "ensure", fails)
    assert run.run([Suite("needs tools", "lab")], {}) == 1
    shown = capsys.readouterr()
    assert "port 5000" in shown.err
    assert shown.out.endswith("\n0 passed, 1 failed\n")
