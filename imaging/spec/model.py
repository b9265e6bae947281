"""Typed model of an image spec, `images/<image>/image.yaml`.

A spec says what goes into an image, not how: the renderer decides that for the base actually used
(`imaging.spec.plan`, `imaging.build.render`). Every pin is exact, because a rebuild must not cross a driver's CUDA
ceiling.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from imaging.spec.parts import (
    ROOT,
    Base,
    Cuda,
    CudaSource,
    File,
    Kernel,
    Layout,
    Modules,
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
    """A set of packages loaded together, and the spec's entry on their CUDA."""

    name: str  # server, kernel NAME
    pins: tuple[Pin, ...]
    cuda: Cuda | None

    @property
    def frameworks(self) -> tuple[tuple[Pin, str], ...]:
        """GPU builds of frameworks, each with the framework's name in the tables of `compat`."""
        conda_cuda = self.cuda.line if self.cuda and self.cuda.source is CudaSource.CONDA else ""
        return tuple(frameworks_in(self.pins, conda_cuda=conda_cuda))


class ImageSpec(Strict):
    """One image."""

    needs_command: ClassVar[bool] = True  # an entry point such as tini runs nothing by itself

    name: Name
    """Name of the image, its folder and its repository."""
    title: Text
    """One line for people."""
    description: Text
    """Its purpose."""
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]*$")]
    """Version of this spec, quoted."""
    released: Annotated[dt.date, BeforeValidator(released)]
    """Day of that version; times inside the image are this day. A new day also takes new OS updates."""
    licenses: Text | None = None
    """SPDX expression of our parts."""
    base: Base
    """Its base image."""
    os_packages: tuple[OsPackage, ...] = Field(default=(), strict=False)
    """Debian packages. The base's release sets their versions and gets security updates only."""
    python: Python | None = None
    """Packages of the server's environment."""
    node: Node | None = None
    """Node packages."""
    cuda: Cuda | None = None
    """CUDA of the server's environment; kernels have their own."""
    kernels: tuple[Kernel, ...] = Field(default=(), strict=False)
    """Further kernels, each in its own environment."""
    modules: Modules | None = None
    """Kernel modules that it builds and loads: driver containers only."""
    user: User | None = None
    """Its user. A driver container has none: loading modules needs root."""
    ports: tuple[Port, ...] = Field(default=(), strict=False)
    """Ports it listens on."""
    runtime: Runtime | None = None
    """Its needs from the engine that runs it."""
    labels: dict[Label, Text] = Field(default_factory=dict)
    """Labels of your own; ours (org.gpu-commons.*, and OCI labels from the spec's keys) are refused."""
    env: dict[Variable, Line] = Field(default_factory=dict)
    """Environment variables."""
    entry_point: tuple[Text, ...] = Field(default=(), strict=False)
    """Entry point; a Jupyter base keeps its own. Empty: the parent's."""
    command: tuple[Text, ...] = Field(default=(), strict=False)
    """Command, unless the pod sets one. Empty: the parent's."""
    files: tuple[File, ...] = Field(default=(), strict=False)
    """Files copied in."""
    folders: tuple[Folder, ...] = Field(default=(), strict=False)
    """New folders writable for the user, each in an existing one. An empty Docker volume mounted on one also
    belongs to the user: without the folder it belongs to root."""
    verify: Verify = Verify()
    """Needs of the check."""
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
        """User it runs as, or root."""
        return self.user or ROOT

    @property
    def full_name(self) -> str:
        """Name of the image as registries and workloads know it; a target has its own."""
        return self.name

    @property
    def main_environment(self) -> str:
        """Name of the environment that does not belong to a kernel."""
        return "server"

    @property
    def cuda_lines(self) -> tuple[str, ...]:
        """CUDA lines of the spec, lowest first."""
        environments = (self.cuda, *(kernel.cuda for kernel in self.kernels))
        lines = {cuda.line for cuda in environments if cuda}
        return tuple(sorted(lines, key=lambda line: [int(part) for part in line.split(".")]))

    @property
    def server_wheels(self) -> tuple[str, ...]:
        """PyPI pins of the server's environment, its CUDA included: the input of the lock."""
        pins = tuple(package.pypi for package in self.python.packages) if self.python else ()
        return pins + (self.cuda.packages if self.cuda else ())

    @property
    def frameworks(self) -> tuple[str, ...]:
        """Pins of frameworks' GPU builds, as the spec writes them."""
        return tuple(pin.text for environment in self.environments for pin, _ in environment.frameworks)

    @property
    def environments(self) -> tuple[Environment, ...]:
        """Packages loaded together: the server's environment, then each kernel's."""
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
