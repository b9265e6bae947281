"""The parts of an image spec: its base, packages, CUDA, kernels, user, files and targets."""

from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from compat.values.versions import DriverVersion
from fleet.driver_key import DriverKey
from imaging.references import ImageReference
from imaging.spec.pins import conda_pin, wheel_pin
from imaging.spec.runtime import Runtime
from imaging.spec.text_types import (
    CondaPin,
    CudaLine,
    KernelName,
    Line,
    Name,
    OsPackage,
    Port,
    RelativePath,
    Strict,
    Text,
    Variable,
    WheelPin,
    as_package,
    index_page,
)

CUDA_CONDA_PACKAGES: Final = ("cudatoolkit", "cudnn", "nccl")


class Layout(StrEnum):
    """Python setup of a base image, and so of package installation."""

    DEBIAN = "debian"  # plain Debian: a virtual environment in /opt/venv, wheels from PyPI
    JUPYTER = "jupyter"  # Jupyter Docker Stacks: conda in /opt/conda, user jovyan, tini and start.sh


class CudaSource(StrEnum):
    """Where an environment's CUDA comes from. One source, never two: it would be double."""

    BASE = "base"
    CONDA = "conda"
    WHEELS = "wheels"


class TargetKind(StrEnum):
    """Further images of a spec, besides the one that it describes itself."""

    GATEWAY_CLIENT = "gateway-client"  # JupyterLab without CUDA, whose kernels run behind a gateway
    KERNEL = "kernel"  # ipykernel and frameworks, no server: a gateway starts it
    BATCH = "batch"  # frameworks only, nothing of Jupyter


class Base(Strict):
    """Base of the image: another image of ours (`image`), or an external one (`reference`)."""

    image: Name | None = None
    """Folder of another image; the build gets its pushed digest."""
    reference: str | None = None
    """Reference with registry and tag, without digest."""
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    """Digest of `reference`."""
    digest_note: Text | None = None
    """Source of the digest, or the reason for none."""
    layout: Annotated[Layout, Field(strict=False)] | None = None
    """Python setup of `reference`."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.image is None) == (self.reference is None):
            raise ValueError("needs either image (one of ours) or reference (somebody else's), and not both")
        if self.image is not None:
            if self.digest or self.layout:
                raise ValueError("takes digest and layout from its image: leave both out")
            return self
        try:
            reference = ImageReference.parse(self.reference or "")
        except ValueError as error:
            raise ValueError(f"has a reference that {error}") from error
        if reference.digest or not reference.tag or reference.tag == "latest":
            raise ValueError("needs a reference with a tag that stays, and its digest as a key of its own")
        if self.layout is None:
            raise ValueError("needs layout: debian or jupyter")
        if self.digest is None and self.digest_note is None:
            raise ValueError("needs digest, or digest_note saying why there is none")
        return self


class Package(Strict):
    """A Python package of the server's environment, by name on PyPI and conda-forge."""

    pypi: WheelPin
    """Pin on PyPI."""
    conda: CondaPin | Literal["none"] | None = None
    """Pin on conda-forge, if the name differs; `none`: PyPI's wheel on every base, because its build matters."""

    @property
    def name(self) -> str:
        """Its name on PyPI, normalized."""
        return wheel_pin(self.pypi).name

    @property
    def conda_pin(self) -> str | None:
        """Its pin on conda-forge; None for a PyPI wheel."""
        return None if self.conda == "none" else self.conda or self.pypi.replace("==", "=")


class Python(Strict):
    """The environment of the image's own server."""

    packages: tuple[Annotated[Package, BeforeValidator(as_package)], ...] = Field(min_length=1, strict=False)
    """Exact pins: `jupyterlab==4.6.6`, or both names if they differ."""
    lock: RelativePath = "requirements.lock"
    """All wheels with hashes; `gpu-commons image lock IMAGE` prints the command to make it from the pins."""


class Node(Strict):
    """Node packages, installed below /opt/node by `npm ci`."""

    packages: tuple[Annotated[str, Field(pattern=r"^(@[a-z0-9-]+/)?[a-z0-9._-]+@[0-9][0-9A-Za-z.+-]*$")], ...] = Field(
        min_length=1, strict=False
    )
    """Exact pins such as configurable-http-proxy@4.6.3."""
    lock: RelativePath = "package-lock.json"
    """npm's lock, with its package.json beside it."""


class Cuda(Strict):
    """The CUDA of one environment."""

    line: CudaLine
    """CUDA line, quoted: "10.1"."""
    source: Annotated[CudaSource, Field(strict=False)]
    """`conda` packages, `wheels`, or the image's `base`."""
    packages: tuple[str, ...] = Field(default=(), strict=False)
    """Pins of the toolkit and its libraries; may be empty if a framework's wheel brings them."""

    @model_validator(mode="after")
    def _pinned_completely(self) -> Self:
        if self.source is CudaSource.BASE and self.packages:
            raise ValueError("takes CUDA from the base and lists packages, which would duplicate it: choose one")
        check = conda_pin if self.source is CudaSource.CONDA else wheel_pin
        for pin in self.packages:
            try:
                check(pin)
            except ValueError as error:
                raise ValueError(f'has a package "{pin}" that {error}') from error
        if self.source is CudaSource.CONDA:
            versions = dict(pin.split("=")[:2] for pin in self.packages)
            if missing := [name for name in CUDA_CONDA_PACKAGES if name not in versions]:
                raise ValueError(f"needs pins of all of {', '.join(CUDA_CONDA_PACKAGES)}: {missing[0]} has none")
            if not f"{versions['cudatoolkit']}.".startswith(f"{self.line}."):
                raise ValueError(f"says line {self.line}, but cudatoolkit {versions['cudatoolkit']}")
        return self


class Kernel(Strict):
    """A kernel with its own conda environment, so that it can have an older Python than the server."""

    name: KernelName
    """Name of the kernel and its environment."""
    title: Text
    """Title in the launcher."""
    python: Annotated[str, Field(pattern=r"^3\.[0-9]{1,2}\.[0-9]{1,2}$")]
    """Exact Python version, quoted."""
    cuda: Cuda | None = None
    """CUDA of this environment."""
    conda: tuple[CondaPin, ...] = Field(default=(), strict=False)
    """Further pins from conda-forge."""
    pypi: tuple[WheelPin, ...] = Field(default=(), strict=False)
    """Pins from PyPI."""
    index: Annotated[str, Field(pattern=r"^https://\S+$"), AfterValidator(index_page)] | None = None
    """A page of wheels that PyPI lacks."""

    @model_validator(mode="after")
    def _one_cuda(self) -> Self:
        builds = {pin: pin.partition("+cu")[2] for pin in self.pypi if "+cu" in pin}
        for pin, build in builds.items():
            if self.cuda is None or self.cuda.line.replace(".", "") != build:
                raise ValueError(f"has {pin}, so it needs cuda.line of that build")
            if self.cuda.source is CudaSource.CONDA:
                raise ValueError(f"has {pin}, whose wheel brings CUDA, and conda's as well: choose one")
        if self.cuda and self.cuda.source is CudaSource.WHEELS and self.cuda.packages:
            raise ValueError(f"has {self.cuda.packages[0]} in cuda.packages: the wheels of a kernel are in its pypi")
        if not any(pin.startswith("ipykernel=") for pin in (*self.conda, *self.pypi)):
            raise ValueError("needs a pin of ipykernel, in conda or pypi")
        if self.cuda and self.cuda.source is CudaSource.BASE:
            raise ValueError("has an environment of its own, which takes its CUDA from conda or wheels")
        return self


class User(Strict):
    """User of the image. Root is refused."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
    """Name in /etc/passwd."""
    uid: Annotated[int, Field(ge=1, le=65535)]
    """Number of the user."""
    gid: Annotated[int, Field(ge=1, le=65535)]
    """Number of the first group."""
    home: Annotated[str, Field(pattern=r"^/[A-Za-z0-9/_.-]+$")]
    """Home and working folder."""


ROOT: Final = User.model_construct(name="root", uid=0, gid=0, home="/root")  # loads kernel modules


class File(Strict):
    """A file copied in from the image's folder, owned by root and not writable."""

    source: RelativePath
    """Path in the image's folder."""
    target: Annotated[str, Field(pattern=r"^/[A-Za-z0-9/_.-]+$")]
    """Path in the image."""
    mode: Literal["0644", "0755"] = "0644"
    """Permission bits, quoted."""


class Target(Strict):
    """Another image of the same spec. Keys not given are as in the spec, or as its kind needs them."""

    without: tuple[KernelName, ...] = Field(default=(), strict=False)
    """Names of python.packages to leave out."""
    title: Text | None = None
    """One line for people."""
    description: Text | None = None
    """Its purpose."""
    ports: tuple[Port, ...] | None = Field(default=None, strict=False)
    """Ports it listens on. A kernel and a batch image have none by default."""
    env: dict[Variable, Line] = Field(default_factory=dict)
    """Environment variables besides the spec's."""
    entry_point: tuple[Text, ...] | None = Field(default=None, strict=False)
    """Entry point; for a batch image the spec's, then `python`."""
    command: tuple[Text, ...] | None = Field(default=None, strict=False)
    """Default command, unless the pod sets one; default: by kind."""
    runtime: Runtime | None = None
    """Instead of the spec's."""


class Verify(Strict):
    """Check of the built image: `verify.py` of its folder, run inside it as its own user, without network."""

    os_packages: tuple[OsPackage, ...] = Field(default=(), strict=False)
    """Packages of the check only, such as python3 in an image without; never in the image."""


class Modules(Strict):
    """Kernel modules of NVIDIA's driver: a stage with a compiler builds them, the image without one loads them.

    They fit one kernel. Building needs no GPU; loading needs root, so such an image has no `user`.
    """

    driver: str
    """Driver, quoted: "535.309.01". The build stops if the source has another version."""
    kernel: str
    """Kernel release of the nodes, as `uname -r` prints it."""
    os: str
    """ID and VERSION_ID of the nodes' /etc/os-release: debian12, flatcar4593.2.5."""
    source: OsPackage
    """Debian source package: nvidia-kernel-source, or nvidia-open-kernel-source for the open modules."""
    headers: tuple[OsPackage, ...] = Field(default=(), strict=False)
    """Debian packages with the kernel's headers."""
    headers_image: str | None = None
    """Or an image, by digest, with a compiler and /lib/modules/KERNEL/build, if Debian has no headers."""
    components: tuple[Literal["contrib", "non-free", "non-free-firmware"], ...] = Field(default=(), strict=False)
    """Components of Debian's archive, besides main, for the source and os_packages."""

    @model_validator(mode="after")
    def _can_be_built(self) -> Self:
        try:
            DriverVersion.parse(self.driver)
            DriverKey.parse(str(self.key))
        except ValueError as error:
            raise ValueError(f"has driver, kernel or os that cannot be: {error}") from None
        if bool(self.headers) == (self.headers_image is not None):
            raise ValueError("needs either headers (Debian packages) or headers_image, and not both")
        if self.headers_image is not None:
            try:
                has_digest = ImageReference.parse(self.headers_image).digest is not None
            except ValueError as error:
                raise ValueError(f"has a headers_image that {error}") from None
            if not has_digest:
                raise ValueError("has a headers_image without digest: name it as repository@sha256:…")
        return self

    @property
    def key(self) -> DriverKey:
        """The modules' target."""
        return DriverKey(int(self.driver.partition(".")[0] or 0), self.kernel, self.os)
