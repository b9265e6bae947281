"""What the spawn page tells of a profile beside its size: the GPU, and what is in the image. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from images.spec.described import Contents
from kube.hub_arguments import Arguments


@dataclass(frozen=True, slots=True)
class Shown:
    """The GPU of a profile and the contents of its image; empty where nothing was said."""

    gpu: str
    gpu_memory_gb: float
    contents: Contents


def parse_shown(read: Arguments) -> Shown:
    """`gpu`, `gpu_memory_gb` and `contents` of a profile's arguments."""
    return Shown(
        gpu=read.text("gpu") if read.has("gpu") else "",
        gpu_memory_gb=read.amount("gpu_memory_gb", 0, none_is_fine=True),
        contents=_contents(read.nested("contents")),
    )


def _contents(read: Arguments) -> Contents:
    contents = Contents(
        title=read.text("title") if read.has("title") else "",
        cuda_lines=read.texts("cuda_lines"),
        frameworks=read.texts("frameworks"),
        packages=read.texts("packages"),
        stands_on=read.text("stands_on") if read.has("stands_on") else "",
        missing=read.texts("missing"),
        missing_reason=read.text("missing_reason") if read.has("missing_reason") else "",
    )
    read.refuse_unknown()
    return contents
