"""Laws of the pack, for any resource that an engine can send: through the SDK's own servicer, over the wire format.

1. It answers, and no rule fails inside.
2. No message has a value of a secret.
3. What is not known never turns a refusal into silence: one that goes away when a value becomes unknown leaves a
   "could not be proved" that was not there before.
4. What a rule refuses with an unknown it refuses with the value in its place too, unless no pool is left to refuse it
   on: then P-HOST does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
import trees
from google.protobuf.struct_pb2 import Struct
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st
from image_facts import contents
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi_policy import EnforcementLevel
from pulumi_policy import policy as sdk

from compat import Case, read_host
from fleet.machines import Machine, Rates
from fleet.nodes import Node
from fleet.pools import PoolGpus
from imaging.inspection.facts import DriverPart
from policies import phase, report, sdk_handlers
from policies.crossguard import pack_policies
from policies.finding import Level
from policies.model import Site

FACTS = {
    trees.BUILT: contents(7, 9, driver=(DriverPart("usr/lib/libcuda.so.1", 1000, "driver 535.104.05", 0),)),
    trees.OLD: contents(1, 2, system="Ubuntu 18.04"),
}
SITE = Site(
    nodes=(
        Node(
            "n10",
            "gtx1070ti",
            {"gpu-commons.org/pool": "gtx1070ti", "x": "ml"},
            (),
            {"cpu": Decimal(8), "memory": Decimal(2**36), "nvidia.com/gpu": Decimal(8)},
        ),
        Node(
            "n20",
            "rtx2080ti",
            {"gpu-commons.org/pool": "rtx2080ti"},
            ({"key": "nvidia.com/gpu", "effect": "NoSchedule"},),
            {"cpu": Decimal(8), "nvidia.com/gpu": Decimal(4)},
        ),
    ),
    allowed_registries=("registry.example.edu", "docker.io"),
    own_registry="registry.example.edu",
    runtime_daemons={trees.DAEMON: frozenset({"default/x"})},
    machines={
        "gtx1070ti": Machine(20, is_disk_assumed=True),
        "rtx2080ti": Machine(500, rates=Rates(), are_rates_planned=False),
    },
    contents_of=FACTS.get,
    own_images=frozenset({"ml", "new"}),
    gpus={
        "gtx1070ti": PoolGpus(read_host(Case(gpu="GTX 1070 Ti", driver="418.88", host="kubernetes"))),
        "rtx2080ti": PoolGpus(read_host(Case(gpu="RTX 2080 Ti", driver="580.95.05", host="kubernetes"))),
    },
)


@dataclass(frozen=True)
class Answer:
    """Findings about one resource and then about the stack: (rule, the text after the subject)."""

    refused: frozenset[tuple[str, str]]
    unproved: frozenset[tuple[str, str]]
    messages: tuple[str, ...]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], Answer]:
    """A fresh pack is shown one resource, as bytes that came from the engine."""
    kind = sdk._PolicyAnalyzerServicer  # noqa: SLF001 - what the engine calls
    for handler in ("Configure", "ConfigureStack", "Analyze", "AnalyzeStack"):
        monkeypatch.setattr(kind, handler, getattr(kind, handler))  # put back after the test
    monkeypatch.setattr(phase, "_reported", {})
    sdk_handlers.listen(lambda _: None)

    def answer(token: str, inputs: Any) -> Answer:
        policies = pack_policies(lambda _: SITE)
        servicer = kind("gpu-commons", "1", list(policies), EnforcementLevel.ADVISORY)
        properties = Struct()
        properties.update(inputs)
        sent = {"type": token, "name": "web", "urn": f"urn:pulumi:s::p::{token}::web", "properties": properties}
        request = proto.AnalyzeRequest.FromString(proto.AnalyzeRequest(**sent).SerializeToString())
        diagnostics = list(servicer.Analyze(request, None).diagnostics)
        end = proto.AnalyzeStackRequest(resources=[proto.AnalyzerResource(**sent)])
        diagnostics += servicer.AnalyzeStack(end, None).diagnostics
        messages = [each.message.removeprefix(each.description).strip() for each in diagnostics]
        found = [report.read(each.message) for each in diagnostics]
        refused, unproved = (
            frozenset(
                (each.rule, each.body) for each in found if isinstance(each, report.Message) and each.level is level
            )
            for level in (Level.REFUSE, Level.UNPROVED)
        )
        return Answer(refused, unproved, tuple(messages))

    return answer


def holds(law: Callable[[st.DataObject], None], share: int, examples: int) -> None:
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    trial = settings(max_examples=examples, suppress_health_check=checks, database=None)(given(st.data())(law))
    seed(share)(trial)()


# In shares, which several workers can have. Each share is the same in every run.
FEW = int(os.environ.get("GPU_COMMONS_TEST_EXAMPLES", "25"))
MANY = int(os.environ.get("GPU_COMMONS_TEST_TREES", "2000")) // 4  # `make soak` tries 10,000
SHARES = pytest.mark.parametrize(
    ("share", "examples"), [(0, FEW), *(pytest.param(share, MANY, marks=pytest.mark.slow) for share in range(1, 5))]
)
KEPT = (
    "k3ep",
    "registry.example.edu/k3ep:1",
    f"k3ep/k3ep@{trees.DIGEST}",
    "/dev/nvidia-k3ep",
    "https://u:k3ep@x",
    "k3ep,k3ep",
    4711,
)
hidden = st.sampled_from(KEPT).flatmap(
    lambda kept: st.sampled_from(
        (
            kept,
            [kept],
            {"x": kept},
            {"nvidia.com/gpu": kept, "gpu-commons.org/pool": kept, "gpu-commons.org/image": kept},
            {"name": kept, "containers": [{"image": kept, "env": [{"name": "CUDA_VISIBLE_DEVICES", "value": kept}]}]},
            [{"name": kept, "image": kept, "pool": kept, "hostPath": {"path": kept}}],
        )
    )
)


def strange(data: st.DataObject, token: str) -> Any:
    """Inputs with up to four values that are something else: unknown, secret, of a wrong type, or deep inside."""
    tree = data.draw(trees.inputs(token) | st.dictionaries(trees.words, trees.trees, max_size=4))
    for _ in range(data.draw(st.integers(0, 4))):
        places = list(trees.paths(tree))
        if not places:
            break
        place = data.draw(st.sampled_from(places))
        there = trees.at(tree, place)
        other = data.draw(
            st.sampled_from(trees.UNKNOWNS)
            | st.just(trees.secret(there))
            | trees.trees
            | st.integers(1, 25).map(lambda depth, value=there: trees.deep(value, depth))
        )
        tree = trees.put(tree, place, other)
    return tree


@SHARES
def test_the_pack_answers_whatever_it_is_shown_and_repeats_no_secret(
    ask: Callable[[str, Any], Answer], share: int, examples: int
) -> None:
    def law(data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(trees.TOKENS))
        tree = strange(data, token)
        if places := list(trees.paths(tree)):
            tree = trees.put(tree, data.draw(st.sampled_from(places)), trees.secret(data.draw(hidden)))
        for text in ask(token, tree).messages:
            assert "failed (" not in text  # a rule, inside
            assert "could not be read" not in text
            assert "can't run policy" not in text  # the SDK, of an unknown that was touched
            assert "k3ep" not in text
            assert "4711" not in text

    holds(law, share, examples)


@SHARES
def test_an_unknown_never_turns_a_refusal_into_silence(
    ask: Callable[[str, Any], Answer], share: int, examples: int
) -> None:
    def law(data: st.DataObject) -> None:
        token = data.draw(st.sampled_from((*trees.PODS, trees.HUB_TOKEN)))
        tree = data.draw(trees.inputs(token))
        places = list(trees.paths(tree))
        assume(places)
        known = ask(token, tree)
        place = data.draw(st.sampled_from(places))
        unknown = ask(token, trees.put(tree, place, data.draw(st.sampled_from(trees.UNKNOWNS))))
        lost = {rule for rule, _ in known.refused} - {rule for rule, _ in unknown.refused}
        assert not lost or unknown.unproved - known.unproved, (lost, known.messages, unknown.messages)
        new = {rule for rule, _ in unknown.refused} - {rule for rule, _ in known.refused}
        assert not new or "P-HOST" in {rule for rule, _ in known.refused}, (new, known.messages, unknown.messages)

    holds(law, share, examples)
