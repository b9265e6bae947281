"""P-REGION: instance types of pools against a dated list of regions."""

from __future__ import annotations

from pathlib import Path

from policies.evaluate import evaluate
from policies.finding import Level
from policies.from_settings import site_of
from policies.model import Site
from policies.stacks import site_of_stack
from settings.reading import load_stack

EXAMPLE = Path(__file__).parents[2] / "stacks" / "Pulumi.eks-g6.yaml"


def messages(level: Level, **pools: str) -> list[str]:
    place = Site(nodes=(), allowed_registries=(), unlisted=pools)
    return [each for each in evaluate("pulumi:pulumi:Stack", "s", {}, place, frozenset({level})) if "P-REGION" in each]


def test_a_region_that_the_list_does_not_have_could_not_be_proved() -> None:
    (message,) = messages(Level.UNPROVED, l4="the list of 2026-02-26 has no g6 in eu-west-1")
    assert message == "P-REGION: stack: could not be proved: pool l4: the list of 2026-02-26 has no g6 in eu-west-1."
    assert not messages(Level.REFUSE, l4="the list of 2026-02-26 has no g6 in eu-west-1")


def test_of_a_stack_each_pool_with_gpus_is_looked_up_in_its_region(tmp_path: Path) -> None:
    assert site_of_stack("eks-g6").unlisted == {}
    elsewhere = tmp_path / "Pulumi.elsewhere.yaml"
    elsewhere.write_text(EXAMPLE.read_text().replace("us-east-1", "eu-west-1"))
    found = site_of(load_stack(elsewhere)).unlisted
    assert list(found) == ["l4", "l40s"]
    assert found["l40s"].startswith("the list of 2026-02-26 has no g6e in eu-west-1: see whether it has g6e.2xlarge")
