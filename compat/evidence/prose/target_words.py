"""GPUs that a text gives for a build, in words: `Kepler only`, `CUDA_GENERATION=Turing`; or not: `without sm_61`.

`targets.py` reads lists of targets, `capability_bounds.py` the oldest and the newest; here a text needs no number.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from compat.evidence.prose.capability_bounds import families, lowest_in
from compat.evidence.prose.patterns import pattern
from compat.evidence.prose.series_words import in_generations
from compat.evidence.reading.names import models_named
from compat.evidence.reading.targets import Targets
from compat.facts import tables
from compat.values.versions import ComputeCapability, Target

_KEPT = 4096
_LISTED = r"(?:{names})(?:\W+(?:(?:and|or)\W+)?(?:{names}))*"
_LEFT_OUT = (
    r"\b(?:no|not|none|nothing|without|lack(?:s|ing)?|missing|exclud(?:es|ing)|omit(?:s|ting)|except|dropp?(?:s|ed|ing)?"
    r"|removed)\b"
    r"(?:\W+(?:for|the|any|code|support|built|compiled|kernels?|binar(?:y|ies)|cubins?|targets?|compute|capabilit\w+|cc|"
    r"arch\w*|of|in|included?|includes|including|machine|have|has|contain|ship|list|provide|an?|its|yet)){{0,5}}\W+(?:{target})\b"
    r"|(?<!than )(?<!before )(?<!below )(?<!pre-)(?<!pre )\b(?:{target})\b"
    r"(?:\W+(?:code|support|kernels?|target|binar(?:y|ies)|cards?|gpus?|devices?))?(?:\W+(?:is|was|are|were))?\W+"
    r"(?:missing|absent|left out|excluded|dropped|removed|disabled|unsupported|incompatible|unknown|rejected"
    r"|refused|ignored|skipped"
    r"|not (?:included|supported|built|compatible|known|listed|there|present|recogni[sz]ed|enabled))\b"
)
# The generations that OpenCV's build accepts, and its targets for each; no PTX.
# Source: github:opencv/opencv cmake/OpenCVDetectCUDA.cmake (CUDA_GENERATION), 2.4.11 to 4.5
_OF_OPENCV = pattern(r"(?:\b|-d)cuda_generation\s*[:=]\s*\"?(?P<name>[a-z]+)")


_MADE_FOR = (
    r"(?:(?:pre-?)?(?:built|compiled|made)(?: only| just)? for|targets(?: only)?|targeting"
    r"|(?:cubins?|kernels?(?: images?)?|sass|machine code|binar(?:y|ies)) (?:only |just )?for)"
)


@cache
def _of_names() -> tuple[re.Pattern[str], ...]:
    """`built for Kepler only`, `only for Kepler and Maxwell`, `ships cubins for Volta and Turing`."""
    listed = _LISTED.format(names="|".join(map(re.escape, families())))
    return (
        re.compile(rf"\b({listed})\W+only\b"),
        re.compile(rf"\bonly\W+(?:(?:built|compiled|targets?|supports?|for)\W+)*({listed})\b"),
        re.compile(rf"\b{_MADE_FOR}\W+(?:nvidia )?({listed})(?!\w|-|\W+(?:and|or|&|/)\W+\w*(?:er|up|above|below|\d))"),
    )


_MODELS_ALONE = pattern(
    r"\b(?:built|compiled|made|kernels?|code|binar(?:y|ies)|cubins?|works?|runs?)\b(?:\W+(?:only|just|for|is|are|of|on)){1,3}\W+"
    r"(?P<first>[^.;()]{2,60}?)\W+only\b"
    r"|\bonly\W+(?:(?:pre-?)?(?:built|compiled|made)|kernels?|code|binar(?:y|ies)|cubins?)(?:\W+for)\W+(?P<last>[^.;()]{2,60})"
)


def _of_models(plain: str) -> tuple[ComputeCapability, ...]:
    """Capabilities of cards that a build is for alone: `kernels for 3090/4090 only`. Empty where a word is no card."""
    if (match := _MODELS_ALONE.search(plain)) is None:
        return ()
    parts = [part.strip() for part in re.split(r"\s*(?:/|,|&|\band\b|\+)\s*", match["first"] or match["last"])]
    found = [{model.compute_capability for model in models_named(part)} for part in parts if part]
    return tuple(each.pop() for each in found) if found and all(len(each) == 1 for each in found) else ()


@lru_cache(_KEPT)
def targets_in(text: str) -> Targets:
    """Targets of the generations that a build is for alone according to its text; without PTX."""
    plain = text.lower()
    if lowest_in(text) is not None:
        return Targets()
    if (of_opencv := _OF_OPENCV.search(plain)) and (of_name := families().get(of_opencv["name"])):
        return Targets(_on_desktops(of_name), ())
    match = next((found for form in _of_names() if (found := form.search(plain)) is not None), None)
    if match is None:
        of_models = _of_models(plain)
        return Targets(_on_desktops(of_models), ()) if of_models else Targets()
    named = [each for name, of_name in families().items() if re.search(rf"\b{name}\b", match[1]) for each in of_name]
    return Targets(_on_desktops(named), ())


def _on_desktops(capabilities: tuple[ComputeCapability, ...] | list[ComputeCapability]) -> tuple[Target, ...]:
    return tuple(Target.parse(str(each)) for each in sorted(capabilities))


@lru_cache(_KEPT)
def leaves_out(text: str, capability: ComputeCapability) -> bool:
    """Does the text leave this GPU's target out: `without compute capability 6.1`, `Pascal is not supported`?"""
    arch = tables.architectures().get(capability)
    names = [rf"(?:sm|compute)[\s_]?{capability.digits}[af]?", re.escape(str(capability))]
    names += [re.escape(arch.name.lower())] if arch is not None else []
    return re.search(_LEFT_OUT.format(target="|".join(names)), in_generations(text.lower())) is not None
