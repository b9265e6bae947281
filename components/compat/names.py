"""GPU names as people write them, and as GPU feature discovery labels them, to one model."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache

from components.compat.tables import GpuModel, gpu_models

# Said or left out at will; gtx and rtx are dropped too, but must not contradict the model.
_MAKERS = frozenset({"nvidia", "geforce", "tesla", "quadro", "graphics", "gpu"})
_SERIES = frozenset({"gtx", "rtx"})


class UnknownGpu(ValueError):  # noqa: N818 - reads as what it says: the GPU is unknown
    """No model, or more than one, has this name. `suggestions` are the nearest known names, best first."""

    def __init__(self, text: str, reason: str, suggestions: tuple[str, ...]) -> None:
        super().__init__(f'"{text}" {reason}' + (f"; nearest: {', '.join(suggestions)}" if suggestions else ""))
        self.text = text
        self.reason = reason
        self.suggestions = suggestions


def find_gpu(text: str) -> GpuModel:
    """The model that somebody means by `NVIDIA 1080 Ti`, `gtx1080ti` or the label `GeForce-GTX-1080-Ti`.

    Brand words may be missing, the order of the rest counts. Raises UnknownGpu for a name that fits
    no model (`GTX 1085`) or several (`V100` comes with two sizes and two sockets).
    """
    wanted = _words(text.strip().removesuffix("-SHARED"))  # what time slicing adds to the product label
    series = _SERIES & set(wanted)
    core = _core(wanted)
    if found := _by_core().get(core):
        if not series or series <= set(_words(found.name)):
            return found
        raise UnknownGpu(text, "is not a GPU model of the tables", (found.name,))
    longer = tuple(
        dict.fromkeys(model.name for words, model in _by_core().items() if core and words[: len(core)] == core)
    )
    if len(longer) > 1:
        raise UnknownGpu(text, "is more than one GPU model", longer[:4])
    # One longer name is another card (a GTX 1080 is no 1080 Ti), though a likely slip.
    raise UnknownGpu(text, "is not a GPU model of the tables", longer or _nearest(core))


def _words(text: str) -> tuple[str, ...]:
    # Letters and digits part where they meet (1080Ti, GTX1080): both sides of a comparison are cut alike.
    return tuple(re.findall(r"[a-z]+|\d+", text.lower()))


def _core(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _MAKERS | _SERIES)


@cache
def _by_core() -> dict[tuple[str, ...], GpuModel]:
    known = {}
    for model in gpu_models():
        for name in (model.name, model.gfd_product):
            known[_core(_words(name))] = model
    return known


def _nearest(core: tuple[str, ...], count: int = 3) -> tuple[str, ...]:
    wanted = " ".join(core)
    ranked = sorted(
        ((SequenceMatcher(None, wanted, " ".join(words)).ratio(), model.name) for words, model in _by_core().items()),
        key=lambda pair: (-pair[0], pair[1]),
    )
    near = dict.fromkeys(name for ratio, name in ranked if ratio >= 0.6)
    return tuple(near)[:count]
