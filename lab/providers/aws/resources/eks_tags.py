"""EKS tagging, and the error for a missing resource."""

from __future__ import annotations

from typing import Final

from lab.providers.aws.declarations import Call, Tagging

NOT_THERE: Final = ("ResourceNotFoundException",)


def tagging(whose: str) -> Tagging:
    """`whose` is the output with the ARN, such as `$arn`."""
    return Tagging(
        tag=Call("TagResource", {"resourceArn": whose, "tags": "$added"}),
        untag=Call("UntagResource", {"resourceArn": whose, "tagKeys": "$removed"}),
    )
