"""The same finding on forty pods is one finding with forty places, in whatever order the engine shows them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi.runtime.proto.analyzer_pb2 import EnforcementLevel
from pulumi_policy import policy as sdk

from errors.problems import listing
from policies import phase, sdk_handlers
from policies.crossguard import pack_policies
from policies.model import Site
from policies.report import for_people

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
REPEATED = [f"web-{number:02}" for number in range(40)]
NO_DIGEST = "containers[0].image docker.io/x:1 has no digest: what runs can change without a deployment"
Report = tuple[str, str, str]  # level, name of the resource, message


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Report]]:
    """One run of a pack: every Deployment of these names has the same unpinned image."""
    kind = sdk._PolicyAnalyzerServicer  # noqa: SLF001 - what the engine calls
    for handler in ("Configure", "ConfigureStack", "Analyze", "AnalyzeStack"):
        monkeypatch.setattr(kind, handler, getattr(kind, handler))  # put back after the test
    monkeypatch.setattr(phase, "_reported", {})
    sdk_handlers.listen(lambda _: None)

    def run(names: Sequence[str], *, is_preview: bool | None = True, comes_to_its_end: bool = True) -> list[Report]:
        policies = pack_policies(lambda _: Site(nodes=(), allowed_registries=("docker.io",)))
        servicer = kind("gpu-commons", "1", list(policies), sdk.EnforcementLevel.ADVISORY)
        if is_preview is not None:
            servicer.ConfigureStack(proto.AnalyzerStackConfigureRequest(stack="s", dry_run=is_preview), None)
        pod = {"containers": [{"image": "docker.io/x:1"}], "volumes": [{"hostPath": {"path": "/dev"}}]}
        found = []
        for name in names:
            urn = f"urn:pulumi:s::p::{DEPLOYMENT}::{name}"
            request = proto.AnalyzeRequest(type=DEPLOYMENT, name=name, urn=urn)
            request.properties.update(
                {"spec": {"template": {"spec": pod if name != "alone" else {**pod, "volumes": []}}}}
            )
            found += [(name, each) for each in servicer.Analyze(request, None).diagnostics]
        if comes_to_its_end:
            end = servicer.AnalyzeStack(proto.AnalyzeStackRequest(), None)
            found += [("", each) for each in end.diagnostics]
        return [
            (
                EnforcementLevel.Name(each.enforcementLevel),
                name,
                for_people(each.message).removeprefix(each.description).strip(),
            )
            for name, each in found
        ]

    return run


def test_the_first_place_is_reported_at_once_and_all_places_together_at_the_end(
    shown: Callable[..., list[Report]],
) -> None:
    refused, *others = [each for each in shown(REPEATED) if each[2].startswith("P-PIN")]
    assert refused[:2] == ("MANDATORY", "web-00")
    assert refused[2].startswith(f"P-PIN: Deployment web-00: {NO_DIGEST}. ")
    (together,) = others
    assert together[:2] == ("ADVISORY", "")
    places, same = together[2].splitlines()
    assert places == f"P-PIN: 40 places: {listing([f'Deployment {name}' for name in REPEATED], most=8)}"
    assert same.startswith(f"  the same: {NO_DIGEST}")


def test_more_places_than_anybody_reads_are_counted(shown: Callable[..., list[Report]]) -> None:
    names = [f"web-{number:03}" for number in range(120)]
    (together,) = [text for _, name, text in shown(names) if not name and text.startswith("P-PIN")]
    assert together.startswith("P-PIN: 120 places: Deployment web-000, ")
    assert together.splitlines()[0].endswith("Deployment web-007 and 112 more")


def test_another_order_of_the_resources_reports_the_same_places(shown: Callable[..., list[Report]]) -> None:
    together = [text for _, name, text in shown(REPEATED) if not name]
    mixed = random.Random(7).sample(REPEATED, len(REPEATED))
    again = shown(mixed)
    assert [text for _, name, text in again if not name] == together
    refused = {text.replace(mixed[0], REPEATED[0]) for level, _, text in again if level == "MANDATORY"}
    assert refused == {text for level, _, text in shown(REPEATED) if level == "MANDATORY"}


def test_a_run_that_never_comes_to_its_end_has_reported_each_finding_once(shown: Callable[..., list[Report]]) -> None:
    cut = shown(REPEATED, comes_to_its_end=False)
    assert [(level, name, text.partition(":")[0]) for level, name, text in cut] == [
        ("MANDATORY", "web-00", "P-GPU"),
        ("MANDATORY", "web-00", "P-PIN"),
    ]


@pytest.mark.parametrize("is_preview", [False, None], ids=["an update", "nobody said"])
def test_what_may_be_an_update_refuses_each_resource(
    shown: Callable[..., list[Report]], *, is_preview: bool | None
) -> None:
    reports = shown(REPEATED, is_preview=is_preview)
    assert [name for level, name, text in reports if level == "MANDATORY" and "P-PIN" in text] == REPEATED


def test_what_holds_in_one_place_alone_is_reported_there_alone(shown: Callable[..., list[Report]]) -> None:
    assert [(name, text.partition(":")[0]) for _, name, text in shown(["alone"])] == [("alone", "P-PIN")]
