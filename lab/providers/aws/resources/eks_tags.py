"""How EKS tags things, and how it says that one is not there."""

from __future__ import annotations

from typing import Final

from lab.providers.aws.declarations import Call, Tagging

NOT_THERE: Final = ("ResourceNotFoundException",)


def tagging(whose: str) -> Tagging:
    """`whose` is the output that holds the ARN, such as `$arn`."""
    return Tagging(
        tag=Call("TagResource", {"resourceArn": whose, "tags": "$added"}),
        untag=Call("UntagResource", {"resourceArn": whose, "tagKeys": "$removed"}),
    )
