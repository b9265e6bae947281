"""A case from a mapping, such as a line of a batch."""

from collections.abc import Mapping
from typing import Any, Final

from compat import Case, CaseError
from compat.evidence.case import FIELDS, Problem

_LONGEST: Final = 4000  # the most characters in one field
_KNOWN: Final = frozenset(FIELDS)


def case_from(given: Mapping[str, Any]) -> Case:
    """A case from a mapping such as a JSON object; raises CaseError for unknown fields and wrong kinds of values."""
    problems: list[Problem] = []
    texts: dict[str, str] = {}
    for name, value in given.items():
        if type(value) is str and name in _KNOWN and len(value) <= _LONGEST:
            texts[name] = value.strip()
            continue
        if name not in _KNOWN:
            problems.append(Problem(str(name)[:80], "", "is not a field of a case", f"fields are {', '.join(FIELDS)}"))
            continue
        try:
            texts[name] = _text(name, value)
        except ValueError as error:
            problems.append(Problem(name, str(value)[:80], str(error), ""))
    if problems:
        raise CaseError(problems)
    return Case(**texts)


def _text(name: str, value: Any) -> str:  # noqa: C901, PLR0911
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _LONGEST:
            raise ValueError(f"is longer than {_LONGEST} characters")
        return text
    if value is None:
        return ""
    if isinstance(value, bool):
        if name == "cuda_compat":
            return "yes" if value else "no"
        if name == "ptx" and not value:
            return "none"
        raise ValueError("is true or false; write text")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if name == "driver" and len(str(value).partition(".")[2]) == 1:
            raise ValueError(f'is a number, and 470.10 would read as 470.1; quote it: "{value}"')
        return str(value)
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return ";".join(str(each) for each in value) or ("none" if name in {"sm_list", "ptx", "compressed"} else "")
    if isinstance(value, dict) and name == "env":
        return ";".join(f"{key}={each}" for key, each in value.items())
    raise ValueError("is neither text nor a number")
