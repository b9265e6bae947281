"""StackRecord: decisions that no other resource shows, so that a preview shows each change."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

import pulumi


class StackRecordArgs(TypedDict):
    """Arguments of StackRecord: sections of a stack file that no other component has as inputs."""

    site: NotRequired[Mapping[str, Any]]
    """Where the stack runs: allowed registries, limits of images."""
    fleet: NotRequired[Mapping[str, Any]]
    """Pools: cores, memory, disk and rates of a node; the whole pool if another stack manages the fleet."""
    images: NotRequired[Mapping[str, Any]]
    """Image-specific limits, by image name."""
    policies: NotRequired[Mapping[str, Any]]
    """Policy strictness and waivers."""


class StackRecord(pulumi.ComponentResource):
    """Creates nothing: it stores decisions in the state, so that the next preview can show the old values."""

    def __init__(self, name: str, args: StackRecordArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu-commons:index:StackRecord", name, {**args}, opts)
        self.register_outputs({})
