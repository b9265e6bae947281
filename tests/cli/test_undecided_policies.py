"""Policies that met a value that is not known yet: the SDK reports them by its own sentence, without a field."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi_policy import EnforcementLevel, ResourceValidationPolicy
from pulumi_policy.policy import _PolicyAnalyzerServicer
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

from cli.engine_events import read_stream
from cli.review.document import Review, Sources, review_of
from cli.review.findings import Level
from cli.review.markdown import review_markdown

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here
import previews

TODAY = dt.date(2026, 11, 21)
POD = "kubernetes:core/v1:Pod"


def reported(policy: ResourceValidationPolicy, pack: str) -> list[Any]:
    """What the SDK reports to the engine when this policy checks a pod whose node is not known yet."""
    properties = Struct()
    properties.update({"spec": {"nodeName": UNKNOWN_STRING_VALUE}})
    request = proto.AnalyzeRequest(type=POD, name="x", urn=previews.urn(POD, "x"), properties=properties)
    return list(
        _PolicyAnalyzerServicer(pack, "1", [policy], EnforcementLevel.MANDATORY).Analyze(request, None).diagnostics
    )


def reviewed(policy: ResourceValidationPolicy, pack: str) -> Review:
    """A preview in which the engine passes that report on."""
    (diagnostic,) = reported(policy, pack)
    body = {
        "policyName": diagnostic.policyName,
        "policyPackName": diagnostic.policyPackName,
        "enforcementLevel": proto.EnforcementLevel.Name(diagnostic.enforcementLevel).lower(),
        "resourceUrn": diagnostic.urn or previews.urn(POD, "x"),
        "message": diagnostic.message,
    }
    sources = Sources(lambda name, facts: None, lambda name: None, TODAY)  # noqa: ARG005 - nothing is looked up
    return review_of(read_stream(previews.stream(("policyEvent", body))), None, sources)


def touches(args: Any, _: Any) -> None:
    assert args.props["spec"]["nodeName"] != "attic"


def warns(_: Any, report: Any) -> None:
    report("see our wiki")


@pytest.mark.parametrize("pack", ["gpu-commons", "theirs"])
def test_a_policy_that_met_a_value_that_is_not_known_yet_is_undecided(pack: str) -> None:
    review = reviewed(ResourceValidationPolicy("names", "Nodes have names.", touches), pack)
    (found,) = review.findings
    assert found.level is Level.UNDECIDED
    assert found.text.startswith(f"can't run policy 'names' from policy pack '{pack}@v1' during preview: ")
    assert review.verdict.outcome.exit_code == 0
    assert "1 finding could not be decided in a preview" in review_markdown(review, TODAY)


def test_a_policy_whose_description_begins_with_those_words_was_decided() -> None:
    advisory = EnforcementLevel.ADVISORY
    policy = ResourceValidationPolicy("ours", "can't run policy 'names' without labels", warns, advisory)
    (found,) = reviewed(policy, "theirs").findings
    assert (found.level, found.text) == (Level.ADVICE, "can't run policy 'names' without labels\nsee our wiki")
