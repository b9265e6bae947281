"""Image repositories and lifecycle policies.

Sources: pulumi.com/registry/packages/aws/api-docs/ecr and github.com/hashicorp/terraform-provider-aws,
internal/service/ecr (which change needs a new resource: `ForceNew`).
"""

from __future__ import annotations

from typing import Final

from lab.providers.aws.declarations import (
    REGION,
    TAGS,
    Call,
    Input,
    Kind,
    Read,
    Resource,
    Tagging,
    all_of,
    fixed,
    required,
)

REPOSITORY: Final = Resource(
    "aws:ecr/repository:Repository",
    service="ecr",
    inputs={
        "name": fixed(read="repositoryName"),
        "encryptionConfigurations": fixed(is_kept=True, read="[encryptionConfiguration]"),
        "forceDelete": Input(read="-"),
        "imageScanningConfiguration": Input(is_kept=True),
        "imageTagMutability": Input(default="MUTABLE"),
        "region": REGION,
        "tags": TAGS,
    },
    named="name",
    name_length=256,
    create=Call(
        "CreateRepository",
        all_of(
            "imageScanningConfiguration",
            "imageTagMutability",
            "tags",
            repositoryName="$name",
            encryptionConfiguration="$encryptionConfigurations",
        ),
    ),
    parts=("name",),
    updates=(
        Call("PutImageTagMutability", all_of("imageTagMutability", repositoryName="$id"), when=("imageTagMutability",)),
        Call(
            "PutImageScanningConfiguration",
            all_of("imageScanningConfiguration", repositoryName="$id"),
            when=("imageScanningConfiguration",),
        ),
    ),
    reads=(
        Read("DescribeRepositories", {"repositoryNames": ["$id"]}, "repositories[0]"),
        Read("ListTagsForResource", {"resourceArn": "$repositoryArn"}, "tags", into="tags"),
    ),
    delete=(Call("DeleteRepository", {"repositoryName": "$id", "force": "$forceDelete"}),),
    gone=("RepositoryNotFoundException",),
    outputs={"arn": "repositoryArn", "registryId": "registryId", "repositoryUrl": "repositoryUri"},
    tagging=Tagging(
        tag=Call("TagResource", {"resourceArn": "$arn", "tags": "$added"}),
        untag=Call("UntagResource", {"resourceArn": "$arn", "tagKeys": "$removed"}),
    ),
)

PUT: Final = {"repositoryName": "$repository", "lifecyclePolicyText": "$policy"}

LIFECYCLE_POLICY: Final = Resource(
    "aws:ecr/lifecyclePolicy:LifecyclePolicy",
    service="ecr",
    inputs={
        "repository": required(replaces=True, read="repositoryName"),
        "policy": required(Kind.JSON, read="lifecyclePolicyText"),
        "region": REGION,
    },
    create=Call("PutLifecyclePolicy", PUT),
    parts=("repository",),
    updates=(Call("PutLifecyclePolicy", PUT, when=("policy",)),),
    reads=(Read("GetLifecyclePolicy", {"repositoryName": "$repository"}, ""),),
    delete=(Call("DeleteLifecyclePolicy", {"repositoryName": "$repository"}),),
    gone=("LifecyclePolicyNotFoundException", "RepositoryNotFoundException"),
    outputs={"registryId": "registryId"},
)
