"""GPU names as people write them, and as drivers and GPU feature discovery report them, to models."""

from __future__ import annotations

import itertools
import re
from difflib import SequenceMatcher
from functools import cache, lru_cache

from components.compat.tables import GpuModel, by_key, gpu_models

# Said or left out at will; gtx and rtx are dropped too, but must not contradict the model.
_MAKERS = frozenset(
    {"nvidia", "geforce", "tesla", "quadro", "graphics", "gpu", "gpus", "card", "corporation", "tm", "r"}
)
_SERIES = frozenset({"gtx", "rtx"})
# How the same chip is sold: a name without them means any form, a name with unknown ones means the form we know.
_FORMS = frozenset(
    [
        "sxm",
        "sxm2",
        "sxm3",
        "sxm4",
        "sxm5",
        "sxm6",
        "pcie",
        "pci",
        "e",
        "gb",
        "gib",
        "g",
        "mib",
        "hbm",
        "hbm2",
        "hbm2e",
        "hbm3",
        "hbm3e",
        "nvl",
        "ddr",
        "gddr",
        "lhr",
        "s",
        "ac",
        "ts",
        "dgxs",
        "ls",
        "fhhl",
        "oem",
        "edition",
        "generation",
        "server",
        "workstation",
    ]
)
_PORTABLE = frozenset(["laptop", "mobile", "notebook", "max", "q", "with", "design", "m"])
_OTHER_MAKERS = re.compile(r"\b(amd|radeon|instinct|rx|mi\d{2,3}x?|intel|arc|gaudi\d?|tpu|apple)\b")
_MIG = re.compile(r"[\s-]*(?:mig[\s-]*)?(\d+g\.\d+gb(?:\+me)?)", re.IGNORECASE)
_COUNT = re.compile(r"^\s*\d{1,2}\s*[x\u00d7*]\s+(?=\D)|\s+[x\u00d7*]\s*\d{1,2}\s*$", re.IGNORECASE)


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
    found = find_gpus(text)
    own = [model for model in found if _words(model.name) == _words(text)]
    if len(own) == 1:
        return own[0]
    if len(found) > 1:
        raise UnknownGpu(text, "is more than one GPU model", tuple(model.name for model in found[:4]))
    return found[0]


@lru_cache(4096)
def find_gpus(text: str) -> tuple[GpuModel, ...]:
    """All models that a name may mean, at least one: `V100` is every V100, `g4dn.xlarge` a T4. Raises UnknownGpu.

    A MIG profile, a count (`8x A100`) and a word for sharing are not part of the name.
    """
    if instance := by_key("ec2_gpu_instances", "instance_type").get(text.strip().lower()):
        if instance[0]["gpu_vendor"] != "nvidia":
            raise UnknownGpu(text, "has no NVIDIA GPU", ())
        return find_gpus(instance[0]["gpu_model"])
    plain = _MIG.sub(" ", _COUNT.sub("", text.strip().removesuffix("-SHARED")))
    if _OTHER_MAKERS.search(plain.lower()):
        raise UnknownGpu(text, "is not an NVIDIA GPU", ())
    wanted = _words(plain)
    series = _SERIES & set(wanted)
    core = _core(wanted)
    if not core:
        raise UnknownGpu(text, "is not a GPU name", ())
    found = _exact(core) or _any_form(core) or _known_form(core)
    # A Quadro 5000 is no Quadro RTX 5000: that brand has both, and the word tells them apart.
    plain_quadro = "quadro" in wanted and "rtx" not in wanted
    found = tuple(model for model in found if not (plain_quadro and "Quadro RTX" in model.name))
    fitting = tuple(model for model in found if not series or series <= _series_of(model))
    if fitting:
        return fitting
    raise UnknownGpu(text, "is not a GPU model of the tables", tuple(m.name for m in found[:3]) or _nearest(core))


def mig_profile(text: str) -> str:
    """`1g.5gb` of `A100-SXM4-40GB-MIG-1g.5gb`; empty where the name is no slice."""
    match = _MIG.search(text)
    return match[1].lower() if match else ""


def _words(text: str) -> tuple[str, ...]:
    # Letters and digits part where they meet (1080Ti, GTX1080): both sides of a comparison are cut alike.
    return tuple(re.findall(r"[a-z]+|\d+", text.lower()))


def _core(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _MAKERS | _SERIES)


def _series_of(model: GpuModel) -> frozenset[str]:
    return _SERIES & frozenset(word for name in (model.name, *model.also_called) for word in _words(name)) or _SERIES


def _exact(core: tuple[str, ...]) -> tuple[GpuModel, ...]:
    return _by_core().get(core, ())


def _any_form(core: tuple[str, ...]) -> tuple[GpuModel, ...]:
    """`V100` is every V100; a GTX 1080 is no 1080 Ti, so what a longer name adds may only say its form."""
    found = (
        model
        for words, models in _by_core().items()
        if words[: len(core)] == core and all(word in _FORMS or word.isdigit() for word in words[len(core) :])
        for model in models
    )
    return tuple(dict.fromkeys(found))


def _known_form(core: tuple[str, ...]) -> tuple[GpuModel, ...]:
    """`RTX 3090 24GB` and `RTX 3070 Laptop GPU` where the tables know the chip, not this form of it."""
    size = {word for word, unit in itertools.pairwise(core) if word.isdigit() and unit in {"gb", "gib", "g"}}
    for left_out in (_FORMS, _FORMS | _PORTABLE):
        kept: list[str] = []
        for index, word in enumerate(core):
            is_size = word in size and index + 1 < len(core) and core[index + 1] in {"gb", "gib", "g"}
            is_form = word in left_out and index > 0
            is_form_number = word.isdigit() and index > 0 and core[index - 1] in {"sxm", "hbm"}
            if not (is_size or is_form or is_form_number):
                kept.append(word)
        shorter = tuple(kept)
        if shorter and shorter != core and (found := _exact(shorter) or _any_form(shorter)):
            sized = tuple(model for model in found if str(model.memory_mib // 1024) in size)
            return sized or found
    return ()


@cache
def _by_core() -> dict[tuple[str, ...], tuple[GpuModel, ...]]:
    known: dict[tuple[str, ...], dict[str, GpuModel]] = {}
    for model in gpu_models():
        for name in (model.name, model.gfd_product, *model.also_called):
            if core := _core(_words(name)):
                known.setdefault(core, {})[model.name] = model
    return {core: tuple(models.values()) for core, models in known.items()}


def _nearest(core: tuple[str, ...], count: int = 3) -> tuple[str, ...]:
    wanted = " ".join(core)[:80]
    ranked = sorted(
        (
            (SequenceMatcher(None, wanted, " ".join(words)).ratio(), model.name)
            for words, models in _by_core().items()
            for model in models
        ),
        key=lambda pair: (-pair[0], pair[1]),
    )
    near = dict.fromkeys(name for ratio, name in ranked if ratio >= 0.6)
    return tuple(near)[:count]
