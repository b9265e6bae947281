"""Parses the packages of an installation: requirements of pip, packages of conda."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from imaging.lint.recipe import Word


@dataclass(frozen=True, slots=True)
class Package:
    """One requested package. `version` is as written, without its operator; empty if none is requested."""

    name: str  # as its index spells it: canonical for PyPI
    word: Word
    version: str = ""
    is_pinned: bool = False  # to one version, or to a variable set elsewhere
    extras: frozenset[str] = frozenset()


def of_pip(words: Iterable[Word]) -> Iterator[Package]:
    for word in words:
        text = word.text.strip()
        if text.endswith(".whl") and (match := re.match(r"(?:.*/)?([A-Za-z0-9_.]+)-(\d[^-]*)-", text)):
            yield Package(canonical_name(match[1]), word, match[2].replace("%2B", "+"), is_pinned=True)
            continue
        if "$" in text:
            if match := re.match(r"([A-Za-z0-9][\w.-]*)(\[[^]]*\])?(===?|~=|@)", text):
                yield Package(canonical_name(match[1]), word, is_pinned=True, extras=_extras(match[2] or ""))
            continue
        if match := _COMMON.fullmatch(text):
            version = match[3] or ""
            yield Package(canonical_name(match[1]), word, version, bool(version), _extras(match[2] or ""))
        elif found := _requirement(word, text):
            yield found


# A bare name or one exact version: nearly all that people write. It needs no parser: the parser's import takes longer
# than all linting.
_COMMON: Final = re.compile(
    r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(\[[\w, .-]*\])?"
    r"(?:==(\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?))?",
    re.ASCII,
)


def _requirement(word: Word, text: str) -> Package | None:
    """Any PEP 508 requirement; None for a path, a URL, a word of the shell."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - see above

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    exact = [
        each
        for each in requirement.specifier
        if each.operator in {"==", "==="} or (each.operator == "~=" and each.version.count(".") > 1)
    ]
    return Package(
        canonical_name(requirement.name),
        word,
        exact[0].version if exact else "",
        is_pinned=bool(exact) or requirement.url is not None,
        extras=frozenset(requirement.extras),
    )


def canonical_name(name: str) -> str:
    """A name as PyPI spells it (PEP 503). `packaging.utils` has it too, but also loads wheel tags."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _extras(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.strip("[]").split(",") if part.strip())


def of_conda(words: Iterable[Word]) -> Iterator[Package]:
    for word in words:
        text = word.text.rpartition("::")[2].strip()
        match = re.fullmatch(r"([A-Za-z0-9_.-]+)\s*(?:(==|=|>=|<=|>|<|~=|!=)\s*([^=\s]+)(?:=.*)?|\[(.*)\])?", text)
        if match:
            in_brackets = re.search(r"version=['\"]?=*([\w.*]+)", match[4] or "")
            version = match[3] or (in_brackets[1] if in_brackets else "")
            yield Package(match[1].lower(), word, version, is_pinned=match[2] in {"=", "=="} or bool(in_brackets))
