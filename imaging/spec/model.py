"""What an image should contain: the typed form of `images/<image>/image.yaml`.

A spec is data about what goes in, not how: the renderer decides the how for the base that is really there
(`imaging.spec.plan`, `imaging.build.render`). Every pin is exact, because a rebuild must not cross a driver's CUDA
ceiling.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from imaging.spec.modules import Modules
from imaging.spec.parts import (
    ROOT,
    Base,
    Cuda,
    CudaSource,
    File,
    Kernel,
    Layout,
    Node,
    Python,
    Target,
    TargetKind,
    User,
    Verify,
)
from imaging.spec.pins import Pin, frameworks_in, read_pin
from imaging.spec.runtime import Runtime
from imaging.spec.text_types import Folder, Label, Line, Name, OsPackage, Port, Strict, Text, Variable, released


@dataclass(frozen=True, slots=True)
class Environment:
    """One set of packages that are loaded together, and what the spec says of the CUDA among them."""

    name: str  # server, kernel NAME
    pins: tuple[Pin, ...]
    cuda: Cuda | None

    @property
    def frameworks(self) -> tuple[tuple[Pin, str], ...]:
        """Builds of frameworks for GPUs, each with the framework as the tables of `compat` name it."""
        conda_cuda = self.cuda.line if self.cuda and self.cuda.source is CudaSource.CONDA else ""
        return tuple(frameworks_in(self.pins, conda_cuda=conda_cuda))


class ImageSpec(Strict):
    """One image."""

    needs_command: ClassVar[bool] = True  # an entry point such as tini's runs nothing by itself

    name: Name
    """Name of the image, of its folder and of its repository."""
    title: Text
    """One line for people."""
    description: Text
    """What it is for."""
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]*$")]
    """Version of this spec, quoted."""
    released: Annotated[dt.date, BeforeValidator(released)]
    """Day of that version; times inside the image are this day. A new day also takes new OS updates."""
    licenses: Text | None = None
    """SPDX expression of what we add."""
    base: Base
    """What it stands on."""
    os_packages: tuple[OsPackage, ...] = Field(default=(), strict=False)
    """Debian packages. Versions come from the base's release, which gets security updates only."""
    python: Python | None = None
    """Packages of the server's environment."""
    node: Node | None = None
    """Node packages."""
    cuda: Cuda | None = None
    """CUDA of the server's environment; kernels have their own."""
    kernels: tuple[Kernel, ...] = Field(default=(), strict=False)
    """Further kernels, each in an environment of its own."""
    modules: Modules | None = None
    """Kernel modules that it builds and loads: only for a driver container."""
    user: User | None = None
    """Who it runs as. A driver container has none: loading modules needs root."""
    ports: tuple[Port, ...] = Field(default=(), strict=False)
    """Ports it listens on."""
    runtime: Runtime | None = None
    """What it needs from the engine that runs it."""
    labels: dict[Label, Text] = Field(default_factory=dict)
    """Labels of your own; ours (org.gpu-commons.*, and the OCI ones that the spec's keys give) are refused."""
    env: dict[Variable, Line] = Field(default_factory=dict)
    """Environment variables."""
    entry_point: tuple[Text, ...] = Field(default=(), strict=False)
    """What always runs; a Jupyter base keeps its own. Empty: the parent's."""
    command: tuple[Text, ...] = Field(default=(), strict=False)
    """What runs unless the pod says otherwise. Empty: the parent's."""
    files: tuple[File, ...] = Field(default=(), strict=False)
    """Files that are copied in."""
    folders: tuple[Folder, ...] = Field(default=(), strict=False)
    """New folders that the user may write in, each in one that is there. An empty volume of Docker mounted on one
    belongs to the user too: without the folder it belongs to root."""
    verify: Verify = Verify()
    """What the check needs."""
    targets: dict[Annotated[TargetKind, Field(strict=False)], Target] = Field(default_factory=dict)
    """Further images of this spec, by kind: gateway-client, kernel, batch."""

    @model_validator(mode="after")
    def _is_for_one_thing(self) -> Self:
        if self.modules is None:
            if self.user is None:
                raise ValueError("needs user: who it runs as")
            return self
        if self.user is not None:
            raise ValueError("has modules, which only root can load, and user as well: leave user out")
        if self.base.layout is not Layout.DEBIAN or self.python or self.node or self.kernels or self.cuda:
            raise ValueError("has modules, on a base that is not plain Debian or beside packages: make it two images")
        if self.version != str(self.modules.key):
            raise ValueError(f'has modules, so its version is their key: "{self.modules.key}"')
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.targets and (self.base.layout is not Layout.DEBIAN or not self.python or self.node):
            raise ValueError("has targets, which are made of python packages alone, on a base that brings no Jupyter")
        if self.cuda and self.cuda.source is CudaSource.CONDA:
            raise ValueError("has conda CUDA for the server's environment: give it to a kernel, or take wheels")
        if self.cuda and not self.python:
            raise ValueError("has cuda but no python packages to use it")
        names = [kernel.name for kernel in self.kernels]
        if len(set(names)) != len(names):
            raise ValueError("has two kernels of one name")
        if not self.base.image and not self.command and self.needs_command:
            raise ValueError("needs a command: what runs unless the pod says otherwise")
        return self

    @property
    def account(self) -> User:
        """Who it runs as, root included."""
        return self.user or ROOT

    @property
    def full_name(self) -> str:
        """Name of the image as registries and workloads know it; a target has one of its own."""
        return self.name

    @property
    def main_environment(self) -> str:
        """Name of the environment that does not belong to a kernel."""
        return "server"

    @property
    def cuda_lines(self) -> tuple[str, ...]:
        """CUDA lines that the spec asks for, lowest first."""
        environments = (self.cuda, *(kernel.cuda for kernel in self.kernels))
        lines = {cuda.line for cuda in environments if cuda}
        return tuple(sorted(lines, key=lambda line: [int(part) for part in line.split(".")]))

    @property
    def server_wheels(self) -> tuple[str, ...]:
        """Pins on PyPI of the server's environment, its CUDA included: what the lock is made from."""
        pins = tuple(package.pypi for package in self.python.packages) if self.python else ()
        return pins + (self.cuda.packages if self.cuda else ())

    @property
    def frameworks(self) -> tuple[str, ...]:
        """Pins of builds of frameworks for GPUs, as the spec writes them."""
        return tuple(pin.text for environment in self.environments for pin, _ in environment.frameworks)

    @property
    def environments(self) -> tuple[Environment, ...]:
        """What is loaded together: the server's environment, then one for each kernel."""
        server = Environment(self.main_environment, tuple(map(read_pin, self.server_wheels)), self.cuda)
        kernels = (
            Environment(
                f"kernel {kernel.name}",
                tuple(map(read_pin, (*(kernel.cuda.packages if kernel.cuda else ()), *kernel.conda, *kernel.pypi))),
                kernel.cuda,
            )
            for kernel in self.kernels
        )
        return (server, *kernels)
