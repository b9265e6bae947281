"""Rules speak of a workload in the words of its site, and leave names that people gave as they are."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from image_facts import contents
from refusals import CONTAINER, JOB, SOUND_CONTAINER, SOUND_JOB
from shown import DIGEST

from fleet.machines import Machine
from fleet.nodes import Node
from policies.evaluate import evaluate, read
from policies.finding import Level
from policies.from_settings import site_of
from policies.model import Site
from policies.rules.disk_capacity import RULE as ROOM
from policies.rules.index import ALL_RULES
from policies.vocabulary import DOCKER, DOCKER_HUB, KUBERNETES, SLURM
from settings.reading import load_stack

AMOUNTS = {"cpu": Decimal(16), "memory": Decimal(64 * 1024**3), "nvidia.com/gpu": Decimal(2)}
HOSTS = Site(
    nodes=(Node("box", "box", {"gpu-commons.org/pool": "box"}, [], AMOUNTS),),
    allowed_registries=("registry.example.edu",),
    machines={"box": Machine(disk_gib=20)},
    contents_of=lambda _: contents(12, 30),
)
PARTITIONS = site_of(load_stack(Path(__file__).parents[2] / "stacks" / "Pulumi.comet.yaml"))


def output(token: str, inputs: dict[str, Any], site: Site) -> str:
    return "\n".join(evaluate(token, "x", inputs, site, frozenset(Level)))


@pytest.mark.parametrize("name", ["node", "nodes", "volume"])
def test_an_image_that_is_called_like_a_word_of_a_cluster_keeps_its_name_on_a_docker_host(name: str) -> None:
    image = f"registry.example.edu/{name}@{DIGEST}"
    text = output(CONTAINER, {**SOUND_CONTAINER, "image": image}, HOSTS)
    assert f"{name} cannot fit the disk of box of pool box" in text


def test_a_pool_that_a_job_of_slurm_does_not_name_is_no_affinity() -> None:
    text = output(JOB, {**SOUND_JOB, "pools": ["gpu-k80"], "gpus": 5}, PARTITIONS)
    assert "gpu-k80: it requests 5 nvidia.com/gpu, but a node of the pool has 4" in text
    assert "shared-p100: the job does not name this pool" in text
    assert "affinity" not in text


def test_a_value_that_slurm_rejects_is_not_reported_in_the_words_of_kubernetes() -> None:
    for gpus in (1.5, "many"):
        text = output(JOB, {**SOUND_JOB, "gpus": gpus}, PARTITIONS)
        assert str(gpus) in text
        assert "Kubernetes" not in text


def test_a_full_disk_is_reported_in_the_words_of_what_lands_there() -> None:
    site = replace(PARTITIONS, contents_of=lambda _: contents(90, 400))
    assert ROOM.check_together is not None
    finding = next(ROOM.check_together(read(JOB, "x", SOUND_JOB), site))
    assert "a node should leave" in finding.message
    assert "kubelet" not in finding.message


@pytest.mark.parametrize("words", [KUBERNETES, DOCKER, DOCKER_HUB, SLURM], ids=lambda words: words.moves)
def test_every_remedy_of_a_rule_is_a_sentence_on_every_site(words: Any) -> None:
    for rule in ALL_RULES:
        remedy = rule.remedy_in(words)
        assert remedy[0].isupper()
        assert remedy.endswith(".")
