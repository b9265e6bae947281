"""Words of a build that describe the host's driver: `nvidia-smi shows CUDA 12.2`, `driver API version 12.4`.

That number is not the CUDA of the build; it stands for a driver where the case names none.
"""

from __future__ import annotations

import re
from functools import lru_cache

from compat.evidence.prose.denied import affirmed
from compat.evidence.prose.patterns import pattern
from compat.facts import tables

_KEPT = 4096
_READ = 1000  # characters
_WHO = (
    r"(?:nvidia[\s-]?smi|device ?query|(?:cuda |nvidia )?driver(?:'s)?(?: api)?|(?:(?:gpu|compute|worker) )?node"
    r"|(?:the )?host(?: machine)?)"
)
_SAYS = (
    r"(?:show(?:s|ed|ing|n)?|report(?:s|ed)?|display(?:s|ed)?|says?|said|print(?:s|ed)?|lists?|support(?:s|ed)?"
    r"|(?<=driver )(?:is|has))"
)
_LEVEL = r"(?P<level>\d{1,2}\.\d)(?![\d.])"
_OF_DRIVER = pattern(
    rf"[;,(]?\s{{0,4}}\b{_WHO}\b[\s:(]*(?:{_SAYS}\s+)?(?:up to\s+)?(?:a\s+)?cuda(?:\s+driver)?(?:\s+version)?"
    rf"[\s:=]*{_LEVEL}(?!\s*toolkit)\)?"
    rf"|[;,(]?\s{{0,4}}\b(?:cuda |nvidia )?driver api version[\s:=]*(?:is )?(?P<api>\d{{1,2}}\.\d)(?![\d.])\)?",
    re.IGNORECASE,
)


@lru_cache(_KEPT)
def cuda_of_driver(build: str) -> str:
    """The CUDA that the host's driver reports according to the text, such as `12.2`; empty where the text has none."""
    found = [match["level"] or match["api"] for match in _OF_DRIVER.finditer(build[:_READ])]
    reported = {str(row.native_cuda) for row in tables.driver_branches().values()}
    known = dict.fromkeys(each for each in found if each in reported)
    return next(iter(known)) if len(known) == 1 else ""


@lru_cache(_KEPT)
def without_driver(build: str) -> str:
    """The words without those about the driver."""
    return _OF_DRIVER.sub("", build).strip(" ;,") if cuda_of_driver(build) else build


_OPENCL = pattern(r"\bopencl\b(?! (?:headers?|fallback)\b)", re.IGNORECASE)
_CUDA = pattern(r"cuda|\bcu(?:blas|dnn|fft)|\bnvcc\b|\bnvrtc\b|\bptx\b", re.IGNORECASE)


def needs_opencl(build: str) -> bool:
    """Does it run on the OpenCL of the driver, and not on CUDA?"""
    return affirmed(build, _OPENCL) is not None and not _CUDA.search(build)


# `nvidia-smi in the container`, `nothing but nvidia-smi`: it comes with the driver, and starts no code of the image.
_SMI_ALONE = pattern(
    r"\bnvidia-smi(?: only| alone)?(?: (?:works?|runs?|ran|worked|was run|shows? the (?:gpu|card)s?))?"
    r"(?: (?:in|inside|within|from|with) (?:the |a )?(?:--(?:nv|gpus)(?: all)?|containers?|images?|pod|docker))*"
    r"\s*(?:$|[;,])"
    r"|\b(?:only|just|nothing but) nvidia-smi\b",
    re.IGNORECASE,
)
# Something else ran, or failed, beside it.
_MORE = pattern(
    r"\b(?:fails?|failed|crash\w*|errors?|stops?|no kernel|(?:does|do|did) not|more than|vectoradd|devicequery|nbody"
    r"|samples?|torch|tensorflow|programs?|apps?|code|kernels?|solver)\b|n['\u2019]t\b",
    re.IGNORECASE,
)


@lru_cache(_KEPT)
def runs_nvidia_smi_alone(build: str) -> bool:
    """Is all that was run the driver's own nvidia-smi?"""
    text = build[:_READ]
    return affirmed(text, _SMI_ALONE) is not None and not _MORE.search(_SMI_ALONE.sub(" ", text))
