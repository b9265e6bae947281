"""Regular expressions that are compiled when a text first meets them.

The engine reads many forms of words, and a single answer few of them: compiling all at each start of the command would
take longer than the answer.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _OnFirstUse:
    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)  # from now on it is found without this method
        return found


_ALL: list[_OnFirstUse] = []


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, with the same methods; a mistake in the text shows at its first use, and in a test."""
    made = _OnFirstUse(text, flags)
    _ALL.append(made)
    return cast("re.Pattern[str]", made)


def compiled() -> int:
    """Compile every pattern made so far, and return how many there are. Raises re.error for the first that is wrong."""
    for each in _ALL:
        each.search  # noqa: B018 - the attribute compiles it
    return len(_ALL)
