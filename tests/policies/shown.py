"""What the pack says of one resource: through the SDK's own servicer, over the wire format."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi_policy import EnforcementLevel
from pulumi_policy.policy import _PolicyAnalyzerServicer
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

from policies import report
from policies.crossguard import pack_policies
from policies.finding import Level
from policies.model import Site

UNKNOWN: Final = UNKNOWN_STRING_VALUE  # on the wire
DIGEST: Final = "sha256:" + "a" * 64
IMAGE: Final = f"registry.example.edu/x@{DIGEST}"
REFUSED, ADVISED, UNPROVED = "refused", "advised", "unproved"


def shown(site: Site, token: str, inputs: Any, *before: tuple[str, Any]) -> list[tuple[str, str]]:
    """Kind and text of every message about one resource, after `before` were shown to the same pack."""
    servicer = _PolicyAnalyzerServicer("gpu-commons", "1", pack_policies(lambda _: site), EnforcementLevel.ADVISORY)
    found: list[tuple[str, str]] = []
    for each, values in (*before, (token, inputs)):
        properties = Struct()
        properties.update(values)
        sent = {"type": each, "name": "x", "urn": f"urn:pulumi:s::p::{each}::x", "properties": properties}
        request = proto.AnalyzeRequest.FromString(proto.AnalyzeRequest(**sent).SerializeToString())
        found = [
            (_kind(diagnostic), report.for_people(diagnostic.message).removeprefix(diagnostic.description).strip())
            for diagnostic in servicer.Analyze(request, None).diagnostics
        ]
    return found


def _kind(diagnostic: proto.AnalyzeDiagnostic) -> str:
    found = report.read(diagnostic.message)
    assert isinstance(found, report.Message), diagnostic.message
    assert (found.level is Level.REFUSE) == (diagnostic.enforcementLevel == proto.MANDATORY)
    return {Level.REFUSE: REFUSED, Level.UNPROVED: UNPROVED, Level.WARN: ADVISED}[found.level]


def texts(found: list[tuple[str, str]], kind: str, rule: str = "") -> list[str]:
    """The messages of one kind, of one rule if it is named."""
    return [text for each, text in found if each == kind and text.startswith(rule)]
