"""Build targets of a driver's kernel modules, and whether they match the nodes. Pure.

The key is the tag of a driver container, `<branch>-<kernel>-<os>`, as in NVIDIA's precompiled ones: modules fit
one kernel release only. Source: docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/precompiled-drivers.html
"""

import re
from dataclasses import dataclass
from typing import Final, Self

DRIVER_KEY_LABEL: Final = "org.gpu-commons.spec.driver-key"
"""Label that marks an image as a driver container: the only kind of image that may hold a driver."""

_IMAGE = re.compile(r"[^\s@]+/[^\s@:]+:(?P<tag>[^\s@:/]+)@sha256:[0-9a-f]{64}", re.ASCII)
_KEY = re.compile(r"(?P<branch>[1-9]\d{2})-(?P<kernel>\d+\.\d+[0-9A-Za-z.+_-]*)-(?P<os>[a-z]+\d[0-9.]*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class DriverKey:
    """Build target of modules: 570-6.12.102-flatcar-flatcar4593.2.5."""

    branch: int
    kernel: str  # as `uname -r` prints it
    os: str  # ID and VERSION_ID of /etc/os-release

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the tag of a driver container; raises ValueError."""
        found = _KEY.fullmatch(text.strip())
        if found is None:
            example = "580-6.12.102-flatcar-flatcar4593.2.5"
            raise ValueError(f'"{text}" is not the key of a driver container, such as {example}')
        return cls(int(found["branch"]), found["kernel"], found["os"])

    @classmethod
    def named(cls, text: str) -> Self:
        """Read a driver container as a pool names it: its key, or its image by digest with the key as tag.

        Raises ValueError.
        """
        found = _IMAGE.fullmatch(text.strip())
        return cls.parse(found["tag"] if found else text)

    def misfit(self, kernel: str, os: str) -> str:
        """Why these modules do not fit nodes with this kernel and OS, both named; empty if they do."""
        if self.kernel != kernel:
            return f"{self} holds modules for kernel {self.kernel}; the nodes run kernel {kernel}"
        return "" if self.os == os else f"{self} is built for {self.os}; the nodes run {os}"

    def __str__(self) -> str:
        return f"{self.branch}-{self.kernel}-{self.os}"


def image_of(text: str) -> str:
    """The image in what `DriverKey.named` reads; empty for a key alone."""
    return text.strip() if _IMAGE.fullmatch(text.strip()) else ""
