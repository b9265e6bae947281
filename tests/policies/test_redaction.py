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


def test_texts_and_numbers_inside_of_a_secret_are_its_words_and_keys_are_not() -> None:
    assert words({"a": secret({"key": ["hush!", 4711, True, None]}), "b": "plain"}) == {"hush!", "4711"}


def test_an_image_is_known_by_more_names_than_its_text() -> None:
    assert words({"image": secret("team/hush:1")}) == {"team/hush:1", "docker.io/team/hush:1", "team/hush", "hush"}


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
