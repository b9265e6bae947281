"""SDKs of providers that only some sites need: extras of the project, installed for the stacks that need them."""

from collections.abc import Mapping
from typing import Any, Final

from errors.problems import Problem

# Kind of a site → extras of pyproject.toml. A stack that names no kind runs on Kubernetes, and needs none.
EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {"kubernetes": (), "eks": ("aws",), "docker": ("docker",), "slurm": ()}
MODULES: Final[Mapping[str, str]] = {"pulumi_aws": "aws", "pulumi_docker": "docker", "docker": "docker"}


def extras_of(config: object) -> tuple[str, ...]:
    """Extras for a stack's configuration as its file has it. What it says wrongly is for its checks to refuse."""
    kind = _at(_at(config, "gpu-commons:site"), "kind")
    return EXTRAS.get(kind, ()) if isinstance(kind, str) else ()


def missing_sdk(error: ModuleNotFoundError, stack: str) -> Problem | None:
    """What to do about an import that failed, or None where it is no SDK that an extra brings."""
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
