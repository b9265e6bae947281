"""GPUs that the words of a build leave out by name or by age: `the K80 had just been dropped`, `older cards left out`.

`target_words.py` reads targets and generations; here it is models, `this card`, and `older cards`, which is a word
about the CUDA beside it.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from compat.evidence.prose.capability_bounds import families
from compat.evidence.prose.patterns import pattern
from compat.evidence.reading.names import models_named
from compat.facts import tables
from compat.values.targets import TEGRA
from compat.values.versions import ComputeCapability, CudaVersion

_KEPT = 4096
_READ = 400  # characters
_LONGEST_NAME = 5  # words
_ADVERB = r"(?:just|now|recently|already|also|therefore|silently|officially|explicitly|since|then|yet|itself)"
_BE = rf"(?:(?:is|are|was|were|has|have|had|been|being|be|gets?|got|{_ADVERB})\s+)+"
_GONE = r"(?:dropped|removed|left out|excluded|phased out|taken out|gone)"
_WITH_OLDER = pattern(r"drop|phased|no longer")  # a dropped GPU is the oldest that was left
_NOT_THERE = (
    r"(?:unsupported|too old|skipped|ignored|rejected|refused"
    r"|(?:no longer|not|never)\s+(?:yet\s+|officially\s+|any ?more\s+)?"
    r"(?:supported|included|built|covered|listed|compiled|usable|recogni[sz]ed|known|there|present|among))"
)
_NOT_LISTED = (
    r"(?:not|missing|absent)\s+(?:in|on|among|from|part of)\s+(?:the\s+|its\s+|their\s+"
    r"|that\s+)?(?:[\w-]+\s+){0,3}?lists?"
)
_NOUNS = pattern(
    r"\s+(?:support|code|kernels?|targets?|cards?|gpus?|boards?|devices?|series|generation|machine code|architecture)$"
)
_A_BOUND = pattern(r"\b(?:than|before|below|under|prior to|except|unlike|besides)\b")
_CARD = pattern(r"(?:the|this|that|its|my|their)\s+(?:\w+\s+)?(?:gpu|card|device|chip|board|graphics card)$")
_OLDER = r"(?:old(?:er|est)?|legacy|earlier)"
_THINGS = (
    r"(?:cards?|gpus?|architectures?|archs?|generations?|devices?|chips?|boards?|hardware|targets?"
    r"|compute capabilities)"
)
_MAY_BE_OLDER = pattern(r"\b(?:old|legacy|earlier)")
_FIRST_KEPT_BY_ALL = 8  # Ampere does not count as old yet
_OLDEST = 2  # majors that a toolkit still knows, of which `older` speaks


_IS_LEFT_OUT = pattern(
    rf"(?P<lead>[^.;,:]{{2,60}}?)\s+(?:{_BE}(?:(?P<gone>{_GONE}|no longer)|{_NOT_THERE})|(?:{_BE})?{_NOT_LISTED})\b"
)


_DROPS = pattern(
    r"\b(?:drop(?:s|ped|ping)?|remov(?:es|ed|ing)|exclud(?:es|ed|ing)|omit(?:s|ted|ting)|le(?:aves|aving|ft) out)"
    r"(?:\s+(?:the|for|all|any|support|code|kernels?|targets?|binar(?:y|ies)|of|nvidia))*\s+(?P<rest>[^.;,:]{2,40})"
)


_OLDER_OUT = pattern(
    rf"\b{_OLDER}\s+(?:\w+\s+)?{_THINGS}\s+(?:support\s+)?(?:{_BE})?(?:{_GONE}|{_NOT_THERE})\b"
    rf"|\b(?:drop(?:s|ped|ping)?|remov(?:es|ed|ing)|exclud(?:es|ed|ing)|omit(?:s|ted|ting)|le(?:aves|aving|ft) out"
    rf"|no (?:support|code|kernels?) for|without (?:support|code|kernels?) for|not (?:built|compiled) for)"
    rf"\s+(?:the\s+|support for\s+|code for\s+|all\s+|some\s+)*{_OLDER}\s+(?:\w+\s+)?{_THINGS}\b"
)


@lru_cache(_KEPT)
def denied_by_name(plain: str, capability: ComputeCapability) -> bool:
    """Does the text leave this GPU out, by its model or as `the card`? A dropped GPU takes older ones with it."""
    plain = plain[:_READ]
    for match in _IS_LEFT_OUT.finditer(plain):
        if _is_meant(match["lead"], capability, or_older=bool(_WITH_OLDER.search(match["gone"] or "")), at_end=True):
            return True
    return any(
        _is_meant(match["rest"], capability, or_older=bool(_WITH_OLDER.search(match[0])), at_end=False)
        for match in _DROPS.finditer(plain)
    )


def _is_meant(text: str, capability: ComputeCapability, *, or_older: bool, at_end: bool) -> bool:
    name = text.strip()
    if at_end and _A_BOUND.search(name):
        return False  # `older than the V100`: the V100 itself is left in
    while at_end and (shorter := _NOUNS.sub("", name)) != name and not _CARD.search(name):
        name = shorter
    if at_end and _CARD.search(name):
        return True
    named = _capabilities(name, at_end=at_end)
    if not named:
        return False
    is_older = or_older and capability < min(named) and not {capability, *named} & TEGRA
    return capability in named or is_older


def _capabilities(name: str, *, at_end: bool) -> frozenset[ComputeCapability]:
    """Capabilities of the model or generation at the end, or the start, of a text; none where it names none."""
    words = re.split(r"[\s()'\"`/]+", name)
    parts = range(min(_LONGEST_NAME, len(words)), 0, -1)
    for count in parts:
        part = " ".join(words[-count:] if at_end else words[:count])
        if of_family := families().get(part):
            return frozenset(of_family)
        if re.search(r"\d|titan|thor|orin|xavier", part) and (models := models_named(part)):
            found = frozenset(model.compute_capability for model in models)
            return found if len(found) == 1 else frozenset()
    return frozenset()


@lru_cache(_KEPT)
def leaves_older_out(text: str) -> bool:
    """Does the text leave `older cards` out, without a word on which?"""
    plain = text.lower()[:_READ]
    return _MAY_BE_OLDER.search(plain) is not None and _OLDER_OUT.search(plain) is not None


@cache
def is_old_for(capability: ComputeCapability, cuda: CudaVersion) -> bool:
    """Is a GPU of the two oldest generations that a toolkit still makes code for? Those are left out first."""
    known = {
        each.capability.major
        for each in tables.architectures().values()
        if each.first_cuda is not None
        and each.first_cuda <= cuda.line
        and (each.last_cuda is None or cuda.line <= each.last_cuda)
    }
    return capability.major < _FIRST_KEPT_BY_ALL and capability.major in {*sorted(known)[:_OLDEST]}
