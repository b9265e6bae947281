"""Targets, the further images of a spec: each as its own spec, smaller than the server's. Pure.

Functions on specs accept a target's too: `plan_image([targeted(spec, kind)])`. Its wheels are locked in their own
file, constrained by the server's lock, so that all images of a spec have the same version of a package.
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import ClassVar, Final

from packaging.utils import canonicalize_name
from pydantic import Field

from imaging.spec.model import ImageSpec
from imaging.spec.parts import Python, Target, TargetKind

SERVER: Final = "server"  # the image that the spec itself describes

_TITLES: Final = {
    TargetKind.GATEWAY_CLIENT: "server whose kernels run behind a gateway",
    TargetKind.KERNEL: "kernel for a gateway",
    TargetKind.BATCH: "for batch jobs",
}
# The client reads the gateway's address from JUPYTER_GATEWAY_URL by itself.
_COMMANDS: Final = {
    TargetKind.GATEWAY_CLIENT: ("jupyter", "lab", "--ip=0.0.0.0", "--no-browser"),
    TargetKind.KERNEL: ("python", "-m", "ipykernel_launcher"),
    TargetKind.BATCH: ("-",),  # the program comes from standard input, or from a file named here instead
}
_NEEDS: Final = {TargetKind.GATEWAY_CLIENT: "jupyterlab", TargetKind.KERNEL: "ipykernel", TargetKind.BATCH: ""}
_SERVERS: Final = r"jupyter-server|jupyterhub|jupyterlab"
_GPU: Final = r"nvidia-.*|triton|jaxlib|torch(vision|audio)|.*-cu(da)?\d+x?|(tensorflow|torch|jax|cupy)(-.*)?"
_FORBIDDEN: Final = {
    TargetKind.GATEWAY_CLIENT: (re.compile(_GPU), "brings CUDA or a framework, and kernels run elsewhere"),
    TargetKind.KERNEL: (re.compile(_SERVERS), "is a server, and a kernel has none"),
    TargetKind.BATCH: (re.compile(rf"jupyter.*|ipykernel|notebook.*|{_SERVERS}"), "is Jupyter's, and a job needs none"),
}


class TargetSpec(ImageSpec):
    """One target of a spec, as its own spec."""

    needs_command: ClassVar[bool] = False  # a target's own entry point already states what runs

    kind: TargetKind = Field(strict=False)
    """Its kind among the spec's targets."""

    @property
    def full_name(self) -> str:
        return f"{self.name}-{self.kind.value}"

    @property
    def main_environment(self) -> str:
        return self.kind.value


def targeted(spec: ImageSpec, kind: TargetKind) -> TargetSpec:
    """The spec of one of `spec.targets`."""
    target = spec.targets[kind]
    values = {name: getattr(spec, name) for name in ImageSpec.model_fields}
    return TargetSpec.model_validate(
        values
        | {
            "kind": kind,
            "title": target.title or f"{spec.title}: {_TITLES[kind]}",
            "description": target.description or spec.description,
            "python": spec.python and _python(spec.python, kind, target),
            "cuda": None if kind is TargetKind.GATEWAY_CLIENT else spec.cuda,
            "ports": _ports(spec, kind, target),
            "env": spec.env | target.env,
            "entry_point": _entry_point(spec, kind, target),
            "command": _command(kind, target),
            "runtime": target.runtime or spec.runtime,
            "targets": {},
        }
    )


def target_specs(spec: ImageSpec) -> tuple[TargetSpec, ...]:
    """The specs of all its targets, in the order of the file."""
    return tuple(targeted(spec, kind) for kind in spec.targets)


def kind_of(spec: ImageSpec) -> TargetKind | None:
    """Kind of target; None: not a target, but the spec's own image."""
    return spec.kind if isinstance(spec, TargetSpec) else None


def target_lock(lock: str, kind: TargetKind) -> str:
    """`requirements.lock` → `requirements.batch.lock`."""
    path = PurePosixPath(lock)
    return str(path.with_name(f"{path.stem}.{kind.value}{path.suffix}"))


def smallest_first(specs: Sequence[ImageSpec]) -> list[ImageSpec]:
    """In an order that lets each build on those before it."""
    return sorted(specs, key=lambda spec: len(spec.server_wheels))


def stands_on(spec: ImageSpec, smaller: Sequence[ImageSpec]) -> ImageSpec | None:
    """The smaller image whose layers it builds on: the biggest whose pins it all has. None: there is none.

    They then share common content as layers, on disk and in the registry. Of two, the one with CUDA is bigger.
    """
    return max(
        (each for each in smaller if set(each.server_wheels) <= set(spec.server_wheels)),
        key=lambda each: (each.cuda is not None, len(each.server_wheels)),
        default=None,
    )


def needed(kind: TargetKind) -> str:
    """The package that a target of this kind requires; empty: none."""
    return _NEEDS[kind]


def forbidden(kind: TargetKind, package: str) -> str:
    """Why a target of this kind must not have this package; empty: it may."""
    pattern, reason = _FORBIDDEN[kind]
    return reason if pattern.fullmatch(canonicalize_name(package)) else ""


def _python(python: Python, kind: TargetKind, target: Target) -> Python:
    left_out = {canonicalize_name(name) for name in target.without}
    packages = tuple(package for package in python.packages if package.name not in left_out)
    return python.model_copy(update={"packages": packages, "lock": target_lock(python.lock, kind)})


def _ports(spec: ImageSpec, kind: TargetKind, target: Target) -> tuple[int, ...]:
    if target.ports is not None:
        return target.ports
    return spec.ports if kind is TargetKind.GATEWAY_CLIENT else ()


def _entry_point(spec: ImageSpec, kind: TargetKind, target: Target) -> tuple[str, ...]:
    if target.entry_point is not None:
        return target.entry_point
    return (*spec.entry_point, "python") if kind is TargetKind.BATCH else spec.entry_point


def _command(kind: TargetKind, target: Target) -> tuple[str, ...]:
    if target.command is not None:
        return target.command
    return _COMMANDS[kind] if target.entry_point is None else ()
