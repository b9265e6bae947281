"""ECR registries: parses their names and names their repositories."""

import re
from dataclasses import dataclass
from typing import Final, Self

# Source: https://docs.aws.amazon.com/AmazonECR/latest/userguide/Registries.html; the pattern of a repository is that of
# CreateRepository in botocore's service model.
_HOST: Final = re.compile(r"(\d{12})\.dkr\.ecr\.([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com(?:\.cn)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class EcrRegistry:
    """An ECR registry with a folder: `123456789012.dkr.ecr.us-east-1.amazonaws.com/gpu-commons`."""

    account: str
    region: str
    folder: str  # gpu-commons; empty if there is none

    @classmethod
    def read(cls, text: str) -> Self | None:
        """None for any other registry."""
        host, _, folder = text.partition("/")
        found = _HOST.fullmatch(host)
        return cls(found[1], found[2], folder.rstrip("/")) if found else None

    def repository(self, image: str) -> str:
        """ECR repository of an image: `gpu-commons/hub`."""
        return f"{self.folder}/{image}" if self.folder else image
