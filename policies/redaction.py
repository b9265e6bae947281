"""Finds secrets in the engine's resources and removes them from messages.

The SDK unwraps secrets before a policy sees them, and the engine only redacts what the stack's
configuration encrypts. So they are read from the request itself. Rules still judge the values: a pod whose whole
spec became a secret must run too.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY

from errors.redaction.texts import without_secrets
from imaging.references import ImageReference

HIDDEN: Final = "[secret]"
# As in the engine's own filter: hiding every "a" protects nothing and makes text unreadable.
_SHORTEST: Final = 3


_BETWEEN: Final = re.compile(r"[\s,;=\"']+")
_PLAIN_WORD: Final = re.compile(r"[a-z]*")
_KEY_OF_A_SCHEMA: Final = re.compile(r"[a-z]+(?:[A-Z][a-z]*)*")


@dataclass(frozen=True, slots=True)
class Hiding:
    """Removes words from a text, all at once, longest first, and anything else that looks secret."""

    words: frozenset[str] = frozenset()

    def __call__(self, text: str) -> str:
        longest_first = sorted((re.escape(word) for word in self.words), key=lambda word: (-len(word), word))
        known = re.sub("|".join(longest_first), HIDDEN, text) if longest_first else text
        return without_secrets(known, HIDDEN)


def hiding(words: Collection[str]) -> Hiding:
    """Only for words long enough to hide."""
    return Hiding(frozenset(word for word in words if len(word) >= _SHORTEST))


def secret_words(properties: Struct) -> frozenset[str]:
    """Every text and number in a secret, however rules write it, and what they quote of it."""
    if SPECIAL_SECRET_SIG.encode() not in properties.SerializeToString():
        return frozenset()  # as for nearly every resource
    return frozenset(_words(MessageToDict(properties), is_secret=False))


def _words(value: Any, *, is_secret: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        is_secret = is_secret or value.get(SPECIAL_SIG_KEY) == SPECIAL_SECRET_SIG
        for key, inner in value.items():
            if key != SPECIAL_SIG_KEY:
                if is_secret and not _KEY_OF_A_SCHEMA.fullmatch(key):
                    yield key
                yield from _words(inner, is_secret=is_secret)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner, is_secret=is_secret)
    elif is_secret and isinstance(value, str):
        yield from _of_text(value)
    elif is_secret and isinstance(value, int | float) and not isinstance(value, bool):
        whole = int(value) if float(value).is_integer() else value
        yield from (str(whole), str(float(value)), f"{value:g}", f"{whole:,}")


def _of_text(text: str) -> Iterator[str]:
    yield from (text, *text.split(","))  # image names are a list in one annotation
    for part in _BETWEEN.split(text):  # words of a command
        if not _PLAIN_WORD.fullmatch(part):
            yield part
            yield from _names(part)


def _names(text: str) -> Iterator[str]:
    """An image's names in messages."""
    try:
        reference = ImageReference.parse(text)
    except ValueError:
        return
    yield from (str(reference), reference.repository, reference.repository.rpartition("/")[2])
