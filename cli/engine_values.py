"""Shows the engine's values to people: no secrets, no engine markers for unknown values.

The comment on a pull request and the lab's progress of an update use it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from errors import problems
from errors.problems import listing, path_text
from errors.redaction import texts as texts_of_all
from errors.redaction.names import is_in_secret, is_secret_content

Loc = problems.Loc
K = TypeVar("K")
V = TypeVar("V")

HIDDEN: Final = texts_of_all.HIDDEN
LATER: Final = "(known after the update)"
_SECRET: Final = "[secret]"  # noqa: S105 - the engine's placeholder for one
SIGNATURE_KEY: Final = "4dabf18193072939515e22adb298388d"  # of special values: secrets, assets, references
SECRET_SIGNATURE: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the mark of a secret, not one
# Markers for unknown values, by kind; they are part of Pulumi's protocol.
UNKNOWN_SENTINELS: Final = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # bool
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",  # string
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)
# Longer than any key, so that a key at the end of shown text is whole; scanning more would take seconds.
LONGEST_TEXT: Final = 100_000
_LONGEST_KNOWN: Final = 10_000
_LONGEST: Final = 160
_LONGEST_NAME: Final = 90
_MOST_NAMES: Final = 6


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def text(value: object) -> str:
    """The value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def known_text(value: object) -> str:
    """Text that may be shown: neither secret nor unknown. No name is as long as `_LONGEST_KNOWN`."""
    return "" if is_unknown(value) or is_secret(value) else without_secrets(elided(text(value), _LONGEST_KNOWN))


def texts(value: object) -> tuple[str, ...]:
    """The texts of a list."""
    return tuple(text for each in value if (text := known_text(each))) if isinstance(value, list | tuple) else ()


def whole(value: object) -> int | None:
    """A whole number, even if sent as 3.0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 2**53:  # noqa: PLR0124
        return None
    return int(value)


def items(value: object) -> Iterator[Mapping[str, Any]]:
    """The mappings of a list."""
    if isinstance(value, list | tuple):
        yield from (each for each in value if isinstance(each, Mapping))


def is_unknown(value: object) -> bool:
    return isinstance(value, str) and value in UNKNOWN_SENTINELS


def has_unknown(value: object) -> bool:
    """Is part of it not known yet?"""
    if isinstance(value, Mapping):
        return any(map(has_unknown, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_unknown, value))
    return is_unknown(value)


def is_secret(value: object) -> bool:
    """The engine hides it."""
    if isinstance(value, str):
        return value == _SECRET
    return isinstance(value, Mapping) and (
        value.get("ciphertext") is not None or value.get(SIGNATURE_KEY) == SECRET_SIGNATURE
    )


def without_secrets(free_text: str) -> str:
    """Free text without anything that looks like a secret, and without its middle if too long to read."""
    return texts_of_all.without_secrets(elided(free_text, LONGEST_TEXT))


def words_without_secrets(words: Sequence[str]) -> tuple[str, ...]:
    """The same for a list of texts, which may be a command's arguments."""
    return texts_of_all.words_without_secrets([elided(word, LONGEST_TEXT) for word in words])


def shown(value: object, loc: Loc = (), *, longest: int = _LONGEST) -> str:
    """A value in one line, in JSON as in a stack file; a long one loses its middle and keeps its end."""
    if is_secret(value) or is_hidden(loc):
        return HIDDEN
    if is_unknown(value):
        return LATER
    if isinstance(value, Mapping | list | tuple):
        value = json.dumps(_plain(value, loc), ensure_ascii=False)
    elif isinstance(value, str):
        value = json.dumps(without_secrets(value), ensure_ascii=False)
    else:
        value = json.dumps(value)
    return elided(value, longest)


def elided(line: str, longest: int) -> str:
    """A line; without its middle if too long."""
    if len(line) <= longest:
        return line
    half = (longest - 1) // 2
    return f"{line[: longest - 1 - half]}…{line[-half:]}"


def _plain(value: Any, loc: Loc) -> Any:
    """The value, with hidden and unknown parts marked."""
    if is_secret(value) or is_hidden(loc):
        return HIDDEN
    if is_unknown(value):
        return LATER
    if isinstance(value, Mapping):
        return {key: _plain(inner, _below(loc, value, None, key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        if value and all(isinstance(each, str) for each in value):
            return [*words_without_secrets([LATER if is_unknown(each) else each for each in value])]
        return [_plain(inner, (*loc, index)) for index, inner in enumerate(value)]
    return without_secrets(value) if isinstance(value, str) else value


class _Nothing:
    """The placeholder for a missing value."""


NOTHING: Final = _Nothing()


def differences(old: object, new: object, loc: Loc = ()) -> Iterator[tuple[Loc, object, object]]:
    """Values that differ, with their paths; NOTHING for a missing side.

    List items are matched by name, if each has its own. Equal parts are not descended into.
    """
    if old == new:
        return
    before, after = _inside(old), _inside(new)
    if before is None or after is None:
        yield from _sides(old, new, loc, is_leaf=before is None and after is None)
        return
    for key in dict.fromkeys([*before, *after]):
        yield from differences(before.get(key, NOTHING), after.get(key, NOTHING), _below(loc, old, new, key))


def _sides(old: object, new: object, loc: Loc, *, is_leaf: bool) -> Iterator[tuple[Loc, object, object]]:
    """Values on one side only, one by one; and two values without parts to compare."""
    if is_leaf:
        yield loc, old, new
        return
    yield from ((at, value, NOTHING) for at, value in leaves(old, loc) if old is not NOTHING)
    yield from ((at, NOTHING, value) for at, value in leaves(new, loc) if new is not NOTHING)


def _inside(value: object) -> dict[str | int, Any] | None:
    """Items of a mapping or of a list of mappings, by key, name or number; None for anything else."""
    if isinstance(value, Mapping):
        return None if is_secret(value) else {str(key): inner for key, inner in value.items()}
    if isinstance(value, list | tuple) and any(isinstance(each, Mapping | list | tuple) for each in value):
        names = [each.get("name") if isinstance(each, Mapping) else None for each in value]
        if all(isinstance(name, str) and name for name in names) and len(set(names)) == len(names):
            return dict(zip(map(str, names), value, strict=True))
        return dict(enumerate(value))
    return None


class _OfSecret(str):
    """A key in the data of a Kubernetes Secret, whatever its name."""

    __slots__ = ()


def _below(loc: Loc, old: object, new: object, key: str | int) -> Loc:
    """The path to a value. `{name: DB_PASSWORD, value: …}` is under its name."""
    sides = [each for each in (old, new) if isinstance(each, Mapping)]
    if key == "value":
        if any(is_in_secret((each["key"],)) for each in sides if isinstance(each.get("key"), str)):
            return (*loc, _OfSecret(key))
        names = (each.get("name") for each in sides)
        return (*loc, *(name for name in dict.fromkeys(names) if isinstance(name, str)), key)
    if key in {"data", "stringData"} and any(each.get("kind") == "Secret" for each in sides):
        return (*loc, _OfSecret(key))
    if any(is_secret_content(each, str(key)) for each in sides):
        return (*loc, _OfSecret(key))
    return (*loc, key)


def is_hidden(loc: Loc) -> bool:
    """Is the value there always hidden: by its name, or as data of a Secret?"""
    return any(isinstance(step, _OfSecret) for step in loc) or is_in_secret(loc)


def leaves(value: object, loc: Loc = ()) -> Iterator[tuple[Loc, object]]:
    """Every value with its path, as in `differences`."""
    inside = _inside(value)
    if inside:
        for key, inner in inside.items():
            yield from leaves(inner, _below(loc, value, None, key))
    elif loc:
        yield loc, value


def names_of(names: Sequence[str]) -> str:
    """A few of them, and how many more there are."""
    return listing([elided(without_secrets(name), _LONGEST_NAME) for name in names], most=_MOST_NAMES)


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Values by their keys, both in order."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def place(loc: Loc) -> str:
    """`profiles.rtx2080ti.memory_gib`"""
    return without_secrets(path_text(loc))
