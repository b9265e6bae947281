"""Targets of device code: which GPU runs machine code, and for which GPU a driver compiles PTX."""

from __future__ import annotations

from compat.values.model import Code
from compat.values.versions import ComputeCapability, Target

# Chips of Tegra modules. Source: CUDA C++ programming guide 6.1.2, binary compatibility is for the desktop only.
TEGRA = frozenset(ComputeCapability.parse(text) for text in ("3.2", "5.3", "6.2", "7.2", "8.7", "10.1", "11.0"))


def runs(target: Target, gpu: ComputeCapability) -> bool:
    """Does the GPU run machine code for this target? Same major and an equal or higher minor; `a`: that one only.

    Tegra and desktop chips run none of each other's, nor one Tegra another's.
    """
    made_for = target.capability
    if target.suffix == "a" or gpu in TEGRA or made_for in TEGRA:
        return made_for == gpu
    return made_for.major == gpu.major and made_for.minor <= gpu.minor


def compiles(target: Target, gpu: ComputeCapability) -> bool:
    """Can this PTX become code for the GPU? Equal or newer; `a`: that one only; `f`: its family."""
    if target.suffix == "a":
        return target.capability == gpu
    if target.suffix == "f":
        return runs(target, gpu)
    return target.capability <= gpu


def best_cubin(code: Code, gpu: ComputeCapability) -> Target | None:
    """The newest machine code that the GPU runs; None where there is none."""
    return max((target for target in code.cubins or () if runs(target, gpu)), default=None)


def judged(code: Code, gpu: ComputeCapability) -> Code:
    """Out of the code of a build and of its pinned wheel: the one with nothing for this GPU, else the build's own."""
    other = code.beside
    if other is None or other.cubins is None or other.ptx is None or best_cubin(other, gpu) is not None:
        return code
    return code if any(compiles(target, gpu) for target in other.ptx) else other


def listed(targets: tuple[Target, ...]) -> str:
    """`sm_50, sm_60, sm_90a`, in order."""
    return ", ".join(f"sm_{target.capability.digits}{target.suffix}" for target in sorted(targets)) or "none"
