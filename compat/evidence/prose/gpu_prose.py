"""GPU names among other words: a count, a machine, a board partner's words, another GPU beside it.

`names.py` reads a text that is only a name; this module reads what people write to describe a machine. A word that
could tell one model from another is never passed over: `GTX 1080 Super` stays unread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from compat.evidence.prose.patterns import pattern
from compat.facts.rows import GpuModel

Find = Callable[[str], tuple[GpuModel, ...]]
"""Models of a text that is a name; empty where it is none."""

_LONGEST_NAME = 8  # words: NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition
_BETWEEN = pattern(r"[\s,;+&|/()\[\]@:]+")
_COUNT = pattern(r"(?:\d{1,2}[x\u00d7*]|[x\u00d7*]\d{1,2})|[x\u00d7*]")
_COUNTED = pattern(r"^\d{1,2}[x\u00d7*](?=[a-z0-9]{2})")
_PLURAL = pattern(r"(?<=\d{4})s$")
_PLURAL_TI = pattern(r"(?<=ti)s$")
# Words on the machine around the card, where the name is complete without them: a laptop's GTX 1060 is the same chip.
_OF_THE_MACHINE = frozenset({"laptop", "notebook", "mobile"})
_WHOLE_WITHOUT = pattern(r"\d{4}|\dm\b|\bmx ?\d{3}")
_SIZE = pattern(r"\d+(?:\.\d+)?[-\s]?(?:gb|gib|g|mb|mib|vram|w)", re.ASCII)
_NUMBER = pattern(r"\d+(?:\.\d+)*", re.ASCII)
_TELLS = pattern(
    r"(?:tesla|quadro|[gr]tx|gts?|titan|jetson|ti|super|xp|black|fermi|kepler|maxwell|pascal|volta|turing|ampere|ada|hopper|blackwell|pro|max|mobile|laptop|notebook|tis?|[a-z]{0,3}\d{2,}[a-z]{0,2})",
    re.ASCII,
)
_CHIP = pattern(r"(?:g[fkmpv]|tu|ga|ad|gh|gb)\d[\dab][\db][a-z]{0,3}(?:-\d{3}\S*)?", re.ASCII)  # GA104, TU106-400
_SIZED = pattern(r"(?<=\d)\s+(?=(?:gb|gib|mb|mib)\b)")
_LINES = pattern(r"(?:gaming (?:x|z)\b|[23]x\b(?=\s*(?:oc|gaming|ventus|eagle))|ventus [23]x\b)")
# Computers with a number, and hosts with a word of a GPU's name: Dell R720, ASUS Ascent GX10, Colab Pro.
_MACHINES = pattern(
    r"\b(?:dell|hpe?|lenovo|supermicro|acer|inspur|asus(?= ascent))\s+"
    r"(?:(?:poweredge|proliant|precision|thinkpad|thinkstation|thinksystem|legion|xps|latitude|alienware|ascent|omen|zbook"
    r"|apollo|predator|nitro|inspiron|vostro)\s+)*(?!rtx|gtx|gt\d|mx\d)[a-z]{0,4}-?\d{1,5}[a-z]{0,3}\b"
    r"|\bcolab(?: pro\b\+?)?"
)


def models_in(text: str, find: Find) -> tuple[GpuModel, ...]:
    """Models that a description names: those that fit all its names, or else each of several GPUs. Empty: none."""
    plain = _LINES.sub(" ", _SIZED.sub("", _MACHINES.sub(" ", text.lower().replace("gpus", " "))))
    if "standard_" in plain:  # Azure: Standard_NC24ads_A100_v4
        plain = plain.replace("_", " ")
    tokens = [word for token in _BETWEEN.split(plain) if (word := _COUNTED.sub("", token.strip(".'\"")))]
    names, rest = _names(tokens, find)
    if _WHOLE_WITHOUT.search(plain):
        rest = [word for word in rest if word not in _OF_THE_MACHINE]
    chips = {word.upper()[:5] for word in rest if _CHIP.fullmatch(word)}
    names = [_with_chip(each, chips) for each in names]
    rest = [word for word in rest if not _CHIP.fullmatch(word)]
    families = {model.family for each in names for model in each}
    if not all(names) or not names or any(_could_tell(word) for word in rest if word not in families):
        return ()
    fitting = tuple(model for model in names[0] if all(model in each for each in names))
    found = fitting or tuple(dict.fromkeys(model for each in names for model in each))
    named_families = families & {*rest}
    return tuple(model for model in found if not named_families or model.family in named_families)


def _with_chip(models: tuple[GpuModel, ...], chips: set[str]) -> tuple[GpuModel, ...]:
    """The models that are made with such a chip, or else those whose chip is not known."""
    if not chips:
        return models
    made_with = tuple(each for each in models if chips & {chip[:5] for chip in each.chips})
    return made_with or tuple(each for each in models if not each.chips)


def _names(tokens: list[str], find: Find) -> tuple[list[tuple[GpuModel, ...]], list[str]]:
    """The names among the words, each as long as it can be, and the words that are left."""
    found: list[tuple[GpuModel, ...]] = []
    rest: list[str] = []
    start = 0
    while start < len(tokens):
        for text, end in _windows(tokens, start):
            if models := find(text):
                found.append(models)
                start = end
                break
        else:
            rest.append(tokens[start])
            start += 1
    return found, rest


def _windows(tokens: list[str], start: int) -> Iterator[tuple[str, int]]:
    for end in range(min(len(tokens), start + _LONGEST_NAME), start, -1):
        text = " ".join(tokens[start:end])
        if re.search(r"\d{2}|[a-z]\d|titan|jetson|xavier|orin|thor", text) and not _SIZE.fullmatch(text):
            yield text, end
            if _PLURAL.search(text):
                yield _PLURAL.sub(" super", text), end
                yield _PLURAL.sub("", text), end
            if _PLURAL_TI.search(text):
                yield _PLURAL_TI.sub("", text), end


def _could_tell(word: str) -> bool:
    """Could it be part of a model's name? Sizes, small numbers and words such as `founders` could not."""
    if _SIZE.fullmatch(word) or _COUNT.fullmatch(word):
        return False
    if _NUMBER.fullmatch(word):
        return len(word) > 2 and "." not in word
    return _TELLS.fullmatch(word) is not None
