"""Reads a component's plain arguments one by one and collects everything that is wrong with them. Pure."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from messages.problems import Problem, SettingsError, nearest, show

T = TypeVar("T")

URL = re.compile(r"https?://[^\s/]+\S*")
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class _Want:
    """What a reader accepts, and what it says when it does not get it."""

    fits: Callable[[Any], bool]
    reason: str
    fix: str


@dataclass(slots=True)
class Arguments:
    """One mapping of arguments. Each reader returns a value of its type; a wrong one is noted and replaced.

    The replacement only lets reading go on, so that all problems are found at once: `close` the outermost mapping
    before the values are used.
    """

    values: Mapping[str, Any]
    path: str
    owner: str
    """Whose arguments these are, at the head of the message: NotebookHub datahub."""
    problems: list[Problem] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    def has(self, key: str) -> bool:
        """True if the key has a value; None, which other languages send for a missing one, is none."""
        self.known.add(key)
        return self.values.get(key) is not None

    def note(self, key: str, reason: str, fix: str) -> None:
        """Records a problem with the value of a key, as given."""
        value = show(self.values[key], (key,)) if self.has(key) else ""
        self._add(key, value, reason, fix)

    def text(self, key: str, default: str | None = None) -> str:
        """Text that is not empty. A missing key without default is a problem."""
        return self._read(key, default, "", _Want(_is_text, "is not text", "write some text"))

    def name(self, key: str, default: str | None = None) -> str:
        """A DNS label, as Kubernetes wants for names."""
        want = _Want(
            lambda v: isinstance(v, str) and DNS_LABEL.fullmatch(v) is not None,
            "is not a name for Kubernetes",
            "use lower-case letters, digits and inner hyphens, 63 characters at most",
        )
        return self._read(key, default, "invalid", want)

    def url(self, key: str, default: str | None = None) -> str:
        """An http or https URL."""
        want = _Want(
            lambda v: isinstance(v, str) and URL.fullmatch(v) is not None,
            "is not a URL",
            "write it in full, such as https://login.example.edu/authorize",
        )
        return self._read(key, default, "http://invalid", want)

    def day(self, key: str) -> str:
        """A date as text, YYYY-MM-DD: such texts have the order of their days. Empty when missing or wrong."""

        def fits(value: object) -> bool:
            if not isinstance(value, str) or len(value) != len("2020-10-01"):
                return False
            try:
                dt.date.fromisoformat(value)
            except ValueError:
                return False
            return True

        return self._read(key, "", "", _Want(fits, "is not a day", 'write YYYY-MM-DD, quoted: "2020-10-01"'))

    def whole(self, key: str, default: int | None = None, *, least: int = 0, most: int | None = None) -> int:
        """A whole number. 3.0 counts: hosted components receive every number as a float."""
        limits = f"{least} or more" if most is None else f"{least} to {most}"
        want = _Want(
            lambda v: _is_number(v) and v == int(v) and least <= v and (most is None or v <= most),
            "is not a whole number in range",
            f"use {limits}",
        )
        return int(self._read(key, default, least, want))

    def amount(self, key: str, default: float | None = None, *, none_is_fine: bool = False) -> float:
        """A number above 0, such as cores or GiB; or also 0."""
        want = _Want(
            lambda v: _is_number(v) and (v > 0 or (none_is_fine and v == 0)),
            "is not an amount",
            "use 0 or a number above it" if none_is_fine else "use a number above 0",
        )
        number = self._read(key, default, 1.0, want)
        # So that 4 of a Python stack and 4.0 of a hosted one are written the same.
        return int(number) if number == int(number) else number

    def claim(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        want = _Want(lambda v: isinstance(v, bool), "is not true or false", "use true or false")
        return self._read(key, default, default, want)

    def choice(self, key: str, allowed: Sequence[str], default: str | None = None) -> str:
        """One word of a few."""
        want = _Want(lambda v: v in allowed, "is not a choice", f"use {_either(allowed)}")
        return self._read(key, default, allowed[0], want)

    def texts(self, key: str) -> tuple[str, ...]:
        """Texts in the order given; empty when missing."""

        def fits(value: object) -> bool:
            return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_text, value))

        want = _Want(fits, "is not a list of texts", "write a list such as [ada, grace]")
        return tuple(self._read(key, (), (), want))

    def pairs(self, key: str) -> dict[str, str]:
        """Text to text, such as labels; empty when missing."""

        def fits(value: object) -> bool:
            return isinstance(value, Mapping) and all(_is_text(k) and isinstance(v, str) for k, v in value.items())

        want = _Want(fits, "is not a map of texts", "write texts, numbers in quotes too")
        return dict(self._read(key, {}, {}, want))

    def nested(self, key: str) -> Arguments:
        """Arguments inside this one; an empty set when missing."""
        value = self.values.get(key) if self.has(key) else {}
        if not isinstance(value, Mapping):
            # The value is not repeated: it may be a secret that was written where a reference belongs.
            self._add(key, "a plain value", "is not enough", "write its keys")
            value = {}
        return Arguments(value, f"{self.path}.{key}", self.owner, self.problems)

    def each(self, key: str, default: Sequence[Mapping[str, Any]] = ()) -> list[Arguments]:
        """A list of arguments; empty when missing."""

        def fits(value: object) -> bool:
            is_list = isinstance(value, Sequence) and not isinstance(value, str)
            return is_list and all(isinstance(item, Mapping) for item in value)  # type: ignore[attr-defined]

        want = _Want(fits, "is not a list of argument sets", "write a list, each entry with its keys")
        items = self._read(key, default, (), want)
        return [
            Arguments(item, f"{self.path}.{key}[{index}]", self.owner, self.problems)
            for index, item in enumerate(items)
        ]

    def flowing(self, key: str) -> Any:
        """A value that may be another resource's output: only its absence can be seen here."""
        if not self.has(key) or self.values[key] == "":
            self._add(key, "", "is missing", "give an image by digest, such as the `ref` of a GpuImage")
        return self.values.get(key)

    def refuse_unknown(self) -> None:
        """Notes every key that nobody has asked for, with the nearest known one."""
        for key in self.values:
            if key not in self.known:
                self._add(key, "", "is an unknown argument", nearest(key, self.known, what="argument"))

    def close(self) -> None:
        """Raises SettingsError if anything was wrong here or in what was read from here."""
        if self.problems:
            raise SettingsError(self.problems)

    def _add(self, key: str, value: str, reason: str, fix: str) -> None:
        self.problems.append(Problem(f"{self.path}.{key}", value, reason, fix, file=self.owner))

    def _read(self, key: str, default: T | None, instead: T, want: _Want) -> T:
        if not self.has(key):
            if default is None:
                self._add(key, "", "is missing", want.fix)
                return instead
            return default
        value: T = self.values[key]
        if want.fits(value):
            return value
        self.note(key, want.reason, want.fix)
        return instead


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _either(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
