"""Names of card generations, translated to their architectures: `RTX 20 series` is Turing.

Code that reads architectures in words then needs one form for both.
"""

from __future__ import annotations

import re
from functools import cache

from compat.evidence.prose.patterns import pattern

# First digits of the numbers of a series. An older `series` may be one of drivers, so those need the brand.
_OF_SERIES = {
    "9": "maxwell",
    "10": "pascal",
    "16": "turing",
    "20": "turing",
    "30": "ampere",
    "40": "ada",
    "50": "blackwell",
}
_OF_OLD_SERIES = {"4": "fermi", "5": "fermi", "6": "kepler", "7": "kepler"}
_MAY_SAY = pattern(r"series|[1-5]0?x[x0]\b|\b[1-5]0xx|9xx|16xx|\brtx[- ](?:card|gpu)|lovelace")


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    brand = r"(?:(?:nvidia|geforce|[rg]tx)[\s-]*)*"
    number = r"(?:(?P<{0}>10|16|20|30|40|50)(?:00|xx|x0)?|(?P<{0}9>9)(?:00|xx))"
    alone = rf"(?<![\w.]){brand}{number.format('first')}(?:[\s-]*series|(?<=x[x0])s?)(?!\w)"
    pair = (
        rf"(?<![\w.])(?:{brand}){number.format('first')}(?:[\s-]*series)?-?\s*(?P<between>and|or|/|,|&|to|through|-|\u2013)\s*"
        rf"(?={brand}{number.format('second')}(?:[\s-]*series|(?<=x[x0])s?)(?!\w))"
    )
    old = r"(?<![\w.])(?:nvidia |geforce |gtx )+(?P<old>[4-7])(?:00|xx)[\s-]*series(?!\w)"
    return re.compile(pair), re.compile(alone), re.compile(old)


_OF_CUDA = pattern(r"\b(?:cuda|driver|branch|version)\W*$")
_ANY_RTX = pattern(r"\b(?:an? |only )?rtx[- ](?:cards?|gpus?)(?: only)?\b(?! \d)")


def in_generations(plain: str) -> str:
    """A text in lower case with names of architectures instead of those of series."""
    if _MAY_SAY.search(plain) is None:
        return plain
    pair, alone, old = _forms()
    plain = pair.sub(lambda found: _named(plain, found, f" {found['between']} "), plain)
    plain = alone.sub(lambda found: _named(plain, found, ""), plain)
    plain = old.sub(lambda found: _OF_OLD_SERIES[found["old"]], plain)
    plain = re.sub(r"\bada[\s-]lovelace\b|\blovelace\b", "ada", plain)
    if re.search(r"\b(?:needs?|requires?|only|must)\b", plain):
        plain = _ANY_RTX.sub("turing and newer", plain)
    return plain


def _named(text: str, found: re.Match[str], after: str) -> str:
    if _OF_CUDA.search(text[: found.start()]):
        return found[0]
    return _OF_SERIES[found["first"] or found["first9"]] + after
