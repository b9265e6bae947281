"""Jobs of Slurm, as SlurmGpuJob makes them: the rules of pods, and what only a batch text has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from refusals import COUNTED_ON, JOB, NOT_FOR_K80, SOUND_JOB, TEXT
from rows import each_row
from shown import ADVISED, REFUSED, UNKNOWN, UNPROVED, shown, texts

from policies.crossguard import looks_at
from policies.from_settings import site_of
from settings.reading import load_stack

STACK: Final = load_stack(Path(__file__).parents[2] / "stacks" / "Pulumi.comet.yaml")
SITE: Final = site_of(STACK)
# Words of a cluster: nobody at a login node knows what they mean.
OF_A_CLUSTER: Final = re.compile(r"\b(?:pods?|kubelet|Kubernetes|containers\[0\]|nodeSelector|affinity)\b")


def findings(**changes: Any) -> list[tuple[str, str]]:
    return shown(SITE, JOB, {**SOUND_JOB, **changes})


def one(kind: str, rule: str, **changes: Any) -> str:
    """The only message of a kind by a rule. It speaks of a job of Slurm."""
    (message,) = texts(findings(**changes), kind, rule)
    assert not OF_A_CLUSTER.search(message), message
    return message


def test_a_job_of_slurm_is_looked_at_and_one_without_a_mistake_is_not_refused() -> None:
    assert looks_at(JOB)
    assert not texts(findings(), REFUSED)
    assert not texts(findings(), ADVISED, "P-BATCH")


@each_row(("line", "words"), COUNTED_ON)
def test_what_a_text_counts_on_is_refused_with_what_to_do(line: str, words: str) -> None:
    assert words in one(REFUSED, "P-BATCH", text=f"{TEXT}{line}\n")


def test_a_text_that_is_not_known_yet_is_not_proved() -> None:
    assert "its text is not known yet" in one(UNPROVED, "P-BATCH", text=UNKNOWN)


def test_an_image_is_proved_on_every_pool_that_the_job_names() -> None:
    message = one(REFUSED, "P-RUN", **NOT_FOR_K80)
    assert "does not run on pools gpu-k80, shared-p100" in message
    assert "470.256.02" in message


def test_more_gpus_than_a_node_has_are_refused_in_words_of_slurm() -> None:
    assert "no pool can host it" in one(REFUSED, "P-HOST", gpus=5)


def test_what_is_not_known_yet_has_its_name_in_the_job() -> None:
    assert "which pools can host it depends on gpus, pools." in one(UNPROVED, "P-HOST", gpus=UNKNOWN, pools=UNKNOWN)
    assert ": image is not known yet" in one(UNPROVED, "P-PIN", image=UNKNOWN)


def test_a_part_of_the_gpus_of_a_whole_node_is_reported() -> None:
    message = one(ADVISED, "P-BATCH", pools=["gpu-k80"], gpus=1)
    assert (
        "it asks for 1 of the 4 GPUs of a node, but gpu-k80 gives whole nodes, so the other GPUs stay idle" in message
    )


def test_gpus_for_an_image_that_uses_none_are_reported() -> None:
    site = site_of(STACK.model_copy(update={"images": (*STACK.images, STACK.images[0].model_copy(update=HUB))}))
    (message,) = texts(shown(site, JOB, {**SOUND_JOB, "image_name": "hub"}), ADVISED, "P-BATCH")
    assert "nothing in image hub uses a GPU" in message


HUB: Final = {"name": "hub"}
