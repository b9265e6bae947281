"""What the spawn page says of a hub's profiles."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rows import each_row

from errors.problems import SettingsError
from platforms.kubernetes.hub import parse_hub
from platforms.kubernetes.user_pods import render_page
from workloads.hub import Cull
from workloads.hub_page import duration_words, ends_words

CONTENTS = {"title": "Machine learning", "cuda_lines": ["10.1"], "frameworks": ["PyTorch 1.7.1"]}
ONE: dict[str, Any] = {
    "name": "one",
    "title": "One GTX 1080 Ti",
    "image": "registry.example.edu/ml@sha256:0",
    "image_name": "ml-image",
    "pool": "pool-a",
    "gpus": 1,
    "cpu": 4,
    "memory_gib": 16,
    "gpu": "GeForce GTX 1080 Ti",
    "gpu_memory_gb": 11,
    "contents": CONTENTS,
}
TWO = {**ONE, "name": "two", "title": "Two GTX 1080 Ti", "gpus": 2, "cpu": 8, "memory_gib": 32}


def page(*profiles: dict[str, Any], **changes: Any) -> dict[str, Any]:
    args = {
        "hub_image": "hub",
        "proxy_image": "proxy",
        "profiles": profiles,
        "expose": {"kind": "cluster_ip"},
        "authenticator": {"kind": "dummy"},
        "core_pool": "pool-core",
        **changes,
    }
    return dict(json.loads(render_page(parse_hub("datahub", args))))


def test_a_card_has_the_gpu_with_its_memory_the_image_and_the_size() -> None:
    (card,) = page(ONE)["cards"]
    assert (card["title"], card["gpu"], card["image"]) == (
        "One GTX 1080 Ti",
        "GeForce GTX 1080 Ti, 11 GB",
        "Machine learning",
    )
    assert card["facts"] == [
        {"name": "CUDA", "values": ["10.1"]},
        {"name": "Frameworks", "values": ["PyTorch 1.7.1"]},
    ]
    (choice,) = card["choices"]
    assert choice == {
        "name": "one",
        "title": "One GTX 1080 Ti",
        "size": "1 GPU, 4 CPU cores, 16 GiB memory",
        "gpu": "GeForce GTX 1080 Ti",
        "gpus": 1,
        "note": "",
    }


def test_profiles_that_only_differ_in_size_are_one_card_with_a_choice() -> None:
    (card,) = page(ONE, TWO)["cards"]
    assert card["title"] == "GeForce GTX 1080 Ti, 11 GB"
    assert [each["size"] for each in card["choices"]] == [
        "1 GPU, 4 CPU cores, 16 GiB memory",
        "2 GPUs, 8 CPU cores, 32 GiB memory",
    ]


@each_row(
    "other",
    [
        {"pool": "pool-b"},
        {"image_name": "other"},
        {"gpus": 0},
        {"node_selector": {"example.edu/rack": "2"}},
        {"tolerations": [{"operator": "Exists"}]},
    ],
    ids=["pool", "image", "no GPU", "nodes", "tolerations"],
)
def test_profiles_that_differ_in_more_are_cards_of_their_own(other: dict[str, Any]) -> None:
    assert [len(card["choices"]) for card in page(ONE, {**TWO, **other})["cards"]] == [1, 1]


def test_profiles_of_several_pools_are_one_card_where_the_pools_are_the_same() -> None:
    def on(profile: dict[str, Any], *pools: str) -> dict[str, Any]:
        return {**{key: value for key, value in profile.items() if key != "pool"}, "pools": list(pools)}

    assert len(page(on(ONE, "pool-a", "pool-b"), on(TWO, "pool-a", "pool-b"))["cards"]) == 1
    assert len(page(on(ONE, "pool-a", "pool-b"), on(TWO, "pool-a", "pool-c"))["cards"]) == 2


def test_pools_and_names_of_images_are_not_on_the_page() -> None:
    text = json.dumps(page(ONE, {**TWO, "pool": "pool-b"}))
    assert not [name for name in ("pool-a", "pool-b", "pool-core", "ml-image", "registry") if name in text]


def test_what_the_operator_says_of_a_profile_stands_beside_its_size() -> None:
    (card,) = page({**ONE, "description": "For the second half of the course"})["cards"]
    assert card["choices"][0]["note"] == "For the second half of the course"
    assert card["choices"][0]["size"] == "1 GPU, 4 CPU cores, 16 GiB memory"


def test_the_first_profile_is_chosen_unless_another_is_the_default() -> None:
    assert page(ONE, TWO)["default"] == "one"
    assert page(ONE, {**TWO, "is_default": True})["default"] == "two"


def test_a_profile_without_a_description_is_still_a_card() -> None:
    bare = {key: value for key, value in ONE.items() if key not in {"gpu", "gpu_memory_gb", "contents"}}
    (card,) = page(bare)["cards"]
    assert (card["title"], card["gpu"], card["facts"], card["missing"]) == ("One GTX 1080 Ti", "", [], [])


def test_a_wrong_word_about_an_image_is_named() -> None:
    with pytest.raises(
        SettingsError, match=r"profiles\[0\]\.contents\.framework: is not a known key\s+did you mean frameworks"
    ):
        page({**ONE, "contents": {"framework": ["PyTorch"]}})


@each_row(
    ("seconds", "words"),
    [
        (3600, "1 hour"),
        (43200, "12 hours"),
        (5400, "1 hour 30 minutes"),
        (60, "1 minute"),
        (172805, "2 days 5 seconds"),
    ],
)
def test_seconds_are_written_in_words(seconds: int, words: str) -> None:
    assert duration_words(seconds) == words


@pytest.mark.parametrize(
    ("max_age_s", "sentence"),
    [
        (0, "Your server stops after 1 hour without activity."),
        (43200, "Your server stops after 1 hour without activity, and at the latest 12 hours after it started."),
    ],
)
def test_the_end_of_a_server_is_a_sentence(max_age_s: int, sentence: str) -> None:
    assert ends_words(Cull(idle_s=3600, max_age_s=max_age_s, every_s=600, kernel_idle_s=3600)) == sentence
