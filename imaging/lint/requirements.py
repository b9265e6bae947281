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
    build: str = ""  # conda: the build string as written, `cuda*`
    url: str = ""  # where it comes from, if not from an index


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
        url=requirement.url or "",
    )


def canonical_name(name: str) -> str:
    """A name as PyPI spells it (PEP 503). `packaging.utils` has it too, but also loads wheel tags."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _extras(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.strip("[]").split(",") if part.strip())


# The three ways to write a spec: `name=1.2=build`, `name 1.2 build`, `name[version=1.2, build=b]`.
_CONDA: Final = re.compile(
    r"(?P<name>[A-Za-z0-9_.-]+)(?:\s*(?P<sign>[=<>!~]=?|\s)\s*(?P<version>[^=\s]+)(?:\s*[=\s]\s*(?P<build>\S+))?"
    r"|\s*\[(?P<keys>.*)\])?"
)
_KEY: Final = re.compile(r"""(version|build)\s*=\s*["']?([=<>!~]*)([^"',\]]*)""")


def of_conda(words: Iterable[Word]) -> Iterator[Package]:
    for word in words:
        match = _CONDA.fullmatch(word.text.rpartition("::")[2].strip())
        if match is None:
            continue
        sign, version, build = match["sign"] or "", match["version"] or "", match["build"] or ""
        for key, of_key, value in _KEY.findall(match["keys"] or ""):
            if key == "version":
                sign, version = of_key or "=", value
            else:
                build = value
        is_exact = sign.strip() in {"", "=", "=="} and not re.search(r"[|,<>]", version)
        is_pinned = bool(version) and version != "*" and is_exact
        yield Package(match["name"].lower(), word, version if version != "*" else "", is_pinned, build=build)
