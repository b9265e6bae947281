"""Site-specific provider SDKs: extras of the project, installed for stacks that need them."""

from collections.abc import Mapping
from typing import Any, Final

from errors.problems import Problem

# Site kind → extras in pyproject.toml. Without a kind, a stack runs on Kubernetes and needs none.
EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {"kubernetes": (), "eks": ("aws",), "docker": ("docker",), "slurm": ()}
MODULES: Final[Mapping[str, str]] = {"pulumi_aws": "aws", "pulumi_docker": "docker", "docker": "docker"}


def extras_of(config: object) -> tuple[str, ...]:
    """Extras for a stack's raw configuration. Invalid values are left to its checks."""
    kind = _at(_at(config, "gpu-commons:site"), "kind")
    return EXTRAS.get(kind, ()) if isinstance(kind, str) else ()


def missing_sdk(error: ModuleNotFoundError, stack: str) -> Problem | None:
    """Remedy for a failed import, or None if no extra provides it."""
    module = (error.name or "").partition(".")[0]
    if module not in MODULES:
        return None
    return Problem(
        path=f"stack {stack}",
        value="",
        reason=f"needs the Python package {module.replace('_', '-')}, which is not installed",
        fix=f"run: make up STACK={stack} (or, without the lab: uv sync --inexact --extra {MODULES[module]})",
    )


def _at(mapping: object, key: str) -> Any:
    return mapping.get(key) if isinstance(mapping, Mapping) else None
