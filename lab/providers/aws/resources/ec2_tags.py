"""EC2 tagging: of a resource at its creation, and by its id later."""

from __future__ import annotations

from typing import Any, Final

from lab.providers.aws.declarations import Call, Tagging

TAGGING: Final = Tagging(
    tag=Call("CreateTags", {"resources": ["$id"], "tags": "$added"}, service="ec2"),
    untag=Call("DeleteTags", {"resources": ["$id"], "tags": "$removed"}, service="ec2"),
)


def tags_of(kind: str) -> list[Any]:
    """The argument `tagSpecifications` of a create."""
    return [{"resourceType": kind, "tags": "$tags"}]


def arn(kind: str) -> str:
    return f"=arn:aws:ec2:{{region}}:{{account}}:{kind}/{{id}}"
