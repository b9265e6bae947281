"""EcrRepository: an ECR repository for one image, with immutable tags."""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi
from pulumi_aws import ecr


class EcrRepositoryArgs(TypedDict):
    """Arguments of EcrRepository."""

    repository: str
    """Name of the repository, without the registry: gpu-commons/hub."""
    region: str
    """Region of the registry, such as us-east-1."""
    tags: NotRequired[Mapping[str, str]]
    """Tags of the repository."""


class EcrRepository(pulumi.ComponentResource):
    """A repository with immutable tags: nobody can push another image under a tag that nodes pull.

    It is not deleted while it holds images, because a running server may still need one: AWS then fails the destroy.
    """

    url: pulumi.Output[str]
    """Registry and repository, as used in image names."""

    def __init__(self, name: str, args: EcrRepositoryArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu-commons:index:EcrRepository", name, {**args}, opts)
        made = ecr.Repository(
            name,
            name=args["repository"],
            region=args["region"],
            image_tag_mutability="IMMUTABLE",
            force_delete=False,
            tags={**(args.get("tags") or {})},
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.url = made.repository_url
        self.register_outputs({"url": self.url})
