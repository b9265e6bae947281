"""What the engine says of a run reaches the pack, by the SDK's own handler."""

from __future__ import annotations

import pytest
from pulumi.runtime import proto
from pulumi_policy import EnforcementLevel, ResourceValidationPolicy, StackValidationPolicy
from pulumi_policy import policy as sdk

from policies import phase, run


@pytest.fixture
def servicer(monkeypatch: pytest.MonkeyPatch) -> sdk._PolicyAnalyzerServicer:
    kind = sdk._PolicyAnalyzerServicer  # noqa: SLF001 - what the engine calls
    for handler in ("Configure", "ConfigureStack", "Analyze", "AnalyzeStack"):
        monkeypatch.setattr(kind, handler, getattr(kind, handler))  # put back after the test
    monkeypatch.setattr(phase, "_said", {})
    run.listen(lambda _: None)
    level = EnforcementLevel.ADVISORY
    return kind("pack", "1.0.0", [ResourceValidationPolicy("p", "A policy.", lambda _, __: None, level)], level)


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_engine_says_whether_the_run_is_a_preview(servicer: sdk._PolicyAnalyzerServicer, *, dry_run: bool) -> None:
    answer = servicer.ConfigureStack(proto.AnalyzerStackConfigureRequest(stack="s", dry_run=dry_run), None)
    assert isinstance(answer, proto.AnalyzerStackConfigureResponse)
    assert phase.is_preview() is dry_run


def test_what_nobody_said_counts_as_a_preview(servicer: sdk._PolicyAnalyzerServicer) -> None:
    assert servicer is not None
    assert phase.is_preview()


def test_what_no_policy_looks_at_passes_without_being_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = sdk._PolicyAnalyzerServicer  # noqa: SLF001 - what the engine calls
    for handler in ("Configure", "ConfigureStack", "Analyze", "AnalyzeStack"):
        monkeypatch.setattr(kind, handler, getattr(kind, handler))
    run.listen(lambda _: None, lambda name: name == "a:b:Looked")
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
