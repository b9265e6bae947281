"""Image spec section of driver containers: the kernel modules to build, and their target."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from compat.values.versions import DriverVersion
from fleet.driver_key import DriverKey
from imaging.references import ImageReference
from imaging.spec.text_types import OsPackage, Strict


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
