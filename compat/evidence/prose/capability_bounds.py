"""The oldest and newest GPUs that a text gives for a build: `SM 5.x+`, `nothing below 6.0`, `kernels end at sm_90`.

Each form has the number of a capability, or the name of an architecture. A number counts only where a word says that it
is one: `sm_`, `capability`, `kernels`; that of a CUDA, a driver or a package never does.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from compat.evidence.prose.patterns import pattern
from compat.facts import tables
from compat.values.targets import TEGRA
from compat.values.versions import ComputeCapability

_KEPT = 4096
_READ = 400  # characters: what counts comes earlier, and a regular expression should not see more
_NUMBER = r"(?P<major>\d{1,2})(?:\.(?P<minor>\d|x)|(?P<packed>\d))[af]?(?!\.?\d)(?!\w)"
_OF = r"(?:sm|cc|compute(?:[\s_-]*capability)?|(?:cuda )?capability|capabilities)"
_GE = r"(?:>=|=>|\u2265|at least|(?:no|not) less than|a minimum of)"
_MUST_BE = r"(?:(?:must|should|ha[sd] to|have to|needs? to) be |of |is |with )"
_MARK = rf"(?:{_OF}[\s_:=(-]*{_MUST_BE}*(?:{_GE}\s*)?)"
_NOUN = (
    r"(?:targets?|arch(?:itectures?|s|es)?|kernels?|cubins?|(?:machine |device )?code|binar(?:y|ies)|sms?"
    r"|(?:cuda |compute )?capabilit(?:y|ies)|gpus?|cards?|devices?)"
)
_MORE = (
    r"(?:\s*\+(?!\s*(?:ptx|sm|compute|\d))|\s*(?:gpus?|cards?|devices?|architectures?)?\s*(?:and|or|&|/)\s*(?:newer|later|above|higher|up(?:wards?)?|better|beyond|greater|on)"
    r"|\s*(?:or|and) more recent|\s*(?:onwards?|upwards?|and on|up\b(?! to)|minimum))"
)
_NO = (
    r"\b(?:no|not|none|nothing|never|without|lack(?:s|ing)?|drop(?:s|ped|ping)?|remov(?:es|ed|ing)|exclud(?:es|ed|ing)|unsupported"
    r"|n['\u2019]t|cannot|ended|reject(?:s|ed)?|ignor(?:es|ed|ing)|skip(?:s|ped)?|refuse(?:s|d)?|anything|everything)\b"
)
_BELOW = r"(?:below|older than|lower than|less than|smaller than|earlier than|under|prior to|before|<)"
_ABOVE = r"(?:above|newer than|higher than|greater than|later than|beyond|past|over|>)"
_OTHERS = (
    r"\b(?:cuda(?! (?:compute )?capabilit)|toolkit|driver|torch|pytorch|python|version|cudnn|glibc|ubuntu"
    r"|nccl|release)\b"
)
_GAP = rf"(?:(?!{_OTHERS})[^.;,]){{0,48}}?"
_FILLER = (
    r"(?:\W+(?:and|maximum|minimum|supported|required|requires?|cuda|compute|capability|capabilities|target|targets|arch|architectures?"
    r"|gpu|gpus|sm|cc|of|is|are|be|the|by|this|that|library|version|pytorch|install(?:ation)?|build|wheel|value|level|listed"
    r"|included|was|at|set|to|for|it|compiled|device|kernels?|code|in|image|current|capable|with|has|has code|we"
    r"|they|supports?|have)){0,12}"
)


# Wordings of an oldest capability.
_LOWEST = (
    pattern(rf"\b{_MARK}{_NUMBER}{_MORE}"),
    pattern(rf"\b(?:{_OF}|{_NOUN})\b[\s:(]{{0,3}}{_MUST_BE}*{_GE}\s*(?:{_OF}[\s_]*)?{_NUMBER}"),
    pattern(rf"\b{_OF}[\s_:=(-]*(?:of |is )?\d{{1,2}}\.\d\)?\s*<\s*(?:required |the |minimum )*{_NUMBER}"),
    pattern(rf"\b(?:too old|insufficient)\b{_GAP}\b(?:needs?|requires?|minimum)\W+(?:is )?{_MARK}?{_NUMBER}"),
    pattern(
        rf"\b(?:at least|requires?|needs?|required|>=)\W+(?:a |an |of |for )?(?:gpus? (?:of |with )?"
        rf"|cards? (?:of |with )?"
        rf"|devices? (?:of |with )?)?{_MARK}{_NUMBER}"
    ),
    pattern(
        rf"\b(?:minimum|min\.?|lowest|oldest|smallest|minimal)\b{_FILLER}[\s:=(_-]+(?:sm_?|cc\s?|compute_)?{_NUMBER}"
    ),
    pattern(
        rf"\b{_NOUN}\b(?:\W+\w+){{0,2}}?\W+(?:start(?:s|ing|ed)?\W+(?:at|from|with|on)|begin(?:s|ning)?\W+(?:at|from|with)|from|at)\W+{_MARK}?{_NUMBER}"
        rf"(?:\W*(?:on(?:wards?)?|up(?:wards?)?(?! to)|and (?:newer|later|up|above|higher|on))\b)"
    ),
    pattern(
        rf"\b{_NOUN}\b(?:\W+\w+){{0,2}}?\W+(?:start(?:s|ing|ed)?\W+(?:at|from|with|on)|begin(?:s|ning)?\W+(?:at"
        rf"|from|with))\W+{_MARK}?{_NUMBER}(?! (?:to|through|\.\.))"
    ),
    pattern(rf"\bfrom\W+{_MARK}{_NUMBER}\W*(?:on(?:wards?)?|up(?:wards?)?(?! to))\b"),
    pattern(rf"{_NO}{_GAP}\b{_BELOW}\s*(?:the )?{_MARK}{_NUMBER}"),
    pattern(rf"{_NO}{_GAP}\b{_NOUN}\W+{_BELOW}\s*(?:the )?{_NUMBER}"),
    pattern(
        rf"\b(?:start(?:s|ing|ed)?|begin(?:s|ning)?)\W+(?:at|from|with)\W+{_MARK}{_NUMBER}(?! (?:to|through|\.\.))"
    ),
    pattern(
        rf"\b(?:{_NOUN}\s+)(?:that (?:are|is) |of |with )?{_BELOW}\s*(?:the )?{_MARK}?{_NUMBER}\W+(?:is|are|was"
        rf"|were|has|have|been|no longer|\s)*\s*"
        r"(?:unsupported|not |dropped|removed|left out|missing|rejected|refused|ignored|excluded|supported no)"
    ),
    pattern(rf"\b{_MARK}{_NUMBER}\W+(?:is |as |being )?(?:the |its )?(?:minimum|lowest|oldest|smallest)\b"),
)


# The bound itself is not among them.
_ABOVE_IT = pattern(rf"(?P<lead>[^.;,]{{0,60}})\b{_ABOVE}\s*(?:the )?{_MARK}{_NUMBER}")
_AND_OLDER = r"\W+(?:(?:gpus?|cards?)\W+)?(?:and|or|&|/)\W*(?:all )?(?:older|earlier|below|lower|before|previous)\b"
_UNSUPPORTED = (
    r"(?:\W+(?:gpus?|cards?|devices?|chips?|hardware|generations?|ones?|arch\w*|support|is|are|was|were|has|have|been|be|will)){0,5}"
    r"\W+(?:unsupported|not |no longer|dropped|removed|left out|missing|rejected|refused|ignored|excluded|cannot"
    r"|fails?\b|too old)"
)


@cache
def _last_left_out() -> tuple[re.Pattern[str], ...]:
    """Wordings of the newest one that is left out: `Pascal and older are not supported`."""
    name = rf"(?P<name>{'|'.join(map(re.escape, families()))})"
    return (
        re.compile(rf"\b{name}{_AND_OLDER}{_UNSUPPORTED}"),
        re.compile(rf"{_NO}{_GAP}\b{name}{_AND_OLDER}"),
        re.compile(rf"\b{_MARK}{_NUMBER}{_AND_OLDER}{_UNSUPPORTED}"),
        re.compile(rf"{_NO}{_GAP}\b{_MARK}{_NUMBER}{_AND_OLDER}"),
    )


def _next_after(capability: ComputeCapability) -> ComputeCapability | None:
    return min((each for each in tables.architectures() if each > capability), default=None)


# Wordings of a newest one.
_HIGHEST = (
    pattern(
        rf"\b{_NOUN}\b{_GAP}\b(?:end(?:s|ing|ed)?(?:\W+(?:at|with|by|on))|stop(?:s|ping|ped)?(?:\W+(?:at|with"
        rf"|by|after))|only (?:up )?to|up to|until"
        rf"|(?:go(?:es)?|reach(?:es)?|extends?)(?:\W+(?:only|just|up))?\W+(?:to"
        rf"|as far as))\W+(?:and including )?{_MARK}?{_NUMBER}"
    ),
    pattern(rf"\b(?:up to|until|end(?:s|ing)?\W+at|stop(?:s|ping)?\W+at)\W+{_MARK}{_NUMBER}"),
    pattern(rf"\b(?:maximum|max\.?|highest|newest|largest)(?: is)?[\s:=(]+(?:sm_?|cc\s?|compute_){_NUMBER}"),
    pattern(
        rf"\b(?:maximum|max\.?|highest|newest)\W+{_FILLER}(?:target|arch\w*|capabilit\w+)\b{_FILLER}[\s:=(_-]+{_NUMBER}"
    ),
    pattern(rf"{_NO}{_GAP}\b{_ABOVE}\s*(?:the )?{_MARK}{_NUMBER}"),
    pattern(rf"{_NO}{_GAP}\b{_NOUN}\W+{_ABOVE}\s*(?:the )?{_NUMBER}"),
    pattern(rf"\bno(?:thing)? (?:newer|higher|later) than\s*(?:the )?{_MARK}{_NUMBER}"),
    pattern(
        rf"\b{_MARK}{_NUMBER}\W+(?:is |as |being )?(?:the |its )?(?:maximum|highest|newest|last) (?:target"
        rf"|arch\w*|one|capab\w*)"
    ),
)


# Words that each of the forms contains: other texts are not searched.
_MAY_SAY = pattern(
    r"\+|\b(?:newer|later|above|higher|up|upwards?|better|beyond|greater|on|onwards?|recent|least|requires?|required|needs?"
    r"|minimum|minimal|min|lowest|oldest|smallest|start\w*|begin\w*|below|older|lower|less|smaller|earlier|under|prior|before"
    r"|past|over|through|to|old|pre)\b|>|<|\u2265|\bpre-"
)
_MAY_SAY_NEWEST = pattern(
    r"\b(?:end\w*|stop\w*|up to|to|until|go|goes|reach\w*|extends?|maximum|max|highest|newest|latest|last"
    r"|largest|above|newer|before|through|predat\w+"
    r"|higher|greater|later|beyond|past|over)\b|>"
)


@cache
def families() -> dict[str, tuple[ComputeCapability, ...]]:
    """Capabilities of each architecture, the oldest first."""
    found: dict[str, tuple[ComputeCapability, ...]] = {}
    for arch in sorted(tables.architectures().values(), key=lambda each: each.capability):
        if arch.name == "Tesla":
            continue  # a brand as well
        found[arch.name.lower()] = (*found.get(arch.name.lower(), ()), arch.capability)
    return found


@cache
def _by_name() -> tuple[tuple[re.Pattern[str], ...], tuple[re.Pattern[str], ...]]:
    """The same two with names: `Turing and newer`, `nothing before Volta`; `up to Ada`, `nothing newer than Hopper`."""
    names = "|".join(map(re.escape, families()))
    name, to = rf"(?P<name>{names})", r"\s*(?:to|through|thru|till|up to|\.\.+|-|\u2013|\u2014)\s*"
    lowest = (
        rf"\b{name}{_MORE}",
        rf"\b(?:minimum|at least|requires?|needs?)\s+(?:an? )?{name}\b",
        (
            rf"\b(?:minimum|min|lowest|oldest)\b(?:\W+(?:supported|required|nvidia|cuda|gpus?|cards?|arch\w*|generations?|targets?|is|are"
            rf"|an?|the|of|to|be|one|that|it|supports?|runs|on)){{0,8}}\W+{name}\b"
        ),
        rf"{_NO}{_GAP}\b(?:{_BELOW}|pre-?)\s*{name}\b",
        rf"\b(?:{_BELOW}\s+(?:the )?|pre-?\s?){name}\b{_UNSUPPORTED}",
        rf"\b{_NOUN}\W+(?:start(?:s|ing)?|begin(?:s|ning)?)\W+(?:at|from|with)\W+{name}\b",
        rf"\b{name}{to}(?:{names})\b",
    )
    highest = (
        (
            rf"\b(?:end(?:s|ing)?\W+(?:at|with)|stop(?:s|ping)?\W+(?:at|with)|up to|until"
            rf"|no newer than)\W+(?:and including )?(?:the )?{name}\b"
        ),
        rf"{_NO}{_GAP}\b{_ABOVE}\s*{name}\b",
        rf"\b(?:newest|latest|last|highest)\W+(?:architecture|arch|generation|target|gpus?)\W+(?:\w+\W+){{0,3}}?{name}\b",
        rf"\b(?:{names}){to}{name}\b",
    )
    return tuple(map(re.compile, lowest)), tuple(map(re.compile, highest))


def _capability(found: re.Match[str]) -> ComputeCapability | None:
    number = found.groupdict()
    capability = ComputeCapability(
        int(number["major"]), int((number["minor"] or number["packed"] or "0").replace("x", "0"))
    )
    return capability if capability.major and (capability in tables.architectures() or number["minor"] == "x") else None


def _first(forms: tuple[re.Pattern[str], ...], plain: str) -> ComputeCapability | None:
    for form in forms:
        for match in form.finditer(plain):
            if (capability := _capability(match)) is not None:
                return capability
    return None


_MADE_BEFORE = (
    r"\b(?:predat(?:es|ed|ing)|(?:built|made|released|published|compiled|packaged|cut|from"
    r"|frozen)\W+(?:long )?before)\W+(?:the )?"
)


@cache
def _made_before() -> re.Pattern[str]:
    return re.compile(rf"{_MADE_BEFORE}(?P<name>{'|'.join(map(re.escape, families()))})\b")


def _newest_before(name: str) -> ComputeCapability | None:
    """The newest capability for a build that predates a generation; Tegra chips do not count."""
    return max(
        (each for each in tables.architectures() if each < families()[name][0] and each not in TEGRA), default=None
    )


@lru_cache(_KEPT)
def lowest_in(text: str) -> ComputeCapability | None:
    """The oldest capability that a text gives for a build: `SM 5.x+ only`, `Turing and newer`, `none below 6.0`."""
    plain = text.lower()[:_READ]
    if not _MAY_SAY.search(plain):
        return None
    if (found := _first(_LOWEST, plain)) is not None:
        return found
    for match in _ABOVE_IT.finditer(plain):
        if (bound := _capability(match)) is not None and not re.search(_NO, match["lead"]):
            return _next_after(bound)
    for form in _last_left_out():
        if (left_out := form.search(plain)) is not None:
            last = families()[left_out["name"]][-1] if "name" in form.groupindex else _capability(left_out)
            if last is not None:
                return _next_after(last)
    for form in _by_name()[0]:
        if named := form.search(plain):
            return families()[named["name"]][0]
    return None


@lru_cache(_KEPT)
def highest_in(text: str) -> ComputeCapability | None:
    """The newest one: `kernels end at sm_90`, `nothing newer than Ada`, `capability up to 8.6`."""
    plain = text.lower()[:_READ]
    if not _MAY_SAY_NEWEST.search(plain):
        return None
    if (found := _first(_HIGHEST, plain)) is not None:
        return found
    for form in _by_name()[1]:
        if named := form.search(plain):
            return families()[named["name"]][-1]
    before = _made_before().search(plain)
    return _newest_before(before["name"]) if before else None


def without_bounds(text: str) -> str:
    """The text without the words on a newest GPU, whose number is not a target itself."""
    if not _MAY_SAY_NEWEST.search(text.lower()):
        return text
    for form in _HIGHEST:
        text = form.sub(lambda found: " " if _capability(found) is not None else found[0], text)
    return text
