"""GPUs that a build is said to be for, in words: `Kepler only`, `Maxwell and newer`, `SM 5.x+`, `without sm_61`.

`targets.py` reads lists of targets; here no number need stand.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from compat import tables
from compat.targets import Targets
from compat.versions import ComputeCapability, Target

_KEPT = 4096
_LISTED = r"(?:{names})(?:\W+(?:(?:and|or)\W+)?(?:{names}))*"
_NEWER = (
    r"(?:\s*\+(?!\s*ptx)|\s*(?:gpus?|cards?)?\s*(?:and|or)\s+(?:newer|later|above|higher|up|better)"
    r"|\s*(?:or|and) more recent|\s*onwards?)"
)
_NUMBER = r"(?P<major>\d{1,2})(?:\.(?P<minor>\d|x)|(?P<packed>\d))"
_AT_LEAST = (
    re.compile(rf"\b(?:sm|cc|compute(?:[\s_-]*capability)?|capability)[\s_:=-]*{_NUMBER}(?![\d.]\d){_NEWER}"),
    re.compile(
        r"\b(?:minimum|min\.?|lowest|at least|requires?|needs?|>=)\s*(?:a |an |of )?"
        rf"(?:sm|cc|compute[\s_-]*capability)[\s_:=-]*(?:of )?{_NUMBER}(?![\d.]\d)"
    ),
    re.compile(
        r"\b(?:targets?|arch(?:itectures?|s|es)?|(?:compute[\s_-]*)?capabilit(?:y|ies)|sms?)\W+(?:start(?:s|ing)?\W+)?"
        rf"(?:from|at)\W+(?:sm_?|cc\W?)?{_NUMBER}(?![\d.]\d)\W*(?:on(?:wards?)?|up(?:wards?)?|and (?:newer|later|up))\b"
    ),
)
_LEFT_OUT = (
    r"\b(?:no|not|without|lack(?:s|ing)?|missing|exclud(?:es|ing)|omit(?:s|ting)|except|dropp?(?:s|ed|ing)?|removed)\b"
    r"(?:\W+(?:for|the|any|code|support|built|compiled|kernels?|binar(?:y|ies)|cubins?|targets?|compute|capabilit\w+|cc|"
    r"arch\w*|of|in|included?|includes|including|machine)){{0,5}}\W+(?:{target})\b"
    r"|\b(?:{target})\b(?:\W+(?:code|support|kernels?|target|binar(?:y|ies)))?(?:\W+(?:is|was|are|were))?\W+"
    r"(?:missing|absent|not included|left out|excluded|dropped|removed|disabled|unsupported|not supported|not built)\b"
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
def _families() -> dict[str, tuple[ComputeCapability, ...]]:
    """Capabilities of each architecture, the oldest first."""
    found: dict[str, tuple[ComputeCapability, ...]] = {}
    for arch in sorted(tables.architectures().values(), key=lambda each: each.capability):
        if arch.name == "Tesla":
            continue  # a brand as well
        found[arch.name.lower()] = (*found.get(arch.name.lower(), ()), arch.capability)
    return found


@cache
def _of_names() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """`built for Kepler only`, `only for Kepler and Maxwell`; and `Turing and newer`."""
    names = "|".join(map(re.escape, _families()))
    listed = _LISTED.format(names=names)
    newer = rf"\b(?P<name>{names}){_NEWER}|\b(?:minimum|at least|requires?|needs?)\s+(?:an? )?(?P<asked>{names})\b"
    return (
        re.compile(rf"\b({listed})\W+only\b"),
        re.compile(rf"\bonly\W+(?:(?:built|compiled|targets?|supports?|for)\W+)*({listed})\b"),
        re.compile(newer),
    )


@lru_cache(_KEPT)
def targets_in(text: str) -> Targets:
    """Targets of the generations that a build is said to be for alone; without PTX."""
    plain = text.lower()
    if lowest_in(text) is not None:
        return Targets()
    if (asked := _OF_OPENCV.search(plain)) and (of_name := _families().get(asked["name"])):
        return Targets(_on_desktops(of_name), ())
    last, first, _ = _of_names()
    if (said := last.search(plain) or first.search(plain)) is None:
        return Targets()
    named = [each for name, of_name in _families().items() if re.search(rf"\b{name}\b", said[1]) for each in of_name]
    return Targets(_on_desktops(named), ())


def _on_desktops(capabilities: tuple[ComputeCapability, ...] | list[ComputeCapability]) -> tuple[Target, ...]:
    return tuple(Target.parse(str(each)) for each in sorted(capabilities))


@lru_cache(_KEPT)
def lowest_in(text: str) -> ComputeCapability | None:
    """The oldest capability that a build is said to be for: `SM 5.x+ only`, `for Turing and newer`."""
    plain = text.lower()
    for form in _AT_LEAST:
        if said := form.search(plain):
            minor = (said["minor"] or said["packed"] or "0").replace("x", "0")
            found = ComputeCapability(int(said["major"]), int(minor))
            return found if found.major else None
    if said := _of_names()[2].search(plain):
        return _families()[said["name"] or said["asked"]][0]
    return None


@lru_cache(_KEPT)
def leaves_out(text: str, capability: ComputeCapability) -> bool:
    """Is this GPU's target said not to be there: `without compute capability 6.1`, `Pascal is not supported`?"""
    arch = tables.architectures().get(capability)
    names = [rf"(?:sm|compute)_?{capability.digits}", re.escape(str(capability))]
    names += [re.escape(arch.name.lower())] if arch is not None else []
    names += [rf"(?:geforce )?(?:[rg]tx )?{_SERIES[capability]}\W?series"] if capability in _SERIES else []
    return re.search(_LEFT_OUT.format(target="|".join(names)), text.lower()) is not None
