"""What the engine says of a run reaches the pack, by the SDK's own handler."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pulumi.runtime import proto
from pulumi_policy import EnforcementLevel, ResourceValidationPolicy, StackValidationPolicy
from pulumi_policy import policy as sdk

from lab import sdks
from policies import phase, sdk_handlers

ROOT = Path(__file__).parents[2]


@pytest.fixture
def servicer(monkeypatch: pytest.MonkeyPatch) -> sdk._PolicyAnalyzerServicer:
    kind = sdk._PolicyAnalyzerServicer  # noqa: SLF001 - what the engine calls
    for handler in ("Configure", "ConfigureStack", "Analyze", "AnalyzeStack"):
        monkeypatch.setattr(kind, handler, getattr(kind, handler))  # put back after the test
    monkeypatch.setattr(phase, "_reported", {})
    sdk_handlers.listen(lambda _: None)
    level = EnforcementLevel.ADVISORY
    return kind("pack", "1.0.0", [ResourceValidationPolicy("p", "A policy.", lambda _, __: None, level)], level)


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_engine_says_whether_the_run_is_a_preview(servicer: sdk._PolicyAnalyzerServicer, *, dry_run: bool) -> None:
    answer = servicer.ConfigureStack(proto.AnalyzerStackConfigureRequest(stack="s", dry_run=dry_run), None)
    assert isinstance(answer, proto.AnalyzerStackConfigureResponse)
    assert phase.is_preview() is dry_run


def test_a_run_that_the_engine_did_not_report_counts_as_a_preview(servicer: sdk._PolicyAnalyzerServicer) -> None:
    assert servicer is not None
    assert phase.is_preview()


@pytest.mark.parametrize("change", ["gone", "other arguments", "other class"])
def test_an_sdk_that_the_pack_does_not_know_ends_it_with_one_line(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    kind = sdk._PolicyAnalyzerServicer  # noqa: SLF001 - what the engine calls
    if change == "gone":
        monkeypatch.delattr(kind, "ConfigureStack")
    elif change == "other arguments":
        monkeypatch.setattr(kind, "ConfigureStack", lambda self, request: (self, request))
    else:
        monkeypatch.delattr(sdk, "_PolicyAnalyzerServicer")
    with pytest.raises(SystemExit) as ended:
        sdk_handlers.listen(lambda _: None)
    (line,) = str(ended.value).splitlines()
    assert "does not know pulumi-policy 1." in line
    assert "ConfigureStack(self, request, context)" in line
    assert "make .venv/synced" in line


@pytest.mark.slow  # installs packages
def test_the_pack_hears_the_engine_through_the_newest_sdk(tmp_path: Path) -> None:
    """These same tests, in an environment whose SDK is the newest that there is."""
    environment = tmp_path / "newest"
    uv = sdks.uv()
    tests = ["pytest>=9", "pytest-timeout>=2.4", "psutil>=7"]
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    others = [each for each in needs if not each.startswith(("pulumi==", "pulumi-policy"))]
    for argv in (
        [uv, "venv", "--quiet", "--python", sys.executable, environment],
        [
            uv,
            "pip",
            "install",
            "--quiet",
            "--python",
            environment,
            "--upgrade",
            "pulumi-policy",
            "pulumi",
            *tests,
            *others,
        ],
        [
            environment / "bin" / "python",
            "-m",
            "pytest",
            "-q",
            "--noconftest",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow",
            __file__,
        ],
    ):
        ran = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=500)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout


def test_what_no_policy_looks_at_passes_without_being_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = sdk._PolicyAnalyzerServicer  # noqa: SLF001 - what the engine calls
    for handler in ("Configure", "ConfigureStack", "Analyze", "AnalyzeStack"):
        monkeypatch.setattr(kind, handler, getattr(kind, handler))
    sdk_handlers.listen(lambda _: None, lambda name: name == "a:b:Looked")
    shown: list[str] = []
    policies = [
        ResourceValidationPolicy("p", "A policy.", lambda args, _: shown.append(args.name)),
        StackValidationPolicy("s", "A policy.", lambda args, _: shown.extend(each.name for each in args.resources)),
    ]
    servicer = kind("pack", "1.0.0", policies, EnforcementLevel.ADVISORY)
    for name in ("Looked", "Other"):
        servicer.Analyze(proto.AnalyzeRequest(type=f"a:b:{name}", name=name), None)
    resources = [proto.AnalyzerResource(type=f"a:b:{name}", name=name, urn=name) for name in ("Other", "Looked")]
    servicer.AnalyzeStack(proto.AnalyzeStackRequest(resources=resources), None)
    assert shown == ["Looked", "Looked"]
