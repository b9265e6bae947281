"""Parses exact pins, `torch==1.7.1+cu101` of PyPI and `cudnn=7.6.5.32` of conda, and finds frameworks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name

from compat.evidence.names.distributions import gpu_framework


@dataclass(frozen=True, slots=True)
class Pin:
    """One parsed pin."""

    text: str  # as it was written
    name: NormalizedName
    version: str
    extras: tuple[str, ...] = ()
    is_conda: bool = False


def wheel_pin(text: str) -> Pin:
    """`name[extra]==version`; raises ValueError for anything else."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError("is not an exact pin such as numpy==2.4.6") from error
    operators = [(part.operator, "*" in part.version) for part in requirement.specifier]
    if operators != [("==", False)] or requirement.marker or requirement.url:
        raise ValueError("is not an exact pin such as numpy==2.4.6")
    (specifier,) = requirement.specifier
    return Pin(text, canonicalize_name(requirement.name), specifier.version, tuple(sorted(requirement.extras)))


def conda_pin(text: str) -> Pin:
    """`name=version`, or `name=version=build`; raises ValueError for anything else."""
    match = re.fullmatch(r"([a-z0-9_.-]+)=([0-9][0-9A-Za-z.+_]*)(?:=[A-Za-z0-9_.]+)?", text)
    if match is None:
        raise ValueError("is not an exact conda pin such as cudatoolkit=10.1.243")
    return Pin(text, canonicalize_name(match[1]), match[2], is_conda=True)


def read_pin(text: str) -> Pin:
    """Either kind, by its sign."""
    return wheel_pin(text) if "==" in text else conda_pin(text)


def frameworks_in(pins: Sequence[Pin], *, conda_cuda: str = "") -> Iterator[tuple[Pin, str]]:
    """The pins of frameworks' GPU builds in an environment, with the framework's name in the tables.

    `conda_cuda` is the CUDA line that conda installs with them: then it picks their builds for it.
    """
    names = frozenset(pin.name for pin in pins)
    for pin in pins:
        cuda = conda_cuda if pin.is_conda else ""
        if framework := gpu_framework(pin.name, pin.version, pin.extras, cuda=cuda, beside=names):
            yield pin, framework
