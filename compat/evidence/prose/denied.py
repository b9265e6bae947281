"""Does a text name a thing as there, or does it deny it: `no FP8`, `switched from TCC to WDDM`, `OpenCL is unused`?"""

from __future__ import annotations

import re

from compat.evidence.prose.patterns import pattern

_NEAR = 80  # characters of the clause around the name
_NOT = r"(?:not|never|no longer|cannot|[a-z]{1,9}n['\u2019]t)"
_LINKS = (
    r"(?:the|an?|any|even|yet|in|on|by|with|of|for|to|use|used|using|need|needs|needed|require|requires|support"
    r"|supported|enabled|built|compiled|set|older|newer)"
)
_BEFORE = pattern(
    rf"(?:\bnon-|\b(?:{_NOT}|no|without|nor|neither|instead of|rather than|unlike)(?: {_LINKS}){{0,4}} "
    r"|\b(?:switched|switching|changed|moved|moving|converted|upgraded|updated|migrated) from (?:the )?"
    r"|\b(?:(?:switched|turned) off|disabl(?:es?|ed|ing)|left|dropped|removed|replac(?:es|ed|ing)|avoids?|ignores?) "
    r"(?:the )?)['\"`]?$",
    re.IGNORECASE,
)
_AFTER = pattern(
    r"^['\"`)]?(?:[ =:](?:mode|model|support|backend|build|release|checkpoint|engine|weights|version|path|code|denoiser"
    r"|option|the|path|on|in|is|was|are|were|can|could|be|been|has|=|:)){0,5}[ =:]"
    rf"(?:{_NOT} (?:in use|used|needed|required|enabled|built|compiled|installed|available|active|selected|supported"
    r"|set|on|there|present)|(?:is|was|are)n['\u2019]t|(?:turned |switched )?off|disabled|unused|optional|unsupported"
    r"|unavailable|skipped|ignored|removed|replaced|dropped|before|previously|formerly|to (?:wddm|wsl)"
    r"|(?:cast|converted|changed|switched) to)\b",
    re.IGNORECASE,
)
_ELSEWHERE = pattern(
    r"^[^;,.]{0,60}\bon (?:another|the other|a different|other) (?:machine|host|node|gpu|card|box|server)s?\b",
    re.IGNORECASE,
)
_CLAUSE_STARTS = pattern(r"[;,(]|\.\s")


def affirmed(text: str, words: re.Pattern[str]) -> re.Match[str] | None:
    """The first match of the words in a text that does not deny them in the same clause; None where there is none."""
    return next((found for found in words.finditer(text) if not _is_denied(text, found)), None)


def _is_denied(text: str, found: re.Match[str]) -> bool:
    before = _CLAUSE_STARTS.split(text[max(0, found.start() - _NEAR) : found.start()])[-1]
    after = text[found.end() : found.end() + _NEAR]
    return any(
        form.search(part) is not None for form, part in ((_BEFORE, before), (_AFTER, after), (_ELSEWHERE, after))
    )
