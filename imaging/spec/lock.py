"""Reads the lock of an image's wheels, and gives the commands that create it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from imaging.spec.model import ImageSpec
from imaging.spec.targets import kind_of, target_specs


@dataclass(frozen=True, slots=True)
class Locked:
    """One line of a lock. A universal lock may have several of one name, for different Pythons."""

    name: NormalizedName
    version: str
    marker: Marker | None
    hashes: frozenset[str]  # SHA-256


@lru_cache(64)  # one `stack check` reads three locks, 88 times
def read_lock(text: str) -> tuple[Locked, ...]:
    """Content of a lock, in its order. Raises ValueError for any other text."""
    return tuple(_read(text))


def _read(text: str) -> Iterator[Locked]:
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        requirement, *hashes = re.split(r"\s+--hash=sha256:", line.strip())
        try:
            pin = Requirement(requirement)
            (specifier,) = pin.specifier
        except ValueError:
            raise ValueError(f'has the line "{requirement[:60]}", which pins nothing') from None
        found = frozenset(each.strip() for each in hashes)
        yield Locked(canonicalize_name(pin.name), specifier.version, pin.marker, found)


def lock_command(spec: ImageSpec) -> str:
    """Shell lines that resolve an image's pins, then those of its targets, constrained by its lock.

    A child reuses its parent's versions.
    """
    if not spec.python:
        return f"echo '{spec.name} has no Python packages'"
    return " &&\n".join(_compile(each, spec.python.lock) for each in (spec, *target_specs(spec)))


def _compile(spec: ImageSpec, servers_lock: str) -> str:
    assert spec.python is not None  # noqa: S101 - for the type checker; the only caller checks it
    pins = " ".join(f"'{pin}'" for pin in spec.server_wheels)
    folder = f"images/{spec.name}"
    constraint = f"{folder}/{servers_lock}" if kind_of(spec) else ""
    if spec.base.image:
        constraint = f"images/{spec.base.image}/requirements.lock"
    above = f" --constraint {constraint}" if constraint else ""
    # Debian 12 has Python 3.11; a Jupyter base has a later one. A universal lock serves both.
    return (
        f"printf '%s\\n' {pins} | uv pip compile - --universal --python-version 3.11 --generate-hashes"
        f" --only-binary :all: --no-annotate --no-header{above} --output-file {folder}/{spec.python.lock}"
    )
