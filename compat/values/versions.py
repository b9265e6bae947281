"""Versions as ordered types: version strings are never compared.

`Type.parse` is strict and total: it returns that version or raises VersionError. Other spellings
(`R535`, `v12.4`, `cu118`) are read in `typed.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Self

from packaging.version import InvalidVersion, Version

_LAST_RELEASE = 9999  # higher than the number of any release of a branch
_PARSED = 4096  # distinct texts cached per type: a fleet has dozens, a hostile file must not fill the memory


class VersionError(ValueError):
    """A text that is no version of its kind. `reason` follows it: `is not a driver version such as 418.88`."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f'"{text}" {reason}')
        self.text = text
        self.reason = reason


@dataclass(frozen=True, slots=True, order=True)
class DriverVersion:
    """An NVIDIA driver such as 418.88 or 580.95.05.

    418.87 and 418.87.00 are equal: NVIDIA's tables and `nvidia-smi` write the same release both ways.
    Each prints as it was written, because labels and package names have that spelling. A driver of a case is
    `given`: a bare branch prints as the branch, whichever release represents it.
    """

    branch: int
    minor: int
    patch: int = 0
    written_patch: bool = field(default=False, compare=False, repr=False)
    shown: str = field(default="", compare=False, repr=False)
    given: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.patch and not self.written_patch:
            object.__setattr__(self, "written_patch", True)

    @classmethod
    def start_of(cls, branch: int) -> Self:
        """A branch's first release, whatever its number; prints as the branch."""
        return cls(branch, 0, shown=str(branch))

    @classmethod
    def end_of(cls, branch: int) -> Self:
        """A branch's last release, whatever its number; prints as the branch."""
        return cls(branch, _LAST_RELEASE, shown=str(branch))

    def given_as(self, text: str) -> Self:
        """This driver as a case writes it."""
        return replace(self, shown=text, given=True)

    @classmethod
    @lru_cache(_PARSED)
    def parse(cls, text: str) -> Self:
        """Read `418.88` or `580.95.05`; raises VersionError."""
        match = re.fullmatch(r"([1-9]\d{2})\.(\d{2,3})(?:\.(\d{2}))?", text.strip(), re.ASCII)
        if not match:
            raise VersionError(text, "is not a driver version such as 418.88")
        branch, minor, patch = match.groups()
        if len(minor) == 3 and minor.startswith("0"):  # 418.088 would print as 418.88, another text for the same number
            raise VersionError(text, "is not a driver version such as 418.88")
        return cls(int(branch), int(minor), int(patch or 0), patch is not None)

    @property
    def parts(self) -> tuple[str, str, str]:
        """Major, minor and revision as GPU feature discovery labels them; a missing revision is empty."""
        return str(self.branch), f"{self.minor:02d}", f"{self.patch:02d}" if self.written_patch else ""

    def __str__(self) -> str:
        if self.shown:
            return self.shown
        plain = f"{self.branch}.{self.minor:02d}"
        return f"{plain}.{self.patch:02d}" if self.written_patch else plain


@dataclass(frozen=True, slots=True, order=True)
class CudaVersion:
    """A CUDA line such as 10.1, or a toolkit release of it such as 10.1.243."""

    major: int
    minor: int
    patch: int = 0
    written_patch: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.patch and not self.written_patch:
            object.__setattr__(self, "written_patch", True)

    @classmethod
    @lru_cache(_PARSED)
    def parse(cls, text: str) -> Self:
        """Read `10.1` or `12.4.1`; raises VersionError."""
        match = re.fullmatch(r"([1-9]\d?)\.(0|[1-9]\d?)(?:\.(0|[1-9]\d{0,3}))?", text.strip(), re.ASCII)
        if not match:
            raise VersionError(text, "is not a CUDA version such as 10.1 or 12.4.1")
        major, minor, patch = match.groups()
        return cls(int(major), int(minor), int(patch or 0), patch is not None)

    @property
    def line(self) -> CudaVersion:
        """Without the patch: toolkits of one line require the same major of a driver."""
        return CudaVersion(self.major, self.minor) if self.written_patch else self

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + (f".{self.patch}" if self.written_patch else "")


@dataclass(frozen=True, slots=True, order=True)
class ComputeCapability:
    """A GPU's compute capability, such as 6.1: it decides what runs."""

    major: int
    minor: int

    @classmethod
    @lru_cache(_PARSED)
    def parse(cls, text: str) -> Self:
        """Read `6.1`; raises VersionError."""
        match = re.fullmatch(r"([1-9]\d?)\.(\d)", text.strip(), re.ASCII)
        if not match:
            raise VersionError(text, "is not a compute capability such as 6.1")
        return cls(int(match[1]), int(match[2]))

    @property
    def digits(self) -> str:
        """As in sm_61."""
        return f"{self.major}{self.minor}"

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """The target of device code: a capability, `a` for exactly that GPU, `f` for its family."""

    capability: ComputeCapability
    suffix: str = ""

    @classmethod
    @lru_cache(_PARSED)
    def parse(cls, text: str) -> Self:
        """Read `9.0a`, `sm_90a`, `compute_75` or `86`; raises VersionError."""
        match = re.fullmatch(
            r"(?:(?:sm|compute)_?)?(?:([1-9]\d?)\.(\d)|([1-9]\d?)(\d))([af]?)", text.strip(), re.ASCII | re.IGNORECASE
        )
        if not match:
            raise VersionError(text, "is not a target such as sm_61, 9.0a or compute_75")
        major, minor = match[1] or match[3], match[2] or match[4]
        return cls(ComputeCapability(int(major), int(minor)), match[5].lower())

    def __str__(self) -> str:
        return f"{self.capability}{self.suffix}"


@lru_cache(_PARSED)
def parse_release(text: str) -> Version:
    """A version of a library, a framework, a toolkit or a C library such as 8.9.7.29, 2.6.0 or 2.35; VersionError."""
    try:
        return Version(text.strip())
    except InvalidVersion:
        raise VersionError(text, "is not a version such as 2.6.0") from None


# Versions of the PTX language, and the CUDA whose driver is the first to compile each; that of CUDA 12.6 is 8.5 too.
# Source: https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#release-notes
CUDA_OF_PTX = {
    language: CudaVersion.parse(cuda)
    for language, cuda in {
        **{f"6.{minor}": cuda for minor, cuda in enumerate(("9.0", "9.1", "9.2", "10.0", "10.1", "10.2"))},
        **{f"7.{minor}": f"11.{minor}" for minor in range(9)},
        **{f"8.{minor}": f"12.{minor}" for minor in range(6)},
        "8.6": "12.7",
        "8.7": "12.8",
        "8.8": "12.9",
        "9.0": "13.0",
        "9.1": "13.1",
        "9.2": "13.2",
    }.items()
}

# Chips of Tegra modules. Source: CUDA C++ programming guide 6.1.2, binary compatibility is for the desktop only.
TEGRA = frozenset(ComputeCapability.parse(text) for text in ("3.2", "5.3", "6.2", "7.2", "8.7", "10.1", "11.0"))


def runs(target: Target, gpu: ComputeCapability) -> bool:
    """Does the GPU run machine code for this target? Same major, equal or higher minor; `a`: that one only.

    Tegra and desktop chips do not run each other's, nor one Tegra another's.
    """
    made_for = target.capability
    if target.suffix == "a" or gpu in TEGRA or made_for in TEGRA:
        return made_for == gpu
    return made_for.major == gpu.major and made_for.minor <= gpu.minor


def compiles(target: Target, gpu: ComputeCapability) -> bool:
    """Does this PTX compile for the GPU? Equal or newer; `a`: that one only; `f`: its family."""
    if target.suffix == "a":
        return target.capability == gpu
    if target.suffix == "f":
        return runs(target, gpu)
    return target.capability <= gpu


def listed(targets: tuple[Target, ...]) -> str:
    """`sm_50, sm_60, sm_90a`, in order."""
    return ", ".join(f"sm_{target.capability.digits}{target.suffix}" for target in sorted(targets)) or "none"
