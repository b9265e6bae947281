"""The remarks of `inspect`, by the kind that its output names: what each is about, in a sentence."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

REMARKS: Final = MappingProxyType(
    {
        "secret-in-config": "The config of the image names a variable that looks like a secret: everybody can read it.",
        "driver-inside": "Parts of an NVIDIA driver lie in the image; they hide those of the host.",
        "cuda-twice": "Libraries of CUDA are in the image more than once.",
        "two-cudas": "One environment has packages of two CUDA majors: a program that uses both loads two runtimes.",
        "label-disagrees": "A label or variable names another CUDA than what lies in the image.",
        "caches": "Caches of package managers or compilers were left in the image.",
        "waste": "A layer has files that a later layer replaces or removes; they are pulled all the same.",
    }
)
