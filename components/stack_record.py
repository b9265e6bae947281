"""StackRecord: what people decided and no other resource shows, so that a preview shows each change of it."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

import pulumi


class StackRecordArgs(TypedDict):
    """Arguments of StackRecord: sections of a stack file, as far as no other component has them among its inputs."""

    site: NotRequired[Mapping[str, Any]]
    """Where the stack runs: allowed registries, limits of images."""
    fleet: NotRequired[Mapping[str, Any]]
    """Pools: cores, memory, disk and rates of a node; the whole pool where another stack manages the fleet."""
    images: NotRequired[Mapping[str, Any]]
    """Limits of their own, by the image's name."""
    policies: NotRequired[Mapping[str, Any]]
    """How strict the policies are, and what is waived."""


class StackRecord(pulumi.ComponentResource):
    """Creates nothing: it keeps decisions in the state, so that the next preview can show what they were before."""

    def __init__(self, name: str, args: StackRecordArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu-commons:index:StackRecord", name, {**args}, opts)
        self.register_outputs({})
