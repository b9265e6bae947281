"""Access entries of EKS, and their associated access policies.

Sources: pulumi.com/registry/packages/aws/api-docs/eks and github.com/hashicorp/terraform-provider-aws,
internal/service/eks (which change needs a new resource: `ForceNew`).
"""

from __future__ import annotations

from typing import Final

from lab.providers.aws.declarations import REGION, TAGS, Call, Input, Kind, Read, Resource, all_of, required
from lab.providers.aws.resources.eks_tags import NOT_THERE, tagging

ENTRY: Final = {"clusterName": "$clusterName", "principalArn": "$principalArn"}

ACCESS_ENTRY: Final = Resource(
    "aws:eks/accessEntry:AccessEntry",
    service="eks",
    inputs={
        "clusterName": required(replaces=True),
        "principalArn": required(replaces=True),
        "kubernetesGroups": Input(Kind.SET, is_kept=True),
        "type": Input(replaces=True, default="STANDARD"),
        "userName": Input(is_kept=True),
        "region": REGION,
        "tags": TAGS,
    },
    create=Call("CreateAccessEntry", all_of(*ENTRY, "kubernetesGroups", "type", "userName", "tags")),
    parts=("clusterName", "principalArn"),
    updates=(
        Call(
            "UpdateAccessEntry",
            all_of(*ENTRY, "kubernetesGroups", "userName"),
            when=("kubernetesGroups", "userName"),
        ),
    ),
    reads=(Read("DescribeAccessEntry", ENTRY, "accessEntry"),),
    delete=(Call("DeleteAccessEntry", ENTRY),),
    gone=NOT_THERE,
    outputs={"accessEntryArn": "accessEntryArn", "createdAt": "createdAt", "modifiedAt": "modifiedAt"},
    unsettled=("modifiedAt",),
    tagging=tagging("$accessEntryArn"),
    renames={"userName": "username"},
)

ACCESS_POLICY_ASSOCIATION: Final = Resource(
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
    service="eks",
    inputs={
        "clusterName": required(replaces=True),
        "principalArn": required(replaces=True),
        "policyArn": required(replaces=True),
        "accessScope": required(replaces=True),
        "region": REGION,
    },
    create=Call("AssociateAccessPolicy", all_of(*ENTRY, "policyArn", "accessScope")),
    parts=("clusterName", "principalArn", "policyArn"),
    separator="#",
    reads=(Read("ListAssociatedAccessPolicies", ENTRY, "associatedAccessPolicies[?policyArn=='{policyArn}'] | [0]"),),
    delete=(Call("DisassociateAccessPolicy", {**ENTRY, "policyArn": "$policyArn"}),),
    gone=NOT_THERE,
    outputs={"associatedAt": "associatedAt", "modifiedAt": "modifiedAt"},
)
