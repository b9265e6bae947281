"""What the engine wrapped as a secret is judged, and is in no message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.struct_pb2 import Struct
from rows import each_row
from trees import secret

from policies.redaction import hiding, secret_words


def words(inputs: dict[str, Any]) -> frozenset[str]:
    properties = Struct()
    properties.update(inputs)
    return secret_words(properties)


def test_texts_and_numbers_inside_of_a_secret_are_its_words_however_they_are_written() -> None:
    numbers = {"4711", "4711.0", "4,711", "0.5", "3e+09", "3000000000", "3000000000.0", "3,000,000,000"}
    given = {"a": secret({"key": ["hush!", 4711, 0.5, 3_000_000_000, True, None]}), "b": "plain"}
    assert words(given) == {"hush!", *numbers}


def test_keys_of_a_secret_are_its_words_unless_they_are_of_a_schema() -> None:
    assert words({"spec": secret({"nodeSelector": {"ann@example.edu": True, "team-7": False}})}) == {
        "ann@example.edu",
        "team-7",
    }


def test_what_a_rule_quotes_of_a_secret_text_is_hidden() -> None:
    given = {"command": secret(["sh", "-c", "TOKEN=hush42 python train.py --user 'Ann B'"])}
    hide = hiding(words(given))
    assert hide("runs train.py with hush42 as Ann in python") == "runs [secret] with [secret] as [secret] in python"


def test_an_image_is_known_by_more_names_than_its_text() -> None:
    assert words({"image": secret("team/hush:1")}) == {"team/hush:1", "docker.io/team/hush:1", "team/hush", "hush"}
    assert words({"image": secret("hush")}) == {"hush"}


def test_a_list_in_one_text_is_hidden_item_by_item() -> None:
    assert {"one,two", "one", "two"} <= words({"names": secret("one,two")})


def test_what_looks_like_a_secret_is_hidden_though_no_engine_calls_it_one() -> None:
    hide: Callable[[str], str] = hiding([])
    assert hide("variable NGC_API_KEY=hush42 is not allowed") == "variable NGC_API_KEY=[secret] is not allowed"
    assert hide("image https://bob:hush42@nvcr.io/a is none") == "image https://[secret]@nvcr.io/a is none"
    assert hide("variable NVIDIA_VISIBLE_DEVICES=all is not allowed") == (
        "variable NVIDIA_VISIBLE_DEVICES=all is not allowed"
    )


@each_row(
    ("secrets", "shown"),
    [
        (["hush"], "image [secret]-1 of ml"),
        (["hush", "hush-1"], "image [secret] of ml"),
        (["ml"], "image hush-1 of ml"),  # two letters are no secret, as in the engine's own filter
        (["a.*z"], "image hush-1 of ml"),
        ([], "image hush-1 of ml"),
    ],
)
def test_what_is_long_enough_is_hidden_the_longest_first(secrets: list[str], shown: str) -> None:
    hide: Callable[[str], str] = hiding(secrets)
    assert hide("image hush-1 of ml") == shown
