"""GPUs that a build is said to be for, in words: `Kepler only`, `CUDA_GENERATION=Turing`; or not: `without sm_61`.

`targets.py` reads lists of targets, `capability_bounds.py` the oldest and the newest; here no number need stand.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from compat import tables
from compat.capability_bounds import families, lowest_in
from compat.targets import Targets
from compat.versions import ComputeCapability, Target

_KEPT = 4096
_LISTED = r"(?:{names})(?:\W+(?:(?:and|or)\W+)?(?:{names}))*"
_LEFT_OUT = (
    r"\b(?:no|not|none|nothing|without|lack(?:s|ing)?|missing|exclud(?:es|ing)|omit(?:s|ting)|except|dropp?(?:s|ed|ing)?"
    r"|removed)\b"
    r"(?:\W+(?:for|the|any|code|support|built|compiled|kernels?|binar(?:y|ies)|cubins?|targets?|compute|capabilit\w+|cc|"
    r"arch\w*|of|in|included?|includes|including|machine)){{0,5}}\W+(?:{target})\b"
    r"|(?<!than )(?<!before )(?<!below )\b(?:{target})\b"
    r"(?:\W+(?:code|support|kernels?|target|binar(?:y|ies)))?(?:\W+(?:is|was|are|were))?\W+"
    r"(?:missing|absent|left out|excluded|dropped|removed|disabled|unsupported|incompatible|unknown|rejected"
    r"|refused|ignored|skipped"
    r"|not (?:included|supported|built|compatible|known|listed|there|present|recogni[sz]ed|enabled))\b"
)
# How people call GeForce cards of a capability.
_SERIES = {
    ComputeCapability(5, 2): r"9(?:00|xx)",
    ComputeCapability(6, 1): r"10(?:00|xx)?",
    ComputeCapability(7, 5): r"20(?:00|xx)?",
    ComputeCapability(8, 6): r"30(?:00|xx)?",
    ComputeCapability(8, 9): r"40(?:00|xx)?",
    ComputeCapability(12, 0): r"50(?:00|xx)?",
}
# The generations that OpenCV's build asks for, and what it makes of each; no PTX.
# Source: github:opencv/opencv cmake/OpenCVDetectCUDA.cmake (CUDA_GENERATION), 2.4.11 to 4.5
_OF_OPENCV = re.compile(r"(?:\b|-d)cuda_generation\s*[:=]\s*\"?(?P<name>[a-z]+)")


@cache
def _of_names() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """`built for Kepler only`, `only for Kepler and Maxwell`."""
    listed = _LISTED.format(names="|".join(map(re.escape, families())))
    return (
        re.compile(rf"\b({listed})\W+only\b"),
        re.compile(rf"\bonly\W+(?:(?:built|compiled|targets?|supports?|for)\W+)*({listed})\b"),
    )


@lru_cache(_KEPT)
def targets_in(text: str) -> Targets:
    """Targets of the generations that a build is said to be for alone; without PTX."""
    plain = text.lower()
    if lowest_in(text) is not None:
        return Targets()
    if (asked := _OF_OPENCV.search(plain)) and (of_name := families().get(asked["name"])):
        return Targets(_on_desktops(of_name), ())
    last, first = _of_names()
    if (said := last.search(plain) or first.search(plain)) is None:
        return Targets()
    named = [each for name, of_name in families().items() if re.search(rf"\b{name}\b", said[1]) for each in of_name]
    return Targets(_on_desktops(named), ())


def _on_desktops(capabilities: tuple[ComputeCapability, ...] | list[ComputeCapability]) -> tuple[Target, ...]:
    return tuple(Target.parse(str(each)) for each in sorted(capabilities))


@lru_cache(_KEPT)
def leaves_out(text: str, capability: ComputeCapability) -> bool:
    """Is this GPU's target said not to be there: `without compute capability 6.1`, `Pascal is not supported`?"""
    arch = tables.architectures().get(capability)
    names = [rf"(?:sm|compute)[\s_]?{capability.digits}[af]?", re.escape(str(capability))]
    names += [re.escape(arch.name.lower())] if arch is not None else []
    names += [rf"(?:geforce )?(?:[rg]tx )?{_SERIES[capability]}\W?series"] if capability in _SERIES else []
    return re.search(_LEFT_OUT.format(target="|".join(names)), text.lower()) is not None
