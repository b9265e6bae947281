"""Parses image references, as registries, containerd and a Dockerfile's FROM use them."""

import re
from dataclasses import dataclass
from typing import Self

from compat.evidence.names.image_name import HUB, HUB_NAMES, OFFICIAL, ImageName, read_image
from compat.values.versions import VersionError

_LONGEST = 255  # of registry and repository: github:distribution/reference NameTotalLengthMax
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]{{1,5}})?")
_STEP = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REST = re.compile(
    rf"(?P<path>{_STEP}(?:/{_STEP})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?(?:@(?P<digest>sha256:[0-9a-f]{{64}}))?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class ImageReference:
    """`registry/repository[:tag][@digest]`. `registry` is `docker.io` if the text has none, or an alias."""

    registry: str
    repository: str
    tag: str | None
    digest: str | None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a reference as Docker does; raises ValueError with the form of a reference.

        The first step is a registry only if it has a dot or a port, or is `localhost`: `jupyter/scipy-notebook`
        is on Docker Hub.
        """
        head, slash, rest = text.partition("/")
        has_host = bool(slash) and ("." in head or ":" in head or head == "localhost")
        match = _REST.fullmatch(rest if has_host else text)
        name = text.partition("@")[0].removesuffix(f":{match['tag']}") if match else ""
        if match is None or len(name) > _LONGEST or (has_host and not _HOST.fullmatch(head)):
            raise ValueError("is not an image reference such as registry.example.edu/gpu-commons/hub:1.2")
        return cls(head if has_host and head not in HUB_NAMES else HUB, match["path"], match["tag"], match["digest"])

    @property
    def name(self) -> str:
        """Registry and repository as people write them: `debian`, `nvidia/cuda`, `nvcr.io/nvidia/pytorch`."""
        return self.repository.removeprefix(OFFICIAL) if self.registry == HUB else f"{self.registry}/{self.repository}"

    @property
    def repository_in_full(self) -> str:
        """Registry and repository as Docker resolves them: `busybox` is docker.io/library/busybox."""
        folder = "library/" if self.registry == "docker.io" and "/" not in self.repository else ""
        return f"{self.registry}/{folder}{self.repository}"

    def is_in(self, place: str) -> bool:
        """Is it in this registry, or in this folder of one?"""
        return self.repository_in_full.startswith(place.rstrip("/") + "/")

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.registry}/{self.repository}{tag}{digest}"


def known_image(text: str) -> ImageName | None:
    """The tables' facts on an image, by name; None if the text is no reference."""
    try:
        return read_image(text)
    except VersionError:
        return None
