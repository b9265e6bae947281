"""Servers of a hub on a site with Slurm: every profile is judged as the job that it becomes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent))  # for shown.py: folders of tests are no packages here

from refusals import NOT_FOR_K80, SOUND_JOB, TEXT
from shown import REFUSED, UNKNOWN, UNPROVED, shown, texts

from policies.crossguard import looks_at
from policies.from_settings import site_of
from settings.reading import load_stack

SITE: Final = site_of(load_stack(Path(__file__).parents[2] / "stacks" / "Pulumi.comet.yaml"))
QUEST: Final = site_of(load_stack(Path(__file__).parents[2] / "stacks" / "Pulumi.quest.yaml"))
HUB: Final = "pulumi-python:dynamic/gpu-commons:HubProcess"


def findings(site: Any = SITE, **changes: Any) -> list[tuple[str, str]]:
    sound = {"name": "one-gpu", **SOUND_JOB}
    return shown(site, HUB, {"hub": "quest", "profiles": [sound, {**sound, "name": "other", **changes}]})


def test_a_hub_is_looked_at_and_one_without_a_mistake_is_not_refused() -> None:
    assert looks_at(HUB)
    assert not texts(findings(), REFUSED)


def test_an_image_is_proved_on_the_pools_of_each_profile() -> None:
    (message,) = texts(findings(**NOT_FOR_K80), REFUSED, "P-RUN")
    assert "profile other of hub quest" in message


def test_a_text_that_loads_a_module_is_refused_by_the_name_of_its_profile() -> None:
    (message,) = texts(findings(text=f"{TEXT}module load cuda/9.2\n"), REFUSED, "P-BATCH")
    assert "profile other of hub quest" in message


def test_a_time_that_no_partition_allows_is_refused() -> None:
    text = "#!/bin/bash\n#SBATCH --time=2881\n\ntrue\n"
    (message,) = texts(findings(QUEST, pools=["gpu"], text=text), REFUSED, "P-BATCH")
    assert "it asks for 2881 minutes, but pool gpu only allows 2880" in message
    within = findings(QUEST, pools=["gpu"], text=text.replace("2881", "2880"))
    assert not texts(within, REFUSED, "P-BATCH")


def test_profiles_that_are_not_known_yet_are_not_proved() -> None:
    assert texts(shown(SITE, HUB, {"hub": "quest", "profiles": UNKNOWN}), UNPROVED)
